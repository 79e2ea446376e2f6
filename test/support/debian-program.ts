import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

export interface DebianProgram {
  /** Its names on PATH, the preferred one first. */
  readonly names: readonly string[];
  /** The package that contains it. */
  readonly package: string;
  /** The error if it is missing and cannot be installed. */
  readonly advice: string;
}

/**
 * Returns the path of a program that tests run. Installs its package if it is missing and this
 * machine allows that.
 */
export async function findProgram(program: DebianProgram): Promise<string> {
  return (await findOnPath(program.names)) ?? install(program);
}

/**
 * Returns the first of these programs that exists. Also searches the folders where Debian installs
 * servers, which are not on every PATH.
 */
export async function findOnPath(names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    for (const directory of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']) {
      const path = join(directory, name);
      const isThere = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (isThere) return path;
    }
  }
  return undefined;
}

async function install({ names, package: name, advice }: DebianProgram): Promise<string> {
  const apt = await findOnPath(['apt-get']);
  if (process.getuid?.() !== 0 || apt === undefined) throw new Error(advice);
  const run = promisify(execFile);
  // Two test files may run this at once: the second waits for the first one's lock.
  const options = ['-o', 'DPkg::Lock::Timeout=90', '-y'];
  // RUNLEVEL=1: the package starts no service.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  try {
    await run(apt, [...options, 'update'], { env }).catch(() => undefined);
    await run(apt, [...options, '--no-install-recommends', 'install', name], { env });
  } catch (cause) {
    throw new Error(`${advice}; here apt-get failed`, { cause });
  }
  const path = await findOnPath(names);
  if (path === undefined) throw new Error(advice);
  return path;
}
