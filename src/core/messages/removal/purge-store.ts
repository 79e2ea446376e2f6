import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { SET_CHANGED_IN, setTouched } from '../../../platform/db/tables/touched.ts';
import type { PurgedMessage } from '../../resources/holdings.ts';

/**
 * Deletes the messages of a conversation up to this number and records the purge, in one statement.
 * Returns undefined if the conversation is held or does not exist. It stays locked until the
 * transaction ends, so that no hold is set meanwhile.
 */
export async function deletePrefix(
  tx: Tx,
  conversationId: string,
  through: number,
): Promise<PurgedMessage[] | undefined> {
  const [row] = await tx.query(DELETE_PREFIX, conversationId, through);
  return row && (row.messages ?? []);
}

/**
 * Deletes messages outside the timeline of a conversation and returns them; none if it is held. No
 * hold is set until the transaction ends.
 */
export function deleteOutside(
  tx: Tx,
  conversationId: string,
  ids: readonly string[],
): Promise<PurgedMessage[]> {
  return tx.query(DELETE_OUTSIDE, conversationId, ids);
}

/** Returns the number of the `limit`th or last message; undefined if there is none. */
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

/**
 * The ages in seconds of the oldest messages and files of a conversation that were not purged; null
 * if there are none, 0 if they were imported lately.
 */
export interface ConversationAges {
  readonly id: string;
  readonly created_at: string;
  readonly message_age: number | null;
  /** Age of messages that ended outside the timeline. */
  readonly ended_age: number | null;
  /** Age of messages whose files were not purged. */
  readonly file_age: number | null;
}

/** Returns the account's conversations that are not held, by creation, after the given one. */
export function readConversationAges(
  db: Db,
  accountId: string,
  after: Pick<ConversationAges, 'id' | 'created_at'> | undefined,
  limit: number,
): Promise<ConversationAges[]> {
  return db.query(READ_AGES, accountId, after?.created_at ?? '-infinity', after?.id ?? '', limit);
}

/**
 * Returns the number up to which all messages, `limit` at most, were sent at least that long ago
 * and are used by no open run. Returns undefined if there is none.
 */
export async function readDueEnd(
  tx: Tx,
  conversationId: string,
  days: number,
  limit: number,
): Promise<number | undefined> {
  const [row] = await tx.query(READ_DUE_END, conversationId, days, limit);
  return row?.sequence ?? undefined;
}

/** Returns messages that ended that long ago without being sent. */
export async function readEndedIds(
  db: Db,
  conversationId: string,
  days: number,
  limit: number,
): Promise<string[]> {
  return (await db.query(READ_ENDED_IDS, conversationId, days, limit)).map(({ id }) => id);
}

/**
 * Counts the due messages of conversations as `readDueEnd` does, but without a look at open runs.
 * Examines `limit` messages at most.
 */
export async function countDue(
  db: Db,
  conversationIds: readonly string[],
  days: number,
  limit: number,
): Promise<number> {
  return (await db.query(COUNT_DUE, conversationIds, days, limit))[0]!.count;
}

/** Counts the files of due messages too. Returns the number of examined messages as well. */
export async function countDueFiles(
  db: Db,
  conversationIds: readonly string[],
  days: number,
  limit: number,
): Promise<{ readonly looked: number; readonly files: number }> {
  return (await db.query(COUNT_DUE_FILES, conversationIds, days, limit))[0]!;
}

/**
 * Marks the files of at most `limit` messages that were sent that long ago as removed, and changes
 * the messages. Returns both, and whether there may be more. Returns undefined if nothing is that
 * old, or the conversation is held.
 */
export async function markFilesRemoved(tx: Tx, conversationId: string, days: number, limit: number) {
  const [end] = await tx.query(READ_FILES_END, conversationId, days, limit);
  if (end?.sequence == null) return undefined;
  const [marked] = await tx.query(MARK_FILES_REMOVED, conversationId, end.sequence);
  if (marked === undefined) return undefined;
  const messageIds = [...new Set(marked.message_ids ?? [])];
  if (messageIds.length > 0) await tx.query(TOUCH, messageIds);
  return { keys: marked.keys ?? [], messageIds, more: end.found === limit };
}

