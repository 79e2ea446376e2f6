import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { ApiError } from '../../../../contract/protocol/errors.ts';
import { ENDED_RUNS } from '../../../../contract/protocol/states/agent-run-states.ts';
import { enqueueRightsChanged } from '../../../../core/accounts/rights-changed.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Principal } from '../../../../platform/access/principal.ts';
import type { Tx } from '../../../../platform/db/connection/handle.ts';
import { endRun } from '../state/end-run.ts';
import { updateRun } from '../state/store.ts';
import { lockChangeableRun, type RunSources } from './access.ts';

/**
 * Cancel Agent Run (docs/contract.md#runs). A run that no node has claimed ends here; the owner of
 * a running one is asked to end it, and its end is awaited; a cancelled one stays as it is. Returns
 * the run as it stands after three seconds at most, because its owner may have died. Throws
 * ApiError `resource_not_found` (param id), `insufficient_permissions`, or `resource_conflict` for
 * a run that has completed or failed, also if that happens during the wait.
 */
export async function cancelRun(sources: RunSources, principal: Principal, id: string): Promise<RunRow> {
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    // Requested again in each round: a run that pauses at this very moment has no owner any more.
    const run = await sources.database.transaction((tx) => requestCancel(tx, sources, principal, id));
    if (run.status === 'cancelled' || waitedMs >= WAIT_MS) return run;
    if (isEnded(run)) throw new ApiError('resource_conflict', `The run has ended: it is ${run.status}.`);
    await delay(LOOK_EVERY_MS);
  }
}

const WAIT_MS = 3_000;
const LOOK_EVERY_MS = 50;

async function requestCancel(tx: Tx, sources: RunSources, principal: Principal, id: string): Promise<RunRow> {
  const run = await lockChangeableRun(tx, sources, principal, id);
  if (isEnded(run)) return run;
  const asked = run.cancel_requested_at === null ? await recordCancelRequest(tx, principal, id) : run;
  if (run.owner === null) return endRun(tx, asked, { move: 'cancel' });
  return asked;
}

async function recordCancelRequest(tx: Tx, { actor }: Principal, id: string): Promise<RunRow> {
  const asked = await updateRun(tx, id, {
    cancel_requested_at: sql<string>`clock_timestamp()`,
    cancelled_by: actor.id,
  });
  // The owner receives this as a changed right or, if that frame is lost, at the next renewal.
  await enqueueRightsChanged(tx, [id]);
  return asked;
}

function isEnded({ status }: RunRow): boolean {
  return ENDED_RUNS.some((ended) => ended === status);
}
