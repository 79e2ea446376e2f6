import { deactivatedActor, invalid, notFound } from '@parley/protocol/errors/errors.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { type NamedActor, readNamedActors } from '../../resources/actor.ts';

/**
 * Returns the actor to assign: an active user whom the caller knows, or a group, by its own id or
 * that of the group.
 * Throws `resource_not_found` or `validation_failed` (param assignee_id).
 */
export async function findAssignable(tx: Tx, principal: Principal, id: string): Promise<NamedActor> {
  const param = 'assignee_id';
  const actor = (await readNamedActors(tx, principal, [id])).get(id);
  if (actor === undefined) throw notFound('actor', param);
  if (actor.type === 'group') {
    const [group] = await tx.query(LOCK_GROUP_ACTOR, actor.id);
    if (group === undefined) throw notFound('actor', param);
    return actor;
  }
  if (actor.type !== 'user' || actor.customer) {
    throw invalid(param, 'A conversation can only be assigned to a user or a group.');
  }
  if (actor.deactivated) throw deactivatedActor(param);
  return actor;
}

/**
 * The deletion of a group waits, and then finds the group in use (core/accounts/groups/groups.ts).
 */
const LOCK_GROUP_ACTOR = statement<[id: string], { id: string }>('lock-assigned-group')`
    SELECT id FROM actors WHERE id = $1 AND deactivated_at IS NULL FOR SHARE`;
