/** The data directory of the embedded Postgres: its place, its owner and its creation. */

import { createHash, randomBytes } from 'node:crypto';
import * as fs from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import {
  canEnter,
  dyingWithUs,
  isRoot,
  type PostgresAccount,
  runAs,
  unprivilegedAccount,
} from './account.ts';
import { type PostgresBinaries, SYSTEM_DIR } from './binaries.ts';

const SUPERUSER = 'parley';

/** The log of the caller: facts first, and a sentence on them. */
export interface PostgresLog {
  debug(facts: object, sentence: string): void;
  info(facts: object, sentence: string): void;
  warn(facts: object, sentence: string): void;
  error(facts: object, sentence: string): void;
}

export interface ClusterPlace {
  /** The directory of the data, which may not exist yet. */
  readonly directory: string;
  readonly account: PostgresAccount;
  /** Where to link to `directory`, so that people find the data below their data directory. */
  readonly linkAt?: string;
}

/**
 * Returns the place (embedded-postgres.ts has the rules); existing data is used by the account that
 * owns it. Makes only the parent directory, and does not change the cluster.
 */
export async function placeCluster(dataDir: string): Promise<ClusterPlace> {
  const asked = join(dataDir, 'postgres');
  const link = await fs.readlink(asked).catch(() => undefined);
  const directory = link === undefined ? asked : resolve(dataDir, link);
  const existing = await fs.lstat(directory).catch(() => undefined);
  if (!isRoot) {
    if (existing !== undefined && existing.uid !== process.getuid?.()) {
      throw new Error(
        `the Postgres data in ${directory} belongs to another user (uid ${existing.uid}): start Parley as that user, or set PARLEY_DATA_DIR`,
      );
    }
    return { directory, account: undefined };
  }
  const account =
    existing !== undefined && existing.uid !== 0
      ? { uid: existing.uid, gid: existing.gid }
      : await unprivilegedAccount();
  await makePassableDirectory(dirname(directory));
  if (await canEnter(account, dirname(directory))) return { directory, account };
  if (existing !== undefined || link !== undefined) {
    throw new Error(
      `the user that Postgres runs as (uid ${account?.uid}) cannot enter ${dirname(directory)}: let it ("chmod o+x" on that directory and its parents), or set DATABASE_URL`,
    );
  }
  const hash = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  const elsewhere = join(SYSTEM_DIR, hash, 'postgres');
  await makePassableDirectory(dirname(elsewhere));
  return { directory: elsewhere, account, linkAt: asked };
}

/**
 * Makes the cluster if there is none, and returns its superuser's password. The caller must own the
 * directory (owner-file.ts). A cluster is made under another name and renamed once complete: an
 * interrupted start leaves only a sibling, which is removed here.
 */
