import { IdOf } from '@parley/protocol/schema/external-ids.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { readActorFilter } from '../../resources/actor-filter.ts';

/** The value for conversations without an assignee. */
export const UNASSIGNED = 'none';

/** The query parameter `assignee_id` of lists: a user's or group's id, or a keyword. */
export const AssigneeFilter = Object.assign(IdOf('user', 'group'), {
  minLength: 1,
  description: `Id of a user or a group; \`me\` is the caller, \`${UNASSIGNED}\` are conversations without an assignee.`,
});

/** Returns the value for the list (core/inbox/list-store.ts). Throws like readActorFilter. */
export async function readAssigneeFilter(db: Db, principal: Principal, given: string): Promise<string> {
  if (given === UNASSIGNED) return given;
  const [id] = await readActorFilter(db, principal, 'assignee_id', [given], `me or ${UNASSIGNED}`);
  return id!;
}
