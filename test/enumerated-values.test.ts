/**
 * No SQL compares a column of an enumeration with a value that it cannot have: such a condition is
 * always true or always false, and no type checks it. Kysely's own conditions are typed by the
 * columns. Looked at are
 *
 * - every text that `statement()` is given while the modules of src/ load, with all that is put
 *   together in it,
 * - every template in src/ as it is written, fragments of Kysely among them,
 * - the functions and the indexes of the database.
 */

import { globSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import t, { type Test } from 'tap';
import { enumeratedColumns } from './db/enumerated-columns.ts';
import { type Comparison, comparisonsIn } from './db/sql-comparisons.ts';
import { createTestDatabase } from './support/postgres.ts';

const ROOT = resolve(import.meta.dirname, '..');
const IS_SQL = /\b(?:SELECT|UPDATE|WHERE|AND|OR|CASE|EXISTS|IN)\b|^\s*[\w.]+ (?:=|<>) '[^']*'\s*$/;
/** They run something when they are loaded. */
const COMMANDS = new Set(['src/app/main.ts', 'src/features/agents/tools/page-worker.ts']);
const COLLECT = 'collectStatement';

interface Sql {
  /** A file, or the name of a statement, a function or an index. */
  readonly place: string;
  readonly text: string;
}

const client = new pg.Client({ connectionString: (await createTestDatabase(t)).url });
await client.connect();
t.teardown(() => client.end());
const columns = await columnsOfTables();
const tables = new Set(columns.keys());

t.test('statements name only values of their sets, and each has a name of its own', async (t) => {
  const { statements, shared } = await loadStatements();
  t.strictSame(shared, [], 'a connection refuses another text under the name of the first');
  t.ok(statements.length > 300, `${statements.length} statements`);
  judge(t, statements, 300);
});

t.test('templates name only values of their sets', async (t) => {
  const paths = globSync('src/**/*.ts', { cwd: ROOT });
  const templates = paths.flatMap((place) => templatesIn(readFileSync(join(ROOT, place), 'utf8'), place));
  judge(t, templates, 200);
});

t.test('functions and indexes of the database name only values of their sets', async (t) => {
  const { rows } = await client.query<Sql>(
    `SELECT proname AS place, prosrc AS text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
     UNION ALL SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'`,
  );
  judge(t, rows, 10);
});

t.test('finds a value that the column cannot have', async (t) => {
  const found = (text: string) => problems([{ place: 'a', text }]).length;
  const wrong = [
    "SELECT FROM conversations c WHERE c.type <> 'direct'",
    "(NOT $1 OR c.type <> 'direct')",
    "SELECT FROM conversations WHERE type = 'direct'",
    "SELECT FROM conversations AS c WHERE 'direct' = c.type",
    "SELECT FROM conversations c WHERE c.type IS DISTINCT FROM 'direct'",
    "SELECT FROM conversations c WHERE c.type NOT IN ('group', 'direct')",
    "SELECT FROM conversations c WHERE c.type = ANY('{group,direct}')",
    "SELECT FROM conversations c WHERE (c.type)::text = ANY (ARRAY['group'::text, 'direct'::text])",
    "SELECT CASE c.type WHEN 'group' THEN 1 WHEN 'direct' THEN 2 END FROM conversations c",
    "SELECT FROM messages m JOIN participants p ON p.membership = 'gone'",
    "UPDATE messages SET status = 'published' WHERE id = $1",
    "SELECT FROM (SELECT * FROM conversations) x WHERE x.type = 'direct'",
  ];
  for (const text of wrong) t.equal(found(text), 1, text);
  const right = [
    "SELECT FROM conversations c WHERE c.type <> 'direct_message'",
    "SELECT FROM conversations c WHERE c.type IN ('group', 'system') AND c.title = 'direct'",
    "SELECT FROM platform_events e WHERE e.type = 'order.updated'",
    "SELECT CASE WHEN c.type = 'group' THEN 'direct' END FROM conversations c",
    "SELECT payload ->> 'status' = 'published' FROM outbox",
  ];
  for (const text of right) t.equal(found(text), 0, text);
});

