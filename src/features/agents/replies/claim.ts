import type { RunRow } from '../../../core/resources/run.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { updateReplyMessage } from './store.ts';

/** Records which message a run writes, under the fence of its claim. Rejects with ClaimLost. */
export async function claimReply(db: Db, run: RunRow, messageId: string): Promise<void> {
  if (!(await updateReplyMessage(db, run, messageId))) throw new ClaimLost();
}

export class ClaimLost extends Error {
  constructor() {
    super('the run is not of this node any more');
    this.name = 'ClaimLost';
  }
}
