/** Postgres refuses to run as root: root lends it an unprivileged account. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Whom a Postgres program runs as. Undefined means: as ourselves, an ordinary user. */
export type PostgresAccount = { readonly uid: number; readonly gid: number } | undefined;

/** All that Postgres programs need: nothing of ours, our secrets least of all. */
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' };

export const isRoot = process.getuid?.() === 0;

/** The `postgres` account of this machine, else `nobody`; undefined for an ordinary user. */
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

/** Options that make a child process run as `account`; libuv drops the supplementary groups too. */
export function childOptions(account: PostgresAccount) {
  return { cwd: '/', env: ENVIRONMENT, ...account };
}

/** Runs a program as `account` to its end; rejects with its exit code and output when that is not 0. */
export async function runAs(
  account: PostgresAccount,
  command: string,
  args: readonly string[],
): Promise<string> {
  const { stdout } = await run(command, args, childOptions(account));
  return stdout;
}

/** Whether `account` may enter `directory`: asked of the kernel, which knows about every parent and ACL. */
export async function canEnter(account: PostgresAccount, directory: string): Promise<boolean> {
  try {
    await runAs(account, '/bin/sh', ['-c', 'cd -- "$0"', directory]);
    return true;
  } catch {
    return false;
  }
}

/**
 * The command, such that the kernel sends it `signal` when the thread that spawns it dies; unchanged where
 * that cannot be had: it is Linux with util-linux (busybox has a setpriv that does not know --pdeathsig).
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
