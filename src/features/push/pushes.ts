import type { ResourcesChanged } from '../../core/events/changes.ts';
import { mayInterrupt, type SettingsOfUsers } from '../../core/notifications/settings/settings.ts';
import type { NotificationRow } from '../../core/resources/notification.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { GatheredReads } from '../../platform/db/connection/gathered-reads.ts';
import { type DueWatch, UNWOKEN_EVERY_MS } from '../../platform/db/queue/due-watch.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { Lanes } from '../../platform/outbound/lanes.ts';
import { type AttemptOptions, attempt, type Tried } from './attempt.ts';
import type { PushAudience, Subscribers } from './audience.ts';
import {
  addDeliveries,
  type Delivery,
  type DeliveryKey,
  HAS_DUE,
  LEASE_MS,
  measureDeliveries,
  type Pushed,
  readPushed,
  releaseDeliveries,
  takeDue,
} from './delivery-store.ts';
import { Outcomes } from './outcomes.ts';
import { LONGEST_RETRY_MS, PUSHED_FOR_MS, RETRIES_MS } from './retry-schedule.ts';
import { deleteStale } from './subscription-store.ts';

export interface PushesOptions extends AttemptOptions {
  readonly database: Database;
  readonly watch: Pick<DueWatch, 'add'>;
  readonly audience: Pick<PushAudience, 'of'>;
  readonly settings: Pick<SettingsOfUsers, 'of'>;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** For do-not-disturb hours. Default: the clock of this machine. */
  readonly now?: () => Date;
  /** Default: RETRIES_MS. */
  readonly retriesMs?: readonly number[];
  /** Milliseconds between two sweeps that nothing has woken. Default UNWOKEN_EVERY_MS. */
  readonly sweepEveryMs?: number;
}

/** Least milliseconds between two sweeps for what is due. */
const SWEEP_EVERY_MS = 2_000;
const TAKEN_AT_ONCE = 200;
const ADDED_AT_ONCE = 1_000;
/** Milliseconds between two rounds that delete expired subscriptions, and those of another key. */
const TIDY_EVERY_MS = 60 * 60 * 1_000;
const TIDIED_AT_ONCE = 1_000;
/**
 * Milliseconds that tries under way get to end when the node stops; then other nodes repeat them.
 */
const CLOSING_MS = 2_000;

/**
 * Tries to one push service at the same time: a handful of them serves all browsers, in 100 ms or
 * so each.
 */
const SIDE_BY_SIDE = 64;
/** Deliveries to one push service in memory; the others stay in the table. */
const ROOM = 2_000;
/** Push services that a node sends to at the same time. */
const MAX_SERVICES = 100;
/**
 * A try that begins later than this, in milliseconds, may not end within its lease: the table has
 * it again after that.
 */
const BEGUN_WITHIN_MS = LEASE_MS / 2;

/** A delivery that this node has taken. */
interface Taken {
  readonly delivery: Delivery;
  readonly takenAtMs: number;
}

type NotificationKey = Pick<NotificationRow, 'recipient_id' | 'id'>;

/**
 * Pushes notifications to the browsers of their recipients. `notified` adds a row for each
 * subscription within the effects of the commit that made the notification, so that a node that
 * dies loses none; this node then tries it at once. What is not done when its lease ends is taken
 * by a sweep of any node. What is sent, and whether, is decided at the time of the try.
 */
export class Pushes {
  readonly #options: PushesOptions;
  readonly #lanes: Lanes<Taken>;
  readonly #outcomes: Outcomes;
  readonly #rows: GatheredReads<DeliveryKey, Pushed | undefined>;
  readonly #sweep: Loop;
  readonly #tidy: Loop;
  readonly #retriesMs: readonly number[];
  #isClosed = false;

