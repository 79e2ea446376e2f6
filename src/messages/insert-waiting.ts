import { sql } from 'kysely';
import type { Tx } from '../db/handle.ts';
import { MESSAGE_COLUMNS, type MessageRow } from '../resources/message.ts';
import type { NewMessage } from './insert-messages.ts';

/** The kind of a message outside the timeline. */
export type Waiting =
  | { readonly status: 'draft'; readonly sourceThreadMessageId: string | null }
  | {
      readonly status: 'scheduled';
      /** RFC 3339. */
      readonly scheduledAt: string;
    };

/**
 * Inserts a message that is not part of the timeline yet, with its attachments: it has no number. Returns undefined if
 * its author has a message with the same client_message_id in the conversation.
 */
export async function insertWaiting(
  tx: Tx,
  { attachments, ...message }: NewMessage,
  waiting: Waiting,
): Promise<MessageRow | undefined> {
  const row = await tx.kysely
    .insertInto('messages')
    .values({
      ...message,
      cc: mutable(message.cc),
      mentions: mutable(message.mentions),
      status: waiting.status,
      scheduled_at: waiting.status === 'scheduled' ? waiting.scheduledAt : null,
      source_thread_message_id: waiting.status === 'draft' ? waiting.sourceThreadMessageId : null,
      has_attachments: attachments.length > 0,
      // The same time in both columns: a row counts as changed once they differ.
      created_at: sql<string>`now()`,
      updated_at: sql<string>`now()`,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(MESSAGE_COLUMNS)
    .executeTakeFirst();
  if (row === undefined || attachments.length === 0) return row;
  const { id: message_id, conversation_id, created_at } = row;
  await tx.kysely
    .insertInto('attachments')
    .values(
      attachments.map(({ download_url: _, resource: __, ...columns }) => ({
        ...columns,
        ...{ message_id, conversation_id, created_at },
      })),
    )
    .execute();
  return row;
}

function mutable(list: readonly string[] | null): string[] | null {
  return list === null ? null : [...list];
}
