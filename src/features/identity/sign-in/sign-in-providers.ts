import type { Db } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { SignInProvider } from './relying-party.ts';

/** A provider as a page offers it. */
export interface OfferedProvider {
  readonly id: string;
  readonly name: string;
}

/**
 * Returns the providers by which people of an account sign in, by name. Without an account, returns
 * those of the deployment's only account that has any, because names of other accounts are secret.
 */
export async function offeredProviders(db: Db, accountId: string | null): Promise<OfferedProvider[]> {
  const found = await db.query(OFFERED, accountId);
  const isOneAccount = found.every(({ account_id }) => account_id === found[0]?.account_id);
  return isOneAccount ? found.map(({ id, name }) => ({ id, name })) : [];
}

/** Returns undefined if people cannot sign in by a provider with this id. */
export async function readSignInProvider(db: Db, id: string): Promise<SignInProvider | undefined> {
  const [provider] = await db.query(READ, id);
  return provider;
}

/** Returns the possible providers of a logout token: at most one for each account. */
export async function readProvidersOfClient(
  db: Db,
  issuer: string,
  clientIds: readonly string[],
): Promise<SignInProvider[]> {
  return db.query(READ_OF_CLIENT, issuer, clientIds);
}

const SIGNS_IN = `identity_providers p JOIN accounts a ON a.id = p.account_id AND a.deleted_at IS NULL
    WHERE p.client_id IS NOT NULL AND p.person = 'team'`;

const OFFERED = statement<[accountId: string | null], OfferedProvider & { account_id: string }>(
  'offered-providers',
)`
    SELECT p.id, p.name, p.account_id FROM ${SIGNS_IN} AND ($1::text IS NULL OR p.account_id = $1)
    ORDER BY p.name, p.id LIMIT 21`;

const READ = statement<[id: string], SignInProvider>('read-sign-in-provider')`
    SELECT p.* FROM ${SIGNS_IN} AND p.id = $1`;

const READ_OF_CLIENT = statement<[issuer: string, clientIds: readonly string[]], SignInProvider>(
  'read-providers-of-client',
)`
    SELECT p.* FROM ${SIGNS_IN} AND p.issuer = $1 AND p.client_id = ANY($2) ORDER BY p.id`;
