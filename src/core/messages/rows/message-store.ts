import { type Insertable, sql, type UpdateObject } from 'kysely';
import type { Querier, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { touched } from '../../../platform/db/tables/touched.ts';
import {
  MESSAGE_COLUMNS,
  type MessageKey,
  type MessageRow,
  messageColumns,
} from '../../resources/message.ts';
import { storedMetadata } from '../../resources/metadata.ts';
import type { NewAttachment } from './new-message.ts';

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

/**
 * Returns SQL for the JSON object with the `at` of an outcome, to which `||` adds `result` and
 * `reason`. The format is that of columns with a time.
 */
export function reachedAt(time: string): string {
  return `jsonb_build_object('at',
          to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))`;
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
