import { BackgroundWork, type Load } from '../background.ts';
import { Loop } from '../lifecycle.ts';
import type { Logger } from '../log.ts';
import { Lanes, type LanesOptions } from './lanes.ts';

export interface SenderOptions<One extends object> {
  /** Names what it sends, for log lines. */
  readonly name: string;
  readonly lanes: Omit<LanesOptions<One>, 'run' | 'onDrained'>;
  /** Milliseconds between two looks for due rows, unless it is woken. */
  readonly lookEveryMs: number;
  /** Milliseconds of a lease. */
  readonly leaseMs: number;
  /** Takes at most `atOnce` due rows, none of lanes without room (`rooms`). */
  readonly take: (rooms: ReadonlyMap<string, number>, atOnce: number) => Promise<readonly One[]>;
  readonly atOnce: number;
  /** Renews leases. Without it a try ends within half of its lease. */
  readonly renew?: (ones: readonly One[]) => Promise<unknown>;
  /** Gives up leases, so that any node can take the rows at once. */
  readonly release: (ones: readonly One[]) => Promise<void> | void;
  /** Sends one and writes the outcome. If it rejects, the row is due again when its lease ends. */
  readonly send: (one: One, stop: AbortSignal) => Promise<void>;
  readonly measure: () => Promise<void>;
  /** The node's load: a backlog is worked off in batches with rests between them. */
  readonly load: Load;
  readonly log: Logger;
}

/** Milliseconds between two measurements of what waits. */
const MEASURE_EVERY_MS = 10_000;
/** A renewal has the rest of the lease to succeed. */
const RENEWED_AFTER = 1 / 3;
/** A try that begins later within its lease may outlast it, so it is left to its next lease. */
const BEGUN_WITHIN = 1 / 2;
/** Milliseconds in which a backlog should be worked off. */
const BACKLOG_MS = 10 * 60_000;

/**
 * Sends what waits in a table to many receivers: it takes due rows with a lease, tries each in the
 * lane of its receiver, and gives back rows that it does not get to. When a node dies, another
 * takes its rows at the end of their leases, so each row is tried until it has an outcome.
 */
export class Sender<One extends object> {
  readonly #options: SenderOptions<One>;
  readonly #lanes: Lanes<One>;
  readonly #sweep: Loop;
  /**
   * The rows of this node (under way, waiting in a lane, or with an outcome still to be written),
   * and when it got them by performance.now().
   */
  readonly #held = new Map<One, number>();
  readonly #stop = new AbortController();
  /** Set while more is due than the lanes have room for. */
  #backlog: BackgroundWork | undefined;
  #renewedAtMs = performance.now();
  #measuredAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: SenderOptions<One>) {
    this.#options = options;
    const { name, lanes, lookEveryMs, log } = options;
    this.#sweep = new Loop({
      intervalMs: lookEveryMs,
      run: (signal) => this.#round(signal),
      onError: (error) => log.warn({ err: error }, `looking for ${name} that are due failed`),
    });
    this.#lanes = new Lanes({
      ...lanes,
      run: (one) => this.#run(one),
      onDrained: () => this.wake(),
    });
  }

  get isStopping(): boolean {
    return this.#stop.signal.aborted;
  }

  get underWay(): readonly One[] {
    return this.#lanes.underWay;
  }

  /** Takes due rows now instead of with the next look. */
  wake(): void {
    this.#sweep.wake();
  }

  /**
   * Tries an item of this node, with a lease from now or, if it has no row yet, from `sinceMs`.
   * Returns false if there was no room; the item then remains with the caller.
   */
  begin(one: One, room?: number, sinceMs = performance.now()): boolean {
    if (this.isStopping) return false;
    this.#held.set(one, sinceMs);
    const isBegun = this.#lanes.add(one, room);
    if (!isBegun) this.#held.delete(one);
    return isBegun;
  }

  /** Removes a try that has not begun. Returns false if it has. */
  withdraw(one: One): boolean {
    const isWithdrawn = this.#lanes.withdraw(one);
    if (isWithdrawn) this.#held.delete(one);
    return isWithdrawn;
  }

  /** Begins no more tries, waits up to `ms` for running ones, leaves the rest to other nodes. */
  async drain(ms: number): Promise<void> {
    if (!this.isStopping) {
      this.#stop.abort();
      await this.#sweep.close();
      const left = this.#lanes.abandonQueued();
      for (const one of left) this.#held.delete(one);
      await Promise.resolve(this.#options.release(left)).catch(() => undefined);
    }
    await this.#lanes.idle(ms);
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { take, release, atOnce, measure, load } = this.#options;
    await this.#renew();
    await this.#backlog?.rest(signal);
    for (let isMore = true; isMore && !signal.aborted; ) {
      const taken = await take(this.#lanes.rooms(), atOnce);
      const left = taken.filter((one) => !this.begin(one));
      await release(left);
      isMore = left.length === 0 && taken.length === atOnce;
    }
    this.#backlog = this.#lanes.isFull ? (this.#backlog ?? new BackgroundWork(load, BACKLOG_MS)) : undefined;
    const nowMs = performance.now();
    if (nowMs - this.#measuredAtMs < MEASURE_EVERY_MS) return;
    this.#measuredAtMs = nowMs;
    await measure();
  }

  /** Runs a try. Never rejects. */
  async #run(one: One): Promise<void> {
    const { name, leaseMs, send, log } = this.#options;
    try {
      if (performance.now() - this.#held.get(one)! > leaseMs * BEGUN_WITHIN) return;
      await send(one, this.#stop.signal);
    } catch (error) {
      log.warn({ err: error }, `one of the ${name} could not be tried`);
    } finally {
      this.#held.delete(one);
    }
  }

  async #renew(): Promise<void> {
    const { renew, leaseMs } = this.#options;
    const nowMs = performance.now();
    if (renew === undefined || nowMs - this.#renewedAtMs < leaseMs * RENEWED_AFTER) return;
    this.#renewedAtMs = nowMs;
    const held = [...this.#held.keys()];
    await renew(held);
    for (const one of held) if (this.#held.has(one)) this.#held.set(one, nowMs);
  }
}
