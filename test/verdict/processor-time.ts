/**
 * Runs commands and says how much processor time each took with all its processes, including those
 * that were killed, that nobody waited for, or that outlive the command. A control group counts
 * them exactly. If none can be made (an ordinary user, most containers), `/proc` is read every
 * second; without `/proc` (macOS), only the wall time is known.
 */

import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseStat, type Stat } from '../../bench/lib/processor-time.ts';

export interface Measured {
  /** Exit code; null if a signal ended the command. */
  readonly code: number | null;
  readonly wallMs: number;
  /** So far, since processes may outlive the command; null where nothing counts it. */
  readonly processorMs: () => number | null;
}

export interface Command {
  readonly stdio?: StdioOptions;
  readonly onStart?: (child: ChildProcess) => void;
}

export async function measured(
  command: readonly [string, ...string[]],
  { stdio = 'inherit', onStart }: Command = {},
): Promise<Measured> {
  const started = performance.now();
  const group = ControlGroup.make();
  const [file, ...args] = group?.entering(command) ?? command;
  const child = spawn(file, args, { stdio });
  const table = group === undefined ? ProcessTable.follow(child.pid) : undefined;
  onStart?.(child);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  table?.end();
  const wallMs = performance.now() - started;
  return { code, wallMs, processorMs: () => (group ?? table)?.processorMs() ?? null };
}

/** A control group of version 2, or of version 1 with the controller cpuacct. */
class ControlGroup {
  static #made = 0;
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Returns undefined where this user may make none. */
  static make(): ControlGroup | undefined {
    for (const parent of parentGroups()) {
      removeEarlier(parent);
      const directory = join(parent, `parley-${process.pid}-${ControlGroup.#made++}`);
      try {
        mkdirSync(directory);
        const group = new ControlGroup(directory);
        group.processorMs();
        process.once('exit', () => group.#remove());
        return group;
      } catch {
        // The other version may be there too.
      }
    }
    return undefined;
  }

  /**
   * Returns the command behind a shell that enters the group first, so that nothing runs outside.
   */
  entering(command: readonly string[]): [string, ...string[]] {
    return [
      '/bin/sh',
      '-c',
      'echo $$ > "$0" && exec "$@"',
      join(this.#directory, 'cgroup.procs'),
      ...command,
    ];
  }

  processorMs(): number {
    try {
      const stat = readFileSync(join(this.#directory, 'cpu.stat'), 'utf8');
      return Number(/^usage_usec (\d+)/m.exec(stat)![1]) / 1_000;
    } catch {
      return Number(readFileSync(join(this.#directory, 'cpuacct.usage'), 'utf8')) / 1_000_000;
    }
  }

  #remove(): void {
    try {
      rmdirSync(this.#directory);
    } catch {
      // The kernel keeps it as long as something runs in it.
    }
  }
}

/** Removes the groups of runs that have ended, in which something still ran at their end. */
function removeEarlier(parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, pid] = /^parley-(\d+)-\d+$/.exec(name) ?? [];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    try {
      rmdirSync(join(parent, name));
    } catch {
      // Something runs in it still.
    }
  }
}

/** The groups of this process, in which it may make others. */
function parentGroups(): string[] {
  try {
    const fields = (path: string, separator: string) =>
      readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split(separator));
    const own = fields('/proc/self/cgroup', ':');
    const found: string[] = [];
    for (const [type, controller] of [
      ['cgroup2', ''],
      ['cgroup', 'cpuacct'],
    ] as const) {
      for (const [, mount = '', mounted, options = ''] of fields('/proc/self/mounts', ' ')) {
        if (mounted !== type || (controller !== '' && !options.split(',').includes(controller))) continue;
        const [, , path = '/'] = own.find(([, names]) => names?.split(',').includes(controller)) ?? [];
        found.push(join(mount, path));
      }
    }
    return found;
  } catch {
    return [];
  }
}

/** How often `/proc` is read. What lives shorter is known by its parent, which waited for it. */
const SAMPLE_MS = 1_000;
/** Processes by `<pid> <start time>`, so that a number that is used again is another process. */
type Processes = ReadonlyMap<string, Omit<Stat, 'startedAt'>>;

/**
 * Adds up the processes of `/proc` that a command started: its descendants, and everything in a
 * session that one of them began.
 */
export class ProcessTable {
  readonly #root: number;
  readonly #sessions = new Set<number>();
  #seen: Processes = new Map();
  #timer: NodeJS.Timeout | undefined;
  #gone = 0;

  constructor(root: number) {
    this.#root = root;
  }

  /** Returns undefined where there is no `/proc`. */
  static follow(pid: number | undefined): ProcessTable | undefined {
    if (pid === undefined || readProcesses().size === 0) return undefined;
    const table = new ProcessTable(pid);
    table.sample(readProcesses());
    table.#timer = setInterval(() => table.sample(readProcesses()), SAMPLE_MS);
    return table;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  /** Takes in the state of all processes of the machine. */
  sample(all: Processes): void {
    const now = this.#ours(all);
    // What a parent has waited for is in the parent's own figure from then on.
    const absorbed = new Map<number, number>();
    for (const [key, { reaped }] of now)
      absorbed.set(pidOf(key), reaped - (this.#seen.get(key)?.reaped ?? 0));
    for (const [key, { parent, own, reaped }] of this.#seen) {
      if (now.has(key)) continue;
      const known = Math.min(own + reaped, absorbed.get(parent) ?? 0);
      absorbed.set(parent, (absorbed.get(parent) ?? 0) - known);
      this.#gone += own + reaped - known;
    }
    this.#seen = now;
  }

  processorMs(): number {
    let seconds = this.#gone;
    for (const { own, reaped } of this.#seen.values()) seconds += own + reaped;
    return seconds * 1_000;
  }

  #ours(all: Processes): Processes {
    const pids = new Set([this.#root]);
    for (const key of this.#seen.keys()) if (all.has(key)) pids.add(pidOf(key));
    for (let size = 0; size !== pids.size; ) {
      size = pids.size;
      for (const [key, { parent, session }] of all) {
        const pid = pidOf(key);
        if (!pids.has(pid) && !pids.has(parent) && !this.#sessions.has(session)) continue;
        pids.add(pid);
        // Not the session of whoever ran the command, which holds others too.
        if (pids.has(session)) this.#sessions.add(session);
      }
    }
    return new Map([...all].filter(([key]) => pids.has(pidOf(key))));
  }
}

function pidOf(key: string): number {
  return Number.parseInt(key, 10);
}

function readProcesses(): Processes {
  const found = new Map<string, Stat>();
  try {
    for (const name of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const stat = parseStat(readFileSync(`/proc/${name}/stat`, 'utf8'));
        found.set(`${name} ${stat.startedAt}`, stat);
      } catch {
        // It has ended since.
      }
    }
  } catch {
    // Another system.
  }
  return found;
}

/**
 * Returns the milliseconds that a fixed loop takes, at its best of three: the speed of a core at
 * this moment, by which the figures of different machines and hours can be compared.
 */
export function fixedLoopMs(): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round += 1) {
    const started = performance.now();
    let state = 1;
    for (let step = 0; step < 100_000_000; step += 1) state = (Math.imul(state, 1_103_515_245) + 12_345) | 0;
    best = Math.min(best, performance.now() - started);
    // The result is used, so that the loop cannot be left out.
    if (!Number.isInteger(state)) throw new Error('not a number');
  }
  return best;
}
