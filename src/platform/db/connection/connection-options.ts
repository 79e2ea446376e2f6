/** The settings that all connections to Postgres share, and the conversion of columns to values. */

import { parseExact } from '@parley/protocol/json/exact-json.ts';
import pg from 'pg';
import { parsed } from './servers.ts';

export interface ConnectionOptionsInput {
  /** The URL of one server. */
  readonly url: string;
  /** Milliseconds after which Postgres cancels a statement; 0 for never. */
  readonly statementTimeoutMs: number;
  /** Milliseconds until the connection counts as dead, over `statementTimeoutMs`; 0 for never. */
  readonly queryTimeoutMs: number;
  /** Further settings of the session, by name. */
  readonly settings?: Readonly<Record<string, string | number>> | undefined;
  /**
   * Whether a pooler may give each transaction another session. Then only the settings are made
   * that the parsers below need and that poolers keep for each client. Any other setting would
   * apply to the next transaction of another client.
   */
  readonly isPooled?: boolean | undefined;
  /** SQL: columns that the statement of the settings reads beside them, for `onRead`. */
  readonly reads?: string;
  /** Called with the values of `reads`. A connection for which it throws is not used. */
  readonly onRead?: (client: pg.ClientBase, columns: object) => void;
}

export type ConnectionOptions = pg.ClientConfig & {
  readonly types: pg.CustomTypesConfig;
  /** The class of the client, which knows where to connect; pg's own by default. */
  readonly Client?: typeof pg.Client;
  /**
   * Applies the settings to a new connection in one round trip; a pool calls it by itself. They are
   * not in the startup message, because poolers refuse one with more than a few names.
   */
  readonly onConnect: (client: pg.ClientBase) => Promise<void>;
};

/** Throws an Error of one line if `url` is not a Postgres URL. */
export function connectionOptions(input: ConnectionOptionsInput): ConnectionOptions {
  const url = parsed(input.url);
  const settings = input.isPooled
    ? PARSED
    : {
        ...PARSED,
        statement_timeout: input.statementTimeoutMs,
        // With these settings Postgres notices a vanished node.
        tcp_keepalives_idle: 5,
        tcp_keepalives_interval: 2,
        tcp_keepalives_count: 3,
        ...INDEX_PLANS,
        ...input.settings,
      };
  const calls = Object.entries(settings).map(
    ([name, value]) => `set_config(${pg.escapeLiteral(name)}, ${pg.escapeLiteral(String(value))}, false)`,
  );
  const connectTimeout = Number(url.searchParams.get('connect_timeout') ?? 1);
  url.searchParams.delete('connect_timeout');
  // The URL has seconds, as for libpq. pg also counts the wait for a free connection of the pool.
  const connectTimeoutMs = Number.isFinite(connectTimeout) ? Math.max(0, connectTimeout * 1_000) : 1_000;
  if (!input.isPooled && input.settings?.synchronous_commit === undefined) calls.push(WAIT_FOR_DISK);
  const columns = input.reads === undefined ? calls : [...calls, input.reads];
  const apply = { text: `SELECT ${columns.join(', ')}`, query_timeout: connectTimeoutMs };
  return {
    connectionString: url.href,
    application_name: 'parley',
    keepAlive: true,
    keepAliveInitialDelayMillis: 2_000,
    connectionTimeoutMillis: connectTimeoutMs,
    onConnect: async (client) => {
      const { rows } = await client.query(apply);
      input.onRead?.(client, rows[0]);
    },
    query_timeout: input.queryTimeoutMs,
    types: columnTypes,
  };
}

/**
 * SQL: a commit is on disk before it is acknowledged. With `synchronous_commit` at `off`, from the
 * server, the database or the role, each of three crashes of Postgres lost acknowledged messages.
 * `on` is set as well, so that a later reload of the server cannot turn it off for this session.
 * The other values say how long a commit waits for standbys, and stay.
 */
const WAIT_FOR_DISK = `CASE WHEN current_setting('synchronous_commit') IN ('on', 'off')
    THEN set_config('synchronous_commit', 'on', false) END`;

/** Session settings that the parsers below expect. */
const PARSED = { TimeZone: 'UTC', DateStyle: 'ISO' } as const;

/**
 * All our statements look rows up by an index. A prepared statement keeps the plan that it got when
 * its table was empty, and for an empty table a scan looks cheapest until autovacuum runs.
 */
const INDEX_PLANS = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
} as const;

/**
 * int8 becomes a number (an error beyond 2^53: our counts and sequences stay far below).
 * timestamptz becomes ISO 8601 UTC text with six digits of microseconds, so that times compare as
 * text; date and timestamp stay as Postgres writes them. json and jsonb are parsed with all digits
 * of their numbers. The rest is pg's default: numeric and xid8 are text, bytea is a Buffer, and so
 * is cstring: the UTF-8 of a text that is not to become a string.
 */
const columnTypes: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    const parser = format === 'binary' ? undefined : PARSERS.get(oid);
    return parser ?? pg.types.getTypeParser(oid, format as 'text');
  },
};

const PARSERS = new Map<number, (text: string) => unknown>([
  [1009, parseTexts],
  [20, integer],
  [1016, arrayOf(integer)],
  [1184, readTime],
  [1185, arrayOf(readTime)],
  [114, parseExact],
  [3802, parseExact],
  [1082, (text) => text],
  [1114, (text) => text],
  [2275, Buffer.from],
]);

function integer(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`the bigint ${text} does not fit in a number`);
  return value;
}

/**
 * Converts a time that Postgres has cast to text to ISO 8601 in UTC with microseconds. The times of
 * one row are often equal, so the last result is reused.
 */
export function readTime(text: string): string {
  if (text !== lastText) {
    lastTime = parseTime(text);
    lastText = text;
  }
  return lastTime;
}

let lastText = '';
let lastTime = '';

/** Parses `2026-11-21 01:02:03.12+00`, as Postgres writes it (DateStyle ISO, TimeZone UTC). */
function parseTime(text: string): string {
  if (text.length < 22 || text[10] !== ' ' || !text.endsWith('+00')) return text; // infinity, or a year with other than four digits
  const day = text.slice(0, 10);
  const clock = text.slice(11, -3);
  if (clock.length === 15) return `${day}T${clock}Z`;
  return `${day}T${clock}${clock.length === 8 ? '.' : ''}${'0'.repeat(15 - Math.max(clock.length, 9))}Z`;
}

/** Parses an array of texts. Only quotes, nulls and nested arrays need pg's slow parser. */
function parseTexts(text: string): unknown {
  if (!PLAIN_ARRAY.test(text) || text.includes('NULL'))
    return pg.types.getTypeParser(TEXT_ARRAY, 'text')(text);
  return text === '{}' ? [] : text.slice(1, -1).split(',');
}

const TEXT_ARRAY: number = 1009;
const PLAIN_ARRAY = /^\{[^"\\{}]*\}$/;

/** Parses an array, including nulls and nested arrays. */
function arrayOf(parse: (text: string) => unknown): (text: string) => unknown {
  const each = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(each);
    return typeof item === 'string' ? parse(item) : item;
  };
  return (text) => each(parseTexts(text));
}