export async function prepareCluster(
  place: ClusterPlace,
  binaries: PostgresBinaries,
  durable: boolean,
  log: PostgresLog,
): Promise<{ password: string }> {
  const { directory, account, linkAt } = place;
  if (linkAt !== undefined) {
    // The operator removed the data directory to start over: the old data is kept once.
    if ((await fs.lstat(directory).catch(() => undefined)) !== undefined) {
      const aside = `${directory}.previous`;
      await fs.rm(aside, { recursive: true, force: true });
      await fs.rename(directory, aside);
      log.warn(
        { aside },
        `the link ${linkAt} is gone, starting with an empty database and keeping the old one`,
      );
    }
    await fs.symlink(directory, linkAt);
    log.info({ directory }, 'Postgres cannot run as root in the data directory, storing its data elsewhere');
  }
  await removeInterrupted(directory);
  const version = await fs.readFile(join(directory, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (version === undefined) return initialise(place, binaries, durable);
  if (version.trim() !== binaries.majorVersion) {
    throw new Error(
      `the data in ${directory} was made by Postgres ${version.trim()} and this is ${binaries.majorVersion}: move it away, or set DATABASE_URL`,
    );
  }
  if (account !== undefined && (await fs.lstat(directory)).uid === 0) {
    // Root restored or copied it.
    await runAs(undefined, 'chown', ['-R', `${account.uid}:${account.gid}`, directory]);
    await fs.chmod(directory, 0o700);
  }
  try {
    return { password: await fs.readFile(join(directory, PASSWORD_FILE), 'utf8') };
  } catch {
    throw new Error(
      `${join(directory, PASSWORD_FILE)} cannot be read: ${directory} is no data directory of Parley's`,
    );
  }
}

/** In the data directory, which only Postgres's account and root may enter. */
const PASSWORD_FILE = 'parley.password';

async function initialise(
  { directory, account }: ClusterPlace,
  binaries: PostgresBinaries,
  durable: boolean,
): Promise<{ password: string }> {
  const draft = await fs.mkdtemp(`${directory}${DRAFT_MARK}`);
  const data = join(draft, 'data');
  const passwordFile = join(draft, 'password');
  const password = randomBytes(24).toString('base64url');
  try {
    await durably(passwordFile, { flags: 'wx', mode: 0o600 }, (file) => file.writeFile(password));
    if (account !== undefined) {
      await fs.chown(draft, account.uid, account.gid);
      await fs.chown(passwordFile, account.uid, account.gid);
    }
    const command = [binaries.initdb, '-D', data, '-U', SUPERUSER, '--pwfile', passwordFile];
    command.push('-A', 'scram-sha-256', '-E', 'UTF8');
    command.push('--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C');
    // 192 random bits need no key stretching: with one round, a password costs a connection
    // nothing.
    command.push('-c', 'scram_iterations=1');
    if (!durable) command.push('--no-sync');
    const [program = '', ...args] = await dyingWithUs('KILL', command);
    await runAs(account, program, args);
    await fs.rename(passwordFile, join(data, PASSWORD_FILE));
    // An empty directory may have been made in advance.
    await fs.rmdir(directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw new Error(`it is in the way: ${error.message}`);
    });
    await fs.rename(data, directory);
    // The new name is durable only once the directory that has it is.
    if (durable) await durably(dirname(directory), { flags: 'r' });
    return { password };
  } catch (cause) {
    const reason = (cause as Error).message.trim().split('\n').at(-1);
    throw new Error(`cannot make a Postgres data directory at ${directory}: ${reason}`, { cause });
  } finally {
    await fs.rm(draft, { recursive: true, force: true });
  }
}

const DRAFT_MARK = '.init-';

async function removeInterrupted(directory: string): Promise<void> {
  const parent = dirname(directory);
  for (const name of await fs.readdir(parent)) {
    if (!name.startsWith(basename(directory) + DRAFT_MARK)) continue;
    // An initdb that outlived its parent may still write there; a later start removes the rest.
    await fs.rm(join(parent, name), { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
  }
}

/**
 * Makes a directory and its parents. New ones can be entered by every account, whatever the umask,
 * because Postgres's account has to pass through them if Parley runs as root.
 */
export async function makePassableDirectory(directory: string): Promise<void> {
  if (await isDirectory(directory)) return;
  if (dirname(directory) !== directory) await makePassableDirectory(dirname(directory));
  try {
    // Not `recursive`: below a directory that takes none, such as /proc, Node 22 retries endlessly.
    await fs.mkdir(directory);
    if (isRoot) await fs.chmod(directory, 0o711);
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!(await isDirectory(directory))) throw error;
  }
}

/** Returns false if the path is absent or no directory. Rejects if it cannot be examined. */
async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await fs.stat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Opens a file or a directory, changes it, and flushes it before it is closed. */
async function durably(
  path: string,
  { flags, mode }: { readonly flags: 'r' | 'wx'; readonly mode?: number },
  change?: (file: fs.FileHandle) => Promise<void>,
): Promise<void> {
  const file = await fs.open(path, flags, mode);
  try {
    await change?.(file);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Where the embedded Postgres listens. A Unix socket in the data directory costs less than loopback
 * and is out of other users' reach; either needs a password.
 */
export interface Address {
  /** Undefined for loopback. */
  readonly socketDirectory: string | undefined;
  readonly port: number;
}

/** The port in the name of the socket. No other server has a socket in that directory. */
export const SOCKET_PORT = 5432;

/** Longest path of a socket in bytes: the kernel's structure has this and a zero byte. */
const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

/** Returns whether the path of a socket in `directory` is short enough for the kernel. */
export function fitsSocket(directory: string, port: number): boolean {
  return Buffer.byteLength(join(directory, socketName(port))) <= MAX_PATH_BYTES;
}

/** Returns the files that Postgres makes for a socket: the socket, and the lock on its name. */
export function socketFiles(directory: string, port: number): string[] {
  const socket = join(directory, socketName(port));
  return [socket, `${socket}.lock`];
}

/** Returns the URL for `pg` and libpq; the host of a socket is its directory's encoded path. */
export function urlOf({ socketDirectory, port }: Address, password: string): string {
  const host = socketDirectory === undefined ? '127.0.0.1' : encodeURIComponent(socketDirectory);
  return `postgres://${SUPERUSER}:${password}@${host}:${port}/postgres`;
}

function socketName(port: number): string {
  return `.s.PGSQL.${port}`;
}
