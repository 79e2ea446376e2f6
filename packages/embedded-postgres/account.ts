/** Postgres refuses to run as root, so under root it is started as an unprivileged account. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The account that a Postgres program runs as; undefined for our own, an ordinary user. */
export type PostgresAccount = { readonly uid: number; readonly gid: number } | undefined;

/** The environment of Postgres programs, with none of our variables and secrets. */
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' };

export const isRoot = process.getuid?.() === 0;

/** Returns the account `postgres`, else `nobody`, or undefined if this process is not root. */
export async function unprivilegedAccount(): Promise<PostgresAccount> {
  if (!isRoot) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all([idOf('-u', name), idOf('-g', name)]);
      if (uid > 0) return { uid, gid };
    } catch {
      // No such account: try the next.
    }
  }
  throw new Error(
    'Postgres refuses to run as root and there is neither a "postgres" nor a "nobody" account: set DATABASE_URL, or start Parley as an ordinary user',
  );
}

/** Returns options for a child process of `account`; libuv drops supplementary groups too. */
export function childOptions(account: PostgresAccount) {
  return { cwd: '/', env: ENVIRONMENT, ...account };
}

/** Runs a program as `account`. Rejects with its exit code and output if the code is not 0. */
export async function runAs(
  account: PostgresAccount,
  command: string,
  args: readonly string[],
): Promise<string> {
  const { stdout } = await run(command, args, childOptions(account));
  return stdout;
}

/** Returns whether `account` may enter `directory`, by the kernel, which knows parents and ACLs. */
export async function canEnter(account: PostgresAccount, directory: string): Promise<boolean> {
  try {
    await runAs(account, '/bin/sh', ['-c', 'cd -- "$0"', directory]);
    return true;
  } catch {
    return false;
  }
}

/**
 * Wraps the command so that the kernel sends it `signal` when the thread that started it dies;
 * unchanged without Linux and util-linux (busybox's setpriv has no --pdeathsig).
 */
export async function dyingWithUs(signal: 'INT' | 'KILL', command: readonly string[]): Promise<string[]> {
  const prefix = ['setpriv', `--pdeathsig=${signal}`, '--'];
  return runAs(undefined, 'setpriv', [...prefix.slice(1), 'true']).then(
    () => [...prefix, ...command],
    () => [...command],
  );
}

const run = promisify(execFile);

async function idOf(flag: '-u' | '-g', name: string): Promise<number> {
  return Number(await runAs(undefined, 'id', [flag, name]));
}
