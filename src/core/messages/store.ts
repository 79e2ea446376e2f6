import { type Insertable, sql, type UpdateObject } from 'kysely';
import type { Querier, Tx } from '../../platform/db/connection/handle.ts';
import { keysetList } from '../../platform/db/connection/keyset.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import { setTouched, touched } from '../../platform/db/tables/touched.ts';
import {
  type BriefRow,
  briefColumns,
  MESSAGE_COLUMNS,
  type MessageKey,
  type MessageRow,
  messageColumns,
} from '../resources/message.ts';
import { storedMetadata } from '../resources/metadata.ts';
import { MESSAGES_SENT } from './outbox-topics.ts';
import type { NewAttachment, NewMessage } from './timeline/new-message.ts';
import { isOpenNumber, type SequenceNumber } from './timeline/timeline-store.ts';

/** The client's own name for a message, unique for its author and conversation. */
export type ClientKey = Pick<MessageRow, 'conversation_id' | 'author_id' | 'client_message_id'>;

/** Returns the messages with these keys, in no order; keys without a message are left out. */
export function readMessagesByClientId(db: Querier, keys: readonly ClientKey[]): Promise<MessageRow[]> {
  return db.query(READ_BY_CLIENT_ID, JSON.stringify(keys, CLIENT_KEY_FIELDS));
}

/** Returns the message with this key; undefined if there is none, or no key. */
export async function readOriginal(db: Querier, key: ClientKey): Promise<MessageRow | undefined> {
  if (key.client_message_id === null) return undefined;
  const [original] = await readMessagesByClientId(db, [key]);
  return original;
}

/** Returns the messages with these ids that are in timelines, by conversation and number. */
export function readSentMessages(db: Querier, ids: readonly string[]): Promise<MessageRow[]> {
  return db.query(READ_SENT_MESSAGES, ids);
}

/** Locks and returns the message's current row. */
export function lockMessage(tx: Tx, { id, conversation_id }: MessageKey): Promise<MessageRow> {
  return tx.kysely
    .selectFrom('messages')
    .select(MESSAGE_COLUMNS)
    .where('id', '=', id)
    .where('conversation_id', '=', conversation_id)
    .forUpdate()
    .executeTakeFirstOrThrow();
}

/** Locks and returns the drafts and scheduled messages that wait in a conversation. */
export function lockWaiting(tx: Tx, conversationId: string): Promise<MessageRow[]> {
  return tx.kysely
    .selectFrom('messages')
    .select(MESSAGE_COLUMNS)
    .where('conversation_id', '=', conversationId)
    .where('sequence', 'is', null)
    .where('status', 'in', ['draft', 'scheduled'])
    .orderBy('id')
    .forUpdate()
    .execute();
}

/** Writes columns of a locked message, and marks it as changed for readers that catch up. */
export function updateMessage(
  tx: Tx,
  { id, conversation_id }: MessageKey,
  change: MessageChange,
): Promise<MessageRow> {
  return tx.kysely
    .updateTable('messages')
    .set({ ...change, ...touched() })
    .where('id', '=', id)
    .where('conversation_id', '=', conversation_id)
    .returning(MESSAGE_COLUMNS)
    .executeTakeFirstOrThrow();
}

export type MessageChange = Omit<UpdateObject<Schema, 'messages'>, 'updated_at' | 'changed_in'>;

/** Returns the columns of a message that ends now without being sent. */
export function ended(result: string, reason: string | null) {
  return {
    outcome: sql<string>`${JSON.stringify({ result, reason })}::jsonb || ${sql.raw(reachedAt('clock_timestamp()'))}`,
    notified_at: sql<string>`clock_timestamp()`,
  };
}

export async function readAttachmentIds(tx: Tx, { id, conversation_id }: MessageKey): Promise<string[]> {
  const rows = await tx.kysely
    .selectFrom('attachments')
    .select('id')
    .where('conversation_id', '=', conversation_id)
    .where('message_id', '=', id)
    .execute();
  return rows.map((row) => row.id);
}

/** Deletes the attachments of a message. Returns the keys of its files. */
export async function deleteAttachments(tx: Tx, { id, conversation_id }: MessageKey): Promise<string[]> {
  const deleted = await tx.kysely
    .deleteFrom('attachments')
    .where('conversation_id', '=', conversation_id)
    .where('message_id', '=', id)
    .returning('s3_key')
    .execute();
  return deleted.flatMap(({ s3_key }) => s3_key ?? []);
}

