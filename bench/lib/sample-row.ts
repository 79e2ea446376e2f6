import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../src/platform/db/connection/database.ts';
import type { SampleRow, SendSample } from './insert-script.ts';

/** Reads the rows that the send of this message left, whatever columns the schema has. */
export async function readSendSample(database: Database, messageId: string): Promise<SendSample> {
  const { rows } = await sql<{ found: boolean }>`
    SELECT to_regproc('notification_id') IS NOT NULL AS found`.execute(database.kysely);
  return {
    message: await readRow(database, 'messages', sql`id = ${messageId}`),
    notification: await readRow(database, 'notifications', sql`message_id = ${messageId}`),
    hasIdFunction: rows[0]?.found === true,
  };
}

async function readRow(database: Database, table: string, where: RawBuilder<unknown>): Promise<SampleRow> {
  const { rows: columns } = await sql<{ name: string; type: string }>`
    SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
    WHERE attrelid = ${table}::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    ORDER BY attnum`.execute(database.kysely);
  const texts = sql.join(columns.map(({ name }) => sql`${sql.ref(name)}::text AS ${sql.ref(name)}`));
  const { rows } = await sql<Record<string, string | null>>`
    SELECT ${texts} FROM ${sql.table(table)} WHERE ${where} LIMIT 1`.execute(database.kysely);
  const [row] = rows;
  if (row === undefined) throw new Error(`the send left no row in ${table}`);
  return columns.map((column) => ({ ...column, value: row[column.name] ?? null }));
}
