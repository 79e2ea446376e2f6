import type { Selectable } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { ADMIN_PERMISSIONS, PERMISSIONS } from '../protocol/permissions.ts';
import type { Role } from '../protocol/resources/role.ts';

/** An admin role shows every permission, because it holds them all whatever its row says (docs/contract.md#roles). */
export function presentRole(
  row: Selectable<Schema['roles']>,
  { permissions }: { readonly permissions: boolean },
): Role {
  return {
    id: row.id,
    object: 'role',
    name: row.name,
    type: row.type,
    owner: null,
    permissions: permissions ? permissionsOf(row) : null,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

function permissionsOf({ type, permissions }: Selectable<Schema['roles']>): string[] {
  return type === 'admin' ? [...PERMISSIONS, ...ADMIN_PERMISSIONS] : permissions;
}
