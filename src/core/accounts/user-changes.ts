import { sql } from 'kysely';
import { ApiError } from '../../contract/protocol/errors.ts';
import type { MetadataChanges } from '../../contract/protocol/resources/metadata.ts';
import type { Principal } from '../../platform/access/principal.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { auditAccount } from '../audit/audit.ts';
import { mergedMetadata } from '../resources/metadata.ts';
import type { UserProfile } from '../resources/user.ts';
import { lockAccount } from './accounts.ts';
import { requireGrant } from './grants.ts';
import { enqueueActorChanged, enqueueRightsChanged } from './rights-changed.ts';
import { findRoleById } from './roles.ts';
import { findUser, isErased, setActive } from './users.ts';

/** Absent fields stay unchanged. */
export interface UserChanges {
  readonly name?: string | undefined;
  readonly role_id?: string | undefined;
  readonly metadata?: MetadataChanges | undefined;
}

/**
 * Update User (docs/contract.md#users): a new role applies to every credential and open socket of
 * the user from the commit. The caller needs every permission of the old and the new role, and the
 * account keeps an active admin. Throws ApiError `resource_not_found` (param id or role_id),
 * `insufficient_permissions` or `resource_conflict`.
 */
export async function changeUser(
  tx: Tx,
  principal: Principal,
  id: string,
  { name, role_id: roleId, metadata }: UserChanges,
): Promise<UserProfile> {
  const { accountId } = principal;
  await lockAccount(tx, accountId);
  const user = await findUser(tx, accountId, id, 'id');
  const role = user.role_id === null ? undefined : await findRoleById(tx, accountId, user.role_id);
  if (role !== undefined) requireGrant(principal, role);
  if (await isErased(tx, id)) {
    throw new ApiError('resource_conflict', 'This user was erased for good. Create a new one instead.');
  }
  if (roleId !== undefined) {
    const next = await findRoleById(tx, accountId, roleId);
    requireGrant(principal, next);
    if (role?.type === 'admin' && next.type !== 'admin' && !user.deactivated) {
      await requireAnotherAdmin(tx, accountId, id, 'given another role');
    }
  }
  return writeUser(tx, principal, user, { name, role_id: roleId, metadata });
}

/** Writes the checked changes of a user, and announces and audits them if there are any. */
export async function writeUser(
  tx: Tx,
  principal: Principal,
  user: UserProfile,
  { name = user.name, role_id = user.role_id ?? undefined, metadata: stated }: UserChanges,
): Promise<UserProfile> {
  const { id } = user;
  const hasNewRole = role_id !== undefined && role_id !== user.role_id;
  const metadata = mergedMetadata(user.metadata, stated);
  const fields = [
    ...(name === user.name ? [] : ['name']),
    ...(hasNewRole ? ['role_id'] : []),
    ...(metadata === undefined ? [] : ['metadata']),
  ];
  if (fields.length === 0) return user;
  await tx.kysely
    .updateTable('actors')
    .set({
      name,
      ...(hasNewRole && { role_id }),
      ...(metadata !== undefined && { metadata: metadata.column }),
      updated_at: sql<string>`later_than(updated_at)`,
    })
    .where('id', '=', id)
    .execute();
  if (name !== user.name) await enqueueActorChanged(tx, id);
  else if (hasNewRole) await enqueueRightsChanged(tx, [id]);
  const roles = hasNewRole && { from: user.role_id, to: role_id };
  await auditAccount(tx, principal, 'user.updated', {
    user_id: id,
    fields,
    ...(metadata !== undefined && { metadata_keys: metadata.keys }),
    ...roles,
  });
  return findUser(tx, principal.accountId, id, 'id');
}

/**
 * Deactivates or activates a user. The caller needs every permission of the user's role. Users
 * cannot deactivate themselves, and the account keeps an active admin. Throws ApiError
 * `resource_not_found` (param id), `insufficient_permissions` or `resource_conflict`.
 */
export async function changeActivation(
  tx: Tx,
  principal: Principal,
  id: string,
  isActive: boolean,
): Promise<UserProfile> {
  const { accountId, actor } = principal;
  // Two admins cannot deactivate each other concurrently.
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
  await auditAccount(tx, principal, isActive ? 'user.activated' : 'user.deactivated', { user_id: id });
  return changed;
}

/** Throws ApiError `resource_conflict` unless the account has another active admin. */
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
