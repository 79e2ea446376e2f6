/** What every connection to Postgres has in common: its settings and how columns become values. */

import pg from 'pg';

export interface ConnectionOptionsInput {
  readonly url: string;
  /** After this long Postgres cancels a statement by itself, in milliseconds; 0: never. */
  readonly statementTimeoutMs: number;
  /** After this long the connection counts as dead, in milliseconds; 0: never. More than the above. */
  readonly queryTimeoutMs: number;
  /** Further settings of the session, by name. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

/** Throws an Error with one line when `url` is no Postgres URL. */
export function connectionOptions(input: ConnectionOptionsInput): pg.ClientConfig {
  const url = parsed(input.url);
  const settings = {
    // The parsers below rely on these two. The keepalives let Postgres notice a node that vanished.
    TimeZone: 'UTC',
    DateStyle: 'ISO',
    tcp_keepalives_idle: 5,
    tcp_keepalives_interval: 2,
    tcp_keepalives_count: 3,
    ...INDEX_PLANS,
    ...input.settings,
  };
  const ours = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  // pg lets the URL's `options` replace ours: join them, ours last, so that ours count.
  const theirs = url.searchParams.get('options');
  if (theirs !== null) url.searchParams.delete('options');
  return {
    connectionString: url.href,
    options: [...(theirs === null ? [] : [theirs]), ...ours].join(' '),
    application_name: 'parley',
    keepAlive: true,
    keepAliveInitialDelayMillis: 2_000,
    connectionTimeoutMillis: 1_000,
    statement_timeout: input.statementTimeoutMs,
    query_timeout: input.queryTimeoutMs,
    types: columnTypes,
  };
}

/**
 * Every statement of ours looks rows up by an index. A prepared statement keeps the plan that it was given
 * when its table was empty, and over an empty table a scan looks cheapest, until autovacuum comes by.
 */
const INDEX_PLANS = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
} as const;

/** `host:port/database`, for people: without the password. */
export function placeOf(url: string): string {
  const { host, pathname } = parsed(url);
  return `${host || 'localhost'}${pathname}`;
}

/**
 * int8 as a number (an error beyond 2^53: our counts and sequences stay far below), timestamptz as ISO 8601
 * UTC text with six digits of microseconds, so that times compare as text; date and timestamp as Postgres
 * writes them. The rest as pg does it: numeric and xid8 are text, jsonb is parsed, bytea is a Buffer.
 */
const columnTypes: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    const parser = format === 'binary' ? undefined : PARSERS.get(oid);
    return parser ?? pg.types.getTypeParser(oid, format as 'text');
  },
};

const PARSERS = new Map<number, (text: string) => unknown>([
  [20, integer],
  [1016, arrayOf(integer)],
  [1184, readTime],
  [1185, arrayOf(readTime)],
  [1082, (text) => text],
  [1114, (text) => text],
]);

function integer(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`the bigint ${text} does not fit in a number`);
  return value;
}

/** ISO 8601 in UTC with microseconds of a time as Postgres casts it to text. The times of one row are often the same. */
export function readTime(text: string): string {
  if (text !== lastText) {
    lastTime = parseTime(text);
    lastText = text;
  }
  return lastTime;
}

let lastText = '';
let lastTime = '';

/** From `2026-11-21 01:02:03.12+00`, as Postgres writes with DateStyle ISO and TimeZone UTC. */
function parseTime(text: string): string {
  if (text.length < 22 || text[10] !== ' ' || !text.endsWith('+00')) return text; // infinity, or far from our era
  const day = text.slice(0, 10);
  const clock = text.slice(11, -3);
  if (clock.length === 15) return `${day}T${clock}Z`;
  return `${day}T${clock}${clock.length === 8 ? '.' : ''}${'0'.repeat(15 - Math.max(clock.length, 9))}Z`;
}

/** From pg's array of texts, nulls and nesting included. */
function arrayOf(parse: (text: string) => unknown): (text: string) => unknown {
  const textArray: number = 1009;
  const parseTexts: (text: string) => unknown = pg.types.getTypeParser(textArray, 'text');
  const each = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(each);
    return typeof item === 'string' ? parse(item) : item;
  };
  return (text) => each(parseTexts(text));
}

function parsed(url: string): URL {
  try {
    const result = new URL(url);
    if (/^postgres(ql)?:$/.test(result.protocol)) return result;
  } catch {
    // Said below; the URL itself is not, it may hold a password.
  }
  throw new Error('DATABASE_URL is not of the form postgres://user:password@host:port/database');
}
