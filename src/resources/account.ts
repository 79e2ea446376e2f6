import type { Selectable } from 'kysely';
import type { Schema } from '../db/schema.ts';
import type { Account } from '../protocol/resources/account.ts';

export type AccountRow = Selectable<Schema['accounts']>;

export function presentAccount(row: AccountRow): Account {
  const { id, name, plan, subscription, created_at, updated_at } = row;
  return { id, object: 'account', name, plan, subscription, created_at, updated_at };
}
