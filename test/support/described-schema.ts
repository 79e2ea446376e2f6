import { type Kysely, sql } from 'kysely';
import type { Schema } from '../../src/platform/db/tables/schema.ts';

/**
 * Returns lines with everything about the schema `public` that can make a difference, and the rows
 * of its tables without their times. The tables of the migrator are left out. White space in
 * functions does not count.
 */
export async function describeSchema(db: Kysely<Schema>): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`${sql.raw(LINES)}`.execute(db);
  const lines = rows.map(({ line }) => line);
  for (const line of lines) {
    const [, table] = /^table (\S+) kind=[rp] /.exec(line) ?? [];
    if (table !== undefined) lines.push(...(await describeRows(db, table)));
  }
  return lines.sort();
}

async function describeRows(db: Kysely<Schema>, table: string): Promise<string[]> {
  const { rows } = await sql<{ row: string }>`
    SELECT (SELECT json_object_agg(key, value ORDER BY key) FROM jsonb_each(to_jsonb(t))
      WHERE key !~ '_at$')::text AS row
    FROM ${sql.table(table)} t`.execute(db);
  return rows.map(({ row }) => `row of ${table}: ${row}`);
}

/** SQL: the described classes. */
const CLASSES = `(SELECT * FROM pg_class WHERE relnamespace = 'public'::regnamespace
    AND relname NOT LIKE 'kysely\\_%') AS c`;

const LINES = `
    SELECT format('table %s kind=%s persistence=%s options=%s acl=%s rules=%s security=%s identity=%s',
      relname, relkind, relpersistence, reloptions, relacl, relhasrules, relrowsecurity, relreplident) AS line
    FROM ${CLASSES} WHERE relkind IN ('r', 'p', 'v', 'm')
    UNION ALL
    SELECT format('column %s.%s at=%s type=%s collation=%s not_null=%s default=%s generated=%s identity=%s storage=%s'
      ' compression=%s statistics=%s options=%s acl=%s', c.relname, a.attname, a.attnum,
      format_type(a.atttypid, a.atttypmod), a.attcollation::regcollation, a.attnotnull,
      pg_get_expr(d.adbin, d.adrelid), a.attgenerated, a.attidentity, a.attstorage, a.attcompression,
      a.attstattarget, a.attoptions, a.attacl)
    FROM ${CLASSES} JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'i')
    UNION ALL
    -- The planner takes the first of indexes that cost the same.
    SELECT format('index %s at=%s valid=%s options=%s %s', i.indexrelid::regclass,
      row_number() OVER (PARTITION BY i.indrelid ORDER BY i.indexrelid), i.indisvalid, c.reloptions,
      pg_get_indexdef(i.indexrelid))
    FROM pg_index i JOIN ${CLASSES} ON c.oid = i.indexrelid
    UNION ALL
    SELECT format('constraint %s of %s type=%s validated=%s enforced=%s %s', conname, conrelid::regclass,
      contype, convalidated, conenforced, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text !~ '^kysely_'
    UNION ALL
    SELECT format('trigger %s enabled=%s %s', tgname, tgenabled, pg_get_triggerdef(t.oid))
    FROM pg_trigger t JOIN ${CLASSES} ON c.oid = tgrelid WHERE NOT tgisinternal
    UNION ALL
    SELECT format('function %s acl=%s %s', oid::regprocedure, proacl,
      regexp_replace(pg_get_functiondef(oid), '\\s+', ' ', 'g'))
    FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL
    SELECT format('view %s %s', c.relname, pg_get_viewdef(c.oid)) FROM ${CLASSES} WHERE relkind IN ('v', 'm')
    UNION ALL
    SELECT format('sequence %s type=%s start=%s by=%s from=%s to=%s cycle=%s cache=%s of=%s', c.relname,
      s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcycle, s.seqcache,
      (SELECT format('%s %s.%s', d.deptype, d.refobjid::regclass, d.refobjsubid)
        FROM pg_depend d WHERE d.objid = c.oid AND d.refclassid = 'pg_class'::regclass))
    FROM ${CLASSES} JOIN pg_sequence s ON s.seqrelid = c.oid
    UNION ALL
    SELECT format('statistics %s', pg_get_statisticsobjdef(oid)) FROM pg_statistic_ext
    UNION ALL
    SELECT format('type %s %s', typname, typtype) FROM pg_type t
    WHERE typnamespace = 'public'::regnamespace AND typtype <> 'b' AND typrelid = 0
    UNION ALL
    SELECT format('extension %s', extname) FROM pg_extension
    UNION ALL
    SELECT format('comment %s', description) FROM pg_description d JOIN ${CLASSES} ON c.oid = d.objoid
    UNION ALL
    SELECT format('policy %s', polname) FROM pg_policy`;
