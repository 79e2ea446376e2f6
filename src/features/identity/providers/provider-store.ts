import { ApiError, alreadyExists, notFound } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { type Insertable, type Selectable, sql, type UpdateObject } from 'kysely';
import { lockAccount } from '../../../core/accounts/account/accounts.ts';
import { defineAccountList } from '../../../core/accounts/collections/account-list.ts';
import { enqueueRightsChanged } from '../../../core/accounts/rights/rights-changed.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { endSignInsOfProvider } from '../sign-ins.ts';

export type ProviderRow = Selectable<Schema['identity_providers']>;

/** Most providers of an account. */
const MAX_PROVIDERS = 20;

/** Throws `resource_exists` (param issuer), or `limit_exceeded` with the quota. */
export async function insertProvider(
  tx: Tx,
  provider: Omit<Insertable<Schema['identity_providers']>, 'id'>,
): Promise<ProviderRow> {
  // Locked, so that two requests cannot both take the last place.
  await lockAccount(tx, provider.account_id);
  const known = await readProviders(tx, provider.account_id);
  if (known.some(({ issuer }) => issuer === provider.issuer)) {
    throw alreadyExists('identity provider', 'issuer');
  }
  if (known.length >= MAX_PROVIDERS) {
    const message = `An account can have ${MAX_PROVIDERS} identity providers. Delete one that is not needed.`;
    const quota = { limit: MAX_PROVIDERS, used: known.length, reset_at: null };
    throw new ApiError('limit_exceeded', message, { quota });
  }
  const row = await tx.kysely
    .insertInto('identity_providers')
    .values({ id: newId('identityProvider'), ...provider })
    .returningAll()
    .executeTakeFirstOrThrow();
  await changed(tx, row);
  return row;
}

/** Throws `resource_not_found` (param id). */
export function findProvider(db: Db, accountId: string, id: string): Promise<ProviderRow> {
  return providerOf(db, accountId, id).executeTakeFirstOrThrow(() => notFound('identity provider', 'id'));
}

/** Locks the provider until the transaction ends. Throws `resource_not_found` (param id). */
export function lockProvider(tx: Tx, accountId: string, id: string): Promise<ProviderRow> {
  return providerOf(tx, accountId, id)
    .forUpdate()
    .executeTakeFirstOrThrow(() => notFound('identity provider', 'id'));
}

/** Returns the few providers of an account, oldest first. */
export async function readProviders(db: Db, accountId: string): Promise<ProviderRow[]> {
  return db.query(READ_OF_ACCOUNT, accountId);
}

/**
 * Changes a locked provider. With `endsCredentials`, its tokens are verified again, and tickets and
 * sockets that came by them end.
 */
export async function updateProvider(
  tx: Tx,
  { id }: ProviderRow,
  changes: UpdateObject<Schema, 'identity_providers'>,
  { endsCredentials }: { readonly endsCredentials: boolean },
): Promise<ProviderRow> {
  const row = await tx.kysely
    .updateTable('identity_providers')
    .set({
      ...changes,
      ...(endsCredentials && { revision: sql<number>`revision + 1` }),
      updated_at: sql<string>`later_than(updated_at)`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await changed(tx, row);
  return row;
}

/**
 * Removes a locked provider and ends the sessions that began there. Its persons stay, with the
 * hashes of their identities.
 */
export async function deleteProvider(tx: Tx, provider: ProviderRow): Promise<void> {
  await endSignInsOfProvider(tx, provider.id);
  await tx.kysely.deleteFrom('identity_providers').where('id', '=', provider.id).execute();
  await changed(tx, provider);
}

/** The identity providers of an account, newest first; searchable by name and issuer. */
export const PROVIDERS = defineAccountList<ProviderRow>({
  name: 'identity-providers',
  columns: 't.*',
  from: 'identity_providers t',
  search: ['t.name', 't.issuer'],
});

/** Returns the subject of rights that changes with the set of an account's providers. */
export function providersOf(accountId: string): string {
  return `identity_providers ${accountId}`;
}

/** Announces a change, as every change must: nodes cache providers and what their tokens prove. */
async function changed(tx: Tx, { id, account_id }: ProviderRow): Promise<void> {
  await enqueueRightsChanged(tx, [id, providersOf(account_id)]);
}

function providerOf(db: Db, accountId: string, id: string) {
  return db.kysely
    .selectFrom('identity_providers')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id);
}

const READ_OF_ACCOUNT = statement<[accountId: string], ProviderRow>('read-identity-providers')`
    SELECT * FROM identity_providers WHERE account_id = $1 ORDER BY created_at, id`;

/** Returns the issuers at which callers can ask for tokens: with keys of their own, by the web. */
export async function readIssuers(db: Db, accountId: string): Promise<readonly string[]> {
  const providers = await db.query(READ_OF_ACCOUNT, accountId);
  return providers
    .filter(({ issuer, secret }) => secret === null && URL.parse(issuer)?.protocol.startsWith('http'))
    .map(({ issuer }) => issuer);
}
