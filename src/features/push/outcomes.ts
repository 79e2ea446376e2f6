import type { Database } from '../../platform/db/connection/database.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { type Outcome, writeOutcomes } from './delivery-store.ts';
import { GIVEN_UP } from './retry-schedule.ts';
import { endSubscription } from './subscription-store.ts';

export interface OutcomesOptions {
  readonly database: Database;
  readonly metrics: Pick<Metrics, 'pushEnded'>;
  readonly log: Logger;
}

/**
 * Milliseconds that an outcome waits for others: a try has a lease of a minute (delivery-store.ts).
 */
const GATHER_MS = 100;
const MAX_OUTCOMES = 500;

/**
 * Writes the outcomes of tries, many in one statement. One that is lost with this process makes its
 * push repeat.
 */
export class Outcomes {
  readonly #options: OutcomesOptions;
  #waiting: Outcome[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: OutcomesOptions) {
    this.#options = options;
  }

  add(outcome: Outcome): void {
    this.#waiting.push(outcome);
    if (this.#waiting.length >= MAX_OUTCOMES) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), GATHER_MS);
  }

  /** Ends a subscription with all its deliveries. Never rejects. */
  async end(subscriptionId: string, reason: 'gone' | 'failing'): Promise<void> {
    const { database, metrics, log } = this.#options;
    try {
      if (!(await endSubscription(database, subscriptionId))) return;
      metrics.pushEnded.inc({ reason });
      log.info({ push_subscription_id: subscriptionId, reason }, 'push subscription ended');
    } catch (error) {
      // The next try ends it.
      log.warn({ err: error, push_subscription_id: subscriptionId }, 'could not end a push subscription');
    }
  }

  /** Writes what is left. Never rejects. */
  async close(): Promise<void> {
    this.#write();
    await this.#writing;
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    const outcomes = this.#waiting;
    this.#waiting = [];
    this.#writing = Promise.all([this.#writing, this.#writeAll(outcomes)]).then(() => undefined);
  }

  async #writeAll(outcomes: readonly Outcome[]): Promise<void> {
    const { database, log } = this.#options;
    try {
      for (const { id, failures, failing_seconds } of await writeOutcomes(database, outcomes)) {
        if (failures < GIVEN_UP.failures || failing_seconds < GIVEN_UP.seconds) continue;
        await this.end(id, 'failing');
      }
    } catch (error) {
      log.warn(
        { err: error, rows: outcomes.length },
        'could not write outcomes of pushes, they are tried again',
      );
    }
  }
}
