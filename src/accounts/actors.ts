import type { Insertable, Kysely, Selectable } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { newId } from '../protocol/ids.ts';

export type ActorRow = Selectable<Schema['actors']>;

/** An actor without whatever it stands for: agents, personas and customers are made of one. */
export function createActor(
  db: Kysely<Schema>,
  actor: Omit<Insertable<Schema['actors']>, 'id'>,
): Promise<ActorRow> {
  return db
    .insertInto('actors')
    .values({ id: newId('actor'), ...actor })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The person outside who takes part in a support case (design.md section 7, customers): a user without a role. */
export function createCustomer(
  db: Kysely<Schema>,
  customer: { readonly accountId: string; readonly name: string; readonly email?: string },
): Promise<ActorRow> {
  const { accountId, name, email } = customer;
  return createActor(db, {
    account_id: accountId,
    type: 'user',
    customer: true,
    name,
    handle: email ?? null,
  });
}
