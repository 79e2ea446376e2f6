import type { Insertable } from 'kysely';
import { newId } from '../../contract/protocol/ids.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import type { ActorRow } from '../resources/actor.ts';

/** Creates only an actor, as agents, personas and customers need one. */
export function createActor(db: Db, actor: Omit<Insertable<Schema['actors']>, 'id'>): Promise<ActorRow> {
  return db.kysely
    .insertInto('actors')
    .values({ id: newId('actor'), ...actor })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/**
 * Returns the account's customer with this e-mail address, regardless of case: the oldest of
 * several. Locks the address until the transaction ends, so that two requests that find no customer
 * do not both create one.
 */
export async function findCustomer(
  tx: Tx,
  { accountId, email }: { readonly accountId: string; readonly email: string },
): Promise<string | undefined> {
  await tx.query(LOCK_ADDRESS, `${accountId} ${email.toLowerCase()}`);
  const [found] = await tx.query(FIND_CUSTOMER, accountId, email);
  return found?.id;
}

/** Creates the customer of a case: a user without a role. */
export function createCustomer(
  db: Db,
  { accountId, name, email }: { readonly accountId: string; readonly name: string; readonly email?: string },
): Promise<ActorRow> {
  const customer = { account_id: accountId, type: 'user', customer: true, name } as const;
  return createActor(db, { ...customer, handle: email ?? null });
}

const LOCK_ADDRESS = statement<[address: string]>('lock-customer-address')`
    SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`;

const FIND_CUSTOMER = statement<[accountId: string, email: string], { id: string }>(
  'find-customer-by-address',
)`
    SELECT id FROM actors
    WHERE account_id = $1 AND customer AND lower(handle) = lower($2)
    ORDER BY created_at, id LIMIT 1`;
