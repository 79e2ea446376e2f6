import type { Querier } from './handle.ts';
import { statement } from './statement.ts';
import { codeOf } from './unavailable.ts';

/** The oldest Postgres that Parley is tested with, by its major version. */
export const LEAST_POSTGRES = 15;

/**
 * Returns the server's version, such as `18.4`. Rejects with an Error of one line if it is older
 * than LEAST_POSTGRES, or if the two connections share sessions: behind a pooler in transaction
 * mode, locks, settings and prepared statements would soon be another client's.
 */
export async function requireServer(
  [one, other]: readonly [Querier, Querier],
  place: string,
): Promise<string> {
  // One after the other: at the same time, such a pooler would use a session for each.
  const first = await askServer(one);
  if (first === undefined) throw sharedSessions(place);
  // Distributions append their own version: "15.14 (Debian 15.14-0+deb12u1)".
  const version = first.server_version.split(' ')[0] ?? '';
  if (!(Number.parseInt(version, 10) >= LEAST_POSTGRES)) {
    throw new Error(
      `the Postgres at ${place} is version ${version} and Parley needs ${LEAST_POSTGRES} or newer: upgrade it, or set DATABASE_URL to another`,
    );
  }
  const second = await askServer(other);
  const again = await askServer(one);
  if (first.pid === second?.pid || first.pid !== again?.pid) throw sharedSessions(place);
  return version;
}

interface Server {
  readonly server_version: string;
  readonly pid: number;
}

/** Returns undefined if the session has, or lost, statements that another client prepared. */
async function askServer(db: Querier): Promise<Server | undefined> {
  try {
    const [row] = await db.query(READ_SERVER);
    return row;
  } catch (error) {
    if (OTHERS_STATEMENTS.has(codeOf(error))) return undefined;
    throw error;
  }
}

const READ_SERVER = statement<[], Server>('server')`
    SELECT current_setting('server_version') AS server_version, pg_backend_pid() AS pid`;

/** A name that this connection has not used yet exists, or one that it has prepared does not. */
const OTHERS_STATEMENTS: ReadonlySet<string> = new Set(['42P05', '26000']);

function sharedSessions(place: string): Error {
  return new Error(
    `the Postgres at ${place} is behind a pooler in transaction mode, and Parley needs sessions of its own: ` +
      'set pool_mode to session there, or DATABASE_URL to Postgres itself',
  );
}

/**
 * SQL: text that identifies the cluster, the database and the tables, so it differs after a dump
 * was restored anywhere, but not after a recovery to an earlier moment, where the timeline differs.
 */
export const DATABASE_ID = `(
    SELECT concat_ws('.', (SELECT system_identifier FROM pg_control_system()), oid, 'settings'::regclass::oid)
    FROM pg_database WHERE datname = current_database()
  )`;
