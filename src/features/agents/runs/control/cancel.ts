import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Principal } from '../../../../api/access/principal.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import { requestCancel } from '../state/end-run.ts';
import { lockChangeableRun, type RunSources } from './access.ts';

/**
 * Cancel Agent Run (docs/contract.md#runs). A run that no node has claimed ends here. The owner of
 * a running run is asked to end it, and its end is awaited; a cancelled run stays as it is. Returns
 * the run as it stands after at most three seconds, because its owner may have died. Throws
 * ApiError `resource_not_found` (param id), `insufficient_permissions`, or `resource_conflict` for
 * a run that has completed or failed, also during the wait.
 */
export async function cancelRun(sources: RunSources, principal: Principal, id: string): Promise<RunRow> {
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    // Requested again in each round: a run that pauses at this very moment has no owner any more.
    const run = await sources.database.transaction(async (tx) => {
      const locked = await lockChangeableRun(tx, sources, principal, id);
      return locked.completed_at === null ? requestCancel(tx, principal.actor.id, locked) : locked;
    });
    if (run.status === 'cancelled' || waitedMs >= WAIT_MS) return run;
    if (run.completed_at !== null) {
      throw new ApiError('resource_conflict', `The run has ended: it is ${run.status}.`);
    }
    await delay(LOOK_EVERY_MS);
  }
}

const WAIT_MS = 3_000;
const LOOK_EVERY_MS = 50;
