import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { hashApiKey, newApiKey } from '../access/api-keys.ts';
import type { Schema } from '../db/schema.ts';
import { ApiError } from '../protocol/errors.ts';
import { newId } from '../protocol/ids.ts';
import { type ActorRow, createActor } from './actors.ts';
import { tellRightsChanged } from './rights-changed.ts';

export type ApiKeyRow = Selectable<Schema['api_keys']>;

export interface NewKey {
  readonly accountId: string;
  readonly name: string;
  /** Of the same account: see findRole. */
  readonly roleId: string;
  /** ISO 8601; without: it does not expire. */
  readonly expiresAt?: string;
}

/** A key with an actor of its own. `key` is the secret itself, which is not to be had again. */
export async function createApiKey(
  tx: Transaction<Schema>,
  input: NewKey,
): Promise<{ key: string; apiKey: ApiKeyRow; actor: ActorRow }> {
  const { key, hash, redacted } = newApiKey();
  const actor = await createActor(tx, {
    account_id: input.accountId,
    type: 'api_key',
    name: input.name,
    handle: redacted,
    role_id: input.roleId,
  });
  const apiKey = await tx
    .insertInto('api_keys')
    .values({
      id: newId('apiKey'),
      account_id: input.accountId,
      actor_id: actor.id,
      name: input.name,
      hash,
      redacted,
      expires_at: input.expiresAt ?? null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return { key, apiKey, actor };
}

/**
 * At once and for good (specification, Authentication 4); revoking twice is revoking once. Without an
 * account: whatever account it is of, for the operator. Throws `resource_not_found` (param id).
 */
export async function revokeApiKey(
  tx: Transaction<Schema>,
  id: string,
  accountId?: string,
): Promise<ApiKeyRow> {
  const row = await tx
    .updateTable('api_keys')
    .set({
      revoked_at: sql<string>`coalesce(revoked_at, clock_timestamp())`,
      updated_at: sql<string>`CASE WHEN revoked_at IS NULL THEN later_than(updated_at) ELSE updated_at END`,
    })
    .where('id', '=', id)
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    .returningAll()
    .executeTakeFirst();
  if (row === undefined)
    throw new ApiError('resource_not_found', `There is no API key ${id}.`, { param: 'id' });
  await tellRightsChanged(tx, [row.id, row.actor_id]);
  return row;
}

/** Whether the secret opens the account now: known, of it, neither revoked nor expired. */
export async function isValidApiKey(db: Kysely<Schema>, accountId: string, key: string): Promise<boolean> {
  const row = await db
    .selectFrom('api_keys')
    .innerJoin('actors', 'actors.id', 'api_keys.actor_id')
    .select('api_keys.id')
    .where('api_keys.hash', '=', hashApiKey(key))
    .where('api_keys.account_id', '=', accountId)
    .where('api_keys.revoked_at', 'is', null)
    .where('actors.deactivated_at', 'is', null)
    .where((either) =>
      either.or([
        either('api_keys.expires_at', 'is', null),
        either('api_keys.expires_at', '>', sql<string>`clock_timestamp()`),
      ]),
    )
    .executeTakeFirst();
  return row !== undefined;
}
