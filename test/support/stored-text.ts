import { sql } from 'kysely';
import type { Db } from '../../src/platform/db/connection/handle.ts';

/**
 * Returns the columns of the whole database in which some row contains the text, as
 * `schema.table.column` in order: an empty list means that the text is gone. Looks into every
 * column of a text, JSON, array or bytea type of every table, including the job queue's, so that
 * tables added later are searched too. The text must be plain ASCII without quotes and backslashes,
 * which JSON would escape. Encrypted answers are not searched.
 */
export async function storedText(db: Db, text: string): Promise<string[]> {
  if (!/^[\w .:@-]+$/.test(text)) throw new RangeError('JSON would escape this text, so it could be missed');
  const columns = await sql<Column>`
    SELECT c.table_schema, c.table_name, c.column_name, c.data_type
    FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE t.table_type = 'BASE TABLE' AND c.table_schema NOT IN ('pg_catalog', 'information_schema')
      AND c.data_type = ANY(${SEARCHED})
    ORDER BY 1, 2, c.ordinal_position`.execute(db.kysely);
  if (columns.rows.length < MIN_COLUMNS) throw new Error('the columns of the database were not found');
  const places = await sql<{ place: string }>`${sql.join(
    columns.rows.map((column) => placeOf(column, text)),
    sql` UNION ALL `,
  )}`.execute(db.kysely);
  return places.rows.map(({ place }) => place).sort();
}

interface Column {
  readonly table_schema: string;
  readonly table_name: string;
  readonly column_name: string;
  readonly data_type: string;
}

const SEARCHED = [
  'text',
  'character varying',
  'character',
  'json',
  'jsonb',
  'xml',
  'ARRAY',
  'bytea',
  'tsvector',
];
/** The database has more columns; fewer mean that the search itself is broken. */
const MIN_COLUMNS = 100;

function placeOf({ table_schema, table_name, column_name, data_type }: Column, text: string) {
  const column = sql.ref(column_name);
  const contains =
    data_type === 'bytea'
      ? sql`position(convert_to(${text}, 'UTF8') IN ${column}) > 0`
      : sql`position(${text} IN ${column}::text) > 0`;
  const place = sql.lit(`${table_schema}.${table_name}.${column_name}`);
  return sql`SELECT ${place} AS place
    WHERE EXISTS (SELECT FROM ${sql.id(table_schema, table_name)} WHERE ${contains})`;
}
