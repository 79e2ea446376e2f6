import { LRUCache } from 'lru-cache';
import type { RevocableCache } from '../../api/access/revocable-cache.ts';
import type { ResourcesChanged } from '../../core/events/changes.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { mayInterrupt, type SettingsOfUsers } from '../../core/notifications/settings/settings.ts';
import { NOTIFICATION_COLUMNS, type NotificationRow } from '../../core/resources/notification.ts';
import { type Backoff, delayAfter } from '../../platform/backoff.ts';
import { bounded } from '../../platform/bounded.ts';
import { GatheredReads } from '../../platform/db/connection/gathered-reads.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from '../../platform/db/queue/due-watch.ts';
import { GatheredWrites } from '../../platform/db/queue/gathered-writes.ts';
import { type Due, LeasedRows } from '../../platform/db/queue/leased-rows.ts';
import { Loop } from '../../platform/lifecycle.ts';
import { Sender } from '../../platform/outbound/sender.ts';
import { type AttemptOptions, attempt, type Tried } from './attempt.ts';
import type { Subscribers } from './audience.ts';
import type { PushMetrics } from './metrics.ts';
import type { Pushed } from './payload.ts';
import { deleteStale, endSubscription } from './subscriptions.ts';
import { GIVEN_UP, PUSHED_FOR_MS, RETRIES } from './times.ts';

export interface PushesOptions extends AttemptOptions, Pick<NodeParts, 'database' | 'log'> {
  readonly metrics: PushMetrics;
  readonly watch: Pick<DueWatch, 'add'>;
  readonly audience: Pick<RevocableCache<Subscribers>, 'get'>;
  readonly settings: Pick<SettingsOfUsers, 'of'>;
  /** For do-not-disturb hours. Default: the clock of this machine. */
  readonly now?: () => Date;
  /** Default: RETRIES. */
  readonly retries?: Backoff;
  /** Milliseconds between two sweeps without a wake-up. Default: UNWOKEN_EVERY_MS. */
  readonly sweepEveryMs?: number;
}

/** Minimum milliseconds between two sweeps for due deliveries. */
const SWEEP_EVERY_MS = 2_000;
const TAKEN_AT_ONCE = 200;
const ADDED_AT_ONCE = 1_000;
/** Milliseconds between two deletions of subscriptions that expired or have another key. */
const TIDY_EVERY_MS = 60 * 60 * 1_000;
const TIDIED_AT_ONCE = 1_000;
/** Milliseconds for running tries to end when the node stops. Other nodes repeat the rest. */
const CLOSING_MS = 2_000;

/**
 * Concurrent tries to one push service. A handful of services serve all browsers, in about 100 ms.
 */
const SIDE_BY_SIDE = 64;
/** Deliveries to one push service in memory; all others stay in the table. */
const ROOM = 2_000;
/** Push services that a node sends to concurrently. */
const MAX_SERVICES = 100;
/** Milliseconds until another refusal of the same push service is logged as a warning. */
const REFUSAL_LOGGED_EVERY_MS = 60 * 60 * 1_000;
/** Milliseconds that a node has to try a delivery it has taken. */
const LEASE_MS = 60_000;

/** A notification that a subscription has not received yet. */
interface Delivery {
  readonly subscription_id: string;
  readonly notification_id: string;
  /** The origin of the endpoint: the push service. */
  readonly origin: string;
  /** The number of this try, from 1. */
  readonly attempts: number;
}

type DeliveryKey = Pick<Delivery, 'subscription_id' | 'notification_id'>;

interface Outcome extends DeliveryKey, Due {
  /** Whether the push service accepted it; null if no request was made. */
  readonly accepted: boolean | null;
}

/**
 * Pushes notifications to the browsers of their recipients. `notified` adds a row for each
 * subscription, within the effects of the commit that made the notification, so a node that dies
 * loses no push. This node tries the row at once; after its lease, a sweep of any node takes it.
 * Each try decides whether and what to send.
 */
