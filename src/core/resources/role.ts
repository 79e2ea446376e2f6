import { ADMIN_PERMISSIONS, PERMISSIONS } from '@parley/protocol/permissions.ts';
import { Role } from '@parley/protocol/resources/role.ts';
import type { Selectable } from 'kysely';
import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import { presentAs } from './present-as.ts';

export type RoleRow = Selectable<Schema['roles']>;

/** Columns of the table under the alias `t`. */
export const ROLE_COLUMNS = 't.id, t.account_id, t.name, t.type, t.permissions, t.created_at, t.updated_at';

/** Returns the roles of these rows without permissions, by their ids, if they were requested. */
export async function readRolesOf(
  db: Db,
  holders: readonly { readonly role_id: string | null }[],
  include: readonly string[] = [],
): Promise<ReadonlyMap<string, Role>> {
  const ids = include.includes('role') ? holders.flatMap(({ role_id }) => role_id ?? []) : [];
  if (ids.length === 0) return new Map();
  const rows = await db.query(READ_ROLES, [...new Set(ids)]);
  return new Map(rows.map((row) => [row.id, presentRole(row, { permissions: false })]));
}

export function presentRole(row: RoleRow, { permissions }: { readonly permissions: boolean }): Role {
  return presentAs(Role, { ...row, owner: null, permissions: permissions ? permissionsOf(row) : null });
}

/** Returns permissions: for an admin role all, whatever its row says (docs/contract.md#roles). */
export function permissionsOf({ type, permissions }: RoleRow): string[] {
  return type === 'admin' ? [...PERMISSIONS, ...ADMIN_PERMISSIONS] : permissions;
}

const READ_ROLES = statement<[ids: readonly string[]], RoleRow>('read-roles')`
    SELECT ${ROLE_COLUMNS} FROM roles t WHERE t.id = ANY($1)`;
