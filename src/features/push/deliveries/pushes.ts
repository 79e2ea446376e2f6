import { LRUCache } from 'lru-cache';
import type { RevocableCache } from '../../../api/access/revocable-cache.ts';
import type { ResourcesChanged } from '../../../core/events/changes.ts';
import type { NodeParts } from '../../../core/features/feature.ts';
import { mayInterrupt, type SettingsOfUsers } from '../../../core/notifications/settings/settings.ts';
import type { NotificationRow } from '../../../core/resources/notification.ts';
import { type Backoff, delayAfter } from '../../../platform/backoff.ts';
import { bounded } from '../../../platform/bounded.ts';
import { GatheredReads } from '../../../platform/db/connection/gathered-reads.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from '../../../platform/db/queue/due-watch.ts';
import { GatheredWrites } from '../../../platform/db/queue/gathered-writes.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import { Sender } from '../../../platform/outbound/sender.ts';
import type { PushMetrics } from '../metrics.ts';
import type { Subscribers } from './audience.ts';
import type { Channel, Pushed, Tried } from './channel.ts';
import type { Delivery, DeliveryKey, Outcome } from './delivery.ts';
import { LEASE_MS } from './delivery-rows.ts';
import { GIVEN_UP, RETRIES } from './times.ts';

export interface PushesOptions<Row extends Pushed> extends Pick<NodeParts, 'database' | 'log'> {
  readonly channel: Channel<Row>;
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
/**
 * Pushes notifications to the browsers or phones of their recipients. `notified` adds a row for
 * each subscription, within the effects of the commit that made the notification, so a node that
 * dies loses no push. This node tries the row at once; after its lease, a sweep of any node takes
 * it. Each try decides whether and what to send.
 */
export class Pushes<Row extends Pushed> {
  readonly #options: PushesOptions<Row>;
  readonly #sender: Sender<Delivery>;
  /** If this process loses an outcome, its push is repeated. */
  readonly #outcomes: GatheredWrites<Outcome>;
  readonly #rows: GatheredReads<DeliveryKey, Row | undefined>;
  /** Origins whose refusal was logged. */
  readonly #refusals = new LRUCache<string, true>({
    ...bounded(MAX_SERVICES),
    ttl: REFUSAL_LOGGED_EVERY_MS,
  });
  readonly #tidy: Loop;
  #isClosed = false;

  constructor(options: PushesOptions<Row>) {
    this.#options = options;
    const { channel, database, log, metrics, sweepEveryMs = UNWOKEN_EVERY_MS } = options;
    const { leased } = channel.rows;
    this.#outcomes = new GatheredWrites({ gatherMs: 100, most: 500, write: (ones) => this.#write(ones) });
    this.#rows = new GatheredReads((keys) => this.#read(keys));
    this.#sender = new Sender<Delivery>({
      name: `pushes to ${channel.to}`,
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
        return leased.take(database, LEASE_MS, busy, atOnce);
      },
      release: (deliveries) => leased.release(database, deliveries),
      send: (delivery) => this.#push(delivery),
      measure: async () => {
        const { waiting, oldestSeconds } = await leased.measure(database);
        metrics.pushPending.set({ to: channel.to }, waiting);
        metrics.pushLagSeconds.set({ to: channel.to }, oldestSeconds);
      },
      load: database.load,
      log,
    });
    options.watch.add({
      name: `pushes_to_${channel.to}`,
      condition: leased.hasDue,
      everyMs: SWEEP_EVERY_MS,
      onDue: () => this.#sender.wake(),
    });
    this.#tidy = new Loop({
      intervalMs: TIDY_EVERY_MS,
      run: async (signal) => {
        for (let ended = TIDIED_AT_ONCE; ended === TIDIED_AT_ONCE && !signal.aborted; ) {
          ended = await channel.endStale(TIDIED_AT_ONCE);
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
    const { database, channel } = this.#options;
    for (let start = 0; start < notifications.length; start += ADDED_AT_ONCE) {
      const some = notifications.slice(start, start + ADDED_AT_ONCE);
      const recipientIds = some.map(({ recipient_id }) => recipient_id);
      const added = await channel.rows.add(
        database,
        recipientIds,
        some.map(({ id }) => id),
      );
      const left = added.filter((delivery) => !this.#sender.begin(delivery));
      await channel.rows.leased.release(database, left);
    }
  }

  /** Takes due deliveries now. */
  wake(): void {
    this.#sender.wake();
  }

  /** Waits for running tries and releases all others to other nodes at once. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([this.#sender.drain(CLOSING_MS), this.#tidy.close()]);
    this.#isClosed = true;
    await this.#outcomes.close();
  }

  async #read(keys: readonly DeliveryKey[]): Promise<(Row | undefined)[]> {
    const rows = await this.#options.channel.read(keys);
    const found = new Map(rows.map((row) => [`${row.subscription_id} ${row.id}`, row]));
    return keys.map((key) => found.get(`${key.subscription_id} ${key.notification_id}`));
  }

  /** Rejects if it fails on our side. The push is then tried again when its lease ends. */
  async #push(delivery: Delivery): Promise<void> {
    const { metrics, channel } = this.#options;
    const row = await this.#rows.ask(delivery);
    if (this.#isClosed) return;
    if (row === undefined || !(await this.#mayPush(row))) {
      metrics.pushTries.inc({ to: channel.to, outcome: 'obsolete' });
      void this.#outcomes.add({ ...keyOf(delivery), due_in_ms: null, accepted: null, shown: false });
      return;
    }
    const beganMs = performance.now();
    const tried = await channel.attempt(row);
    if (this.#isClosed) return;
    metrics.pushSeconds.observe((performance.now() - beganMs) / 1_000);
    metrics.pushTries.inc({ to: channel.to, outcome: tried.verdict });
    await this.#conclude(delivery, tried, channel.isRemoval(row));
  }

  async #mayPush(row: Row): Promise<boolean> {
    const { settings, channel, now = () => new Date() } = this.#options;
    return (
      channel.isRemoval(row) || mayInterrupt(await settings.of(row.recipient_id), row.category, 'push', now())
    );
  }

  async #conclude(
    delivery: Delivery,
    { verdict, reason, retryAfterMs }: Tried,
    isRemoval: boolean,
  ): Promise<void> {
    const { retries = RETRIES, log } = this.#options;
    const { subscription_id, origin, attempts } = delivery;
    if (verdict === 'gone') return this.#end(subscription_id, 'gone');
    const isUncounted = verdict === 'busy' || verdict === 'unauthorized';
    void this.#outcomes.add({
      ...keyOf(delivery),
      due_in_ms: isUncounted || verdict === 'failed' ? delayAfter(retries, attempts, retryAfterMs) : null,
      accepted: isUncounted ? null : verdict === 'accepted',
      // Shown by a push that was accepted, gone by a removal that was.
      shown: (verdict === 'accepted') !== isRemoval,
    });
    if (verdict === 'accepted') return;
    log.debug({ push_subscription_id: subscription_id, verdict, reason }, 'push not accepted');
    if ((verdict !== 'refused' && verdict !== 'unauthorized') || this.#refusals.has(origin)) return;
    this.#refusals.set(origin, true);
    log.warn({ push_service: origin, reason }, 'a push service refuses a push');
  }

  /** Never rejects. */
  async #write(outcomes: readonly Outcome[]): Promise<void> {
    const { database, log, channel } = this.#options;
    try {
      const failing = await channel.rows.noteTries(database, outcomes);
      await channel.rows.leased.settle(database, outcomes);
      await channel.settled?.(outcomes);
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
    const { database, metrics, log, channel } = this.#options;
    try {
      if (!(await channel.rows.end(database, subscriptionId))) return;
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
