import type { Role } from '../protocol/resources/role.ts';
import type { User } from '../protocol/resources/user.ts';
import type { UserProfile } from './users.ts';

/** `role` is null where it was not asked for. */
export function presentUser(row: UserProfile, role: Role | null): User {
  return {
    id: row.id,
    object: 'user',
    actor_id: row.id,
    name: row.name,
    email: row.email,
    status: row.deactivated ? 'deactivated' : 'active',
    role,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
