/** Records which live process owns a directory; owners that died without release are ignored. */

import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { runAs } from './account.ts';

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

/** Returns whether the file at `path` names a live process. */
export async function isOwned(path: string): Promise<boolean> {
  return (await livingOwner(await contentOf(path))) !== undefined;
}

/** Returns whether `pid` is a running process; a zombie is not. */
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
  // Two processes that find the same stale file must not remove each other's new one. Rename it to
  // a name of our own, check that it is the judged file, and put it back if it is not.
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

/** Links the file, which fails if it exists: it appears complete, and for one claimant only. */
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

interface ProcessFacts {
  /** Differs from that of a later process with the same pid; comparable between two reboots. */
  readonly startTime: string;
  /** Whether it has ended and its parent has not collected its status. */
  readonly isZombie: boolean;
  /** Its command line as one line; empty for a zombie. */
  readonly command: string;
}

/** Returns undefined if there is no such process, or nothing is known about it. */
export function findProcess(pid: number): Promise<ProcessFacts | undefined> {
  return process.platform === 'linux' ? fromProc(pid) : fromPs(pid);
}

export async function fromProc(pid: number): Promise<ProcessFacts | undefined> {
  try {
    const [stat, cmdline] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
    ]);
    // The fields from the state on: the name before them may contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const command = cmdline.split('\0').join(' ').trimEnd();
    // The start time is in clock ticks since the boot.
    return { startTime: fields[19] ?? '', isZombie: fields[0] === 'Z', command };
  } catch {
    return undefined;
  }
}

export async function fromPs(pid: number): Promise<ProcessFacts | undefined> {
  // Without -ww, the ps of macOS and the BSDs truncates lines at 79 characters off a terminal.
  const fields = ['-o', 'stat=', '-o', 'lstart=', '-o', 'args='];
  const line = await runAs(undefined, 'ps', ['-ww', ...fields, '-p', String(pid)]).catch(() => '');
  return parsePsLine(line);
}

/** Parses `S+   Sun Nov 22 01:00:03 2026     /usr/bin/postgres -D /data`. */
export function parsePsLine(line: string): ProcessFacts | undefined {
  const [, state, start, command] = /^\s*(\S+)\s+(\w+ +\w+ +\d+ +[\d:]+ +\d+)\s*(.*?)\s*$/.exec(line) ?? [];
  if (state === undefined || start === undefined || command === undefined) return undefined;
  const isZombie = state.startsWith('Z');
  return { startTime: start.replace(/ +/g, '-'), isZombie, command: isZombie ? '' : command };
}
