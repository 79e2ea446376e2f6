import type { RunRow } from '../../../core/resources/run.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import { lockWaiting, updateOwner } from './lease-store.ts';
import { enqueueRunUpdated } from './start.ts';

/**
 * Claims a run that waits for a node. The row's `owner` and `fence` name the claim until the lease
 * runs out. Returns undefined if the run does not wait any more.
 */
export function claimRun(database: Database, node: string, id: string): Promise<RunRow | undefined> {
  return database.transaction(async (tx) => {
    const waiting = await lockWaiting(tx, id);
    if (waiting === undefined) return undefined;
    const claimed = await updateOwner(tx, waiting, node);
    await enqueueRunUpdated(tx, claimed);
    return claimed;
  });
}
