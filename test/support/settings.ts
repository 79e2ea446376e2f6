import type { Database } from '../../src/platform/db/connection/database.ts';

/** Returns the names written into `settings` since the migrations, in order. */
export async function settingsOf({ kysely }: Pick<Database, 'kysely'>): Promise<string[]> {
  const rows = await kysely
    .selectFrom('settings')
    .select('name')
    .where('name', '<>', 'schema_usable_from')
    .orderBy('name')
    .execute();
  return rows.map(({ name }) => name);
}
