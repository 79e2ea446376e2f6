import { ApiError, alreadyExists } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import type { Metadata } from '@parley/protocol/resources/metadata.ts';
import { type Insertable, sql, type UpdateObject } from 'kysely';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { isUniqueViolation } from '../../../platform/db/connection/unavailable.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import type { ActorRow } from '../../resources/actor.ts';
import { storedMetadata } from '../../resources/metadata.ts';

export type NewActor = Omit<Insertable<Schema['actors']>, 'id'>;

/**
 * Creates an actor alone, for agents, personas and customers. Throws `resource_exists` (param
 * external_id), after which the transaction can go on.
 */
export async function createActor(db: Db, actor: NewActor): Promise<ActorRow> {
  const created = await db.kysely
    .insertInto('actors')
    .values({ id: newId('actor'), ...actor })
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'type', 'customer', 'external_id'])
        .where('external_id', 'is not', null)
        .doNothing(),
    )
    .returningAll()
    .executeTakeFirst();
  if (created === undefined) throw externalIdTaken(actor.customer === true ? 'customer' : actor.type);
  return created;
}

/** Writes columns of an actor. Throws `resource_exists` (param external_id or username). */
export async function writeActor(
  tx: Tx,
  id: string,
  noun: string,
  set: Pick<
    UpdateObject<Schema, 'actors'>,
    'name' | 'handle' | 'role_id' | 'external_id' | 'username' | 'metadata' | 'deactivated_at'
  >,
): Promise<void> {
  await tx.kysely
    .updateTable('actors')
    .set({ ...set, updated_at: sql<string>`later_than(updated_at)` })
    .where('id', '=', id)
    .execute()
    .catch((error: unknown) => {
      if (isUniqueViolation(error, 'actors_username')) throw alreadyExists(noun, 'username');
      throw isUniqueViolation(error, 'actors_external_id') ? externalIdTaken(noun) : error;
    });
}

/** Returns the refusal of another address: erasure finds mails by the previous address. */
export function addressStays(noun: string): ApiError {
  const message = `The email address of a ${noun} stays as it was created.`;
  return new ApiError('resource_conflict', message, { param: 'email' });
}

export function externalIdTaken(noun: string): ApiError {
  return alreadyExists(noun, 'external_id');
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

export interface NewCustomer {
  readonly accountId: string;
  readonly name: string;
  readonly email?: string | null | undefined;
  readonly externalId?: string | undefined;
  readonly metadata?: Metadata | undefined;
}

/**
 * Creates the customer of a case: a user without a role. Throws `resource_exists` (param
 * external_id), after which the transaction can go on.
 */
export function createCustomer(
  db: Db,
  { accountId, name, email, externalId, metadata }: NewCustomer,
): Promise<ActorRow> {
  const customer = { account_id: accountId, type: 'user', customer: true, name } as const;
  return createActor(db, {
    ...customer,
    handle: email ?? null,
    external_id: externalId ?? null,
    metadata: storedMetadata(metadata),
  });
}

const LOCK_ADDRESS = statement<[address: string]>('lock-customer-address')`
    SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`;

const FIND_CUSTOMER = statement<[accountId: string, email: string], { id: string }>(
  'find-customer-by-address',
)`
    SELECT id FROM actors
    WHERE account_id = $1 AND customer AND lower(handle) = lower($2)
    ORDER BY created_at, id LIMIT 1`;
