import type { Db } from '../../db/handle.ts';
import { statement } from '../../db/statement.ts';
import type { RunRow } from '../../resources/run.ts';

/** Records which message a run writes, under the fence of its claim. Rejects with ClaimLost. */
export async function claimReply(db: Db, { id, owner, fence }: RunRow, messageId: string): Promise<void> {
  const rows = await db.query(NOTE, id, owner, fence, messageId);
  if (rows.length === 0) throw new ClaimLost();
}

export class ClaimLost extends Error {
  constructor() {
    super('the run is not of this node any more');
    this.name = 'ClaimLost';
  }
}

const NOTE = statement<[id: string, owner: string | null, fence: number, messageId: string]>({
  name: 'note-reply',
  text: `
    UPDATE agent_runs SET reply_message_id = $4
    WHERE id = $1 AND owner = $2 AND fence = $3::bigint AND status = 'running'
    RETURNING id`,
});
