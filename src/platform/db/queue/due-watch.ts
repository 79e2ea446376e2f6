import { setTimeout as delay } from 'node:timers/promises';
import { Loop } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';
import type { Querier } from '../connection/handle.ts';
import { statement } from '../connection/statement.ts';
import { codeOf, isUnavailable } from '../connection/unavailable.ts';

/** Work that waits in Postgres for a loop of each node. */
export interface Due {
  /** The name of the work in snake_case; a column of the statement. */
  readonly name: string;
  /**
   * SQL: whether a round of the loop would find work now; null counts as false. Every node
   * evaluates it twice a second, so an index must answer it at once, also if most rows are dead:
   * prefer `(SELECT due_at FROM … ORDER BY due_at LIMIT 1) <= statement_timestamp()` to an EXISTS,
   * for which Postgres may read the table.
   */
  readonly condition: string;
  /** Wakes the loop. Must neither throw nor take long. */
  readonly onDue: () => void;
  /**
   * Called after each successful look, with its result, its beginning (`performance.now()`), and
   * the value of the condition, which may be other than a boolean if nothing is ever due. Must
   * neither throw nor take long.
   */
  readonly onLook?: (isDue: boolean, beganMs: number, found?: unknown) => void;
  /** Least milliseconds between two calls of `onDue`. By default every look may call it. */
  readonly everyMs?: number;
}

export interface DueWatchOptions {
  readonly database: Querier;
  readonly log: Logger;
  /** Milliseconds between two looks. Default 500. */
  readonly lookEveryMs?: number;
}

/** Milliseconds between rounds of an unwoken loop: for its gauges, and if a condition is wrong. */
export const UNWOKEN_EVERY_MS = 30_000;

/** Rights that a command revoked, and waits for a dead node's work, must end within one second. */
const LOOK_EVERY_MS = 500;

/**
 * Milliseconds between two loops that a look wakes. Woken at once, their statements take every core
 * of a small machine from a send: at 200 sends a second the p99 was 8.4 ms, and 7.5 ms with this.
 */
const APART_MS = 25;

/**
 * Asks Postgres in one statement what is due, and wakes the loops concerned
 * (DECISIONS.md#an-idle-node-asks-once). A loop looks again by itself before it works.
 */
export class DueWatch {
  readonly #options: DueWatchOptions;
  readonly #watched: { readonly due: Due; calledAtMs: number }[] = [];
  #loop: Loop | undefined;

  constructor(options: DueWatchOptions) {
    this.#options = options;
  }

  /**
   * Throws after `start`, as the statement is prepared once on each connection, and for a name that
   * is no column: with `pushes to phones` every look of a node failed, and its other work waited up
   * to half a minute.
   */
  add(due: Due): void {
    if (!/^[a-z][a-z0-9_]*$/.test(due.name)) throw new Error(`${due.name} is not in snake_case`);
    if (this.#loop !== undefined) throw new Error(`${due.name} was added after the start of the watch`);
    this.#watched.push({ due, calledAtMs: Number.NEGATIVE_INFINITY });
  }

  start(): void {
    const { database, log, lookEveryMs = LOOK_EVERY_MS } = this.#options;
    const look = composeLook(this.#watched.map(({ due }) => due));
    this.#loop = new Loop({
      intervalMs: lookEveryMs,
      run: async (signal) => {
        try {
          const beganMs = performance.now();
          const [found] = await database.query(look);
          for (const { due } of this.#watched) {
            const value = found?.[due.name];
            due.onLook?.(value === true, beganMs, value);
          }
          await this.#call(({ name }) => found?.[name] === true, lookEveryMs, signal);
        } catch (error) {
          // One failed or slow condition hides the results of the others: every loop looks itself.
          if (!isUnavailable(error) || codeOf(error) === CANCELED) {
            await this.#call(() => true, lookEveryMs, signal);
          }
          throw error;
        }
      },
      onError: (error) => log.warn({ err: error }, 'looking for work that is due failed'),
    });
  }

  async close(): Promise<void> {
    await this.#loop?.close();
  }

  async #call(isDue: (due: Due) => boolean, lookEveryMs: number, signal: AbortSignal): Promise<void> {
    const nowMs = performance.now();
    const called = this.#watched.filter(
      // Half a look of tolerance: the times of looks vary.
      ({ due, calledAtMs }) => isDue(due) && nowMs - calledAtMs >= (due.everyMs ?? 0) - lookEveryMs / 2,
    );
    for (const [index, watched] of called.entries()) {
      if (index > 0) await delay(APART_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      watched.calledAtMs = nowMs;
      watched.due.onDue();
    }
  }
}

/** SQLSTATE of a statement that took longer than it may. */
const CANCELED = '57014';

function composeLook(dues: readonly Due[]) {
  const columns = dues.map(({ name, condition }) => `(${condition}) AS ${name}`);
  return statement<[], Readonly<Record<string, unknown>>>('find-due')`SELECT ${columns.join(',\n  ')}`;
}
