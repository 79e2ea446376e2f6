import { Loop } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';
import type { Querier } from '../connection/handle.ts';
import { type Statement, statement } from '../connection/statement.ts';
import { codeOf, isUnavailable } from '../connection/unavailable.ts';

/** Work that waits in Postgres for a loop of each node. */
export interface Due {
  /** Of the work, in snake_case; a column of the look. */
  readonly name: string;
  /**
   * SQL of a boolean: whether a round of the loop would find work now; null counts as false. It is
   * evaluated twice a second on every node, so an index has to answer it at once, also where most
   * rows are dead: prefer `(SELECT due_at FROM … ORDER BY due_at LIMIT 1) <= statement_timestamp()`
   * to an EXISTS, for which Postgres may read the table.
   */
  readonly condition: string;
  /** Wakes the loop. Must neither throw nor take long. */
  readonly onDue: () => void;
  /**
   * Least milliseconds between two calls of `onDue`, for loops whose rounds have a pace. By default
   * every look may call.
   */
  readonly everyMs?: number;
}

export interface DueWatchOptions {
  readonly database: Querier;
  readonly log: Logger;
  /** Milliseconds between two looks. Default 500. */
  readonly lookEveryMs?: number;
}

/**
 * Milliseconds between two rounds of a loop that no look has woken. They renew its gauges, and find
 * work if a condition is wrong.
 */
export const UNWOKEN_EVERY_MS = 10_000;

/**
 * Twice a second: a right that an operator's command revoked has to end within one second, and so
 * does the wait for what a dead node left behind.
 */
const LOOK_EVERY_MS = 500;

/**
 * Asks Postgres in one statement what is due, and wakes the loops that have something to do, so
 * that an idle node does not send a statement for each of them
 * (docs/decisions.md#an-idle-node-asks-once). The loops look again by themselves before they work.
 */
export class DueWatch {
  readonly #options: DueWatchOptions;
  readonly #watched: { readonly due: Due; calledAtMs: number }[] = [];
  #loop: Loop | undefined;

  constructor(options: DueWatchOptions) {
    this.#options = options;
  }

  /** Throws after `start`: the statement is prepared once on each connection. */
  add(due: Due): void {
    if (this.#loop !== undefined) throw new Error(`${due.name} was added after the start of the watch`);
    this.#watched.push({ due, calledAtMs: Number.NEGATIVE_INFINITY });
  }

  start(): void {
    const { database, log, lookEveryMs = LOOK_EVERY_MS } = this.#options;
    const look = composeLook(this.#watched.map(({ due }) => due));
    this.#loop = new Loop({
      intervalMs: lookEveryMs,
      run: async () => {
        try {
          const [found] = await database.query(look);
          this.#call(({ name }) => found?.[name] === true, lookEveryMs);
        } catch (error) {
          // One condition failed or took too long, and hides what the others found: each loop looks
          // by itself then.
          if (!isUnavailable(error) || codeOf(error) === CANCELED) this.#call(() => true, lookEveryMs);
          throw error;
        }
      },
      onError: (error) => log.warn({ err: error }, 'looking for work that is due failed'),
    });
  }

  async close(): Promise<void> {
    await this.#loop?.close();
  }

  #call(isDue: (due: Due) => boolean, lookEveryMs: number): void {
    const nowMs = performance.now();
    for (const watched of this.#watched) {
      const { due, calledAtMs } = watched;
      // Half a look of tolerance: the times of looks vary.
      if (!isDue(due) || nowMs - calledAtMs < (due.everyMs ?? 0) - lookEveryMs / 2) continue;
      watched.calledAtMs = nowMs;
      due.onDue();
    }
  }
}

/** SQLSTATE of a statement that took longer than it may. */
const CANCELED = '57014';

type Look = Statement<[], Readonly<Record<string, boolean | null>>>;

function composeLook(dues: readonly Due[]): Look {
  const columns = dues.map(({ name, condition }) => `(${condition}) AS ${name}`);
  return statement({ name: 'find-due', text: `SELECT ${columns.join(',\n  ')}` });
}
