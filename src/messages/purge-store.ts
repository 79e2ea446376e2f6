import type { Tx } from '../db/handle.ts';
import { statement } from '../db/statement.ts';
import { SET_CHANGED_IN } from '../db/touched.ts';

/** A message that was purged, and the moment from which the ids of its notifications are made. */
export interface PurgedMessage {
  readonly id: string;
  readonly at: string;
}

/**
 * Deletes the messages of a conversation up to this number, and records that they are gone, in one statement that
 * leaves a held conversation alone. Returns undefined where the conversation is held or does not exist. The
 * conversation stays locked until the transaction ends: no hold is set meanwhile.
 */
export async function deletePrefix(
  tx: Tx,
  conversationId: string,
  through: number,
): Promise<PurgedMessage[] | undefined> {
  const [row] = await tx.query(DELETE_PREFIX, conversationId, through);
  return row && (row.messages ?? []);
}

/** Deletes messages outside the timeline. Returns them. The conversation is locked. */
export function deleteOutside(tx: Tx, ids: readonly string[]): Promise<PurgedMessage[]> {
  return tx.query(DELETE_OUTSIDE, ids);
}

/** Deletes what else is stored of these messages. Returns the keys of their files. */
export async function deletePartsOf(tx: Tx, messageIds: readonly string[]): Promise<string[]> {
  await tx.query(DELETE_REVISIONS, messageIds);
  return (await tx.query(DELETE_ATTACHMENTS, messageIds)).map(({ s3_key }) => s3_key);
}

/**
 * Returns the number of the `limit`th message of a conversation, or of its last one; undefined where it has none.
 */
export async function readBatchEnd(
  tx: Tx,
  conversationId: string,
  limit: number,
): Promise<number | undefined> {
  const [row] = await tx.query(READ_BATCH_END, conversationId, limit);
  return row?.sequence ?? undefined;
}

/** Returns messages of a conversation that are outside its timeline. */
export async function readOutsideIds(tx: Tx, conversationId: string, limit: number): Promise<string[]> {
  return (await tx.query(READ_OUTSIDE_IDS, conversationId, limit)).map(({ id }) => id);
}

const DELETE_PREFIX = statement<
  [conversationId: string, through: number],
  { messages: PurgedMessage[] | null }
>({
  name: 'delete-prefix-of-timeline',
  text: `
    WITH released AS (
      UPDATE conversations SET purged_through = greatest(purged_through, $2),
        files_purged_through = greatest(files_purged_through, $2),
        purged_at = later_than(coalesce(purged_at, created_at)), purged_in = pg_current_xact_id(), ${SET_CHANGED_IN}
      WHERE id = $1 AND legal_hold <> 'held'
      RETURNING id
    ), gone AS (
      DELETE FROM messages m USING released r WHERE m.conversation_id = r.id AND m.sequence <= $2
      RETURNING m.id, m.status, moment_of(m) AS at
    )
    SELECT (
      SELECT json_agg(json_build_object('id', id, 'at', at)) FROM gone WHERE status <> 'void'
    ) AS messages FROM released`,
});

const DELETE_OUTSIDE = statement<[ids: readonly string[]], PurgedMessage>({
  name: 'delete-messages-outside',
  text: `
    DELETE FROM messages m WHERE m.id = ANY($1) AND m.sequence IS NULL
    RETURNING m.id, moment_of(m) AS at`,
});

const DELETE_REVISIONS = statement<[messageIds: readonly string[]]>({
  name: 'delete-revisions-of-messages',
  text: 'DELETE FROM message_revisions WHERE message_id = ANY($1)',
});

const DELETE_ATTACHMENTS = statement<[messageIds: readonly string[]], { s3_key: string }>({
  name: 'delete-attachments-of-messages',
  text: `
    WITH gone AS (DELETE FROM attachments WHERE message_id = ANY($1) RETURNING s3_key)
    SELECT s3_key FROM gone WHERE s3_key IS NOT NULL`,
});

const READ_BATCH_END = statement<[conversationId: string, limit: number], { sequence: number | null }>({
  name: 'read-end-of-purge',
  text: `
    SELECT max(sequence) AS sequence FROM (
      SELECT sequence FROM messages WHERE conversation_id = $1 AND sequence IS NOT NULL
      ORDER BY sequence LIMIT $2
    ) AS batch`,
});

const READ_OUTSIDE_IDS = statement<[conversationId: string, limit: number], { id: string }>({
  name: 'read-ids-outside',
  text: 'SELECT id FROM messages WHERE conversation_id = $1 AND sequence IS NULL LIMIT $2',
});
