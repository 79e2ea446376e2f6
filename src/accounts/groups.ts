import type { Selectable, Transaction } from 'kysely';
import type { Schema } from '../db/schema.ts';
import { ApiError } from '../protocol/errors.ts';
import { newId } from '../protocol/ids.ts';
import { createActor } from './actors.ts';

export type GroupRow = Selectable<Schema['messaging_groups']>;

/** A roster or persona with the actor that messages show as its sender. Throws `resource_exists` (param name). */
export async function createGroup(
  tx: Transaction<Schema>,
  input: { readonly accountId: string; readonly name: string },
): Promise<GroupRow> {
  const { accountId, name } = input;
  const actor = await createActor(tx, { account_id: accountId, type: 'group', name });
  const group = await tx
    .insertInto('messaging_groups')
    .values({ id: newId('group'), account_id: accountId, actor_id: actor.id, name })
    .onConflict((conflict) => conflict.columns(['account_id', 'name']).doNothing())
    .returningAll()
    .executeTakeFirst();
  if (group === undefined) {
    throw new ApiError('resource_exists', `The account has a group named "${name}".`, { param: 'name' });
  }
  return group;
}
