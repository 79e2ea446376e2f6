import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { sql } from 'kysely';
import { hashApiKey, type NewApiKey, newApiKey } from '../../../api/access/api-keys.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { ActorRow } from '../../resources/actor.ts';
import { API_KEY, type ApiKeyProfile, type ApiKeyRow } from '../../resources/api-key.ts';
import { FOLDED } from '../../tables/folded-tables.ts';
import { createActor } from '../actors/actors.ts';
import { defineAccountList } from '../collections/account-list.ts';
import { enqueueRightsChanged } from '../rights/rights-changed.ts';

export interface NewKey {
  readonly accountId: string;
  readonly name: string;
  /** A role of the same account: see findRole. */
  readonly roleId: string;
  /** ISO 8601; if absent, the key does not expire. */
  readonly expiresAt?: string;
}

/** Creates a key with its own actor. `key` is the secret, which cannot be read again. */
export async function createApiKey(
  tx: Tx,
  input: NewKey,
): Promise<{ key: string; apiKey: ApiKeyRow; actor: ActorRow }> {
  const secret = newApiKey();
  const { accountId, name, roleId, expiresAt = null } = input;
  const actor = await createActor(tx, {
    account_id: accountId,
    type: 'api_key',
    name,
    handle: secret.redacted,
    role_id: roleId,
  });
  const key = { account_id: accountId, name, actor_id: actor.id, expires_at: expiresAt };
  const apiKey = await insertKey(tx, secret, key);
  return { key: secret.key, apiKey, actor };
}

/**
 * Creates a key with a new id for the same actor, role and expiration, and revokes the previous one
 * at once. Throws `resource_not_found` (param id) or `resource_conflict` (no longer active).
 */
export async function rotateApiKey(
  tx: Tx,
  accountId: string,
  id: string,
): Promise<{ key: string; apiKey: ApiKeyRow }> {
  const [old] = await tx.query(LOCK_KEY, accountId, id);
  if (old === undefined) throw noSuchKey(id);
  if (old.status !== 'active') {
    throw new ApiError(
      'resource_conflict',
      'Only an active API key can be rotated. Create a new key instead.',
    );
  }
  await revokeApiKey(tx, id, accountId);
  const secret = newApiKey();
  const { name, actor_id, expires_at } = old;
  const apiKey = await insertKey(tx, secret, { account_id: accountId, name, actor_id, expires_at });
  await tx.kysely
    .updateTable('actors')
    .set({ handle: secret.redacted, updated_at: sql<string>`later_than(updated_at)` })
    .where('id', '=', actor_id)
    .execute();
  return { key: secret.key, apiKey };
}

/**
 * Revokes a key for good (docs/contract.md#api-keys); a repetition changes nothing. Without
 * `accountId`, of any account, for the operator. Throws `resource_not_found` (param id).
 */
export async function revokeApiKey(tx: Tx, id: string, accountId?: string): Promise<ApiKeyRow> {
  const row = await tx.kysely
    .updateTable('api_keys')
    .set({
      revoked_at: sql<string>`coalesce(revoked_at, clock_timestamp())`,
      updated_at: sql<string>`CASE WHEN revoked_at IS NULL THEN later_than(updated_at) ELSE updated_at END`,
    })
    .where('id', '=', id)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .returningAll()
    .executeTakeFirstOrThrow(() => noSuchKey(id));
  await enqueueRightsChanged(tx, [row.id, row.actor_id]);
  return row;
}

/**
 * Throws ApiError `validation_failed` (param expires_at) unless Postgres' clock is before that
 * time.
 */
export async function requireFutureExpiry(db: Db, expiresAt: string): Promise<void> {
  const [row] = await db.query(IS_FUTURE, expiresAt);
  if (row?.future) return;
  throw new ApiError('validation_failed', 'Must be in the future.', { param: 'expires_at' });
}

/** Throws `resource_not_found` (param id). */
export async function findApiKey(db: Db, accountId: string, id: string): Promise<ApiKeyProfile> {
  const [row] = await db.query(READ_KEY, accountId, id);
  if (row === undefined) throw noSuchKey(id);
  return row;
}

/** Returns whether the secret is known, of this account, and neither revoked nor expired. */
export async function isValidApiKey(db: Db, accountId: string, key: string): Promise<boolean> {
  return (await db.query(FIND_VALID_KEY, accountId, hashApiKey(key))).length > 0;
}

const FIND_VALID_KEY = statement<[accountId: string, hash: ReturnType<typeof hashApiKey>]>(
  'find-valid-api-key',
)`
    SELECT FROM api_keys k JOIN actors a ON a.id = k.actor_id
    WHERE k.hash = $2 AND k.account_id = $1 AND k.revoked_at IS NULL AND a.deactivated_at IS NULL
      AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())`;

const IS_FUTURE = statement<[at: string], { readonly future: boolean }>('is-future')`
    SELECT $1::timestamptz > clock_timestamp() AS future`;

/** The keys of an account, newest first, including ended ones; searchable by name. */
export const API_KEYS = defineAccountList<ApiKeyProfile>({
  name: 'api-keys',
  ...API_KEY,
  folded: { table: FOLDED.keys, alias: 't' },
});

const READ_KEY = statement<[accountId: string, id: string], ApiKeyProfile>('read-api-key')`
    SELECT ${API_KEY.columns} FROM ${API_KEY.from} WHERE t.account_id = $1 AND t.id = $2`;

const LOCK_KEY = statement<[accountId: string, id: string], ApiKeyProfile>('lock-api-key')`
    ${READ_KEY.text} FOR UPDATE OF t`;

function insertKey(
  tx: Tx,
  { hash, redacted }: NewApiKey,
  key: Pick<ApiKeyRow, 'account_id' | 'actor_id' | 'name' | 'expires_at'>,
): Promise<ApiKeyRow> {
  return tx.kysely
    .insertInto('api_keys')
    .values({ id: newId('apiKey'), ...key, hash, redacted })
    .returningAll()
    .executeTakeFirstOrThrow();
}

function noSuchKey(id: string): ApiError {
  return new ApiError('resource_not_found', `There is no API key ${id}.`, { param: 'id' });
}
