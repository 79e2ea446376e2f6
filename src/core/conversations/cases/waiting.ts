import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { addJob } from '../../../platform/db/queue/queue.ts';
import { defineTopic } from '../../../platform/db/queue/topic.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import { enqueueChanged } from '../../events/changes.ts';
import { lockConversations } from '../rows/conversation-store.ts';

/**
 * Since when a customer waits (`conversations.waiting_since`). Triggers write it with messages and
 * with the workflow (migrations/0057_waiting.ts); here is what they cannot know.
 */

/** Works the column out for the cases behind an id, a part a job. */
export const DERIVE_WAITING = defineTopic<DeriveWaiting>('waiting.derive');

interface DeriveWaiting {
  readonly after: string;
}

/** Fills the column of cases of before it, and adds the job of the next part. */
export async function deriveWaiting(database: Database, { after }: DeriveWaiting): Promise<void> {
  const ids = (await database.query(READ_CASES, after, PART)).map(({ id }) => id);
  if (ids.length === 0) return;
  await database.transaction(async (tx) => {
    await lockConversations(tx, ids);
    await tx.query(DERIVE, ids);
    if (ids.length === PART) await addJob(tx, DERIVE_WAITING, { after: ids.at(-1)! });
  });
}

/** Cases of a part: some milliseconds. */
const PART = 200;

/**
 * Works the column out after the deletion of a message, and publishes a change. It follows the
 * commit, because a deletion holds its conversation together with others. May be called again.
 */
export async function followDeletion(database: Database, conversationId: string): Promise<void> {
  if ((await database.query(FIND_CASE, conversationId)).length === 0) return;
  await database.transaction(async (tx) => {
    await lockConversations(tx, [conversationId]);
    const changed = await derive(tx, conversationId);
    if (!changed) return;
    const change = { event: 'conversation.updated', id: conversationId, stream: conversationId } as const;
    await enqueueChanged(tx, [{ ...change, by: null }]);
  });
}

async function derive(tx: Tx, id: string): Promise<boolean> {
  return (await tx.query(DERIVE_AGAIN, id)).length > 0;
}

const IS_OPEN_CASE = `c.audience = 'customer' AND coalesce(c.lane_behind, c.workflow_status) <> 'resolved'`;

const FIND_CASE = statement<[id: string]>('find-open-case')`
    SELECT FROM conversations c WHERE c.id = $1 AND ${IS_OPEN_CASE}`;

const READ_CASES = statement<[after: string, limit: number], { id: string }>('read-open-cases')`
    SELECT c.id FROM conversations c WHERE c.id > $1 AND ${IS_OPEN_CASE} ORDER BY c.id LIMIT $2`;

const DERIVE = statement<[ids: readonly string[]]>('derive-waiting')`
    UPDATE conversations c SET waiting_since = waiting_of(c.id)
    WHERE c.id = ANY($1) AND c.waiting_since IS NULL AND ${IS_OPEN_CASE}`;

const DERIVE_AGAIN = statement<[id: string], { id: string }>('derive-waiting-again')`
    UPDATE conversations c SET waiting_since = waiting_of(c.id), ${setTouched('later_than(c.updated_at)')}
    WHERE c.id = $1 AND ${IS_OPEN_CASE} AND c.waiting_since IS DISTINCT FROM waiting_of(c.id)
    RETURNING c.id`;
