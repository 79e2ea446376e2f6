import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { MetadataChanges } from '@parley/protocol/resources/metadata.ts';
import { NO_EMAIL_SINCE, type PutUserBody } from '@parley/protocol/resources/user.ts';
import { covers, type Version } from '@parley/protocol/versions.ts';
import { requirePermission } from '../../../api/access/authorize.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { auditAccount } from '../../audit/audit.ts';
import { mergedMetadata } from '../../resources/metadata.ts';
import { hasAddress, type UserProfile } from '../../resources/user.ts';
import { lockAccount } from '../account/accounts.ts';
import { addressStays, writeActor } from '../actors/actors.ts';
import { createUser, findUser, giveAddress, isErased } from '../actors/users.ts';
import { createOrChange, type Put, requiredToCreate } from '../collections/external-ids.ts';
import { requireGrant } from '../rights/grants.ts';
import { enqueueActorChanged, enqueueRightsChanged } from '../rights/rights-changed.ts';
import { findRoleById } from '../rights/roles.ts';
import { setActive } from './activation.ts';

/** Absent fields stay unchanged. */
export interface UserChanges {
  readonly name?: string | undefined;
  readonly role_id?: string | undefined;
  readonly metadata?: MetadataChanges | undefined;
  /** Null removes it. */
  readonly external_id?: string | null | undefined;
  /** Null removes it. */
  readonly username?: string | null | undefined;
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
  changes: UserChanges,
): Promise<UserProfile> {
  const { accountId } = principal;
  const { role_id: roleId } = changes;
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
  return writeUser(tx, principal, user, changes);
}

/**
 * Creates or changes the user with this external id. A user without an address gets that of the
 * body. Throws ApiError as `changeUser` does, and `missing_field` or `resource_exists` (param
 * email).
 */
export function putUser(
  tx: Tx,
  principal: Principal,
  version: Version,
  externalId: string,
  body: PutUserBody,
): Promise<Put<UserProfile>> {
  const { accountId } = principal;
  return createOrChange(tx, {
    accountId,
    kind: 'user',
    externalId,
    async create() {
      requirePermission(principal, 'users:create');
      const name = requiredToCreate('name', body.name, 'user');
      const needsEmail = !covers(version, NO_EMAIL_SINCE);
      const email = needsEmail ? requiredToCreate('email', body.email, 'user') : body.email;
      const role = await findRoleById(tx, accountId, requiredToCreate('role_id', body.role_id, 'user'));
      requireGrant(principal, role);
      const { metadata, username } = body;
      const { user } = await createUser(tx, {
        accountId,
        name,
        email,
        roleId: role.id,
        externalId,
        metadata,
        username: username ?? undefined,
      });
      return findUser(tx, accountId, user.id, 'id');
    },
    async change(id) {
      requirePermission(principal, 'users:update');
      const { email, ...changes } = body;
      const user = await changeUser(tx, principal, id, changes);
      if (email === undefined || email.toLowerCase() === user.email) return user;
      if (hasAddress(user)) throw addressStays('user');
      await giveAddress(tx, id, email);
      await auditAccount(tx, principal, 'user.updated', { user_id: id, fields: ['email'] });
      return findUser(tx, accountId, id, 'id');
    },
  });
}

/**
 * Writes the checked changes of a user, and announces and audits them if there are any. Throws
 * ApiError `resource_exists` (param external_id or username).
 */
export async function writeUser(
  tx: Tx,
  principal: Principal,
  user: UserProfile,
  {
    name = user.name,
    role_id = user.role_id ?? undefined,
    external_id = user.external_id,
    username = user.username,
    metadata: stated,
  }: UserChanges,
): Promise<UserProfile> {
  const { id } = user;
  const hasNewRole = role_id !== undefined && role_id !== user.role_id;
  const metadata = mergedMetadata(user.metadata, stated);
  const fields = [
    ...(name === user.name ? [] : ['name']),
    ...(hasNewRole ? ['role_id'] : []),
    ...(external_id === user.external_id ? [] : ['external_id']),
    ...(username === user.username ? [] : ['username']),
    ...(metadata === undefined ? [] : ['metadata']),
  ];
  if (fields.length === 0) return user;
  await writeActor(tx, id, 'user', {
    name,
    external_id,
    username,
    ...(hasNewRole && { role_id }),
    ...(metadata !== undefined && { metadata: metadata.column }),
  });
  if (name !== user.name || username !== user.username) await enqueueActorChanged(tx, id);
  else if (fields.some((field) => field !== 'metadata')) await enqueueRightsChanged(tx, [id]);
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
    if (id === actor.id)
      throw new ApiError('resource_conflict', 'You cannot deactivate yourself. Another admin can.');
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
  const another = await tx.query(FIND_OTHER_ADMIN, accountId, id);
  if (another.length > 0) return;
  throw new ApiError('resource_conflict', `The last active admin of the account cannot be ${what}.`);
}

const FIND_OTHER_ADMIN = statement<[accountId: string, id: string]>('find-other-admin')`
    SELECT FROM users u JOIN actors a ON a.id = u.id JOIN roles r ON r.id = a.role_id
    WHERE u.account_id = $1 AND u.id <> $2 AND a.deactivated_at IS NULL AND r.type = 'admin'
    LIMIT 1`;
