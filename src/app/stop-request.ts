import type { Logger } from '../platform/log.ts';

/**
 * Milliseconds that sockets, jobs, database and embedded Postgres may take to end after a drain.
 */
export const STOPPING_MS = 20_000;
const PARENT_CHECK_MS = 500;
/** npm repeats a signal that the process group got (Ctrl-C): within this time it is the same. */
const SAME_SIGNAL_MS = 1_000;

/**
 * Asks for an orderly stop of the process. A fatal error does so from the construction on; other
 * reasons are followed by a call of `follow…`, or given to `ask`. `patienceMs` after the first one
 * the process ends, whatever still runs.
 */
export class StopRequest {
  /** Resolves with the reason. */
  readonly requested: Promise<string>;
  /** Aborted when the stop should not wait for balancers. */
  readonly urgent: AbortSignal;
  /** 1 after anything fatal, even while stopping. */
  exitCode = 0;
  readonly #log: Logger;
  readonly #patienceMs: number;
  readonly #request: (reason: string) => void;
  readonly #urge = new AbortController();
  #signalledMs: number | undefined;

  constructor(log: Logger, patienceMs: number) {
    this.#log = log;
    this.#patienceMs = patienceMs;
    this.urgent = this.#urge.signal;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.requested = promise;
    this.#request = resolve;
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, (error: unknown) => {
        this.exitCode = 1;
        this.#log.fatal({ err: error }, event);
        this.ask(event, { isUrgent: true });
      });
    }
  }

  /** Asks for a stop at the first signal, and for an urgent stop at a second one. */
  followSignals(signals: readonly NodeJS.Signals[], startedByNpm: boolean): void {
    const signalled = (signal: NodeJS.Signals): void => {
      const nowMs = performance.now();
      const isFirst = this.#signalledMs === undefined;
      this.#signalledMs ??= nowMs;
      const isSame = startedByNpm && nowMs - this.#signalledMs < SAME_SIGNAL_MS;
      if (isFirst) this.ask(signal);
      else if (!isSame) this.#urge.abort();
    };
    for (const signal of signals) process.on(signal, signalled);
  }

  /** Stops after npm was killed without a signal; port and data directory would stay taken. */
  followParent(): void {
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      this.ask('the parent process is gone', { isUrgent: true });
    }, PARENT_CHECK_MS).unref();
  }

  ask(reason: string, { isUrgent = false, patienceMs = this.#patienceMs } = {}): void {
    this.#request(reason);
    if (isUrgent) this.#urge.abort();
    setTimeout(() => {
      this.#log.fatal({ reason }, 'did not stop in time');
      process.exit(1);
    }, patienceMs).unref();
  }
}