export class Pushes {
  readonly #options: PushesOptions;
  readonly #sender: Sender<Delivery>;
  /** If this process loses an outcome, its push is repeated. */
  readonly #outcomes: GatheredWrites<Outcome>;
  readonly #rows: GatheredReads<DeliveryKey, Pushed | undefined>;
  /** Origins whose refusal was logged. */
  readonly #refusals = new LRUCache<string, true>({
    ...bounded(MAX_SERVICES),
    ttl: REFUSAL_LOGGED_EVERY_MS,
  });
  readonly #tidy: Loop;
  #isClosed = false;

  constructor(options: PushesOptions) {
    this.#options = options;
    const { database, log, metrics, sweepEveryMs = UNWOKEN_EVERY_MS } = options;
    this.#outcomes = new GatheredWrites({ gatherMs: 100, most: 500, write: (ones) => this.#write(ones) });
    this.#rows = new GatheredReads((keys) => this.#read(keys));
    this.#sender = new Sender<Delivery>({
      name: 'pushes',
      lanes: {
        laneOf: ({ origin }) => origin,
        sideBySide: SIDE_BY_SIDE,
        room: ROOM,
        maxLanes: MAX_SERVICES,
      },
      lookEveryMs: sweepEveryMs,
      leaseMs: LEASE_MS,
      atOnce: TAKEN_AT_ONCE,
      take: (rooms, atOnce) => {
        const busy = [...rooms].flatMap(([origin, room]) => (room < ROOM / 2 ? origin : []));
        return DELIVERIES.take(database, LEASE_MS, busy, atOnce);
      },
      release: (deliveries) => DELIVERIES.release(database, deliveries),
      send: (delivery) => this.#push(delivery),
      measure: async () => {
        const { waiting, oldestSeconds } = await DELIVERIES.measure(database);
        metrics.pushPending.set(waiting);
        metrics.pushLagSeconds.set(oldestSeconds);
      },
      load: database.load,
      log,
    });
    options.watch.add({
      name: 'pushes',
      condition: DELIVERIES.hasDue,
      everyMs: SWEEP_EVERY_MS,
      onDue: () => this.#sender.wake(),
    });
    this.#tidy = new Loop({
      intervalMs: TIDY_EVERY_MS,
      run: async (signal) => {
        const { keyId } = options.vapid;
        for (let ended = TIDIED_AT_ONCE; ended === TIDIED_AT_ONCE && !signal.aborted; ) {
          ended = await deleteStale(database, keyId, TIDIED_AT_ONCE);
          options.metrics.pushEnded.inc({ reason: 'stale' }, ended);
        }
      },
      onError: (error) => log.warn({ err: error }, 'ending stale push subscriptions failed'),
    });
    this.#tidy.wake();
  }

  /**
   * Adds the pushes of committed notifications, in groups of one account each. May be repeated,
   * because devices recognize a notification by its id. Synchronous if no recipient has a
   * subscription.
   */
  notified(groups: Iterable<readonly NotificationRow[]>): Promise<void> | undefined {
    const wanted: NotificationRow[] = [];
    const unknown: Promise<NotificationRow[]>[] = [];
    for (const rows of groups) {
      const subscribers = rows[0] && this.#options.audience.get(rows[0].account_id);
      const wantedOf = (known: Subscribers) => rows.filter((row) => known.has(row.recipient_id));
      if (subscribers instanceof Promise) unknown.push(subscribers.then(wantedOf));
      else if (subscribers !== undefined && subscribers.size > 0) wanted.push(...wantedOf(subscribers));
    }
    if (unknown.length > 0) {
      return Promise.all(unknown).then((found) => this.#add([...wanted, ...found.flat()]));
    }
    return wanted.length === 0 ? undefined : this.#add(wanted);
  }

  /**
   * Adds the pushes of new notifications among changed resources. May be repeated like `notified`.
   */
  async changed({ changes }: ResourcesChanged): Promise<void> {
    const made = changes.filter(({ event }) => event === 'notification.created');
    await this.#add(made.map(({ id, stream }) => ({ id, recipient_id: stream })));
  }

  async #add(notifications: readonly Pick<NotificationRow, 'recipient_id' | 'id'>[]): Promise<void> {
    const { database, vapid } = this.#options;
    for (let start = 0; start < notifications.length; start += ADDED_AT_ONCE) {
      const some = notifications.slice(start, start + ADDED_AT_ONCE);
      const recipientIds = some.map(({ recipient_id }) => recipient_id);
      const ids = some.map(({ id }) => id);
      const added = await database.query(ADD, recipientIds, ids, vapid.keyId);
      const left = added.filter((delivery) => !this.#sender.begin(delivery));
      await DELIVERIES.release(database, left);
    }
  }

  /** Waits for running tries and releases all others to other nodes at once. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([this.#sender.drain(CLOSING_MS), this.#tidy.close()]);
    this.#isClosed = true;
    await this.#outcomes.close();
  }

  async #read(keys: readonly DeliveryKey[]): Promise<(Pushed | undefined)[]> {
    const subscriptionIds = keys.map(({ subscription_id }) => subscription_id);
    const ids = keys.map(({ notification_id }) => notification_id);
    const rows = await this.#options.database.query(READ_PUSHED, subscriptionIds, ids, PUSHED_FOR_MS);
    const found = new Map(rows.map((row) => [`${row.subscription_id} ${row.id}`, row]));
    return keys.map((key) => found.get(`${key.subscription_id} ${key.notification_id}`));
  }

  /** Rejects if it fails on our side. The push is then tried again when its lease ends. */
  async #push(delivery: Delivery): Promise<void> {
    const { metrics } = this.#options;
    const row = await this.#rows.ask(delivery);
    if (this.#isClosed) return;
    if (row === undefined || !(await this.#mayPush(row))) {
      metrics.pushTries.inc({ outcome: 'obsolete' });
      void this.#outcomes.add({ ...keyOf(delivery), due_in_ms: null, accepted: null });
      return;
    }
    const beganMs = performance.now();
    const tried = await attempt(this.#options, row);
    if (this.#isClosed) return;
    metrics.pushSeconds.observe((performance.now() - beganMs) / 1_000);
    metrics.pushTries.inc({ outcome: tried.verdict });
    await this.#conclude(delivery, tried);
  }

  async #mayPush({ recipient_id, category }: Pushed): Promise<boolean> {
    const { settings, now = () => new Date() } = this.#options;
    return mayInterrupt(await settings.of(recipient_id), category, 'push', now());
  }

  async #conclude(delivery: Delivery, { verdict, reason, retryAfterMs }: Tried): Promise<void> {
    const { retries = RETRIES, log } = this.#options;
    const { subscription_id, origin, attempts } = delivery;
    if (verdict === 'gone') return this.#end(subscription_id, 'gone');
    const isTriedAgain = verdict === 'failed' || verdict === 'busy';
    void this.#outcomes.add({
      ...keyOf(delivery),
      due_in_ms: isTriedAgain ? delayAfter(retries, attempts, retryAfterMs) : null,
      accepted: verdict === 'busy' ? null : verdict === 'accepted',
    });
    if (verdict === 'accepted') return;
    log.debug({ push_subscription_id: subscription_id, verdict, reason }, 'push not accepted');
    if (verdict !== 'refused' || this.#refusals.has(origin)) return;
    this.#refusals.set(origin, true);
    log.warn({ push_service: origin, reason }, 'a push service refuses a push');
  }

  /** Never rejects. */
  async #write(outcomes: readonly Outcome[]): Promise<void> {
    const { database, log } = this.#options;
    try {
      const tried = outcomes.filter(({ accepted }) => accepted !== null);
      const failing = tried.length === 0 ? [] : await database.query(NOTE_TRIES, JSON.stringify(tried));
      await DELIVERIES.settle(database, outcomes);
      for (const { id, failures, failing_seconds } of failing) {
        if (failures < GIVEN_UP.failures || failing_seconds < GIVEN_UP.seconds) continue;
        await this.#end(id, 'failing');
      }
    } catch (error) {
      const rows = outcomes.length;
      log.warn({ err: error, rows }, 'could not write outcomes of pushes, they are tried again');
    }
  }

  /** Ends a subscription with all its deliveries. Never rejects. */
  async #end(subscriptionId: string, reason: 'gone' | 'failing'): Promise<void> {
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
}

