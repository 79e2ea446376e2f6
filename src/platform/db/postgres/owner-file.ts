/**
 * Records which live process owns a directory, and ignores owners that died without releasing it.
 */

import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { findProcess } from './process-table.ts';

export interface Ownership {
  /** Gives the directory back; a file that another process wrote meanwhile stays. */
  release(): Promise<void>;
}

/** The owner file names a live process. */
export class OwnedElsewhereError extends Error {
  readonly pid: number;

  constructor(path: string, pid: number) {
    super(`${path} belongs to process ${pid}, which is running`);
    this.pid = pid;
  }
}

/**
 * Claims the resource of the file at `path` for this process. The file holds `<pid> <start time>`;
 * the start time distinguishes the owner from a later process with the same pid, as in a restarted
 * container. Throws OwnedElsewhereError while the owner lives, this process included.
 */
export async function claimOwnership(path: string): Promise<Ownership> {
  const mine = `${process.pid} ${(await findProcess(process.pid))?.startTime ?? ''}\n`;
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, mine, { mode: 0o644 });
  try {
    while (!(await linked(draft, path))) await removeIfStale(path);
  } finally {
    await rm(draft, { force: true });
  }
  return {
    async release() {
      if ((await contentOf(path)) === mine) await rm(path, { force: true });
    },
  };
}

/** Whether the file at `path` names a live process. */
export async function isOwned(path: string): Promise<boolean> {
  return (await livingOwner(await contentOf(path))) !== undefined;
}

/** Whether `pid` is a running process; a zombie is not. */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return (await findProcess(pid))?.isZombie !== true;
}

async function removeIfStale(path: string): Promise<void> {
  const seen = await contentOf(path);
  if (seen === undefined) return;
  const owner = await livingOwner(seen);
  if (owner !== undefined) throw new OwnedElsewhereError(path, owner);
  // Two processes that find the same stale file must not remove each other's new one: rename it to
  // a name of our own, check that it is the one that was judged, and put it back if it is not.
  const aside = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if ((await contentOf(aside)) !== seen) await linked(aside, path);
  await rm(aside, { force: true });
}

async function livingOwner(content: string | undefined): Promise<number | undefined> {
  const [pidText = '', startTime = ''] = (content ?? '').trim().split(' ');
  const pid = Number(pidText);
  if (!Number.isSafeInteger(pid) || pid <= 0 || !(await isAlive(pid))) return undefined;
  const startTimeNow = (await findProcess(pid))?.startTime;
  if (startTime !== '' && startTimeNow !== undefined && startTimeNow !== startTime) return undefined;
  return pid;
}

/**
 * `link` fails if the target exists, so that the file appears complete and for one claimant only.
 */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function contentOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return undefined;
  }
}
