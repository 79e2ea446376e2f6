import { withdrawUploads } from '../../../../core/attachments/uploads.ts';
import { enqueueUpdated } from '../../../../core/notifications/feed/mark.ts';
import { clearBodies } from '../../../../core/notifications/feed/store.ts';
import type { WithdrawnContent } from '../../../../core/resources/holdings.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { statement } from '../../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../../platform/db/tables/touched.ts';
import { endedKey } from '../effects/on-run-ended.ts';
import { enqueueRunUpdated } from '../state/start.ts';
import type { RunEnding } from './purge-store.ts';

/** A run that may contain removed content. */
export interface BlankableRun {
  readonly id: string;
  /** Whether all its texts are removed. */
  readonly whole: boolean;
}

type ReadingRun = BlankableRun & { readonly is_open: boolean };

/**
 * Returns runs that the message started or whose tools read it (`whole`), or that are in its
 * conversation.
 */
export function readReadingRuns(
  tx: Tx,
  { accountId, conversationId, ids, since }: WithdrawnContent,
): Promise<ReadingRun[]> {
  return tx.query(READ_READING, accountId, conversationId, ids, since);
}

/**
 * Removes repetitions of the texts from these runs, and everything from `whole` runs: steps, calls,
 * inputs, outputs, previews in the notifications of their ends, and files that no message shows.
 * Rows of open runs and texts that their owners are writing stay. Returns the ids of the changed
 * runs and notifications.
 */
export async function withdrawRunTexts(
  tx: Tx,
  runs: readonly BlankableRun[],
  texts: readonly string[],
): Promise<{ readonly runIds: string[]; readonly notificationIds: string[] }> {
  if (runs.length === 0) return { runIds: [], notificationIds: [] };
  const ids = runs.map(({ id }) => id);
  const whole = runs.flatMap((run) => (run.whole ? run.id : []));
  const steps = await tx.query(BLANK_STEPS, ids, whole, texts);
  const actions = await tx.query(BLANK_ACTIONS, ids, whole, texts);
  const changed = new Set([...steps, ...actions].map(({ run_id }) => run_id));
  const blanked = await tx.query(BLANK_RUNS, ids, whole, texts, [...changed]);
  const runIds = blanked.map(({ id }) => id);
  const hidden = runIds.length === 0 ? [] : await tx.query(DELETE_HIDDEN, runIds);
  await withdrawUploads(
    tx,
    hidden.map(({ s3_key }) => s3_key),
  );
  for (const run of blanked) await enqueueRunUpdated(tx, run);
  return { runIds, notificationIds: await clearEndings(tx, blanked) };
}

/** Clears the previews in the notifications of these runs' ends; returns the notifications' ids. */
export async function clearEndings(tx: Tx, runs: readonly RunEnding[]): Promise<string[]> {
  const cleared = await clearBodies(
    tx,
    runs.flatMap(({ id, triggered_by, completed_at }) =>
      triggered_by === null || completed_at === null
        ? []
        : { key: endedKey(id), at: completed_at, recipient_id: triggered_by },
    ),
  );
  await enqueueUpdated(tx, cleared);
  return cleared.map(({ id }) => id);
}

function containsAny(texts: string, ...columns: readonly string[]): string {
  return `EXISTS (SELECT FROM unnest(${texts}::text[]) AS quoted
        WHERE position(quoted IN concat_ws(' ', ${columns.join(', ')})) > 0)`;
}

// The index by actor finds the runs that were open since then, however many ended earlier.
const READ_READING = statement<
  [accountId: string, conversationId: string, ids: readonly string[], since: string],
  ReadingRun
>('read-runs-reading-a-message')`
    SELECT id, whole, is_open FROM (
      SELECT r.id, r.conversation_id, r.completed_at IS NULL AS is_open,
        r.trigger_message_id = ANY($3) IS TRUE OR ${containsAny('$3', 'r.input::text')}
          OR EXISTS (SELECT FROM agent_run_actions a
            WHERE a.run_id = r.id AND ${containsAny('$3', 'a.arguments', 'a.result::text')}) AS whole
      FROM actors o JOIN agent_runs r ON r.actor_id = o.id
      WHERE o.account_id = $1 AND o.type = 'agent' AND (r.completed_at IS NULL OR r.completed_at >= $4::timestamptz)
    ) found
    WHERE whole OR conversation_id = $2
    ORDER BY id`;

type BlankParams = [runIds: readonly string[], whole: readonly string[], texts: readonly string[]];

const BLANK_STEPS = statement<BlankParams, { run_id: string }>('blank-steps-of-runs')`
    UPDATE agent_run_steps SET text = NULL, calls = '[]', error_message = NULL, updated_at = later_than(updated_at)
    WHERE id IN (
      SELECT id FROM agent_run_steps
      WHERE run_id = ANY($1) AND (text IS NOT NULL OR calls <> '[]' OR error_message IS NOT NULL)
        AND (run_id = ANY($2) OR ${containsAny('$3', 'text', 'calls::text', 'error_message')})
      FOR UPDATE SKIP LOCKED)
    RETURNING run_id`;

const BLANK_ACTIONS = statement<BlankParams, { run_id: string }>('blank-actions-of-runs')`
    UPDATE agent_run_actions
    SET arguments = '{}', result = NULL, error_message = NULL, reason = NULL, updated_at = later_than(updated_at)
    WHERE id IN (
      SELECT id FROM agent_run_actions
      WHERE run_id = ANY($1)
        AND (arguments <> '{}' OR result IS NOT NULL OR error_message IS NOT NULL OR reason IS NOT NULL)
        AND (run_id = ANY($2) OR ${containsAny('$3', 'arguments', 'result::text', 'error_message', 'reason')})
      FOR UPDATE SKIP LOCKED)
    RETURNING run_id`;

// The input of a chat run is two ids. A run with a blanked step counts as changed too.
const BLANK_RUNS = statement<[...BlankParams, changed: readonly string[]], RunEnding>('blank-runs')`
    UPDATE agent_runs r SET
      output = CASE WHEN is_blank THEN NULL ELSE r.output END,
      error_message = CASE WHEN is_blank THEN NULL ELSE r.error_message END,
      input = CASE WHEN ${containsAny('$3', 'r.input::text')} THEN NULL ELSE r.input END,
      ${setTouched('later_than(r.updated_at)')}
    FROM (
      SELECT id, id = ANY($2) OR ${containsAny('$3', 'input::text', 'output::text', 'error_message')} AS is_blank
      FROM agent_runs WHERE id = ANY($1) AND completed_at IS NOT NULL ORDER BY id FOR UPDATE
    ) AS found
    WHERE r.id = found.id AND (is_blank OR r.id = ANY($4))
    RETURNING r.id, r.triggered_by, r.completed_at`;

const DELETE_HIDDEN = statement<[runIds: readonly string[]], { s3_key: string }>('delete-hidden-artifacts')`
    DELETE FROM artifacts f
    WHERE run_id = ANY($1) AND NOT EXISTS (SELECT FROM attachments a WHERE a.s3_key = f.s3_key)
    RETURNING s3_key`;
