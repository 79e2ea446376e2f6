/**
 * The comparisons of columns with constants in a text of SQL, by patterns: near enough for this
 * project's SQL. Comparisons that it cannot resolve are judged by every table with such a column.
 */

/** A column that is compared with a constant. */
export interface Comparison {
  /** The tables that the column may be of; empty: the text does not say. */
  readonly tables: readonly string[];
  readonly column: string;
  readonly value: string;
}

/** Returns the comparisons of columns of `tables` with constants, `<column> = '…'` and so on. */
export function comparisonsIn(sql: string, tables: ReadonlySet<string>): Comparison[] {
  const text = sql.replaceAll(/--.*$/gm, '').replaceAll(/::(?:text|character varying)(\[\])?/g, '');
  const names = namesIn(text, tables);
  return [...constantsIn(text)].map(({ qualifier, column, value }) => ({
    column,
    value,
    tables: (qualifier === undefined ? [...new Set([...names.values()].flat())] : names.get(qualifier)) ?? [],
  }));
}

/**
 * Returns the names of tables and their aliases, each with the tables that it stands for somewhere
 * in the text.
 */
function namesIn(text: string, tables: ReadonlySet<string>): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const [, table = '', alias = table] of text.matchAll(NAMES)) {
    if (!tables.has(table)) continue;
    for (const name of KEYWORDS.has(alias.toUpperCase()) ? [table] : [table, alias]) {
      names.set(name, [...(names.get(name) ?? []), table]);
    }
  }
  return names;
}

const NAMES = /(?:\b(?:FROM|JOIN|UPDATE|INTO|ON|USING|ONLY)|,)\s+(?:public\.)?(\w+)(?:\s+(?:AS\s+)?(\w+))?/gi;

const KEYWORDS = new Set(
  (
    'WHERE ON SET JOIN LEFT RIGHT INNER CROSS FULL NATURAL ORDER GROUP LIMIT OFFSET FOR UNION EXCEPT INTERSECT ' +
    'USING VALUES RETURNING SELECT DEFAULT HAVING WINDOW TABLESAMPLE LATERAL AS AND OR WHEN THEN'
  ).split(' '),
);

interface Constant {
  /** Alias or table; undefined: none. */
  readonly qualifier: string | undefined;
  readonly column: string;
  readonly value: string;
}

function* constantsIn(text: string): Generator<Constant> {
  for (const { groups } of text.matchAll(ONE)) yield constant(groups, groups?.value);
  for (const { groups } of text.matchAll(REVERSED)) yield constant(groups, groups?.value);
  for (const { groups } of text.matchAll(SEVERAL)) {
    for (const [, value] of (groups?.values ?? '').matchAll(QUOTED)) yield constant(groups, value);
  }
  for (const { groups } of text.matchAll(ARRAY)) {
    for (const value of (groups?.values ?? '').split(',')) yield constant(groups, value.trim());
  }
  for (const { groups } of text.matchAll(CASE)) {
    for (const [, value] of (groups?.cases ?? '').matchAll(WHEN)) yield constant(groups, value);
  }
}

function constant(groups: Readonly<Record<string, string>> | undefined, value: string | undefined): Constant {
  return { qualifier: groups?.qualifier, column: groups?.column ?? '', value: value ?? '' };
}

const COLUMN = String.raw`(?<![\w'".$])\(?(?:(?<qualifier>[a-z_]\w*)\.)?(?<column>[a-z_]\w*)\)?`;
const VALUE = "'(?<value>[^'$]*)'";
const EQUALITY = String.raw`(?:=|<>|!=|IS\s+(?:NOT\s+)?DISTINCT\s+FROM)`;
const ONE = new RegExp(String.raw`${COLUMN}\s*${EQUALITY}\s*${VALUE}`, 'gi');
const REVERSED = new RegExp(String.raw`(?<![\w'])${VALUE}\s*${EQUALITY}\s*${COLUMN}`, 'gi');
const LIST = String.raw`\(?\s*(?<values>'[^'$]*'(?:\s*,\s*'[^'$]*')*)\s*\)?`;
const SEVERAL = new RegExp(
  String.raw`${COLUMN}\s*(?:(?:NOT\s+)?IN\s*\(|(?:=|<>)\s*(?:ANY|ALL)\s*\(+\s*ARRAY\s*\[)${LIST}`,
  'gi',
);
const ARRAY = new RegExp(String.raw`${COLUMN}\s*(?:=|<>)\s*(?:ANY|ALL)\s*\(\s*'\{(?<values>[^}$]*)\}'`, 'gi');
const CASE = new RegExp(
  String.raw`\bCASE\s+${COLUMN}\s+(?<cases>(?:WHEN\s+'[^'$]*'(?:\s*,\s*'[^'$]*')*\s+THEN(?:(?!\bWHEN\b|\bEND\b)[\s\S])*)+)`,
  'gi',
);
const WHEN = /\bWHEN\s+'([^'$]*)'\s+THEN/gi;
const QUOTED = /'([^'$]*)'/g;
