import type { Database } from '../../../../platform/db/connection/database.ts';
import { completeAbandoned } from '../../replies/complete-reply.ts';
import { type Ending, endRun } from '../state/end-run.ts';
import { lockDead } from '../state/lease-store.ts';

/**
 * Ends the runs of nodes that died, with the text of the last checkpoint, so that no message stays
 * `streaming` (docs/realtime.md#streamed-replies). `alive`: runs of this node, which are excluded
 * whatever their leases say, because no node could renew leases while Postgres was unavailable.
 */
export async function endDead(database: Database, alive: readonly string[]): Promise<void> {
  for (let found = true; found; ) {
    found = await database.transaction(async (tx) => {
      const run = await lockDead(tx, alive);
      if (run === undefined) return false;
      await completeAbandoned(tx, run);
      await endRun(tx, run, run.cancel_requested_at === null ? DIED : { move: 'cancel' });
      return true;
    });
  }
}

const DIED: Ending = { move: 'fail', error: 'The server that ran it died.' };
