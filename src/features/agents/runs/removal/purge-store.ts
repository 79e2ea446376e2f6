import { countOf, type Expire, type RemovedRows } from '../../../../core/resources/holdings.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Db, Tx } from '../../../../platform/db/connection/handle.ts';
import { statement } from '../../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../../platform/db/tables/touched.ts';

/** A run, with the parts from which the id of its end's notification is derived. */
export type RunEnding = Pick<RunRow, 'id' | 'triggered_by' | 'completed_at'>;

/**
 * Clears quotations of the conversation in its ended runs, which stay. Runs that began with one of
 * these messages or wrote one lose input, output, texts and calls of steps, and files. Other runs
 * lose the calls that name one of the messages, as calls that read messages do. Returns the runs,
 * and the keys of the files.
 */
export async function clearRunsOf(
  tx: Tx,
  conversationId: string,
  messageIds: readonly string[],
): Promise<{ runs: RunEnding[]; keys: string[] }> {
  await tx.query(CLEAR_NAMING, conversationId, messageIds);
  const runs = await tx.query(CLEAR_RUNS, conversationId, messageIds);
  if (runs.length === 0) return { runs, keys: [] };
  const ids = runs.map(({ id }) => id);
  await tx.query(CLEAR_STEPS, ids);
  await tx.query(CLEAR_ACTIONS, ids);
  return { runs, keys: keysOf(await tx.query(DELETE_ARTIFACTS, ids)) };
}

/**
 * Deletes at most `limit` runs of a conversation with all their rows, including open ones, whose
 * nodes then find no row.
 */
export async function deleteRunsOf(tx: Tx, conversationId: string, limit: number): Promise<RemovedRows> {
  const ids = (await tx.query(READ_RUN_IDS, conversationId, limit)).map(({ id }) => id);
  if (ids.length === 0) return { rows: 0 };
  const keys = keysOf(await tx.query(DELETE_ARTIFACTS, ids));
  await tx.query(DELETE_RUNS, ids);
  return { rows: ids.length, runs: ids.length, keys };
}

/**
 * Deletes at most `limit` old ended runs of an account with all their rows, except held runs; no
 * hold is set until `tx` ends. Returns the runs and the keys of their files.
 */
export async function deleteEndedRuns(
  tx: Tx,
  accountId: string,
  days: number,
  limit: number,
): Promise<{ deleted: RunEnding[]; keys: string[] }> {
  const [gone] = await tx.query(DELETE_ENDED_RUNS, accountId, days, limit);
  return { deleted: gone!.deleted ?? [], keys: gone!.keys ?? [] };
}

/** Deletes at most `limit` old files of runs, except in held conversations. */
export const deleteOldArtifacts: Expire = async (tx, accountId, days, limit) => {
  const keys = keysOf(await tx.query(DELETE_OLD_ARTIFACTS, accountId, days, limit));
  return { rows: keys.length, keys };
};

/** Deletes the files with these keys, which a message showed. */
export async function deleteArtifactsByKey(tx: Tx, keys: readonly string[]): Promise<void> {
  if (keys.length > 0) await tx.query(DELETE_ARTIFACTS_BY_KEY, keys);
}

/** Returns the ages of the oldest run and file in seconds, except in held conversations. */
export async function readRunAges(db: Db, accountId: string): Promise<RunAges> {
  const [ages] = await db.query(READ_RUN_AGES, accountId);
  return ages!;
}

type RunAges = Readonly<Record<'runs' | 'files', number | null>>;

function keysOf(rows: readonly { readonly s3_key: string }[]): string[] {
  return rows.map(({ s3_key }) => s3_key);
}

const CLEAR_RUNS = statement<[conversationId: string, messageIds: readonly string[]], RunEnding>(
  'clear-runs-of-messages',
)`
    UPDATE agent_runs SET input = NULL, output = NULL, error_message = NULL, ${setTouched()}
    WHERE conversation_id = $1 AND completed_at IS NOT NULL
      AND (trigger_message_id = ANY($2) OR reply_message_id = ANY($2))
    RETURNING id, triggered_by, completed_at`;

const CLEAR_NAMING = statement<[conversationId: string, messageIds: readonly string[]]>(
  'clear-actions-naming-messages',
)`
    UPDATE agent_run_actions a SET arguments = '{}', result = NULL, error_message = NULL, reason = NULL
    FROM agent_runs r
    WHERE r.conversation_id = $1 AND r.completed_at IS NOT NULL AND a.run_id = r.id AND EXISTS (
      SELECT FROM regexp_matches(concat_ws(' ', a.arguments, a.result::text), '\\mmsg_\\w+', 'g') AS named(id)
      WHERE named.id[1] = ANY($2)
    )`;

const CLEAR_STEPS = statement<[runIds: readonly string[]]>('clear-steps-of-runs')`
    UPDATE agent_run_steps SET text = NULL, calls = '[]', error_message = NULL WHERE run_id = ANY($1)`;

