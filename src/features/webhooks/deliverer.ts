import type { NodeParts } from '../../core/features/feature.ts';
import { delayAfter } from '../../platform/backoff.ts';
import type { DueWatch } from '../../platform/db/queue/due-watch.ts';
import { GatheredWrites } from '../../platform/db/queue/gathered-writes.ts';
import type { GuardedPost } from '../../platform/outbound/guarded-post.ts';
import { Sender } from '../../platform/outbound/sender.ts';
import { attempt, targetOf } from './attempt.ts';
import type { Delivery, FirstTry, Outcome, ReadData } from './delivery.ts';
import {
  addDeliveries,
  DELIVERIES,
  type DeliveryState,
  HAS_DUE,
  pending,
  withTry,
} from './delivery-store.ts';
import type { WebhookMetrics } from './metrics.ts';
import type { Receivers } from './receivers.ts';
import type { WebhookTimes } from './times.ts';

export interface DelivererOptions extends Pick<NodeParts, 'database' | 'log'> {
  readonly metrics: WebhookMetrics;
  readonly watch: Pick<DueWatch, 'add'>;
  readonly receivers: Pick<Receivers, 'get'>;
  readonly posts: GuardedPost;
  readonly times: Pick<WebhookTimes, 'retries' | 'lookEveryMs'>;
  readonly readData: ReadData;
  /** Called with the tries and outcomes that were written. */
  readonly onWritten: (written: readonly Recorded[]) => void;
  /** Milliseconds for one try. */
  readonly timeoutMs?: number;
}

/**
 * Sends deliveries, whichever node has recorded them: new events at once, pending deliveries when
 * they are due. A try of a node that dies is repeated when its lease ends, so every delivery is
 * tried until its row records its end.
 */
