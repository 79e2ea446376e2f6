import { type Kysely, sql } from 'kysely';
import { DATABASE_ID } from '../connection/server-version.ts';
import type { Schema } from '../tables/schema.ts';

/** The setting that names the database whose transactions `changed_in` holds; part of a dump. */
const SETTING = 'changed_in_of';

/**
 * Gives a new `changed_in` to rows that name a transaction which this database has not reached. A
 * new cluster counts from the start, so every resume would send the rows of a restored dump again
 * until it has caught up. Returns the number of changed rows of each table. Reads tables only if
 * the database was restored or moved. Nodes that start together take turns. `db` must have no time
 * limit.
 */
export async function renewRows(db: Kysely<Schema>): Promise<{ table: string; rows: number }[]> {
  const id = await databaseId(db);
  const known = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', SETTING)
    .executeTakeFirst();
  if (known?.value === id) return [];
  return db.transaction().execute(async (tx) => {
    await tx
      .insertInto('settings')
      .values({ name: SETTING, value: '' })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute();
    // Another node waits here until this one is done, and then sees its value.
    const { value } = await tx
      .selectFrom('settings')
      .select('value')
      .where('name', '=', SETTING)
      .forUpdate()
      .executeTakeFirstOrThrow();
    if (value === id) return [];
    const renewed: { table: string; rows: number }[] = [];
    for (const { table, column } of await streamedColumns(tx)) {
      const { numAffectedRows = 0n } = await sql`
        UPDATE ${sql.table(table)} SET ${sql.ref(column)} = pg_current_xact_id()
        WHERE ${sql.ref(column)} > pg_current_xact_id()`.execute(tx);
      if (numAffectedRows > 0n) renewed.push({ table, rows: Number(numAffectedRows) });
    }
    await tx.updateTable('settings').set({ value: id }).where('name', '=', SETTING).execute();
    return renewed;
  });
}

async function databaseId(db: Kysely<Schema>): Promise<string> {
  const { rows } = await sql<{ id: string }>`SELECT ${sql.raw(DATABASE_ID)} AS id`.execute(db);
  return rows[0]!.id;
}

/** Returns the columns that a resume compares with its cursor. */
async function streamedColumns(db: Kysely<Schema>): Promise<{ table: string; column: string }[]> {
  const { rows } = await sql<{ table: string; column: string }>`
    SELECT c.relname AS table, a.attname AS column FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE a.attname IN ('changed_in', 'purged_in') AND NOT a.attisdropped AND c.relkind = 'r'
      AND c.relnamespace = current_schema()::regnamespace
    ORDER BY c.relname, a.attname`.execute(db);
  return rows;
}
