import { ApiError, alreadyExists, notFound } from '../../contract/protocol/errors.ts';
import { newId } from '../../contract/protocol/ids.ts';
import type { Permission } from '../../contract/protocol/permissions.ts';
import type { RoleType } from '../../contract/protocol/resources/role.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { ROLE_COLUMNS, type RoleRow } from '../resources/role.ts';
import { defineAccountList } from './account-list.ts';

export interface NewRole {
  readonly accountId: string;
  readonly name: string;
  /** Roles made through the API are always `user` (docs/contract.md#roles). */
  readonly type?: RoleType;
  readonly permissions: readonly Permission[];
}

/** Throws `resource_exists` (param name) if the account has a role of that name. */
export async function createRole(db: Db, role: NewRole): Promise<RoleRow> {
  const row = await db.kysely
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
    .executeTakeFirst();
  if (row === undefined) {
    throw alreadyExists('role', 'name');
  }
  return row;
}

/** Returns the roles that Postgres adds to a new account, by name. */
export function addedRolesOf(db: Db, accountId: string): Promise<RoleRow[]> {
  return db.kysely
    .selectFrom('roles')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('type', 'in', ['scanner', 'sales_rep'])
    .orderBy('name', 'desc')
    .execute();
}

/** Finds a role by id or by name within the account, as findRoleById does. */
export async function findRole(db: Db, accountId: string, idOrName: string): Promise<RoleRow> {
  const row = await db.kysely
    .selectFrom('roles')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((either) => either.or([either('id', '=', idOrName), either('name', '=', idOrName)]))
    // The name of a role may equal the id of another one: the id takes precedence.
    .orderBy((order) => order.case().when('id', '=', idOrName).then(0).else(1).end())
    .limit(1)
    .forKeyShare()
    .executeTakeFirst();
  if (row === undefined) {
    throw new ApiError('resource_not_found', `The account has no role ${idOrName}.`, { param: 'role_id' });
  }
  return row;
}

/**
 * Returns the role that is to be assigned; it cannot be deleted until the transaction ends. Throws
 * `resource_not_found` (param role_id), with the same message for any id that is not a role of the
 * account.
 */
export async function findRoleById(db: Db, accountId: string, id: string): Promise<RoleRow> {
  const row = await roleOf(db, accountId, id).forKeyShare().executeTakeFirst();
  if (row === undefined) {
    throw notFound('role', 'role_id');
  }
  return row;
}

/** Throws `resource_not_found` (param id). */
export async function readRole(db: Db, accountId: string, id: string): Promise<RoleRow> {
  const row = await roleOf(db, accountId, id).executeTakeFirst();
  if (row === undefined) throw notFound('role', 'id');
  return row;
}

/**
 * Like `readRole`; the role is locked until the transaction ends, and cannot be assigned meanwhile.
 */
export async function lockRole(tx: Tx, accountId: string, id: string): Promise<RoleRow> {
  const row = await roleOf(tx, accountId, id).forUpdate().executeTakeFirst();
  if (row === undefined) throw notFound('role', 'id');
  return row;
}

function roleOf(db: Db, accountId: string, id: string) {
  return db.kysely.selectFrom('roles').selectAll().where('account_id', '=', accountId).where('id', '=', id);
}

/** The roles of an account, newest first; searched by their names. */
export const ROLES = defineAccountList<RoleRow>({
  name: 'roles',
  columns: ROLE_COLUMNS,
  from: 'roles t',
  search: ['t.name'],
});
