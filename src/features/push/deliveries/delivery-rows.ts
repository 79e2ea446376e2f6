import type { Db, Querier } from '../../../platform/db/connection/handle.ts';
import { type Statement, statement, type Value } from '../../../platform/db/connection/statement.ts';
import { LeasedRows, type LeasedRowsOptions } from '../../../platform/db/queue/leased-rows.ts';
import type { Delivery, DeliveryKey, Outcome } from './delivery.ts';

/** Milliseconds that a node has to try a delivery it has taken. */
export const LEASE_MS = 60_000;

export interface DeliveryRowsOptions {
  /** In kebab-case, for the names of statements. */
  readonly name: string;
  /** The tables of the subscriptions and of what they have yet to receive. */
  readonly subscriptions: 'push_subscriptions' | 'push_devices';
  readonly deliveries: 'push_deliveries' | 'device_deliveries';
  /** SQL over `s`: the subscriptions that can be pushed to; `values` are $3 and on. */
  readonly usable: string;
  readonly values?: readonly Value[];
  readonly settle: NonNullable<LeasedRowsOptions['settle']>;
}

/** A subscription that fails, after a failed try. */
interface Failing {
  readonly id: string;
  readonly failures: number;
  readonly failing_seconds: number;
}

/**
 * The rows of one channel. A delivery has ids and no text: whether and what to push is read at its
 * try.
 */
export class DeliveryRows {
  /** Due deliveries, except those of push services with a long lane on this node. */
  readonly leased: LeasedRows<
    DeliveryKey,
    Delivery,
    [busyOrigins: readonly string[], limit: number],
    Pick<Outcome, 'shown'>
  >;
  readonly #values: readonly Value[];
  readonly #add: Statement<readonly Value[], Delivery>;
  readonly #noteTries: Statement<[outcomes: string], Failing>;
  readonly #end: Statement<[id: string]>;

  constructor(options: DeliveryRowsOptions) {
    const { name, subscriptions, deliveries, usable, values = [], settle } = options;
    this.#values = values;
    this.leased = new LeasedRows({
      name,
      table: deliveries,
      key: ['subscription_id', 'notification_id'],
      due: 'due_at',
      tries: 'attempts',
      take: {
        from: `${deliveries} q JOIN ${subscriptions} s ON s.id = q.subscription_id
      WHERE q.due_at <= clock_timestamp() AND s.origin <> ALL($2)
      ORDER BY q.due_at LIMIT $3`,
        also: 's.origin',
        returning: 'q.subscription_id, q.notification_id, q.attempts, due.origin',
      },
      settle,
    });
    // Waits for a subscription that is ending, because its deliveries could not refer to it. Locks
    // in the order of the primary key, so that two statements cannot deadlock.
    this.#add = statement<readonly Value[], Delivery>(`add-${name}`)`
    WITH wanted AS MATERIALIZED (
      SELECT s.id AS subscription_id, w.id AS notification_id, s.origin
      FROM unnest($1::text[], $2::text[]) AS w(recipient_id, id)
        JOIN ${subscriptions} s ON s.actor_id = w.recipient_id
      WHERE ${usable}
      ORDER BY s.id, w.id
      FOR KEY SHARE OF s
    ), added AS (
      INSERT INTO ${deliveries} (subscription_id, notification_id, attempts, due_at)
      SELECT subscription_id, notification_id, 1, clock_timestamp() + interval '${LEASE_MS} ms' FROM wanted
      ON CONFLICT DO NOTHING
      RETURNING subscription_id, notification_id, attempts
    )
    SELECT a.*, w.origin FROM added a JOIN wanted w USING (subscription_id, notification_id)`;
    // Among the outcomes of one subscription, a success counts as the last. Without failures it is
    // written once an hour.
    this.#noteTries = statement<[outcomes: string], Failing>(`note-tries-of-${name}`)`
    WITH outcome AS MATERIALIZED (
      SELECT * FROM json_to_recordset($1::json) AS o(subscription_id text, accepted boolean)
    ), tried AS MATERIALIZED (
      SELECT subscription_id, bool_or(accepted) AS accepted, count(*) FILTER (WHERE NOT accepted) AS failures
      FROM outcome WHERE accepted IS NOT NULL GROUP BY subscription_id
    ), locked AS MATERIALIZED (
      SELECT s.id, t.accepted, t.failures FROM ${subscriptions} s JOIN tried t ON t.subscription_id = s.id
      WHERE NOT t.accepted OR s.failures > 0 OR s.last_success_at IS NULL
        OR s.last_success_at < clock_timestamp() - interval '1 hour'
      ORDER BY s.id FOR NO KEY UPDATE OF s
    )
    UPDATE ${subscriptions} s SET
      failures = CASE WHEN l.accepted THEN 0 ELSE s.failures + l.failures END,
      failing_since = CASE WHEN NOT l.accepted THEN coalesce(s.failing_since, clock_timestamp()) END,
      last_success_at = CASE WHEN l.accepted THEN clock_timestamp() ELSE s.last_success_at END
    FROM locked l WHERE s.id = l.id
    RETURNING s.id, s.failures, coalesce(extract(epoch FROM clock_timestamp() - s.failing_since), 0)::float8
      AS failing_seconds`;
    this.#end = statement<[id: string]>(`end-subscription-of-${name}`)`
    DELETE FROM ${subscriptions} WHERE id = $1 RETURNING 1`;
  }

  /**
   * Adds and takes a delivery for each subscription of the recipients, unless it already exists.
   * `recipientIds` and `ids` are the notifications.
   */
  add(db: Querier, recipientIds: readonly string[], ids: readonly string[]): Promise<Delivery[]> {
    return db.query(this.#add, recipientIds, ids, ...this.#values);
  }

  /** Notes which subscriptions accepted a push. Returns those that failed. */
  async noteTries(db: Db, outcomes: readonly Outcome[]): Promise<Failing[]> {
    const tried = outcomes.filter(({ accepted }) => accepted !== null);
    return tried.length === 0 ? [] : db.query(this.#noteTries, JSON.stringify(tried));
  }

  /** Ends a subscription with all its deliveries. Returns whether it existed. */
  async end(db: Querier, id: string): Promise<boolean> {
    return (await db.query(this.#end, id)).length > 0;
  }
}
