import type { Querier } from './handle.ts';
import { statement } from './statement.ts';

/** The oldest Postgres that Parley is tested with, by its major version. */
export const LEAST_POSTGRES = 15;

/**
 * Returns the version of the server, such as `18.4`. Rejects with an Error of one line if it is older than
 * LEAST_POSTGRES.
 */
export async function requireServerVersion(db: Querier, place: string): Promise<string> {
  const rows = await db.query(READ_VERSION);
  // Distributions append their own version: "15.14 (Debian 15.14-0+deb12u1)".
  const version = rows[0]?.server_version.split(' ')[0] ?? '';
  if (Number.parseInt(version, 10) >= LEAST_POSTGRES) return version;
  throw new Error(
    `the Postgres at ${place} is version ${version} and Parley needs ${LEAST_POSTGRES} or newer: upgrade it, or set DATABASE_URL to another`,
  );
}

const READ_VERSION = statement<[], { server_version: string }>({
  name: 'server-version',
  text: 'SHOW server_version',
});