export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #timeoutMs: number;
  readonly #sender: Sender<Try>;
  readonly #recorder: GatheredWrites<Recorded>;
  #isClosed = false;

  constructor(options: DelivererOptions) {
    this.#options = options;
    const { database, times, metrics, log, timeoutMs = TIMEOUT_MS } = options;
    this.#timeoutMs = timeoutMs;
    this.#recorder = new GatheredWrites({ gatherMs: 50, most: 500, write: (ones) => this.#write(ones) });
    this.#sender = new Sender<Try>({
      name: 'webhook deliveries',
      lanes: {
        laneOf: ({ delivery }) => delivery.webhook_id,
        sideBySide: SIDE_BY_SIDE,
        crowd: CROWD,
        room: ROOM,
      },
      lookEveryMs: times.lookEveryMs,
      leaseMs: this.#leaseMs,
      atOnce: MAX_TAKEN,
      take: async (rooms, atOnce) => {
        // A lease that a crash of Postgres loses is taken again.
        const busy = [[...rooms.keys()], [...rooms.values()]] as const;
        const due = await DELIVERIES.take(database.relaxed, this.#leaseMs, ...busy, ROOM, atOnce);
        return due.map(({ is_withheld: isWithheld, ...delivery }) => ({ delivery, isWithheld }));
      },
      release: (tries) => {
        for (const one of tries) this.#release(one);
      },
      send: (one, stop) => this.#try(one, stop),
      measure: async () => {
        const { waiting, oldestSeconds } = await DELIVERIES.measure(database);
        metrics.webhookPending.set(waiting);
        metrics.webhookPendingSeconds.set(oldestSeconds);
      },
      load: database.load,
      log,
    });
    options.watch.add({ name: 'webhook_deliveries', condition: HAS_DUE, onDue: () => this.wake() });
  }

  /**
   * Tries each delivery at once. Resolves within half a second, when all are recorded, with their
   * outcomes or as pending: only then may the outbox rows of their events go. Callers that handle
   * events in batches wait while the next batch runs, not before it. Rejects while Postgres is
   * unavailable; the events are then handled again, with the same ids.
   */
  async deliver(tries: readonly FirstTry[]): Promise<void> {
    const recorded: Promise<void>[] = [];
    const underWay: Try[] = [];
    for (const { delivery, data } of tries) {
      const record = Promise.withResolvers<void>();
      const one: Try = { delivery, data, record };
      if (this.#sender.begin(one, ROOM_OF_FIRST, Number.POSITIVE_INFINITY)) {
        underWay.push(one);
        recorded.push(record.promise);
      } else {
        // The delivery gets a place when it is taken.
        recorded.push(this.#recorder.add({ delivery, state: pending(0, delivery), isNew: true }));
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

  /** Takes due deliveries now instead of at the next look. */
  wake(): void {
    this.#sender.wake();
  }

  /** Waits up to `ms` milliseconds for running tries, and leaves all others to other nodes. */
  drain(ms: number): Promise<void> {
    return this.#sender.drain(ms);
  }

  async close(): Promise<void> {
    await this.drain(0);
    for (const one of this.#sender.underWay) this.#release(one);
    this.#isClosed = true;
    await this.#recorder.close();
  }

  /** Rejects if an existing row is to be tried again when its lease ends. */
  async #try(one: Try, stop: AbortSignal): Promise<void> {
    const { receivers, posts, readData, log } = this.#options;
    try {
      if (one.isWithheld) return this.#settle(one, withdrawn(one.delivery));
      const receiver = await receivers.get(one.delivery.webhook_id);
      if (receiver === undefined) {
        // Disabled or deleted. The insert knows which, and an existing row is not taken again.
        if (one.record !== undefined) this.#release(one);
        return;
      }
      const data = one.data ?? (await readData(receiver, one.delivery));
      if (data === undefined) return this.#settle(one, withdrawn(one.delivery));
      const outcome = await attempt({ posts, timeoutMs: this.#timeoutMs }, receiver, one.delivery, data);
      if (stop.aborted && outcome.result === 'failed' && outcome.statusCode === null) {
        // The try may have failed because this node stops.
        return this.#release(one);
      }
      if (outcome.result === 'failed' && outcome.isRefused === true) {
        const { host } = targetOf(receiver, one.delivery);
        const about = { webhook: receiver.id, host, delivery: one.delivery.id };
        log.info(about, 'a webhook was not called, because its address is not public');
      }
      this.#settle(one, this.#stateAfter(one.delivery, outcome));
    } catch (error) {
      if (one.record !== undefined) this.#release(one);
      throw error;
    }
  }

  #stateAfter(delivery: Delivery, outcome: Outcome): DeliveryState {
    const { attempts } = delivery;
    const { statusCode: last_status_code, ms: last_ms } = outcome;
    const tries = withTry(delivery, {
      tried_at: outcome.startedAt,
      duration_ms: last_ms,
      status_code: last_status_code,
      error: outcome.result === 'failed' ? outcome.error : null,
      content_type: outcome.contentType,
      answer: outcome.answer,
    });
    const tried = { attempts: attempts + 1, last_status_code, last_ms, tries };
    if (outcome.result === 'delivered') {
      return { ...tried, status: 'delivered', due_in_ms: null, last_error: null };
    }
    const { error: last_error, retryAfterMs } = outcome;
    const due_in_ms = delayAfter(this.#options.times.retries, attempts + 1, retryAfterMs);
    return { ...tried, status: due_in_ms === null ? 'failed' : 'pending', due_in_ms, last_error };
  }

  #settle(one: Try, state: DeliveryState): void {
    const { delivery, record } = one;
    if (this.#isClosed) return;
    one.record = undefined;
    const writing = this.#recorder.add({ delivery, state, isNew: record !== undefined });
    writing.then(record?.resolve, record?.reject ?? (() => undefined));
  }

  /** Records a try that runs too long for the outbox row to wait. */
  #recordUnended(one: Try): void {
    if (one.record === undefined) return;
    const isLeft = this.#sender.withdraw(one);
    this.#settle(one, pending(isLeft ? 0 : this.#leaseMs, one.delivery));
  }

  /** Leaves a delivery to any node. */
  #release(one: Try): void {
    this.#settle(one, pending(0, one.delivery));
  }

  get #leaseMs(): number {
    return this.#timeoutMs * LEASED_TIMEOUTS;
  }

  /**
   * Writes deliveries and outcomes. An outcome never precedes its row. If Postgres loses one, the
   * delivery is tried again when its lease ends. Rejects if new deliveries were not written.
   */
  async #write(ones: readonly Recorded[]): Promise<void> {
    const { database, log } = this.#options;
    const [added, settled] = [ones.filter(({ isNew }) => isNew), ones.filter(({ isNew }) => !isNew)];
    // Not durable on return, but the log of Postgres has them before the removal of the outbox row.
    // After a crash that loses them, the event still exists and is handled again.
    const [adding, settling] = await Promise.allSettled([
      added.length === 0 ? undefined : addDeliveries(database.relaxed, added),
      DELIVERIES.settle(
        database.relaxed,
        settled.map(({ delivery: { webhook_id, id }, state }) => ({ webhook_id, id, ...state })),
      ),
    ]);
    if (adding.status === 'fulfilled') this.#note(added);
    if (settling.status === 'fulfilled') this.#note(settled);
    else {
      const about = { err: settling.reason, rows: settled.length };
      log.warn(about, 'could not write outcomes of webhook deliveries');
    }
    if (adding.status === 'rejected') throw adding.reason;
  }

  #note(written: readonly Recorded[]): void {
    const { webhookDeliveries } = this.#options.metrics;
    for (const { delivery, state } of written) {
      if (state.status !== 'pending') webhookDeliveries.inc({ outcome: state.status });
      else if (state.attempts > delivery.attempts) webhookDeliveries.inc({ outcome: 'retried' });
    }
    this.#options.onWritten(written);
  }
}

/** The state of a delivery, to be written or written. */
export interface Recorded {
  readonly delivery: Delivery;
  readonly state: DeliveryState;
  /** Whether the delivery has no row yet. */
  readonly isNew: boolean;
}

/** A delivery that this node tries or is about to try. */
interface Try {
  readonly delivery: Delivery;
  readonly isWithheld?: boolean;
  /** The payload. If undefined, it is read from the resource. */
  readonly data?: string;
  /** For a delivery without a row: settled when the row is written. */
  record?: PromiseWithResolvers<void> | undefined;
}

function withdrawn(delivery: Delivery): DeliveryState {
  return { ...pending(0, delivery), status: 'withdrawn', due_in_ms: null };
}

/** Maximum concurrent tries of one webhook on this node. */
const SIDE_BY_SIDE = 16;
/** Maximum deliveries of one webhook in memory from sweeps. */
const ROOM = 64;
/** The same with first tries, which come in bursts and are short-lived (`withdraw`). */
const ROOM_OF_FIRST = 512;

const TIMEOUT_MS = 15_000;
/** From this many tries on this node, each webhook gets one at a time. */
const CROWD = 1_000;
/** The outbox row of an event, which waits for the record, is taken over after two seconds. */
const RECORD_AFTER_MS = 500;
/** A delivery may wait for its turn as long as the previous delivery may take. */
const LEASED_TIMEOUTS = 2;
const MAX_TAKEN = 500;
