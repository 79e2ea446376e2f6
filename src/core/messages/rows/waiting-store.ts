/** Messages outside the timeline: drafts, and schedules that are not due. */

import { type Insertable, sql } from 'kysely';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { keysetList } from '../../../platform/db/connection/keyset.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { type BriefRow, briefColumns, MESSAGE_COLUMNS, type MessageRow } from '../../resources/message.ts';
import { storedMetadata } from '../../resources/metadata.ts';
import { insertAttachments } from './message-store.ts';
import type { NewMessage } from './new-message.ts';

/**
 * Inserts a message that has no number yet, with its attachments. Returns undefined if its author
 * has a message with the same client_message_id in the conversation.
 */
export async function insertWaiting(
  tx: Tx,
  { attachments, metadata, ...message }: NewMessage,
  waiting: Pick<Insertable<Schema['messages']>, 'status' | 'scheduled_at' | 'source_thread_message_id'>,
): Promise<MessageRow | undefined> {
  const row = await tx.kysely
    .insertInto('messages')
    .values({
      ...message,
      ...waiting,
      metadata: storedMetadata(metadata),
      has_attachments: attachments.length > 0,
      // Both columns get the same time, because a row counts as changed once they differ.
      created_at: sql<string>`now()`,
      updated_at: sql<string>`now()`,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(MESSAGE_COLUMNS)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { created_at } = row;
  await insertAttachments(
    tx,
    row,
    attachments.map((attachment) => ({ ...attachment, created_at })),
  );
  return row;
}

/** The unsent messages of a conversation, newest first; null for `authorId` selects any author. */
export const OUTSIDE = keysetList<
  [conversationId: string, status: string, authorId: string | null],
  BriefRow
>({
  name: 'list-messages-outside',
  columns: briefColumns('m'),
  from: 'messages m',
  where: `m.sequence IS NULL AND m.conversation_id = $1 AND m.status = $2
      AND ($3::text IS NULL OR m.author_id = $3)`,
  key: [
    ['m.created_at', 'timestamptz'],
    ['m.id', 'text'],
  ],
});

/** Returns the event for a change of a row that was created outside the timeline. */
export function outsideUpdateOf({ kind }: Pick<MessageRow, 'kind'>): 'draft.updated' | 'scheduled.updated' {
  return kind === 'scheduled' ? 'scheduled.updated' : 'draft.updated';
}
