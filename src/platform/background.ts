import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

/** The clock of a node, which tests replace. */
export interface Clock {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  pause(ms: number, signal?: AbortSignal): Promise<void>;
  /** Milliseconds in which the event loop was active. */
  activeMs(): number;
}

const REAL_CLOCK: Clock = {
  now: () => performance.now(),
  pause: (ms, signal) => delay(ms, undefined, signal && { signal }).catch(() => undefined),
  activeMs: () => performance.eventLoopUtilization().active,
};

/**
 * How busy a node is with what somebody waits for: commits of sends, and whatever else the event
 * loop does while background work rests.
 */
export class Load {
  readonly clock: Clock;
  #commits = 0;
  #awaitedMs = 0;
  #sinceMs = 0;
  #busy = 1;
  #measuredAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock = REAL_CLOCK) {
    this.clock = clock;
  }

  /** Counts a commit that somebody waits for as begun. */
  begin(): void {
    if (this.#commits++ === 0) this.#sinceMs = this.clock.now();
  }

  end(): void {
    if (--this.#commits === 0) this.#awaitedMs += this.clock.now() - this.#sinceMs;
  }

  /** The recent share of time in which other work was busy, from 0 to 1. Unknown counts as 1. */
  get busy(): number {
    return this.clock.now() - this.#measuredAtMs > FORGOTTEN_AFTER_MS ? 1 : this.#busy;
  }

  /** Pauses, and measures what others do meanwhile. */
  async pause(ms: number, signal?: AbortSignal): Promise<void> {
    const { clock } = this;
    const before = { atMs: clock.now(), activeMs: clock.activeMs(), awaitedMs: this.#awaited };
    await clock.pause(ms, signal);
    const atMs = clock.now();
    const othersMs = Math.max(clock.activeMs() - before.activeMs, this.#awaited - before.awaitedMs);
    const share = Math.min(1, othersMs / Math.max(atMs - before.atMs, 1));
    const weight = Math.min(1, (atMs - this.#measuredAtMs) / WINDOW_MS);
    this.#busy += (share - this.#busy) * weight;
    this.#measuredAtMs = atMs;
  }

  get #awaited(): number {
    return this.#awaitedMs + (this.#commits === 0 ? 0 : this.clock.now() - this.#sinceMs);
  }
}

/**
 * Work that no request waits for, done in pieces with a rest after each. A rest lasts as long as
 * its piece, which takes longer when the event loop or Postgres are late, times how busy the node
 * is. On an idle node it is next to nothing; while sends are always under way it is MOST_REST times
 * the piece. So this work always gets a tenth of the time.
 */
export class BackgroundWork {
  readonly #load: Load;
  readonly #withinMs: number;
  readonly #beganAtMs: number;
  /** Time at which the present piece began. */
  #resumedAtMs: number;
  /** The time of pieces without a rest. */
  #owedMs = 0;

  /** `withinMs`: milliseconds that the work should take. It rests less the longer it takes. */
  constructor(load: Load, withinMs = Number.POSITIVE_INFINITY) {
    this.#load = load;
    this.#withinMs = withinMs;
    this.#beganAtMs = load.clock.now();
    this.#resumedAtMs = this.#beganAtMs;
  }

  /** The milliseconds for which it has worked without a rest. */
  get workedMs(): number {
    return this.#owedMs + this.#load.clock.now() - this.#resumedAtMs;
  }

  /** Milliseconds of rest that are due for this work. */
  get restMs(): number {
    const patience = Math.max(0, 1 - (this.#load.clock.now() - this.#beganAtMs) / this.#withinMs);
    const times = LEAST_REST + (MOST_REST - LEAST_REST) * this.#load.busy * patience;
    return Math.min(this.workedMs * times, LONGEST_MS);
  }

  /** Rests behind a piece. Short rests are saved up. */
  async rest(signal?: AbortSignal): Promise<void> {
    const { workedMs, restMs } = this;
    this.#owedMs = workedMs;
    if (restMs >= SHORTEST_MS) {
      await this.#load.pause(restMs, signal);
      this.#owedMs = 0;
    }
    this.#resumedAtMs = this.#load.clock.now();
  }

  /** Yields what `pieces` does, and rests behind each when the next one is asked for. */
  async *paced<T>(pieces: AsyncIterable<T>): AsyncGenerator<T, void> {
    for await (const piece of pieces) {
      yield piece;
      await this.rest();
    }
  }
}

/** Rest after a piece, in multiples of its duration: on an idle node, and on a busy one. */
const LEAST_REST = 0.1;
const MOST_REST = 9;
/** Longest duration that counts: a piece that waited for a lock must not cost minutes of rest. */
const LONGEST_MS = 1_000;
/** Timers come in whole milliseconds, and what is measured meanwhile should have happened. */
const SHORTEST_MS = 10;
/** About how long a measurement counts. */
const WINDOW_MS = 500;
const FORGOTTEN_AFTER_MS = 2_000;
