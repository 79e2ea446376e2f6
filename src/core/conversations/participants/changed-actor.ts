import type { Database } from '../../../platform/db/connection/database.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import type { ActorChanged } from '../../accounts/rights/rights-changed.ts';
import { enqueueRowsChanged } from '../../events/changes.ts';
import { IS_MEMBER } from '../../resources/membership.ts';

/**
 * Publishes `participant.updated`, with the actor's new name or image, in all of its conversations.
 * May run twice: readers then receive the event twice.
 */
export async function showChangedActor(
  database: Database,
  { actor_id: actorId }: ActorChanged,
): Promise<void> {
  let after: string | undefined = '';
  while (after !== undefined) {
    const last: string = after;
    after = await database.transaction(async (tx) => {
      const rows = await tx.query(TOUCH, actorId, last, AT_ONCE);
      await enqueueRowsChanged(tx, 'participant.updated', rows);
      const ids = rows.map(({ conversation_id }) => conversation_id).sort();
      return ids.length < AT_ONCE ? undefined : ids.at(-1);
    });
  }
}

/** Few, because the rows stay locked until the transaction ends. */
const AT_ONCE = 50;

const TOUCH = statement<
  [actorId: string, after: string, limit: number],
  { readonly id: string; readonly conversation_id: string }
>('touch-participants-of-actor')`
    UPDATE participants SET ${setTouched()}
    WHERE id IN (
      SELECT id FROM participants WHERE actor_id = $1 AND ${IS_MEMBER} AND conversation_id > $2
      ORDER BY conversation_id LIMIT $3 FOR NO KEY UPDATE
    ) RETURNING id, conversation_id`;
