import { Loop } from '../lifecycle.ts';
import type { Logger } from '../log.ts';
import { Lanes, type LanesOptions } from './lanes.ts';

export interface SenderOptions<One extends object> {
  /** What it sends, for log lines. */
  readonly name: string;
  /** How its tries share this node. */
  readonly lanes: Omit<LanesOptions<One>, 'run' | 'onDrained'>;
  /** Milliseconds between two looks for what is due, where nothing wakes it. */
  readonly lookEveryMs: number;
  /** Milliseconds of the lease of what it takes. */
  readonly leaseMs: number;
  /** Takes what is due, `atOnce` at most, and leaves lanes without room (`rooms`). */
  readonly take: (rooms: ReadonlyMap<string, number>, atOnce: number) => Promise<readonly One[]>;
  readonly atOnce: number;
  /** Renews the leases. Without it a try ends within half of its lease. */
  readonly renew?: (ones: readonly One[]) => Promise<unknown>;
  /** Leaves what it has taken to any node, at once. */
  readonly release: (ones: readonly One[]) => Promise<void> | void;
  /** Sends one and writes how that ended. What rejects is tried again when its lease ends. */
  readonly send: (one: One, stop: AbortSignal) => Promise<void>;
  readonly measure: () => Promise<void>;
  readonly log: Logger;
}

/** Milliseconds between two measurements of what waits. */
const MEASURE_EVERY_MS = 10_000;
/** A renewal has the rest of the lease to succeed. */
const RENEWED_AFTER = 1 / 3;
/** A try that begins later within its lease may outlast it: a table has it again after that. */
const BEGUN_WITHIN = 1 / 2;

/**
 * Sends what waits in a table to many receivers: it takes what is due, with a lease, tries it in
 * the lane of its receiver, and gives back what it does not get to. What a node has when it dies is
 * taken by another when the lease ends, so each is tried until its row says how it ended.
 */
export class Sender<One extends object> {
  readonly #options: SenderOptions<One>;
  readonly #lanes: Lanes<One>;
  readonly #sweep: Loop;
  /**
   * What this node has, and by performance.now() since when: tries under way, outcomes that are
   * still to be written, and what waits in a lane.
   */
  readonly #held = new Map<One, number>();
  readonly #stop = new AbortController();
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

  /** Takes what is due now instead of with the next look. */
  wake(): void {
    this.#sweep.wake();
  }

  /**
   * Tries one that this node has, with a lease that begins now or, where it has no row yet,
   * `sinceMs`. Returns whether there was room for it; if not, the caller has it.
   */
  begin(one: One, room?: number, sinceMs = performance.now()): boolean {
    if (this.isStopping) return false;
    this.#held.set(one, sinceMs);
    const isBegun = this.#lanes.add(one, room);
    if (!isBegun) this.#held.delete(one);
    return isBegun;
  }

  /** Returns whether the try had not begun, and never will. */
  withdraw(one: One): boolean {
    const isWithdrawn = this.#lanes.withdraw(one);
    if (isWithdrawn) this.#held.delete(one);
    return isWithdrawn;
  }

  /**
   * Lets tries under way end, for `ms` at most; no other begins. What has not begun is left to
   * other nodes.
   */
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
    const { take, release, atOnce, measure } = this.#options;
    await this.#renew();
    for (let isMore = true; isMore && !signal.aborted; ) {
      const taken = await take(this.#lanes.rooms(), atOnce);
      const left = taken.filter((one) => !this.begin(one));
      await release(left);
      isMore = left.length === 0 && taken.length === atOnce;
    }
    const nowMs = performance.now();
    if (nowMs - this.#measuredAtMs < MEASURE_EVERY_MS) return;
    this.#measuredAtMs = nowMs;
    await measure();
  }

  /** Never rejects. */
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
