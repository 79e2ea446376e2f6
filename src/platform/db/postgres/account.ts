/**
 * Postgres refuses to run as root, so a Parley that runs as root starts it under an unprivileged
 * account.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The account that a Postgres program runs as. Undefined: our own account, an ordinary user. */
export type PostgresAccount = { readonly uid: number; readonly gid: number } | undefined;

/** The environment of Postgres programs; none of our variables, least of all our secrets. */
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' };

export const isRoot = process.getuid?.() === 0;

/**
 * Returns the `postgres` account of this machine, else `nobody`; undefined for an ordinary user.
 */
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

/**
 * Runs a program as `account` to its end; rejects with its exit code and output when that is not 0.
 */
export async function runAs(
  account: PostgresAccount,
  command: string,
  args: readonly string[],
): Promise<string> {
  const { stdout } = await run(command, args, childOptions(account));
  return stdout;
}

/**
 * Whether `account` may enter `directory`. The kernel is asked, because it knows about every parent
 * and ACL.
 */
export async function canEnter(account: PostgresAccount, directory: string): Promise<boolean> {
  try {
    await runAs(account, '/bin/sh', ['-c', 'cd -- "$0"', directory]);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the command in a form in which the kernel sends it `signal` when the thread that started
 * it dies. Returns it unchanged if that is not possible: it needs Linux with util-linux (busybox
 * has a setpriv without --pdeathsig).
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
