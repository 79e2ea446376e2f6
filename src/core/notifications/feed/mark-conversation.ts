import type { Database } from '../../../platform/db/connection/database.ts';
import type { ConversationRead } from '../../conversations/outbox-topics.ts';
import type { Timeline } from '../../messages/timeline/timeline.ts';
import { enqueueUpdated } from './mark.ts';
import { moveRead, readReadAlready } from './mark-store.ts';

export interface ReadingOptions {
  readonly database: Database;
  readonly timeline: Pick<Timeline, 'settle'>;
}

/**
 * Marks a user's notifications of the messages that it has read, and about the conversation itself,
 * as read. Handles CONVERSATION_READ and may be called again for the same row. It works after the
 * commit of the read position, newest messages first, in transactions of MESSAGES_AT_ONCE. It waits
 * for a number that is still being written, whose message would bring an unread notification.
 */
export async function markConversationRead(
  { database, timeline }: ReadingOptions,
  read: ConversationRead,
): Promise<void> {
  const { conversation_id: conversationId, after } = read;
  let settledThrough = 0;
  for (let last = read.through; last > after; ) {
    const moved = await database.transaction(async (tx) => {
      const moved = await moveRead(tx, { ...read, through: last }, MESSAGES_AT_ONCE);
      await enqueueUpdated(tx, moved.keys);
      return moved;
    });
    const next = moved.numbers < MESSAGES_AT_ONCE ? after : moved.first! - 1;
    const hasHole = last - next > moved.numbers;
    if (hasHole && settledThrough !== last) {
      await timeline.settle({ conversationId, after: next, upTo: last });
      // Read again in any case: a number may have been committed between this read and that of the
      // timeline.
      settledThrough = last;
      continue;
    }
    if (moved.is_before_joining === true) return;
    last = next;
  }
}

/**
 * Marks notifications that were made after their messages were read. Called whenever notifications
 * were not committed with their message, since a reader can have moved its position in between.
 * Either this finds the position, or the handler of CONVERSATION_READ finds the notification.
 */
export async function markReadAlready(options: ReadingOptions, messageIds: readonly string[]): Promise<void> {
  const found = await readReadAlready(options.database, messageIds);
  for (const read of found) await markConversationRead(options, read);
}

/** Keeps the events of a transaction, 600 bytes each, well below the limit of a socket's buffer. */
const MESSAGES_AT_ONCE = 500;