const DELETE_PREFIX = statement<
  [conversationId: string, through: number],
  { messages: PurgedMessage[] | null }
>('delete-prefix-of-timeline')`
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
    ) AS messages FROM released`;

const DELETE_OUTSIDE = statement<[conversationId: string, ids: readonly string[]], PurgedMessage>(
  'delete-messages-outside',
)`
    WITH released AS (SELECT id FROM conversations WHERE id = $1 AND legal_hold <> 'held' FOR SHARE)
    DELETE FROM messages m USING released r WHERE m.id = ANY($2) AND m.conversation_id = r.id AND m.sequence IS NULL
    RETURNING m.id, moment_of(m) AS at`;

/**
 * Days for which no policy purges imported messages, whatever their age: time to notice a policy
 * that was made without the history in mind.
 */
const IMPORTED_KEPT_DAYS = 7;

/** SQL: whether the message `m` was imported within these days. */
const IS_NEWLY_IMPORTED = `coalesce((m.imported ->> 'at')::timestamptz
        > clock_timestamp() - interval '${IMPORTED_KEPT_DAYS} days', false)`;

const READ_BATCH_END = statement<[conversationId: string, limit: number], { sequence: number | null }>(
  'read-end-of-purge',
)`
    SELECT max(sequence) AS sequence FROM (
      SELECT sequence FROM messages WHERE conversation_id = $1 AND sequence IS NOT NULL
      ORDER BY sequence LIMIT $2
    ) AS batch`;

const READ_OUTSIDE_IDS = statement<[conversationId: string, limit: number], { id: string }>(
  'read-ids-outside',
)`
    SELECT id FROM messages WHERE conversation_id = $1 AND sequence IS NULL LIMIT $2`;

const ENDED = `m.sequence IS NULL AND m.status IN ('canceled', 'failed', 'rejected', 'superseded')`;

const READ_AGES = statement<
  [accountId: string, createdAt: string, id: string, limit: number],
  ConversationAges
>('read-ages-of-conversations')`
    SELECT c.id, c.created_at, ${age('m.sequence > c.purged_through')} AS message_age, (
        SELECT extract(epoch FROM clock_timestamp() - min(moment_of(m)))::float8 FROM messages m
        WHERE m.conversation_id = c.id AND ${ENDED}
      ) AS ended_age,
      ${age('m.sequence > greatest(c.purged_through, c.files_purged_through)')} AS file_age
    FROM conversations c
    WHERE c.account_id = $1 AND (c.created_at, c.id) > ($2::timestamptz, $3) AND c.legal_hold <> 'held'
    ORDER BY c.created_at, c.id LIMIT $4`;

function age(condition: string): string {
  return `(
        SELECT CASE WHEN ${IS_NEWLY_IMPORTED} THEN 0
          ELSE extract(epoch FROM clock_timestamp() - moment_of(m))::float8 END FROM messages m
        WHERE m.conversation_id = c.id AND ${condition} ORDER BY m.sequence LIMIT 1
      )`;
}

const IS_DUE = `moment_of(m) < clock_timestamp() - make_interval(days => $2::int) AND NOT ${IS_NEWLY_IMPORTED}`;

// A run that has not ended reads the message that started it.
const READ_DUE_END = statement<
  [conversationId: string, days: number, limit: number],
  { sequence: number | null }
>('read-due-end')`
    WITH head AS (
      SELECT m.sequence, ${IS_DUE} AND m.streaming_state IS DISTINCT FROM 'streaming' AS due
      FROM conversations c JOIN messages m ON m.conversation_id = c.id AND m.sequence > c.purged_through
      WHERE c.id = $1 ORDER BY m.sequence LIMIT $3
    )
    SELECT max(sequence) AS sequence FROM head WHERE sequence < least(
      coalesce((SELECT min(sequence) FROM head WHERE NOT due), 9007199254740991),
      coalesce((
        SELECT min(t.sequence) FROM agent_runs r JOIN messages t ON t.id = r.trigger_message_id AND t.conversation_id = $1
        WHERE r.conversation_id = $1 AND r.completed_at IS NULL
      ), 9007199254740991))`;