const CLIENT_KEY_FIELDS = ['conversation_id', 'author_id', 'client_message_id'];

const READ_BY_CLIENT_ID = statement<[keys: string], MessageRow>('read-messages-by-client-id')`
    SELECT ${messageColumns('m')}
    FROM json_to_recordset($1::json) AS k(conversation_id text, author_id text, client_message_id text)
    JOIN messages m USING (conversation_id, author_id, client_message_id)`;

const READ_SENT_MESSAGES = statement<[ids: readonly string[]], MessageRow>('read-sent-messages')`
    SELECT ${messageColumns('m')} FROM messages m
    WHERE m.id = ANY($1) AND m.status = 'sent' ORDER BY m.conversation_id, m.sequence`;

/** The unsent messages of a conversation, newest first; with null for `authorId`, of any author. */
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

/** Existing rows outside a timeline that enter it; there may be none. */
export interface WaitingPlan {
  readonly status: 'draft' | 'scheduled';
  /** In the order in which they enter. `senderId` is the sender that the message then shows. */
  readonly entries: readonly { readonly id: string; readonly senderId: string | null }[];
}

/**
 * Moves messages from outside the timeline (a draft, due schedules) into it, with this number and
 * the next ones, and with the outbox row of their effects. The result lacks messages that do not
 * wait any more, and all of them if the numbers are too far below the head.
 */
export function enterTimeline(
  tx: Tx,
  { conversationId, sequence }: SequenceNumber,
  { status, entries }: WaitingPlan,
): Promise<(MessageRow & { outbox_id: number })[]> {
  const ids = entries.map(({ id }) => id);
  const senderIds = entries.map(({ senderId }) => senderId);
  return tx.query(ENTER_TIMELINE, conversationId, sequence, status, ids, senderIds);
}

/**
 * Returns SQL for the JSON object with the `at` of an outcome, to which `||` adds `result` and
 * `reason`. The format is that of columns with a time.
 */
function reachedAt(time: string): string {
  return `jsonb_build_object('at',
          to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))`;
}

// The times are in the order of the numbers, like those of a flush of the write path.
const ENTER_TIMELINE = statement<
  [
    conversationId: string,
    firstSequence: number,
    status: string,
    ids: readonly string[],
    senderIds: readonly (string | null)[],
  ],
  MessageRow & { outbox_id: number }
>('enter-timeline')`
    WITH entering AS (
      SELECT m.id, e.sender_id, $2::bigint + e.place - 1 AS sequence,
        greatest(m.updated_at, statement_timestamp()) + e.place * interval '1 microsecond' AS at
      FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS e(id, sender_id, place)
      JOIN messages m ON m.id = e.id AND m.conversation_id = $1
    ), entered AS (
      UPDATE messages m SET sequence = e.sequence, status = 'sent', sender_id = e.sender_id,
        outcome = '{"result": "sent", "reason": null}'::jsonb || ${reachedAt('e.at')},
        notified_at = e.at, ${setTouched('e.at')}
      FROM entering e
      WHERE m.id = e.id AND m.conversation_id = $1 AND m.status = $3 AND ${isOpenNumber('$1', '$2::bigint')}
      RETURNING m.*
    ), event AS (
      INSERT INTO outbox (topic, payload)
      SELECT '${MESSAGES_SENT.name}', jsonb_build_object('messages',
        jsonb_agg(jsonb_build_object('conversation_id', conversation_id, 'id', id) ORDER BY sequence))
      FROM entered HAVING count(*) > 0
      RETURNING id
    )
    SELECT ${messageColumns('m')}, event.id AS outbox_id FROM entered m, event ORDER BY m.sequence`;

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

/** Inserts the attachments of a message; without `created_at` they get the present time. */
export async function insertAttachments(
  tx: Tx,
  { id: message_id, conversation_id }: MessageKey,
  attachments: readonly (NewAttachment & Pick<Insertable<Schema['attachments']>, 'created_at'>)[],
): Promise<void> {
  if (attachments.length === 0) return;
  const rows = attachments.map(({ download_url: _, resource: __, metadata, ...columns }) => ({
    ...columns,
    metadata: storedMetadata(metadata),
    message_id,
    conversation_id,
  }));
  await tx.kysely.insertInto('attachments').values(rows).execute();
}
