import type { Database } from '../../platform/db/connection/database.ts';
import { GatheredWrites } from '../../platform/db/queue/gathered-writes.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { DELIVERIES, noteTries, type Outcome } from './delivery-store.ts';
import { endSubscription } from './subscription-store.ts';
import { GIVEN_UP } from './times.ts';

export interface OutcomesOptions {
  readonly database: Database;
  readonly metrics: Pick<Metrics, 'pushEnded'>;
  readonly log: Logger;
}

/** Writes the outcomes of tries. If this process loses one, its push is repeated. */
export class Outcomes {
  readonly #options: OutcomesOptions;
  readonly #writes: GatheredWrites<Outcome>;

  constructor(options: OutcomesOptions) {
    this.#options = options;
    this.#writes = new GatheredWrites({ gatherMs: 100, most: 500, write: (ones) => this.#write(ones) });
  }

  add(outcome: Outcome): void {
    void this.#writes.add(outcome);
  }

  /** Ends a subscription with all its deliveries. Never rejects. */
  async end(subscriptionId: string, reason: 'gone' | 'failing'): Promise<void> {
    const { database, metrics, log } = this.#options;
    try {
      if (!(await endSubscription(database, subscriptionId))) return;
      metrics.pushEnded.inc({ reason });
      log.info({ push_subscription_id: subscriptionId, reason }, 'push subscription ended');
    } catch (error) {
      // The next try will end it.
      log.warn({ err: error, push_subscription_id: subscriptionId }, 'could not end a push subscription');
    }
  }

  /** Writes the remaining outcomes. Never rejects. */
  close(): Promise<void> {
    return this.#writes.close();
  }

  /** Never rejects. */
  async #write(outcomes: readonly Outcome[]): Promise<void> {
    const { database, log } = this.#options;
    try {
      const tried = outcomes.filter(({ accepted }) => accepted !== null);
      const failing = tried.length === 0 ? [] : await noteTries(database, tried);
      await DELIVERIES.settle(database, outcomes);
      for (const { id, failures, failing_seconds } of failing) {
        if (failures < GIVEN_UP.failures || failing_seconds < GIVEN_UP.seconds) continue;
        await this.end(id, 'failing');
      }
    } catch (error) {
      const rows = outcomes.length;
      log.warn({ err: error, rows }, 'could not write outcomes of pushes, they are tried again');
    }
  }
}
