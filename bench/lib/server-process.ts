import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ROOT } from './checkout.ts';
import { cleanEnvironment } from './environment.ts';

export interface ServerProcessOptions {
  /** The path from the root of the checkout. */
  readonly entry: string;
  readonly args?: readonly string[];
  /** Variables on top of an environment without Parley's. */
  readonly env?: Readonly<Record<string, string>>;
  /** Flags for Node, beside NODE_FLAGS. */
  readonly nodeFlags?: readonly string[];
}

/** Flags for every server of a comparison: those with which `npm start` runs the product. */
const NODE_FLAGS = ['--max-semi-space-size=32', '--heap-growing-percent=200', '--v8-pool-size=1'];

/** A server under measurement, in a process of its own. */
export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #said = '';

  constructor({ entry, args = [], env = {}, nodeFlags = [] }: ServerProcessOptions) {
    this.#child = spawn(process.execPath, [...NODE_FLAGS, ...nodeFlags, resolve(ROOT, entry), ...args], {
      cwd: ROOT,
      env: { ...cleanEnvironment(), ...env },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // The process has a group of its own: Ctrl-C reaches the runner alone, which stops its
      // processes in order.
      detached: true,
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-4_000);
    });
    // However the runner ends, its servers do not outlive it.
    const kill = () => this.#child.kill('SIGKILL');
    process.once('exit', kill);
    this.#ended = new Promise((resolve) => {
      this.#child.once('close', () => {
        process.off('exit', kill);
        resolve();
      });
      this.#child.once('error', (error) => {
        this.#said += error.message;
        resolve();
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Its latest output on standard error. */
  get stderr(): string {
    return this.#said;
  }

  /**
   * Resolves with the first value that `look` finds; rejects when the process ends before, or takes
   * too long.
   */
  async until<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T> {
    const deadlineMs = performance.now() + START_MS;
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      if (this.#gone || performance.now() > deadlineMs)
        throw new Error(`${what} did not come: ${this.#said}`);
      await delay(20);
    }
  }

  /** Resolves with the next message of the process. */
  message<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      const onMessage = (message: unknown) => {
        this.#child.off('close', onClose);
        resolve(message as T);
      };
      const onClose = () => {
        this.#child.off('message', onMessage);
        reject(new Error(`it ended: ${this.#said}`));
      };
      this.#child.once('message', onMessage);
      this.#child.once('close', onClose);
    });
  }

  tell(message: object): void {
    this.#child.send(message);
  }

  async stop(): Promise<void> {
    for (const [signal, waitMs] of [
      ['SIGTERM', 20_000],
      ['SIGKILL', 3_000],
    ] as const) {
      if (this.#gone) break;
      this.#child.kill(signal);
      const patience = new AbortController();
      await Promise.race([
        this.#ended,
        delay(waitMs, undefined, { signal: patience.signal }).catch(() => {}),
      ]);
      patience.abort();
    }
  }

  get #gone(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null || this.#child.pid === undefined;
  }
}

const START_MS = 60_000;
