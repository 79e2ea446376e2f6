import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * The ids that an application has for its own users, customers, groups, agents and conversations.
 * Each is unique for its kind in the account, and equal only byte for byte. The first four kinds
 * are actors, which type and `customer` tell apart.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const STATEMENTS = [
  'ALTER TABLE actors ADD COLUMN external_id text COLLATE "C"',
  'ALTER TABLE conversations ADD COLUMN external_id text COLLATE "C"',
  `CREATE UNIQUE INDEX actors_external_id ON actors (account_id, type, customer, external_id)
    WHERE external_id IS NOT NULL`,
  `CREATE UNIQUE INDEX conversations_external_id ON conversations (account_id, external_id)
    WHERE external_id IS NOT NULL`,
];
