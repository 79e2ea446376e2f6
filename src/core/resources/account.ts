import type { Selectable } from 'kysely';
import type { Account } from '../../contract/protocol/resources/account.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';

export type AccountRow = Selectable<Schema['accounts']>;

export function presentAccount(row: AccountRow): Account {
  const { id, name, plan, subscription, created_at, updated_at } = row;
  return { id, object: 'account', name, plan, subscription, created_at, updated_at };
}
