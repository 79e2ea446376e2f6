import pg from 'pg';
import type { Logger } from '../../log.ts';
import type { Querier } from './handle.ts';
import type { Primary } from './primary.ts';
import { placeOf } from './servers.ts';
import { type Statement, statement } from './statement.ts';
import { codeOf } from './unavailable.ts';

/** The oldest Postgres that Parley is tested with, by its major version. */
const LEAST_POSTGRES = 15;

export interface RequiredServer {
  readonly pipeline: Querier;
  readonly relaxed: Querier;
  readonly direct: Pick<Primary, 'connectionOptions'>;
}

/**
 * Returns the server's version, such as `18.4`. Rejects with an Error of one line if it is older
 * than LEAST_POSTGRES, or if connections share sessions that must not: behind a pooler in
 * transaction mode, locks, settings and prepared statements would soon be another client's. With a
 * direct URL, other connections may share sessions if the pooler keeps clients' statements apart
 * and commits wait for the disk there, where a node makes no settings.
 */
export async function requireServer(
  { pipeline, relaxed, direct }: RequiredServer,
  {
    url,
    directUrl,
    log,
  }: { readonly url: string; readonly directUrl?: string | undefined; readonly log: Logger },
): Promise<string> {
  const place = placeOf(url);
  const server = await askTwo(pipeline, relaxed);
  if (server === undefined) throw directUrl === undefined ? sharedSessions(place) : sharedStatements(place);
  // Distributions append their own version: "15.14 (Debian 15.14-0+deb12u1)".
  const version = server.server_version.split(' ')[0] ?? '';
  if (!(Number.parseInt(version, 10) >= LEAST_POSTGRES)) {
    throw new Error(
      `the Postgres at ${place} is version ${version} and Parley needs ${LEAST_POSTGRES} or newer: upgrade it, or set DATABASE_URL to another`,
    );
  }
  if (directUrl === undefined) {
    if (server.isShared) throw sharedSessions(place);
  } else {
    if (server.synchronous_commit === 'off') throw unsafeSessions(place, server.role);
    if (!server.has_settings) log.warn({ place }, LACKS_SETTINGS);
    await requireSessions(direct, placeOf(directUrl), server.database);
  }
  return version;
}

async function requireSessions(
  direct: RequiredServer['direct'],
  place: string,
  database: string,
): Promise<void> {
  const limits = { statementTimeoutMs: ANSWER_MS, queryTimeoutMs: ANSWER_MS };
  const pool = new pg.Pool({ ...direct.connectionOptions(limits), max: 2 });
  const clients: pg.PoolClient[] = [];
  try {
    for (let n = 0; n < 2; n++) clients.push(await pool.connect());
    const [one, other] = clients.map(querierOf) as [Querier, Querier];
    const server = await askTwo(one, other);
    if (server === undefined || server.isShared) throw sharedSessions(place);
    if (server.database === database) return;
    throw new Error('DATABASE_URL and PARLEY_DATABASE_DIRECT_URL lead to different databases');
  } catch (cause) {
    if (codeOf(cause) === '') throw cause;
    throw new Error(`cannot reach Postgres at ${place}: ${(cause as Error).message}`, { cause });
  } finally {
    for (const client of clients) client.release();
    await pool.end();
  }
}

const ANSWER_MS = 8_000;

function querierOf(client: pg.PoolClient): Querier {
  return {
    query: async ({ name, text }, ...values) =>
      (await client.query({ name, text, values: [...values] })).rows,
  };
}

/**
 * Returns undefined if the connections do not keep their statements apart. They ask one after the
 * other: at the same time, a pooler in transaction mode would use a session for each.
 */
async function askTwo(one: Querier, other: Querier): Promise<(Server & { isShared: boolean }) | undefined> {
  const first = await askServer(one, ONE);
  const second = await askServer(other, OTHER);
  const again = await askServer(one, ONE);
  if (first === undefined || second === undefined || again?.asker !== first.asker) return undefined;
  return { ...first, isShared: first.pid === second.pid || first.pid !== again.pid };
}

/** Returns undefined if the session has, or lost, statements that another client prepared. */
async function askServer(db: Querier, question: Question): Promise<Server | undefined> {
  try {
    const [row] = await db.query(question);
    return row;
  } catch (error) {
    if (OTHERS_STATEMENTS.has(codeOf(error))) return undefined;
    throw error;
  }
}

interface Server {
  readonly asker: string;
  readonly server_version: string;
  readonly pid: number;
  readonly database: string;
  /** The name of the role, quoted where SQL needs it. */
  readonly role: string;
  readonly synchronous_commit: string;
  readonly has_settings: boolean;
}

const ONE = statement<[], Server>('server')`
    SELECT 'one' AS asker, current_setting('server_version') AS server_version, pg_backend_pid() AS pid,
      concat_ws('.', (SELECT system_identifier FROM pg_control_system()), oid) AS database,
      quote_ident(current_user) AS role, current_setting('synchronous_commit') AS synchronous_commit,
      current_setting('enable_seqscan') = 'off' AND current_setting('statement_timeout') <> '0' AS has_settings
    FROM pg_database WHERE datname = current_database()`;

/** Has the same name, so that the wrong answer shows a pooler that mixes statements up. */
const OTHER: Question = { ...ONE, text: ONE.text.replace("'one'", "'other'") };

type Question = Statement<[], Server>;

/** SQLSTATEs: a name that is new to this connection exists, or a name it has prepared does not. */
const OTHERS_STATEMENTS: ReadonlySet<string> = new Set(['42P05', '26000']);

const LACKS_SETTINGS =
  'the role has not the settings that a pooler does not keep: make them (docs/operations.md#pgbouncer), or statements may scan whole tables';

function sharedSessions(place: string): Error {
  return new Error(
    `the Postgres at ${place} is behind a pooler in transaction mode, and Parley needs sessions of its own: ` +
      'set pool_mode to session there, or PARLEY_DATABASE_DIRECT_URL to Postgres itself',
  );
}

function unsafeSessions(place: string, role: string): Error {
  return new Error(
    `the sessions behind the pooler at ${place} acknowledge commits that are not on disk (synchronous_commit = off): ` +
      `run "ALTER ROLE ${role} SET synchronous_commit = on", and RECONNECT in the pooler's console`,
  );
}

function sharedStatements(place: string): Error {
  return new Error(
    `the pooler at ${place} does not keep the prepared statements of its clients apart: ` +
      'let it be PgBouncer 1.21 or newer with max_prepared_statements = 600, or set pool_mode to session there',
  );
}

/**
 * SQL: text that identifies the cluster, the database and the tables. It differs after a dump was
 * restored anywhere, but not after a recovery to an earlier moment, where the timeline differs.
 */
export const DATABASE_ID = `(
    SELECT concat_ws('.', (SELECT system_identifier FROM pg_control_system()), oid, 'settings'::regclass::oid)
    FROM pg_database WHERE datname = current_database()
  )`;
