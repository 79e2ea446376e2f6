import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * operators: the users that see the installation as a whole, whatever their roles in their
 * accounts. Only the operator's commands write it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `CREATE TABLE operators (
        user_id text COLLATE "C" PRIMARY KEY REFERENCES users,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp()
      )`,
    )
    .execute(db);
}