/**
 * Fails for each comparison with a value that the column cannot have, and if there are fewer
 * comparisons than `atLeast`.
 */
function judge(t: Test, texts: readonly Sql[], atLeast: number): void {
  const compared = texts.flatMap(({ text }) => comparisonsIn(text, tables)).filter(isEnumerated);
  t.ok(compared.length >= atLeast, `${compared.length} comparisons`);
  t.strictSame(problems(texts), []);
}

/** Returns a line for each comparison with a value that the column cannot have. */
function problems(texts: readonly Sql[]): string[] {
  return texts.flatMap(({ place, text }) =>
    comparisonsIn(text, tables)
      .filter((comparison) => isEnumerated(comparison) && !valuesOf(comparison).has(comparison.value))
      .map(({ column, value }) => `${place} compares ${column} with '${value}'`),
  );
}

/** Whether each table that the column may be of has only certain values in it. */
function isEnumerated(comparison: Comparison): boolean {
  const { column } = comparison;
  const owners = ownersOf(comparison);
  return owners.length > 0 && owners.every((table) => enumeratedColumns.get(table)?.has(column));
}

function valuesOf(comparison: Comparison): ReadonlySet<string> {
  const { column } = comparison;
  return new Set(ownersOf(comparison).flatMap((table) => [...enumeratedColumns.get(table)!.get(column)!]));
}

/**
 * Returns the tables that the column may be of: those of the text, else all enumerations of that
 * name.
 */
function ownersOf({ tables, column }: Comparison): string[] {
  const named = tables.filter((table) => columns.get(table)?.has(column));
  if (named.length > 0) return named;
  return [...enumeratedColumns].filter(([, own]) => own.has(column)).map(([table]) => table);
}

async function columnsOfTables(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { rows } = await client.query<{ table: string; columns: string[] }>(
    `SELECT table_name AS table, array_agg(column_name::text) AS columns FROM information_schema.columns
     WHERE table_schema = 'public' GROUP BY table_name`,
  );
  return new Map(rows.map((row) => [row.table, new Set(row.columns)]));
}

/**
 * Returns the statements that the modules of src/ define while they are loaded, and the names that
 * two of them have.
 */
async function loadStatements(): Promise<{ statements: Sql[]; shared: string[] }> {
  const shared: string[] = [];
  const found = new Map<string, string>();
  Object.assign(globalThis, {
    [COLLECT]({ name, text }: { name: string; text: string }) {
      const known = found.get(name);
      if (known !== undefined && known !== text) shared.push(name);
      found.set(name, text);
    },
  });
  const url = pathToFileURL(join(ROOT, 'src/platform/db/connection/statement.ts')).href;
  let isHooked = false;
  const hooks = module.registerHooks({
    load(loaded, context, next) {
      const result = next(loaded, context);
      if (loaded !== url) return result;
      const source = String(result.source);
      const collecting = source.replace('return { name, text, isBulk: false };', (all) => {
        isHooked = true;
        return `globalThis.${COLLECT}({ name, text }); ${all}`;
      });
      return { ...result, source: collecting };
    },
  });
  for (const path of globSync('src/**/*.ts', { cwd: ROOT })) {
    if (!COMMANDS.has(path)) await import(pathToFileURL(join(ROOT, path)).href);
  }
  hooks.deregister();
  if (!isHooked) throw new Error('statement() is written in another way');
  return { statements: [...found].map(([place, text]) => ({ place, text })), shared };
}

/**
 * Returns what stands between backticks and has the words of SQL. Of a template within another it
 * returns both halves.
 */
function templatesIn(source: string, place: string): Sql[] {
  const code = source.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
  return code
    .split('`')
    .filter((text) => IS_SQL.test(text))
    .map((text) => ({ place, text }));
}
