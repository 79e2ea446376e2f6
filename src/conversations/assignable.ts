import type { Db } from '../db/handle.ts';
import { deactivatedActor, invalid, notFound } from '../protocol/errors.ts';
import { type NamedActor, readNamedActors } from '../resources/actor.ts';

/**
 * Returns the actor that is to own conversations: an active user or a group of the account, by its own id or that of the
 * group. Throws `resource_not_found` or `validation_failed` (param assignee_id).
 */
export async function findAssignable(db: Db, accountId: string, id: string): Promise<NamedActor> {
  const param = 'assignee_id';
  const actor = (await readNamedActors(db, accountId, [id])).get(id);
  if (actor === undefined) throw notFound('actor', param);
  if (actor.type === 'group') return actor;
  if (actor.type !== 'user' || actor.customer) {
    throw invalid(param, 'A conversation can only be assigned to a user or a group.');
  }
  if (actor.deactivated) throw deactivatedActor(param);
  return actor;
}