function keyOf({ subscription_id, notification_id }: DeliveryKey): DeliveryKey {
  return { subscription_id, notification_id };
}

// Adds and takes a delivery for each subscription of the recipients, unless it already exists or
// the subscription was made with another key. Waits for a subscription that is ending, because its
// deliveries could not refer to it. Locks in the order of the primary key, so that two statements
// cannot deadlock.
const ADD = statement<[recipientIds: readonly string[], ids: readonly string[], keyId: string], Delivery>(
  'add-push-deliveries',
)`
    WITH wanted AS MATERIALIZED (
      SELECT s.id AS subscription_id, w.id AS notification_id, s.origin
      FROM unnest($1::text[], $2::text[]) AS w(recipient_id, id)
        JOIN push_subscriptions s ON s.actor_id = w.recipient_id
      WHERE s.key_id = $3 AND (s.expires_at IS NULL OR s.expires_at > clock_timestamp())
      ORDER BY s.id, w.id
      FOR KEY SHARE OF s
    ), added AS (
      INSERT INTO push_deliveries (subscription_id, notification_id, attempts, due_at)
      SELECT subscription_id, notification_id, 1, clock_timestamp() + interval '${LEASE_MS} ms' FROM wanted
      ON CONFLICT DO NOTHING
      RETURNING subscription_id, notification_id, attempts
    )
    SELECT a.*, w.origin FROM added a JOIN wanted w USING (subscription_id, notification_id)`;

/** Due deliveries, except those of push services with a long lane on this node. */
export const DELIVERIES = new LeasedRows<
  DeliveryKey,
  Delivery,
  [busyOrigins: readonly string[], limit: number]