  constructor(options: PushesOptions) {
    this.#options = options;
    const { database, log, retriesMs = RETRIES_MS, sweepEveryMs = UNWOKEN_EVERY_MS } = options;
    this.#retriesMs = retriesMs;
    this.#outcomes = new Outcomes(options);
    this.#rows = new GatheredReads((keys) => this.#read(keys));
    this.#sweep = new Loop({
      intervalMs: sweepEveryMs,
      run: (signal) => this.#takeDue(signal),
      onError: (error) => log.warn({ err: error }, 'taking due pushes failed'),
    });
    options.watch.add({
      name: 'pushes',
      condition: HAS_DUE,
      everyMs: SWEEP_EVERY_MS,
      onDue: () => this.#sweep.wake(),
    });
    this.#lanes = new Lanes({
      laneOf: ({ delivery }) => delivery.origin,
      sideBySide: SIDE_BY_SIDE,
      room: ROOM,
      maxLanes: MAX_SERVICES,
      run: (taken) => this.#push(taken),
      onDrained: () => this.#sweep.wake(),
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
   * Adds the pushes of notifications that are committed, in groups of one account each. May be
   * called again for the same ones: devices recognize a notification by its id. Synchronous where
   * no recipient has a subscription.
   */
  notified(groups: Iterable<readonly NotificationRow[]>): Promise<void> | undefined {
    let wanted: NotificationRow[] | undefined;
    let unknown: Promise<NotificationRow[]>[] | undefined;
    for (const rows of groups) {
      const [first] = rows;
      if (first === undefined) continue;
      const subscribers = this.#options.audience.of(first.account_id);
      if (subscribers instanceof Promise) {
        unknown ??= [];
        unknown.push(subscribers.then((known) => rows.filter((row) => known.has(row.recipient_id))));
      } else if (subscribers.size > 0) {
        wanted = withWanted(wanted, rows, subscribers);
      }
    }
    if (unknown !== undefined) return this.#addUnknown(wanted ?? [], unknown);
    return wanted === undefined ? undefined : this.#add(wanted);
  }

  /**
   * Adds the pushes of new notifications among changed resources. May be called again for the same
   * ones.
   */
  async changed({ changes }: ResourcesChanged): Promise<void> {
    const made = changes.filter(({ event }) => event === 'notification.created');
    await this.#add(made.map(({ id, stream }) => ({ id, recipient_id: stream })));
  }

  async #add(keys: readonly NotificationKey[]): Promise<void> {
    const { database, vapid } = this.#options;
    for (let start = 0; start < keys.length; start += ADDED_AT_ONCE) {
      await this.#begin(await addDeliveries(database, keys.slice(start, start + ADDED_AT_ONCE), vapid.keyId));
    }
  }

  /** Waits for the tries under way; the others are left to other nodes, at once. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([this.#sweep.close(), this.#tidy.close()]);
    const left = this.#lanes.abandonQueued().map(({ delivery }) => delivery);
    await this.#lanes.idle(CLOSING_MS);
    this.#isClosed = true;
    await this.#outcomes.close();
    if (left.length > 0) await releaseDeliveries(this.#options.database, left).catch(() => undefined);
  }

  async #addUnknown(wanted: readonly NotificationRow[], unknown: readonly Promise<NotificationRow[]>[]) {
    await this.#add([...wanted, ...(await Promise.all(unknown)).flat()]);
  }

  /**
   * Returns whether there was a place for all of them; the others are left to the next sweep of any
   * node.
   */
  async #begin(deliveries: readonly Delivery[]): Promise<boolean> {
    const takenAtMs = performance.now();
    const left = deliveries.filter((delivery) => !this.#lanes.add({ delivery, takenAtMs }));
    if (left.length > 0) await releaseDeliveries(this.#options.database, left);
    return left.length === 0;
  }

  async #takeDue(signal: AbortSignal): Promise<void> {
    const { database, metrics } = this.#options;
    for (let isMore = true; isMore && !signal.aborted; ) {
      const busy = [...this.#lanes.rooms()].flatMap(([origin, room]) => (room < ROOM / 2 ? origin : []));
      const due = await takeDue(database, busy, TAKEN_AT_ONCE);
      isMore = (await this.#begin(due)) && due.length === TAKEN_AT_ONCE;
    }
    const { pending, lag_seconds } = await measureDeliveries(database);
    metrics.pushPending.set(pending);
    metrics.pushLagSeconds.set(lag_seconds ?? 0);
  }

  async #read(keys: readonly DeliveryKey[]): Promise<(Pushed | undefined)[]> {
    const rows = await readPushed(this.#options.database, keys, PUSHED_FOR_MS);
    const found = new Map(rows.map((row) => [`${row.subscription_id} ${row.id}`, row]));
    return keys.map((key) => found.get(`${key.subscription_id} ${key.notification_id}`));
  }

  /** Never rejects: what fails on our side is tried again when its lease ends. */
  async #push({ delivery, takenAtMs }: Taken): Promise<void> {
    const { metrics, log } = this.#options;
    if (performance.now() - takenAtMs > BEGUN_WITHIN_MS) return;
    try {
      const row = await this.#rows.ask(delivery);
      if (this.#isClosed) return;
      if (row === undefined || !(await this.#mayPush(row))) {
        metrics.pushTries.inc({ outcome: 'obsolete' });
        this.#outcomes.add({ ...keyOf(delivery), retry_ms: null, accepted: null });
        return;
      }
      const beganMs = performance.now();
      const tried = await attempt(this.#options, row);
      if (this.#isClosed) return;
      metrics.pushSeconds.observe((performance.now() - beganMs) / 1_000);
      metrics.pushTries.inc({ outcome: tried.verdict });
      await this.#conclude(delivery, tried);
    } catch (error) {
      log.warn(
        { err: error, push_subscription_id: delivery.subscription_id },
        'a push failed, it is tried again',
      );
    }
  }

  async #mayPush({ recipient_id, category }: Pushed): Promise<boolean> {
    const { settings, now = () => new Date() } = this.#options;
    return mayInterrupt(await settings.of(recipient_id), category, 'push', now());
  }

  async #conclude(delivery: Delivery, { verdict, reason, retryAfterMs = 0 }: Tried): Promise<void> {
    const { log } = this.#options;
    const { subscription_id, attempts } = delivery;
    if (verdict === 'gone') return this.#outcomes.end(subscription_id, 'gone');
    const pauseMs = verdict === 'failed' || verdict === 'busy' ? this.#retriesMs[attempts - 1] : undefined;
    this.#outcomes.add({
      ...keyOf(delivery),
      retry_ms: pauseMs === undefined ? null : Math.max(pauseMs, Math.min(retryAfterMs, LONGEST_RETRY_MS)),
      accepted: verdict === 'busy' ? null : verdict === 'accepted',
    });
    if (verdict !== 'accepted')
      log.debug({ push_subscription_id: subscription_id, verdict, reason }, 'push not accepted');
  }
}

function withWanted(
  wanted: NotificationRow[] | undefined,
  rows: readonly NotificationRow[],
  subscribers: Subscribers,
): NotificationRow[] | undefined {
  let found = wanted;
  for (const row of rows) {
    if (!subscribers.has(row.recipient_id)) continue;
    found ??= [];
    found.push(row);
  }
  return found;
}

function keyOf({ subscription_id, notification_id }: DeliveryKey): DeliveryKey {
  return { subscription_id, notification_id };
}
