import { join } from 'node:path';
import { SUPERUSER } from './cluster.ts';

/**
 * Where the embedded Postgres listens. A Unix socket in the data directory, which only its account
 * and root may enter, costs both sides less than loopback and is out of reach of other users; a
 * password is needed on either.
 */
export interface Address {
  /** Undefined: loopback. */
  readonly socketDirectory: string | undefined;
  readonly port: number;
}

/** The port in the name of the socket. No other server has a socket in that directory. */
export const SOCKET_PORT = 5432;

/** Longest path of a socket in bytes: the kernel's structure has this and a zero byte. */
const LONGEST_PATH = process.platform === 'linux' ? 107 : 103;

/** Whether a socket in `directory` has a path that the kernel takes. */
export function fitsSocket(directory: string, port: number): boolean {
  return Buffer.byteLength(join(directory, socketName(port))) <= LONGEST_PATH;
}

/** Returns the files that Postgres makes for a socket: the socket, and the lock on its name. */
export function socketFiles(directory: string, port: number): string[] {
  const socket = join(directory, socketName(port));
  return [socket, `${socket}.lock`];
}

/**
 * Returns the URL for `pg` and libpq: `postgres://user:password@host:port/postgres`; a path as the
 * host is a socket's directory.
 */
export function urlOf({ socketDirectory, port }: Address, password: string): string {
  const host = socketDirectory === undefined ? '127.0.0.1' : encodeURIComponent(socketDirectory);
  return `postgres://${SUPERUSER}:${password}@${host}:${port}/postgres`;
}

function socketName(port: number): string {
  return `.s.PGSQL.${port}`;
}
