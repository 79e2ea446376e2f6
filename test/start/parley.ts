/** The real `node src/app/main.ts` as a child process, as a stranger runs it. */

import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { whenOutputEnded } from '../support/last-output.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

export const ROOT = resolve(import.meta.dirname, '../..');

/** As a stranger runs it, but for what makes it start sooner. */
export const PARLEY = [
  process.execPath,
  `--import=${join(ROOT, 'test/support/quick-start.js')}`,
  join(ROOT, 'src/app/main.ts'),
] as const;

/** The Postgres of the tests does not wait for its disk. */
export const UNSAFE_POSTGRES = { PARLEY_UNSAFE_POSTGRES: 'accept' } as const;

/** No test needs a fixed port: a test that reads metrics asks for a free one. */
const OF_TESTS = { ...UNSAFE_POSTGRES, PARLEY_ADMIN_PORT: 'off' } as const;

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a subcommand to its end. */
export function runParley(args: readonly string[], env: NodeJS.ProcessEnv, cwd = ROOT): Promise<Finished> {
  const [file, ...rest] = PARLEY;
  return runProgram(file, [...rest, ...args], { ...OF_TESTS, ...env }, cwd);
}

export function runProgram(
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd = ROOT,
): Promise<Finished> {
  const [clean, cleanArgs] = inCleanEnvironment([file, ...args], env);
  return new Promise((resolve) => {
    execFile(clean, cleanArgs, { cwd }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null;
      resolve({ code, stdout, stderr });
    });
  });
}

export class Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Finished>;
  stdout = '';
  stderr = '';
  /** It has ended, and all that it said has been read. */
  #isOver = false;

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.ended = whenOutputEnded(child).then((code) => {
      this.#isOver = true;
      return { code, stdout: this.stdout, stderr: this.stderr };
    });
  }

  /** Resolves with the first match on standard output; rejects if the process ends without one. */
  says(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#match(pattern, () => this.stdout);
  }

  /** The same of standard error. */
  logs(pattern: RegExp): Promise<RegExpExecArray> {
    return this.#match(pattern, () => this.stderr);
  }

  async #match(pattern: RegExp, text: () => string): Promise<RegExpExecArray> {
    const found = pattern.exec(text());
    if (found !== null) return found;
    if (this.#isOver) throw new Error(`it ended: ${this.stdout}${this.stderr}`);
    await until(() => pattern.test(text()) || this.#isOver, { what: () => `${pattern} in ${text()}` });
    return this.#match(pattern, text);
  }
}

export interface StartOptions extends SpawnOptions {
  /** Default: `PARLEY` and `start`. */
  readonly command?: readonly [file: string, ...args: string[]];
}

/**
 * Starts it in a process group of its own; it is gone, with all its children, when the test ends.
 */
export function startParley(t: Teardown, env: NodeJS.ProcessEnv, options: StartOptions = {}): Running {
  const { command, ...spawnOptions } = options;
  const [file, args] =
    command === undefined
      ? inCleanEnvironment([...PARLEY, 'start'], { ...OF_TESTS, ...env })
      : inCleanEnvironment(command, env);
  const child = spawn(file, args, {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...spawnOptions,
  });
  const running = new Running(child);
  let hasGroup = true;
  // Once a group is empty, its id may be that of a process of another test: a drill of 76 nodes
  // killed sessions of the Postgres of two others.
  child.once('exit', () => {
    hasGroup = signalGroup(child, 0);
  });
  t.teardown(async () => {
    if (hasGroup) signalGroup(child, 'SIGKILL');
    await running.ended;
  });
  return running;
}

/**
 * As Ctrl-C in a terminal: to every process of the group; 0 only looks. Returns whether there is
 * one.
 */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-(child.pid ?? Number.NaN), signal);
  } catch {
    return false;
  }
}

/** Removed with the test; entered by its owner alone. */
export function freshDirectory(t: Teardown): string {
  const directory = mkdtempSync(join(tmpdir(), 'parley-start-'));
  chmodSync(directory, 0o700);
  t.teardown(() => {
    for (const dataDir of [directory, join(directory, '.data')]) removeLinkedData(dataDir);
    rmSync(directory, { recursive: true, force: true });
  });
  return directory;
}

/** As root the embedded Postgres has its data elsewhere when it cannot enter the data directory. */
function removeLinkedData(dataDir: string): void {
  const link = join(dataDir, 'postgres');
  try {
    const data = realpathSync(link);
    if (data !== link) rmSync(dirname(data), { recursive: true, force: true });
  } catch {
    // There is none.
  }
}

export function isAlive(pid: number): boolean {
  try {
    // After the name, which may hold anything: a zombie has ended.
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

export function canConnect(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/**
 * Uses env(1), which becomes the command: tap puts its hooks into the environment of every child,
 * whatever environment was given. PARLEY_* variables are removed too.
 */
function inCleanEnvironment(command: readonly string[], env: NodeJS.ProcessEnv): [string, string[]] {
  const all = { PATH: process.env.PATH, HOME: process.env.HOME, ...env };
  return ['env', ['-i', ...Object.entries(all).map(([name, value]) => `${name}=${value}`), ...command]];
}
