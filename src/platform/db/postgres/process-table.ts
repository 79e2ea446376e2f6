/** What the system knows about a process: from /proc on Linux, from ps(1) elsewhere. */

import { readFile } from 'node:fs/promises';
import { runAs } from './account.ts';

export interface ProcessFacts {
  /**
   * Distinguishes a process from a later one with the same pid. Comparable on one machine between
   * two reboots.
   */
  readonly startTime: string;
  /** It has ended, and its parent has not collected its status. */
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
  // -ww: without it the ps of macOS and the BSDs truncates the line at 79 characters if its output
  // is no terminal.
  const fields = ['-o', 'stat=', '-o', 'lstart=', '-o', 'args='];
  const line = await runAs(undefined, 'ps', ['-ww', ...fields, '-p', String(pid)]).catch(() => '');
  return parsePsLine(line);
}

/** `S+   Sun Nov 22 01:00:03 2026     /usr/bin/postgres -D /data` */
export function parsePsLine(line: string): ProcessFacts | undefined {
  const [, state, start, command] = /^\s*(\S+)\s+(\w+ +\w+ +\d+ +[\d:]+ +\d+)\s*(.*?)\s*$/.exec(line) ?? [];
  if (state === undefined || start === undefined || command === undefined) return undefined;
  const isZombie = state.startsWith('Z');
  return { startTime: start.replace(/ +/g, '-'), isZombie, command: isZombie ? '' : command };
}
