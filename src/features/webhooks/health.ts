import type { NodeParts } from '../../core/features/feature.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Recorded } from './deliverer.ts';
import { disableWebhook } from './disable.ts';
import type { WebhookTimes } from './times.ts';

export interface HealthOptions extends Pick<NodeParts, 'database' | 'log'> {
  readonly times: Pick<WebhookTimes, 'failingMs'>;
}

/**
 * Records for each webhook whether its tries succeed, and disables webhooks whose receiver is gone
 * or has failed for too long. The records of a second are written together.
 */
export class Health {
  readonly #options: HealthOptions;
  readonly #loop: Loop;
  #succeeded = new Set<string>();
  #failed = new Set<string>();
  #gone = new Set<string>();

  constructor(options: HealthOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: WRITE_EVERY_MS,
      run: () => this.#write(),
      onError: (error) => options.log.warn({ err: error }, 'could not note how webhooks do'),
    });
  }

  note(written: readonly Recorded[]): void {
    for (const { delivery, state } of written) {
      // One address of a question says nothing about those of others.
      if (delivery.url !== null) continue;
      if (state.status === 'delivered') this.#succeeded.add(delivery.webhook_id);
      else if (state.last_error === 'gone') this.#gone.add(delivery.webhook_id);
      else if (state.last_error !== null) this.#failed.add(delivery.webhook_id);
    }
    if (this.#gone.size > 0) this.#loop.wake();
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  async #write(): Promise<void> {
    const { database, times } = this.#options;
    const [succeeded, failed, gone] = [this.#succeeded, this.#failed, this.#gone];
    this.#succeeded = new Set();
    this.#failed = new Set();
    this.#gone = new Set();
    for (const id of gone) await disableWebhook(database, id, 'gone');
    if (failed.size > 0) await database.query(NOTE_FAILURES, [...failed]);
    // Written after the failures, because one success ends them.
    if (succeeded.size > 0) await database.query(NOTE_SUCCESSES, [...succeeded]);
    if (failed.size === 0) return;
    for (const { id } of await database.query(READ_FAILING, [...failed], times.failingMs)) {
      await disableWebhook(database, id, 'failing');
    }
  }
}

const WRITE_EVERY_MS = 1_000;

const NOTE_FAILURES = statement<[ids: readonly string[]]>('note-webhook-failures')`
    UPDATE webhooks SET failing_since = clock_timestamp() WHERE id = ANY($1::text[]) AND failing_since IS NULL`;

const NOTE_SUCCESSES = statement<[ids: readonly string[]]>('note-webhook-successes')`
    UPDATE webhooks SET failing_since = NULL, last_success_at = clock_timestamp()
    WHERE id = ANY($1::text[]) AND (failing_since IS NOT NULL OR last_success_at IS NULL
      OR last_success_at < clock_timestamp() - interval '10 s')`;

const READ_FAILING = statement<[ids: readonly string[], ms: number], { id: string }>('read-failing-webhooks')`
    SELECT id FROM webhooks WHERE id = ANY($1::text[]) AND status = 'enabled'
      AND failing_since <= clock_timestamp() - $2::double precision * interval '1 ms'`;