const CLEAR_ACTIONS = statement<[runIds: readonly string[]]>('clear-actions-of-runs')`
    UPDATE agent_run_actions SET arguments = '{}', result = NULL, error_message = NULL, reason = NULL
    WHERE run_id = ANY($1)`;

const DELETE_ARTIFACTS = statement<[runIds: readonly string[]], { s3_key: string }>(
  'delete-artifacts-of-runs',
)`
    DELETE FROM artifacts WHERE run_id = ANY($1) RETURNING s3_key`;

const READ_RUN_IDS = statement<[conversationId: string, limit: number], { id: string }>('read-runs-to-purge')`
    SELECT id FROM agent_runs WHERE conversation_id = $1 ORDER BY id LIMIT $2`;

const DELETE_RUNS = statement<[runIds: readonly string[]]>('delete-runs')`
    DELETE FROM agent_runs WHERE id = ANY($1)`;

const NOT_HELD = `NOT EXISTS (SELECT FROM conversations h WHERE h.id = r.conversation_id AND h.legal_hold = 'held')`;
const CUTOFF = 'clock_timestamp() - make_interval(days => $2::int)';

/** Locks the unheld conversations of `due`. Its rows there or in none may be deleted. */
const RELEASED = `released AS MATERIALIZED (
      SELECT c.id FROM conversations c
      WHERE c.id IN (SELECT conversation_id FROM due) AND c.legal_hold <> 'held' ORDER BY c.id FOR SHARE
    )`;
const MAY_GO = '(d.conversation_id IS NULL OR d.conversation_id IN (SELECT id FROM released))';

/** Up to $3 runs of the account that ended more than $2 days ago. */
const ENDED_RUNS = `SELECT r.id, r.conversation_id FROM actors a, LATERAL (
        SELECT r.id, r.conversation_id, r.completed_at FROM agent_runs r
        WHERE r.actor_id = a.id AND r.completed_at < ${CUTOFF} AND ${NOT_HELD}
        ORDER BY r.completed_at LIMIT $3
      ) r
      WHERE a.account_id = $1 AND a.type = 'agent' LIMIT $3`;

/** Counts up to `limit` runs that `deleteEndedRuns` would delete. */
export const countEndedRuns = countOf('count-ended-runs', ENDED_RUNS);

const DELETE_ENDED_RUNS = statement<
  [accountId: string, days: number, limit: number],
  { deleted: RunEnding[] | null; keys: string[] | null }
>('delete-ended-runs')`
    WITH due AS MATERIALIZED (
      ${ENDED_RUNS}
    ), ${RELEASED}, files AS (
      DELETE FROM artifacts f USING due d WHERE f.run_id = d.id AND ${MAY_GO} RETURNING f.s3_key
    ), gone AS (
      DELETE FROM agent_runs r USING due d WHERE r.id = d.id AND ${MAY_GO}
      RETURNING r.id, r.triggered_by, r.completed_at
    )
    SELECT (SELECT json_agg(gone) FROM gone) AS deleted, (SELECT array_agg(s3_key) FROM files) AS keys`;

/** Up to $3 files of the account that are older than $2 days. */
const OLD_ARTIFACTS = `SELECT f.id, r.conversation_id FROM artifacts f JOIN agent_runs r ON r.id = f.run_id
      WHERE f.account_id = $1 AND f.created_at < ${CUTOFF} AND ${NOT_HELD}
      ORDER BY f.created_at LIMIT $3`;

/** Counts up to `limit` files that `deleteOldArtifacts` would delete. */
export const countOldArtifacts = countOf('count-old-artifacts', OLD_ARTIFACTS);

const DELETE_OLD_ARTIFACTS = statement<[accountId: string, days: number, limit: number], { s3_key: string }>(
  'delete-old-artifacts',
)`
    WITH due AS MATERIALIZED (
      ${OLD_ARTIFACTS}
    ), ${RELEASED}
    DELETE FROM artifacts f USING due d WHERE f.id = d.id AND ${MAY_GO} RETURNING f.s3_key`;

const DELETE_ARTIFACTS_BY_KEY = statement<[keys: readonly string[]]>('delete-artifacts-by-key')`
    DELETE FROM artifacts WHERE s3_key = ANY($1)`;

const READ_RUN_AGES = statement<[accountId: string], RunAges>('read-ages-of-runs')`
    SELECT extract(epoch FROM clock_timestamp() - (
        SELECT min(r.completed_at) FROM actors a, LATERAL (
          SELECT r.completed_at FROM agent_runs r WHERE r.actor_id = a.id AND r.completed_at IS NOT NULL AND ${NOT_HELD}
          ORDER BY r.completed_at LIMIT 1
        ) r WHERE a.account_id = $1 AND a.type = 'agent'
      ))::float8 AS runs,
      extract(epoch FROM clock_timestamp() - (
        SELECT f.created_at FROM artifacts f JOIN agent_runs r ON r.id = f.run_id
        WHERE f.account_id = $1 AND ${NOT_HELD} ORDER BY f.created_at LIMIT 1
      ))::float8 AS files`;
