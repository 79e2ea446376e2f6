import { ApiKey } from '@parley/protocol/resources/api-key.ts';
import type { Role } from '@parley/protocol/resources/role.ts';
import type { Selectable } from 'kysely';
import type { Schema } from '../../platform/db/tables/schema.ts';
import { presentAs } from './present-as.ts';

export type ApiKeyRow = Selectable<Schema['api_keys']>;

/** A key with its actor's role and its current status, without the hash of its secret. */
export interface ApiKeyProfile extends Omit<ApiKeyRow, 'account_id' | 'hash'> {
  readonly role_id: string | null;
  readonly status: ApiKey['status'];
}

/** The source of an ApiKeyProfile. */
export const API_KEY = {
  columns: `
    t.id, t.name, t.redacted, t.actor_id, a.role_id, t.expires_at, t.revoked_at, t.created_at, t.updated_at,
    CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked' WHEN t.expires_at <= clock_timestamp() THEN 'expired'
      ELSE 'active' END AS status`,
  from: 'api_keys t JOIN actors a ON a.id = t.actor_id',
};

/** Returns the resource; `role` is null if not requested. */
export function presentApiKey(row: ApiKeyProfile, role: Role | null): ApiKey {
  return presentAs(ApiKey, { ...row, role });
}
