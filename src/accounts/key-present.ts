import type { ApiKey } from '../protocol/resources/api-key.ts';
import type { Role } from '../protocol/resources/role.ts';
import type { ApiKeyProfile } from './keys.ts';

/** `role` is null where it was not asked for. */
export function presentApiKey(row: ApiKeyProfile, role: Role | null): ApiKey {
  return {
    id: row.id,
    object: 'api_key',
    name: row.name,
    redacted: row.redacted,
    actor_id: row.actor_id,
    role,
    status: row.status,
    expires_at: row.expires_at,
    revoked_at: row.revoked_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
