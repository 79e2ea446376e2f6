import { Type } from 'typebox';
import type { Principal } from '../access/principal.ts';
import type { Db } from '../db/handle.ts';
import { ApiError } from '../protocol/errors.ts';
import { readNamedActors } from '../resources/actor.ts';

/** The value for conversations without an assignee. */
export const UNASSIGNED = 'none';

const ME = 'me';

/** The query parameter `assignee_id` of lists: the id of a user or group, or one of two keywords. */
export const AssigneeFilter = Type.String({
  minLength: 1,
  maxLength: 64,
  description: `Id of a user or a group; \`${ME}\` is the caller, \`${UNASSIGNED}\` are conversations without an assignee.`,
});

/**
 * Returns the filter's value for the list (inbox/list-store.ts). Throws ApiError `parameter_invalid` for an id that is not an actor
 * of the account: an empty list would hide the mistake. For customers no conversation has an assignee, and the error
 * would reveal which actors exist, so they never get it.
 */
export async function readAssigneeFilter(
  db: Db,
  { accountId, actor, customer }: Principal,
  given: string,
): Promise<string> {
  if (customer || given === UNASSIGNED) return given;
  if (given === ME) return actor.id;
  const assignee = (await readNamedActors(db, accountId, [given])).get(given);
  if (assignee !== undefined) return assignee.id;
  throw new ApiError(
    'parameter_invalid',
    `Must be the id of a user or a group of the account, ${ME} or ${UNASSIGNED}.`,
    {
      param: 'assignee_id',
    },
  );
}
