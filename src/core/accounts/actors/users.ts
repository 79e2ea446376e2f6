import { ApiError, alreadyExists, notFound } from '@parley/protocol/errors/errors.ts';
import type { Metadata } from '@parley/protocol/resources/metadata.ts';
import { addressless } from '@parley/protocol/schema/addresses.ts';
import { sql } from 'kysely';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { isUniqueViolation } from '../../../platform/db/connection/unavailable.ts';
import type { ActorRow } from '../../resources/actor.ts';
import { storedMetadata } from '../../resources/metadata.ts';
import { USER, type UserProfile, type UserRow } from '../../resources/user.ts';
import { FOLDED } from '../../tables/folded-tables.ts';
import { definePeopleList } from '../collections/account-list.ts';
import { enqueueActorChanged } from '../rights/rights-changed.ts';
import { createActor, writeActor } from './actors.ts';

export interface NewUser {
  readonly accountId: string;
  readonly name: string;
  /** Unique within the account, regardless of case; stored in lower case. */
  readonly email?: string | undefined;
  /** A role of the same account: see findRole. */
  readonly roleId: string;
  readonly metadata?: Metadata | undefined;
  readonly externalId?: string | undefined;
  readonly username?: string | undefined;
}

/**
 * Creates a person; user and actor have the same id. Throws `resource_exists` (param email or
 * username, or external_id, after which the transaction can go on).
 */
export async function createUser(tx: Tx, input: NewUser): Promise<{ user: UserRow; actor: ActorRow }> {
  const actor = await createActor(tx, {
    account_id: input.accountId,
    type: 'user',
    name: input.name,
    handle: input.email?.toLowerCase() ?? null,
    role_id: input.roleId,
    metadata: storedMetadata(input.metadata),
    external_id: input.externalId ?? null,
  });
  if (input.username !== undefined) await writeActor(tx, actor.id, 'user', { username: input.username });
  const email = (input.email ?? addressless(actor.id)).toLowerCase();
  const user = await tx.kysely
    .insertInto('users')
    .values({ id: actor.id, account_id: input.accountId, email })
    .onConflict((conflict) => conflict.columns(['account_id', 'email']).doNothing())
    .returningAll()
    .executeTakeFirst();
  // The transaction is rolled back, including the actor.
  if (user === undefined) throw alreadyExists('user', 'email', 'e-mail address');
  return { user, actor };
}

/**
 * Gives an address to a placeholder or a user without one. Throws `resource_exists` (param email).
 */
export async function giveAddress(tx: Tx, id: string, address: string): Promise<void> {
  const email = address.toLowerCase();
  const later = sql<string>`later_than(updated_at)`;
  await tx.kysely
    .updateTable('users')
    .set({ email, updated_at: later })
    .where('id', '=', id)
    .execute()
    .catch((error: unknown) => {
      throw isUniqueViolation(error, 'users_account_id_email_key')
        ? alreadyExists('user', 'email', 'e-mail address')
        : error;
    });
  await tx.kysely
    .updateTable('actors')
    .set({ handle: email, updated_at: later })
    .where('id', '=', id)
    .execute();
  await enqueueActorChanged(tx, id);
}

/** Throws `resource_not_found`, also for actors that are customers, agents, keys or groups. */
export async function findUser(
  db: Db,
  accountId: string,
  id: string,
  param = 'user_id',
): Promise<UserProfile> {
  const row = await readUser(db, accountId, id);
  if (row === undefined) throw notFound('user', param);
  return row;
}

/** Returns the user, or undefined for other actors than users of the account. */
export async function readUser(db: Db, accountId: string, id: string): Promise<UserProfile | undefined> {
  const [row] = await db.query(READ_USER, id, accountId);
  return row;
}

/** Reads as `readUser` does, and locks the user's actor until the transaction ends. */
export async function lockUser(tx: Tx, accountId: string, id: string): Promise<UserProfile | undefined> {
  await tx.kysely.selectFrom('actors').select('id').where('id', '=', id).forNoKeyUpdate().execute();
  return readUser(tx, accountId, id);
}

/** Finds a user of any account, for the operator. Throws `resource_not_found` (param id). */
export async function findAnyUser(db: Db, id: string): Promise<UserProfile> {
  const [row] = await db.query(READ_USER, id, null);
  if (row === undefined) throw new ApiError('resource_not_found', `There is no user ${id}.`, { param: 'id' });
  return row;
}

/** Returns whether the person was erased, which cannot be undone. */
export async function isErased(tx: Tx, id: string): Promise<boolean> {
  const erased = await tx.kysely
    .selectFrom('actors')
    .select('id')
    .where('id', '=', id)
    .where('erased_at', 'is not', null)
    .executeTakeFirst();
  return erased !== undefined;
}

/** The users of an account, newest first; searchable by name and e-mail address. */
export const USERS = definePeopleList<UserProfile>('user', {
  name: 'users',
  ...USER,
  search: ['t.email'],
  folded: { table: FOLDED.actors, alias: 'a' },
});

const READ_USER = statement<[id: string, accountId: string | null], UserProfile>('read-user')`
    SELECT ${USER.columns} FROM ${USER.from} WHERE t.id = $1 AND ($2::text IS NULL OR t.account_id = $2)`;
