import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { readNamedActors } from './actor.ts';

/** Stands for the caller in a filter by actors. */
const ME = 'me';

/**
 * Returns the ids of the actors that the parameter `param` of a list names, in its order: ids of
 * actors, agents and groups of the account, or `me`. Throws ApiError `parameter_invalid` for other
 * values: an empty list would hide the mistake. `words` are values that the list accepts beside
 * ids. Customers do not learn which actors exist: their ids are returned unchanged, and match only
 * what they are shown.
 */
export async function readActorFilter(
  db: Db,
  principal: Principal,
  param: string,
  ids: readonly string[],
  words: string = ME,
): Promise<string[]> {
  const { actor, customer } = principal;
  const others = ids.filter((id) => id !== ME);
  const named = customer ? undefined : await readNamedActors(db, principal, others);
  return ids.map((id) => {
    if (id === ME) return actor.id;
    const found = named === undefined ? id : named.get(id)?.id;
    if (found !== undefined) return found;
    throw new ApiError('parameter_invalid', `Must be the id of an actor of the account, or ${words}.`, {
      param,
    });
  });
}
