import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/** incomplete: why the text of an agent, or the answer of a turn, is not whole; null where it is. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ['messages', 'agent_run_steps']) {
    await sql`ALTER TABLE ${sql.table(table)} ADD COLUMN incomplete text`.execute(db);
  }
}
