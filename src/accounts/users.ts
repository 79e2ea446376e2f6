import type { Selectable, Transaction } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { ApiError } from '../protocol/errors.ts';
import { type ActorRow, createActor } from './actors.ts';

export type UserRow = Selectable<Schema['users']>;

export interface NewUser {
  readonly accountId: string;
  readonly name: string;
  /** Unique within the account, case ignored; kept in lower case. */
  readonly email: string;
  /** Of the same account: see findRole. */
  readonly roleId: string;
}

/** A person of the account; user and actor have one id. Throws `resource_exists` (param email). */
export async function createUser(
  tx: Transaction<Schema>,
  input: NewUser,
): Promise<{ user: UserRow; actor: ActorRow }> {
  const email = input.email.toLowerCase();
  const actor = await createActor(tx, {
    account_id: input.accountId,
    type: 'user',
    name: input.name,
    handle: email,
    role_id: input.roleId,
  });
  const user = await tx
    .insertInto('users')
    .values({ id: actor.id, account_id: input.accountId, email })
    .onConflict((conflict) => conflict.columns(['account_id', 'email']).doNothing())
    .returningAll()
    .executeTakeFirst();
  // The transaction is rolled back, and the actor with it.
  if (user === undefined) {
    throw new ApiError('resource_exists', `The account has a user with the e-mail address ${email}.`, {
      param: 'email',
    });
  }
  return { user, actor };
}
