/** Reads of the runs that a person started, in pages. */

import { presentRun, type RunRow } from '../../../../core/resources/run.ts';
import type { Db, Tx } from '../../../../platform/db/connection/handle.ts';
import { pages } from '../../../../platform/db/connection/keyset.ts';
import { statement } from '../../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../../platform/db/tables/touched.ts';
import type { ArtifactRow } from '../../tools/artifact-store.ts';
import type { BlankableRun } from './withdraw-texts.ts';

/** Yields the runs that the actor started, itself or by a message. */
export async function* readRunsStartedBy(db: Db, actorId: string): AsyncIterable<object[]> {
  const read = (after: string, size: number) => db.query(READ_RUNS, actorId, after, size);
  for await (const rows of pages(PAGE, '', read, ({ id }) => id)) yield rows.map((row) => presentRun(row));
}

/** Yields the files of these runs. */
export function readArtifactsOf(db: Db, actorId: string): AsyncIterable<Omit<ArtifactRow, 'account_id'>[]> {
  const read = (after: string, size: number) => db.query(READ_ARTIFACTS, actorId, after, size);
  return pages(PAGE, '', read, ({ id }) => id);
}

/**
 * Yields the ended runs about a person, except in conversations under legal hold. These are runs
 * that the actor started, of a conversation in which it ever participated, whose calls name it, or
 * that an event started whose report has its id or one of `texts`. No text stays of `whole` runs,
 * which the person, or an event about the person, started.
 */
export function readRunsAbout(
  db: Db,
  accountId: string,
  actorId: string,
  texts: readonly string[],
): AsyncIterable<BlankableRun[]> {
  const named = [actorId, ...texts.map((text) => JSON.stringify(text).slice(1, -1))];
  const read = (after: string, size: number) => db.query(READ_ABOUT, accountId, actorId, after, size, named);
  return pages(PAGE, '', read, ({ id }) => id);
}

/** Clears the inputs of runs, except of chats, whose inputs are ids. */
export async function clearInputs(tx: Tx, runIds: readonly string[]): Promise<void> {
  if (runIds.length > 0) await tx.query(CLEAR_INPUTS, runIds);
}

const PAGE = 200;

const READ_RUNS = statement<[actorId: string, after: string, limit: number], RunRow>('read-runs-started-by')`
    SELECT r.* FROM agent_runs r
    WHERE r.triggered_by = $1 AND r.id > $2 ORDER BY r.id LIMIT $3`;

const READ_ABOUT = statement<
  [accountId: string, actorId: string, after: string, limit: number, named: readonly string[]],
  BlankableRun
>('read-runs-about-person')`
    SELECT r.id, r.triggered_by IS NOT DISTINCT FROM $2 OR reported.is_about AS whole
    FROM actors o JOIN agent_runs r ON r.actor_id = o.id LEFT JOIN conversations c ON c.id = r.conversation_id,
      LATERAL (SELECT r.trigger_type = 'event' AND EXISTS (SELECT FROM unnest($5::text[]) AS named
        WHERE position(named IN r.input::text) > 0) AS is_about OFFSET 0) AS reported
    WHERE o.account_id = $1 AND o.type = 'agent' AND r.id > $3 AND r.completed_at IS NOT NULL
      AND c.legal_hold IS DISTINCT FROM 'held'
      AND (r.triggered_by = $2
        OR EXISTS (SELECT FROM participants p WHERE p.conversation_id = r.conversation_id AND p.actor_id = $2)
        OR EXISTS (SELECT FROM agent_run_actions a
          WHERE a.run_id = r.id AND position($2 IN concat_ws(' ', a.arguments, a.result::text)) > 0)
        OR reported.is_about)
    ORDER BY r.id LIMIT $4`;

const CLEAR_INPUTS = statement<[runIds: readonly string[]]>('clear-inputs-of-runs')`
    UPDATE agent_runs SET input = NULL, ${setTouched()}
    WHERE id = ANY($1) AND trigger_type <> 'chat' AND input IS NOT NULL`;

const READ_ARTIFACTS = statement<
  [actorId: string, after: string, limit: number],
  Omit<ArtifactRow, 'account_id'>
>('read-artifacts-of-person')`
    SELECT f.id, f.run_id, f.s3_key, f.filename, f.content_type, f.size_bytes, f.created_at
    FROM agent_runs r JOIN artifacts f ON f.run_id = r.id
    WHERE r.triggered_by = $1 AND f.id > $2 ORDER BY f.id LIMIT $3`;

const MOVE_STARTER = statement<[from: string, to: string, conversationIds: readonly string[]]>(
  'move-starter-of-runs',
)`
    UPDATE agent_runs SET triggered_by = $2 WHERE conversation_id = ANY($3) AND triggered_by = $1`;

/** Makes another customer the starter of runs that a customer started in these conversations. */
export async function moveStarter(
  tx: Tx,
  from: string,
  to: string,
  conversationIds: readonly string[],
): Promise<void> {
  await tx.query(MOVE_STARTER, from, to, conversationIds);
}
