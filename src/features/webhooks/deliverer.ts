import { WEBHOOK_TEST } from '../../contract/protocol/event-areas.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { DueWatch } from '../../platform/db/queue/due-watch.ts';
import { Loop } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { GuardedPost } from '../../platform/outbound/guarded-post.ts';
import { Lanes } from '../../platform/outbound/lanes.ts';
import { attempt } from './attempt.ts';
import type { Deliveries, Delivery, FirstTry, Outcome, ReadData, Receiver } from './delivery.ts';
import { type DeliveryState, HAS_DUE, measurePending, takeDue } from './delivery-store.ts';
import type { Receivers } from './receivers.ts';
import { type Recorded, Recorder } from './recorder.ts';
import type { RetrySchedule } from './retry-schedule.ts';

export interface DelivererOptions {
  readonly database: Database;
  readonly watch: Pick<DueWatch, 'add'>;
  readonly receivers: Pick<Receivers, 'get'>;
  readonly posts: GuardedPost;
  readonly schedule: RetrySchedule;
  readonly readData: ReadData;
  /** Called with what was written of tries and their outcomes. */
  readonly onWritten: (written: readonly Recorded[]) => void;
  /** Milliseconds for one try. */
  readonly timeoutMs?: number;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/**
 * Sends deliveries: those of new events at once, those that are pending when their time has come,
 * whichever node has recorded them. A try of a node that dies is repeated when its lease ends, so
 * every delivery is tried until its row says that it is done.
 */
export class Deliverer implements Deliveries {
  readonly #options: DelivererOptions;
  readonly #timeoutMs: number;
  readonly #lanes: Lanes<Try>;
  readonly #recorder: Recorder;
  readonly #sweep: Loop;
  readonly #stop = new AbortController();
  #isClosed = false;
  #measuredAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: DelivererOptions) {
    this.#options = options;
    const { database, log, timeoutMs = TIMEOUT_MS } = options;
    this.#timeoutMs = timeoutMs;
    this.#recorder = new Recorder({
      database,
      log,
      onWritten: (written) => {
        this.#count(written);
        options.onWritten(written);
      },
    });
    this.#sweep = new Loop({
      intervalMs: options.schedule.lookEveryMs,
      run: (signal) => this.#takeDue(signal),
      onError: (error) => log.warn({ err: error }, 'sweep of webhook deliveries failed'),
    });
    options.watch.add({ name: 'webhook_deliveries', condition: HAS_DUE, onDue: () => this.wake() });
    this.#lanes = new Lanes({
      laneOf: ({ delivery }) => delivery.webhook_id,
      sideBySide: SIDE_BY_SIDE,
      crowd: CROWD,
      room: ROOM,
      run: (one) => this.#run(one),
      onDrained: () => this.#sweep.wake(),
    });
  }

  async deliver(tries: readonly FirstTry[]): Promise<void> {
    const recorded: Promise<void>[] = [];
    const underWay: FirstTryUnderWay[] = [];
    for (const { delivery, data } of tries) {
      const record = Promise.withResolvers<void>();
      const one: FirstTryUnderWay = { delivery, data, record, tryBeforeMs: Number.POSITIVE_INFINITY };
      if (!this.#stop.signal.aborted && this.#lanes.add(one, ROOM_OF_FIRST)) {
        underWay.push(one);
        recorded.push(record.promise);
      } else {
        // It finds its place in a sweep.
        recorded.push(this.#recorder.insert({ delivery, state: pendingFor(0, delivery) }));
      }
    }
    const timer = setTimeout(() => {
      for (const one of underWay) this.#recordUnended(one);
    }, RECORD_AFTER_MS);
    try {
      await Promise.all(recorded);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Takes what is due now instead of with the next sweep. */
  wake(): void {
    this.#sweep.wake();
  }

  /**
   * Lets tries under way end, for `ms` at most; no other begins. What has not ended is left to
   * other nodes.
   */
  async drain(ms: number): Promise<void> {
    this.#stop.abort();
    await this.#sweep.close();
    for (const one of this.#lanes.abandonQueued()) this.#putBack(one);
    await this.#lanes.idle(ms);
  }

  async close(): Promise<void> {
    await this.drain(0);
    for (const one of this.#lanes.underWay) this.#putBack(one);
    this.#isClosed = true;
    await this.#recorder.close();
  }

  async #takeDue(signal: AbortSignal): Promise<void> {
    const { database } = this.#options;
    for (let isMore = true; isMore && !signal.aborted; ) {
      const due = await takeDue(database, {
        rooms: this.#lanes.rooms(),
        room: ROOM,
        leaseMs: this.#leaseMs,
        limit: MAX_TAKEN,
      });
      const tryBeforeMs = performance.now() + this.#leaseMs - this.#timeoutMs;
      for (const delivery of due) {
        const one = { delivery, tryBeforeMs };
        if (delivery.is_withheld) {
          this.#ended(one, withdrawn(delivery));
          continue;
        }
        // First tries may have taken the room meanwhile.
        if (!this.#lanes.add(one)) this.#putBack(one);
      }
      isMore = due.length === MAX_TAKEN;
    }
    await this.#measure();
  }

  /** Executes one try. Never rejects. */
  async #run(one: Try): Promise<void> {
    const { receivers, posts, log } = this.#options;
    // Its lease may end before the try would: a sweep takes it again.
    if (performance.now() > one.tryBeforeMs) return;
    try {
      const receiver = await receivers.get(one.delivery.webhook_id);
      if (receiver === undefined) {
        // Disabled or gone. The insert knows which, and a row that exists is not taken again.
        if (one.record !== undefined) this.#putBack(one);
        return;
      }
      const data = one.data ?? (await this.#read(receiver, one.delivery));
      if (data === undefined) {
        this.#ended(one, withdrawn(one.delivery));
        return;
      }
      const outcome = await attempt({ posts, timeoutMs: this.#timeoutMs }, receiver, one.delivery, data);
      if (this.#stop.signal.aborted && outcome.result === 'failed' && outcome.statusCode === null) {
        // It may have failed because this node stops.
        this.#putBack(one);
        return;
      }
      if (outcome.result === 'failed' && outcome.isRefused === true) {
        const about = { webhook: receiver.id, host: receiver.target.host, delivery: one.delivery.id };
        log.info(about, 'a webhook was not called, because its address is not public');
      }
      this.#ended(one, this.#stateAfter(one.delivery, outcome));
    } catch (error) {
      log.warn({ err: error, delivery: one.delivery.id }, 'a webhook delivery could not be tried');
      // A row that exists is tried again when its lease ends.
      if (one.record !== undefined) this.#putBack(one);
    }
  }

  async #read(receiver: Receiver, delivery: Delivery): Promise<string | undefined> {
    if (delivery.event_type === WEBHOOK_TEST)
      return `{"object":"webhook_test","webhook_id":"${receiver.id}"}`;
    return this.#options.readData(receiver, delivery);
  }

  #stateAfter({ attempts }: Delivery, outcome: Outcome): DeliveryState {
    const { statusCode, ms } = outcome;
    const tried = { attempts: attempts + 1, statusCode, ms };
    if (outcome.result === 'delivered') return { ...tried, status: 'delivered', dueInMs: null, error: null };
    const { error, retryAfterMs } = outcome;
    const dueInMs = this.#options.schedule.delayAfter(attempts + 1, retryAfterMs);
    return { ...tried, status: dueInMs === null ? 'failed' : 'pending', dueInMs, error };
  }

  #ended(one: Try, state: DeliveryState): void {
    const { delivery, record } = one;
    if (this.#isClosed) return;
    if (record === undefined) {
      this.#recorder.update({ delivery, state });
      return;
    }
    one.record = undefined;
    this.#recorder.insert({ delivery, state }).then(record.resolve, record.reject);
  }

  /** Records what has been under way for so long that the outbox row should not wait for it. */
  #recordUnended(one: FirstTryUnderWay): void {
    const { delivery, record } = one;
    if (record === undefined) return;
    if (this.#lanes.withdraw(one)) {
      this.#putBack(one);
      return;
    }
    one.record = undefined;
    one.tryBeforeMs = performance.now() + this.#leaseMs - this.#timeoutMs;
    this.#recorder
      .insert({ delivery, state: pendingFor(this.#leaseMs, delivery) })
      .then(record.resolve, record.reject);
  }

  /** Leaves a delivery to the next sweep of any node. */
  #putBack(one: Try): void {
    this.#ended(one, pendingFor(0, one.delivery));
  }

  get #leaseMs(): number {
    return this.#timeoutMs * LEASED_TIMEOUTS;
  }

  #count(written: readonly Recorded[]): void {
    const { webhookDeliveries } = this.#options.metrics;
    for (const { delivery, state } of written) {
      if (state.status !== 'pending') webhookDeliveries.inc({ outcome: state.status });
      else if (state.attempts > delivery.attempts) webhookDeliveries.inc({ outcome: 'retried' });
    }
  }

  async #measure(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#measuredAtMs < MEASURE_EVERY_MS) return;
    this.#measuredAtMs = nowMs;
    const { database, metrics } = this.#options;
    const { pending, oldestSeconds } = await measurePending(database);
    metrics.webhookPending.set(pending);
    metrics.webhookPendingSeconds.set(oldestSeconds);
  }
}

/** A delivery that this node is to try, or is trying. */
interface Try {
  readonly delivery: Delivery;
  /** The payload; without it the resource is read. */
  readonly data?: string;
  /** For a delivery that has no row yet: settled by writing it. */
  record?: PromiseWithResolvers<void> | undefined;
  /** By performance.now(): later the try could outlast its lease. */
  tryBeforeMs: number;
}

/** A first try whose delivery has no row yet. */
type FirstTryUnderWay = Try & { readonly data: string };

function pendingFor(dueInMs: number, { attempts }: Delivery): DeliveryState {
  return { status: 'pending', attempts, dueInMs, statusCode: null, error: null, ms: null };
}

function withdrawn({ attempts }: Delivery): DeliveryState {
  return { status: 'withdrawn', attempts, dueInMs: null, statusCode: null, error: null, ms: null };
}

/** Most tries of one webhook under way on this node. */
const SIDE_BY_SIDE = 16;
/** Most deliveries of one webhook in memory that a sweep has taken. */
const ROOM = 64;
/** The same with first tries, which come in bursts and do not stay long (`withdraw`). */
const ROOM_OF_FIRST = 512;

const TIMEOUT_MS = 15_000;
/** Tries of this node from which on a webhook gets one at a time. */
const CROWD = 1_000;
/** The outbox row of an event is taken over after two seconds, and waits for the record. */
const RECORD_AFTER_MS = 500;
/** A delivery may wait for its turn as long as the one before it may take. */
const LEASED_TIMEOUTS = 2;
const MAX_TAKEN = 500;
const MEASURE_EVERY_MS = 10_000;