>({
  name: 'push-deliveries',
  table: 'push_deliveries',
  key: ['subscription_id', 'notification_id'],
  due: 'due_at',
  tries: 'attempts',
  take: {
    from: `push_deliveries q JOIN push_subscriptions s ON s.id = q.subscription_id
      WHERE q.due_at <= clock_timestamp() AND s.origin <> ALL($2)
      ORDER BY q.due_at LIMIT $3`,
    also: 's.origin',
    returning: 'q.subscription_id, q.notification_id, q.attempts, due.origin',
  },
  settle: { removes: true },
});

// Leaves out notifications that are seen, read, dismissed, withdrawn or too old, notifications of
// deleted messages and conversations, and users that may no longer read them. The counts are those
// of the feed (core/notifications/feed/feed-store.ts).
const READ_PUSHED = statement<
  [subscriptionIds: readonly string[], notificationIds: readonly string[], olderThanMs: number],
  Pushed
>('read-pushed-notifications')`
    WITH wanted AS MATERIALIZED (
      SELECT s.id AS subscription_id, s.actor_id, s.endpoint, s.p256dh, s.auth, d.notification_id
      FROM unnest($1::text[], $2::text[]) AS d(subscription_id, notification_id)
        JOIN push_subscriptions s ON s.id = d.subscription_id
        JOIN actors a ON a.id = s.actor_id AND a.deactivated_at IS NULL
        JOIN accounts c ON c.id = a.account_id AND c.deleted_at IS NULL AND c.subscription = 'active'
        JOIN roles r ON r.id = a.role_id AND (r.type = 'admin' OR 'messaging:read' = ANY(r.permissions))
    ), counts AS MATERIALIZED (
      SELECT u.actor_id, f.* FROM (SELECT DISTINCT actor_id FROM wanted) u, LATERAL (
        SELECT count(*) FILTER (WHERE status = 'unseen') AS unseen,
          count(*) FILTER (WHERE status IN ('unseen', 'seen')) AS unread
        FROM notifications WHERE recipient_id = u.actor_id
      ) f
    )
    SELECT ${NOTIFICATION_COLUMNS.map((column) => `n.${column}`).join(', ')}, w.subscription_id, w.endpoint, w.p256dh,
      w.auth, v.id AS conversation_id, counts.unseen, counts.unread
    FROM wanted w
      JOIN counts USING (actor_id)
      JOIN notifications n ON n.recipient_id = w.actor_id AND n.id = w.notification_id
      LEFT JOIN messages m ON m.id = n.message_id
      LEFT JOIN conversations v ON n.resource_type = 'entity' AND v.id = n.resource_id
    WHERE n.status = 'unseen' AND n.created_at > clock_timestamp() - $3::float8 * interval '1 ms'
      AND (n.message_id IS NULL OR m.id IS NOT NULL AND m.deleted_at IS NULL) AND v.deleted_at IS NULL`;

// Returns the failed subscriptions. Among the outcomes of one subscription, a success counts as the
// last. Without failures it is written once an hour.
const NOTE_TRIES = statement<[outcomes: string], { id: string; failures: number; failing_seconds: number }>(
  'note-push-tries',
)`
    WITH outcome AS MATERIALIZED (
      SELECT * FROM json_to_recordset($1::json) AS o(subscription_id text, accepted boolean)
    ), tried AS MATERIALIZED (
      SELECT subscription_id, bool_or(accepted) AS accepted, count(*) FILTER (WHERE NOT accepted) AS failures
      FROM outcome WHERE accepted IS NOT NULL GROUP BY subscription_id
    ), locked AS MATERIALIZED (
      SELECT s.id, t.accepted, t.failures FROM push_subscriptions s JOIN tried t ON t.subscription_id = s.id
      WHERE NOT t.accepted OR s.failures > 0 OR s.last_success_at IS NULL
        OR s.last_success_at < clock_timestamp() - interval '1 hour'
      ORDER BY s.id FOR NO KEY UPDATE OF s
    )
    UPDATE push_subscriptions s SET
      failures = CASE WHEN l.accepted THEN 0 ELSE s.failures + l.failures END,
      failing_since = CASE WHEN NOT l.accepted THEN coalesce(s.failing_since, clock_timestamp()) END,
      last_success_at = CASE WHEN l.accepted THEN clock_timestamp() ELSE s.last_success_at END
    FROM locked l WHERE s.id = l.id
    RETURNING s.id, s.failures, coalesce(extract(epoch FROM clock_timestamp() - s.failing_since), 0)::float8
      AS failing_seconds`;
