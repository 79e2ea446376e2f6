import { readdirSync, readFileSync } from 'node:fs';

/**
 * Microseconds of processor time an operation, user and system. It hardly depends on the machine's
 * other work.
 */
export interface ProcessorTime {
  /** Of the servers under measurement, ours or a control. */
  readonly node?: number;
  /** Of all processes of the Postgres server. */
  readonly postgres?: number;
  /** Of the bench itself: requests, reading sockets, pgbench. */
  readonly generator?: number;
}

/**
 * The processes whose time is charged, with their children; the generator is charged in any case.
 */
export interface Charged {
  readonly servers?: readonly { readonly pid: number }[];
  readonly postgres?: { readonly postgresPid: number };
}

/**
 * Starts to measure. Returns a function that divides the time used since then by a number of
 * operations.
 */
export function startMeter({ servers, postgres }: Charged): (operations: number) => ProcessorTime {
  const read = () => ({
    ...(servers === undefined ? {} : { node: servers.reduce((sum, { pid }) => sum + familySeconds(pid), 0) }),
    ...(postgres === undefined ? {} : { postgres: familySeconds(postgres.postgresPid) }),
    generator: withReaped(process.pid),
  });
  const before = read();
  return (operations) => perOperation(before, read(), operations);
}

type Seconds = Readonly<Record<string, number>>;

function perOperation(before: Seconds, after: Seconds, operations: number): ProcessorTime {
  const parts = Object.entries(after).map(([name, seconds]) => {
    const us = ((seconds - (before[name] ?? 0)) * 1e6) / operations;
    return [name, Math.round(us * 10) / 10];
  });
  return Object.fromEntries(parts);
}

export interface Stat {
  readonly parent: number;
  readonly session: number;
  /** In ticks since the machine started: together with its number, it tells processes apart. */
  readonly startedAt: number;
  /** Seconds of processor time of the process itself. */
  readonly own: number;
  /** Seconds of the children that it has waited for, and of their children. */
  readonly reaped: number;
}

/** Returns a process and its processor time from `/proc/<pid>/stat`. */
export function parseStat(stat: string): Stat {
  // The second field is the program's name in parentheses, which may contain spaces and parentheses
  // itself.
  const fields = stat
    .slice(stat.lastIndexOf(') ') + 2)
    .split(' ')
    .map(Number);
  const at = (index: number) => fields[index] ?? 0;
  const [user, system, reapedUser, reapedSystem] = [at(11), at(12), at(13), at(14)];
  return {
    parent: at(1),
    session: at(3),
    startedAt: at(19),
    own: (user + system) / TICKS_PER_SECOND,
    reaped: (reapedUser + reapedSystem) / TICKS_PER_SECOND,
  };
}

/** Returns the seconds of processor time of one process so far. */
export function cpuSeconds(pid: number): number {
  return processSeconds(pid).own;
}

function processSeconds(pid: number) {
  return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

function withReaped(pid: number): number {
  const { own, reaped } = processSeconds(pid);
  return own + reaped;
}

/**
 * Returns the seconds of a process, its children, and their ended children, so that the time of a
 * backend is not lost with it.
 */
export function familySeconds(pid: number): number {
  let seconds = withReaped(pid);
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const { own, parent } = parseStat(readFileSync(`/proc/${name}/stat`, 'utf8'));
      if (parent === pid) seconds += own;
    } catch {
      // The process ended meanwhile: the next reading finds its time with the parent.
    }
  }
  return seconds;
}

/** Linux's USER_HZ. */
const TICKS_PER_SECOND = 100;
