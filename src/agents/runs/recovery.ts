import type { Database } from '../../db/database.ts';
import type { Replies } from '../replies/replies.ts';
import { type Ending, endRun } from './end-run.ts';
import { lockDead } from './lease.ts';

/**
 * Ends the runs that a node left behind when it died: with the text that was kept of what they were writing, so that
 * nothing is `streaming` for ever (docs/realtime.md#streamed-replies). `alive`: what runs here, whatever its lease says: where
 * Postgres was away nobody could renew any.
 */
export async function endDead(
  database: Database,
  replies: Pick<Replies, 'finishAbandoned'>,
  alive: readonly string[],
): Promise<void> {
  for (let found = true; found; ) {
    found = await database.transaction(async (tx) => {
      const run = await lockDead(tx, alive);
      if (run === undefined) return false;
      await replies.finishAbandoned(tx, run);
      await endRun(tx, run, run.cancel_requested_at === null ? DIED : { move: 'cancel' });
      return true;
    });
  }
}

const DIED: Ending = { move: 'fail', error: 'The server that ran it died.' };