const READ_ENDED_IDS = statement<[conversationId: string, days: number, limit: number], { id: string }>(
  'read-ended-ids',
)`
    SELECT m.id FROM messages m WHERE m.conversation_id = $1 AND ${ENDED} AND ${IS_DUE} LIMIT $3`;

const READ_FILES_END = statement<
  [conversationId: string, days: number, limit: number],
  { sequence: number | null; found: number }
>('read-files-end')`
    WITH head AS (
      SELECT m.sequence, ${IS_DUE} AS due
      FROM conversations c
      JOIN messages m ON m.conversation_id = c.id AND m.sequence > greatest(c.purged_through, c.files_purged_through)
      WHERE c.id = $1 ORDER BY m.sequence LIMIT $3
    )
    SELECT max(sequence) AS sequence, count(*) AS found FROM head
    WHERE sequence < coalesce((SELECT min(sequence) FROM head WHERE NOT due), 9007199254740991)`;

/** SQL: up to $3 messages of the conversations $1 that are due with all messages before them. */
function dueBehind(number: string): string {
  return `SELECT m.id, m.status, m.has_attachments FROM conversations c, LATERAL (
        SELECT h.*, bool_and(h.is_due) OVER (ORDER BY h.sequence) AS is_in FROM (
          SELECT m.id, m.sequence, m.status, m.has_attachments, ${IS_DUE} AS is_due FROM messages m
          WHERE m.conversation_id = c.id AND m.sequence > ${number} ORDER BY m.sequence LIMIT $3
        ) AS h
      ) AS m
      WHERE c.id = ANY($1) AND m.is_in LIMIT $3`;
}

const COUNT_DUE = statement<[ids: readonly string[], days: number, limit: number], { count: number }>(
  'count-due-messages',
)`
    SELECT count(*) FILTER (WHERE status <> 'void') AS count FROM (${dueBehind('c.purged_through')}) AS due`;

const COUNT_DUE_FILES = statement<
  [ids: readonly string[], days: number, limit: number],
  { looked: number; files: number }
>('count-files-of-due-messages')`
    SELECT count(*) AS looked, coalesce(sum(
      CASE WHEN has_attachments THEN (
        SELECT count(*) FROM attachments a WHERE a.message_id = due.id AND a.s3_key IS NOT NULL
      ) ELSE 0 END
    ), 0)::int AS files
    FROM (${dueBehind('greatest(c.purged_through, c.files_purged_through)')}) AS due`;

const MARK_FILES_REMOVED = statement<
  [conversationId: string, through: number],
  { keys: string[] | null; message_ids: string[] | null }
>('mark-files-removed')`
    WITH begun AS (SELECT id, greatest(purged_through, files_purged_through) AS after FROM conversations WHERE id = $1),
    released AS (
      UPDATE conversations SET files_purged_through = greatest(files_purged_through, $2)
      WHERE id = $1 AND legal_hold <> 'held' RETURNING id
    ), due AS MATERIALIZED (
      SELECT a.message_id, a.position, a.s3_key
      FROM released r JOIN begun b USING (id)
      JOIN messages m ON m.conversation_id = r.id AND m.sequence > b.after AND m.sequence <= $2 AND m.has_attachments
      JOIN attachments a ON a.message_id = m.id AND a.s3_key IS NOT NULL
    ), removed AS (
      UPDATE attachments a SET s3_key = NULL, removed_at = clock_timestamp() FROM due d
      WHERE a.message_id = d.message_id AND a.position = d.position
      RETURNING d.s3_key, d.message_id
    )
    SELECT (SELECT array_agg(s3_key) FROM removed) AS keys, (SELECT array_agg(message_id) FROM removed) AS message_ids
    FROM released`;

const TOUCH = statement<[messageIds: readonly string[]]>('touch-messages')`
    UPDATE messages SET ${setTouched()} WHERE id = ANY($1)`;
