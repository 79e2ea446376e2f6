import { ApiError } from '../../contract/protocol/errors.ts';
import type { Principal } from '../../platform/access/principal.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { audit } from '../audit/audit.ts';
import type { UserProfile } from '../resources/user.ts';
import { lockAccount } from './accounts.ts';
import { requireGrant } from './grants.ts';
import { findRoleById } from './roles.ts';
import { findUser, setActive } from './users.ts';

/**
 * Deactivate and Activate User. The caller needs every permission of the user's role. Users cannot
 * deactivate themselves, and the account keeps an active admin. Throws ApiError
 * `resource_not_found` (param id), `insufficient_permissions` or `resource_conflict`.
 */
export async function changeActivation(
  tx: Tx,
  principal: Principal,
  id: string,
  isActive: boolean,
): Promise<UserProfile> {
  const { accountId, actor } = principal;
  // Two admins cannot deactivate each other at the same moment.
  await lockAccount(tx, accountId);
  const user = await findUser(tx, accountId, id, 'id');
  const role = user.role_id === null ? undefined : await findRoleById(tx, accountId, user.role_id);
  if (role !== undefined) requireGrant(principal, role);
  if (user.deactivated !== isActive) return user;
  if (!isActive) {
    if (id === actor.id) throw new ApiError('resource_conflict', 'You cannot deactivate yourself.');
    if (role?.type === 'admin') await requireAnotherAdmin(tx, accountId, id, 'deactivated');
  }
  const changed = await setActive(tx, id, isActive);
  await audit(tx, {
    accountId,
    conversationId: null,
    actorId: actor.id,
    action: isActive ? 'user.activated' : 'user.deactivated',
    details: { user_id: id },
  });
  return changed;
}

/** The account keeps an active admin besides this one. Throws ApiError `resource_conflict`. */
export async function requireAnotherAdmin(
  tx: Tx,
  accountId: string,
  id: string,
  what: 'deactivated' | 'erased' | 'given another role',
): Promise<void> {
  const another = await tx.kysely
    .selectFrom('users')
    .innerJoin('actors', 'actors.id', 'users.id')
    .innerJoin('roles', 'roles.id', 'actors.role_id')
    .select('users.id')
    .where('users.account_id', '=', accountId)
    .where('users.id', '<>', id)
    .where('actors.deactivated_at', 'is', null)
    .where('roles.type', '=', 'admin')
    .executeTakeFirst();
  if (another !== undefined) return;
  throw new ApiError('resource_conflict', `The last active admin of the account cannot be ${what}.`);
}
