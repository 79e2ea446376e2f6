import type { NodeParts } from '../../core/features/feature.ts';
import type { Querier, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { UNWOKEN_EVERY_MS } from '../../platform/db/queue/due-watch.ts';
import { Loop } from '../../platform/lifecycle.ts';

/**
 * Makes deliveries of replays pending again, a limited number each second, so that new events do
 * not wait behind them. The progress is in the webhook's row: any node continues it.
 */
export class Replays {
  readonly #loop: Loop;

  /** `onDue` is called when deliveries have become pending. */
  constructor({ database, watch, log }: NodeParts, onDue: () => void) {
    this.#loop = new Loop({
      intervalMs: UNWOKEN_EVERY_MS,
      run: async () => {
        if ((await advanceReplays(database, MAX_DELIVERIES)) > 0) onDue();
      },
      onError: (error) => log.warn({ err: error }, 'replaying webhook deliveries failed'),
    });
    watch.add({
      name: 'webhook_replays',
      condition: HAS_REPLAYS,
      everyMs: ADVANCE_EVERY_MS,
      onDue: () => this.wake(),
    });
  }

  wake(): void {
    this.#loop.wake();
  }

  close(): Promise<void> {
    return this.#loop.close();
  }
}

const ADVANCE_EVERY_MS = 1_000;
/** Most deliveries of one webhook in a round. */
const MAX_DELIVERIES = 1_000;

/**
 * Requests that the deliveries of a locked webhook since this microsecond be sent again. Extends a
 * running replay. Returns the time up to which events are included.
 */
export async function requestReplay(tx: Tx, webhookId: string, sinceUs: number): Promise<string> {
  const [row] = await tx.query(REQUEST, webhookId, sinceUs);
  return row!.until;
}

/**
 * Makes the next deliveries of every replay pending, at most `limit` of a webhook. Skips replays
 * that other nodes are advancing. Returns the number of webhooks with deliveries.
 */
export async function advanceReplays(db: Querier, limit: number): Promise<number> {
  return (await db.query(ADVANCE, limit)).length;
}

/** Returns SQL: an id below the deliveries of this microsecond and above all earlier ones. */
function idAt(microseconds: string): string {
  return `'whd_' || lpad(to_hex(${microseconds}), 13, '0')`;
}

/** SQL: whether `advanceReplays` may find any. */
const HAS_REPLAYS = `EXISTS (SELECT FROM webhooks WHERE replay_through IS NOT NULL AND status = 'enabled')`;

const REQUEST = statement<[webhookId: string, sinceUs: number], { readonly until: string }>(
  'request-webhook-replay',
)`
    WITH now AS (SELECT clock_timestamp() AS at)
    UPDATE webhooks SET replay_after = least(replay_after, ${idAt('$2::bigint')}),
      replay_through = ${idAt('(extract(epoch FROM now.at) * 1000000)::bigint')}
    FROM now WHERE id = $1
    RETURNING now.at AS until`;

// Pending deliveries whose next try is near need no replay.
const ADVANCE = statement<[limit: number], { readonly id: string }>('advance-webhook-replays')`
    WITH due AS (
      SELECT id, replay_after, replay_through FROM webhooks
      WHERE replay_through IS NOT NULL AND status = 'enabled'
      ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED
    ), page AS (
      SELECT due.id AS webhook_id, next.id
      FROM due, LATERAL (
        SELECT d.id FROM webhook_deliveries d
        WHERE d.webhook_id = due.id AND d.id > due.replay_after AND d.id < due.replay_through
        ORDER BY d.id LIMIT $1
      ) AS next
    ), again AS (
      UPDATE webhook_deliveries d SET was_delivered = d.was_delivered OR d.status = 'delivered', status = 'pending',
        attempts = 0, next_try_at = clock_timestamp(), updated_at = later_than(d.updated_at)
      FROM page
      WHERE d.webhook_id = page.webhook_id AND d.id = page.id AND d.status <> 'withdrawn'
        AND (d.status <> 'pending' OR d.next_try_at > clock_timestamp() + interval '1 minute')
    ), counted AS (
      SELECT due.id, due.replay_through, count(page.id) AS count, max(page.id) AS last
      FROM due LEFT JOIN page ON page.webhook_id = due.id GROUP BY due.id, due.replay_through
    )
    UPDATE webhooks w SET replay_after = CASE WHEN c.count = $1 THEN c.last END,
      replay_through = CASE WHEN c.count = $1 THEN c.replay_through END
    FROM counted c WHERE w.id = c.id
    RETURNING w.id`;
