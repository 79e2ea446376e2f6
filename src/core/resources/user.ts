import type { Metadata } from '@parley/protocol/resources/metadata.ts';
import type { Role } from '@parley/protocol/resources/role.ts';
import { User } from '@parley/protocol/resources/user.ts';
import { NO_ADDRESS_ENDING } from '@parley/protocol/schema/addresses.ts';
import type { Selectable } from 'kysely';
import type { Schema } from '../../platform/db/tables/schema.ts';
import { NO_METADATA } from './metadata.ts';
import { presentAs } from './present-as.ts';

export type UserRow = Selectable<Schema['users']>;

/** A user with the columns of its actor that the resource shows. */
export interface UserProfile extends UserRow {
  readonly name: string;
  readonly role_id: string | null;
  readonly deactivated: boolean;
  readonly avatar_url: string | null;
  readonly metadata: Metadata | null;
  readonly external_id: string | null;
  readonly username: string | null;
}

/**
 * The source of a UserProfile. The actor holds the user's name, role and time of deactivation, so a
 * later change of the actor counts as a change of the user.
 */
export const USER = {
  columns: `
    t.id, t.account_id, a.name, t.email, t.placeholder, a.role_id, a.deactivated_at IS NOT NULL AS deactivated, a.avatar_url,
    a.external_id, a.username, a.metadata,
    t.created_at, greatest(t.updated_at, a.updated_at) AS updated_at`,
  from: 'users t JOIN actors a ON a.id = t.id',
};

export function hasAddress({ email }: Pick<UserRow, 'email'>): boolean {
  return !email.endsWith(NO_ADDRESS_ENDING);
}

/** Returns the resource; `role` is null if not requested. */
export function presentUser(row: UserProfile, role: Role | null): User {
  const status = row.deactivated ? 'deactivated' : 'active';
  return presentAs(User, {
    ...row,
    actor_id: row.id,
    email: hasAddress(row) ? row.email : null,
    status,
    role,
    metadata: row.metadata ?? NO_METADATA,
  });
}
