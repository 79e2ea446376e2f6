import { ApiError, alreadyExists, notFound } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { Permission } from '@parley/protocol/permissions.ts';
import type { RoleType, UpdateRoleBody } from '@parley/protocol/resources/role.ts';
import { sql } from 'kysely';
import type { Principal } from '../../../api/access/principal.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { isUniqueViolation } from '../../../platform/db/connection/unavailable.ts';
import { auditAccount } from '../../audit/audit.ts';
import { ROLE_COLUMNS, type RoleRow } from '../../resources/role.ts';
import { FOLDED } from '../../tables/folded-tables.ts';
import { defineAccountList } from '../collections/account-list.ts';
import { requireGrant } from './grants.ts';
import { enqueueRightsChanged } from './rights-changed.ts';

export interface NewRole {
  readonly accountId: string;
  readonly name: string;
  /** Roles created over the API are always `user` (docs/contract.md#roles). */
  readonly type?: RoleType;
  readonly permissions: readonly Permission[];
}

/** Throws `resource_exists` (param name) if the account has a role of that name. */
export async function createRole(db: Db, role: NewRole): Promise<RoleRow> {
  return db.kysely
    .insertInto('roles')
    .values({
      id: newId('role'),
      account_id: role.accountId,
      name: role.name,
      type: role.type ?? 'user',
      permissions: [...role.permissions],
    })
    .onConflict((conflict) => conflict.columns(['account_id', 'name']).doNothing())
    .returningAll()
    .executeTakeFirstOrThrow(() => alreadyExists('role', 'name'));
}

/** Returns by name the roles that Postgres adds to a new account. */
export function addedRolesOf(db: Db, accountId: string): Promise<RoleRow[]> {
  return db.kysely
    .selectFrom('roles')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('type', 'in', ['scanner', 'sales_rep'])
    .orderBy('name', 'desc')
    .execute();
}

/** Finds a role of the account by id or name, as `findRoleById` does. */
export async function findRole(db: Db, accountId: string, idOrName: string): Promise<RoleRow> {
  const [row] = await db.query(FIND_ROLE, accountId, idOrName);
  if (row === undefined) {
    throw new ApiError('resource_not_found', `The account has no role ${idOrName}.`, { param: 'role_id' });
  }
  return row;
}

// The name of a role may equal the id of another: the id takes precedence.
const FIND_ROLE = statement<[accountId: string, idOrName: string], RoleRow>('find-role')`
    SELECT * FROM roles WHERE account_id = $1 AND (id = $2 OR name = $2)
    ORDER BY id <> $2 LIMIT 1
    FOR KEY SHARE`;

/**
 * Returns a role to be assigned; it cannot be deleted until the transaction ends. Throws
 * `resource_not_found` (param role_id), with one message for every id that is not a role of the
 * account.
 */
export async function findRoleById(db: Db, accountId: string, id: string): Promise<RoleRow> {
  return roleOf(db, accountId, id)
    .forKeyShare()
    .executeTakeFirstOrThrow(() => notFound('role', 'role_id'));
}

/** Throws `resource_not_found` (param id). */
export async function readRole(db: Db, accountId: string, id: string): Promise<RoleRow> {
  return roleOf(db, accountId, id).executeTakeFirstOrThrow(() => notFound('role', 'id'));
}

function roleOf(db: Db, accountId: string, id: string) {
  return db.kysely.selectFrom('roles').selectAll().where('account_id', '=', accountId).where('id', '=', id);
}

/** The roles of an account, newest first; searchable by name. */
export const ROLES = defineAccountList<RoleRow>({
  name: 'roles',
  columns: ROLE_COLUMNS,
  from: 'roles t',
  folded: { table: FOLDED.roles, alias: 't' },
});

/**
 * Update Role (docs/contract.md#roles): the commit changes the permissions of every user, key and
 * agent with the role. The caller needs every permission that the role grants before and after.
 * Throws ApiError `resource_not_found` (param id), `insufficient_permissions`, `resource_conflict`
 * (a role of the service) or `resource_exists` (param name).
 */
export async function changeRole(
  tx: Tx,
  principal: Principal,
  id: string,
  changes: UpdateRoleBody,
): Promise<RoleRow> {
  const role = await lockEditable(tx, principal, id);
  const { name = role.name, permissions = role.permissions } = changes;
  requireGrant(principal, { type: role.type, permissions });
  const fields = [
    ...(name === role.name ? [] : ['name']),
    ...(permissions.join() === role.permissions.join() ? [] : ['permissions']),
  ];
  if (fields.length === 0) return role;
  const row = await tx.kysely
    .updateTable('roles')
    .set({ name, permissions: [...permissions], updated_at: sql<string>`later_than(updated_at)` })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch((error: unknown) => {
      throw isUniqueViolation(error, 'roles_account_id_name_key') ? alreadyExists('role', 'name') : error;
    });
  await enqueueRightsChanged(tx, [id]);
  await auditAccount(tx, principal, 'role.updated', { role_id: id, fields });
  return row;
}

/**
 * Delete Role. Revoked or expired keys and deleted agents lose it. Throws as `changeRole` does, and
 * `resource_conflict` while a user, an active key or an agent has the role, or an identity provider
 * gives it.
 */
export async function removeRole(tx: Tx, principal: Principal, id: string): Promise<RoleRow> {
  const role = await lockEditable(tx, principal, id);
  const [holders] = await tx.query(COUNT_HOLDERS, id);
  const { users, keys, agents, providers } = holders!;
  if (users + keys + agents + providers > 0) {
    const others = providers === 0 ? [] : [counted(providers, 'identity provider')];
    const held = [counted(users, 'user'), counted(keys, 'API key'), counted(agents, 'agent'), ...others].join(
      ', ',
    );
    throw new ApiError(
      'resource_conflict',
      `The role is assigned (${held}). Give them another role, or revoke the keys, before you delete it.`,
    );
  }
  await tx.kysely.updateTable('actors').set({ role_id: null }).where('role_id', '=', id).execute();
  await tx.kysely.deleteFrom('roles').where('id', '=', id).execute();
  await auditAccount(tx, principal, 'role.deleted', { role_id: id });
  return role;
}

/** Roles of every account whose grants are fixed by code and documents (docs/contract.md#roles). */
const SERVICE_ROLES: ReadonlySet<RoleType> = new Set(['admin', 'scanner', 'sales_rep']);

/** Locks the role until the transaction ends: it cannot be assigned meanwhile. */
async function lockEditable(tx: Tx, principal: Principal, id: string): Promise<RoleRow> {
  const role = await roleOf(tx, principal.accountId, id)
    .forUpdate()
    .executeTakeFirstOrThrow(() => notFound('role', 'id'));
  if (SERVICE_ROLES.has(role.type)) {
    const message = `The role ${role.name} belongs to the service and cannot be changed or deleted. Create another role instead.`;
    throw new ApiError('resource_conflict', message);
  }
  requireGrant(principal, role);
  return role;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

const COUNT_HOLDERS = statement<
  [roleId: string],
  { users: number; keys: number; agents: number; providers: number }
>('count-role-holders')`
    SELECT
      (SELECT count(*) FROM actors a JOIN users u ON u.id = a.id WHERE a.role_id = $1) AS users,
      (SELECT count(*) FROM actors a JOIN api_keys k ON k.actor_id = a.id AND k.revoked_at IS NULL
        AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp()) WHERE a.role_id = $1) AS keys,
      (SELECT count(*) FROM agent_definitions d WHERE d.role_id = $1) AS agents,
      (SELECT count(*) FROM identity_providers p WHERE p.role_id = $1) AS providers`;
