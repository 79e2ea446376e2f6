import type { SocketLimits } from '@parley/protocol/socket/socket-limits.ts';

/**
 * The limits of one socket's client: its bucket of requests and its counts of faults and refusals.
 * Made at its first frame. Times are milliseconds of one clock.
 */
export class ClientLimits {
  /** When the bucket of requests will be full again. */
  #fullAtMs = 0;
  /** The times of the last faults, oldest first, at most as many as close the socket. */
  #faultsAtMs: number[] | undefined;
  #countingSinceMs = Number.NEGATIVE_INFINITY;
  #refusals = 0;

  /** Takes one request from the bucket; returns 0, or how long it stays empty. */
  takeRequest({ requestsPerSecond }: SocketLimits, nowMs: number): number {
    const fullAtMs = Math.max(this.#fullAtMs, nowMs) + SECOND_MS / requestsPerSecond;
    const waitMs = fullAtMs - nowMs - SECOND_MS;
    if (waitMs > ROUNDING_MS) return Math.ceil(waitMs);
    this.#fullAtMs = fullAtMs;
    return 0;
  }

  /** Counts a frame malformed or out of place; returns true if there were too many in a minute. */
  addFault({ badFramesPerMinute }: SocketLimits, nowMs: number): boolean {
    this.#faultsAtMs ??= [];
    this.#faultsAtMs.push(nowMs);
    if (this.#faultsAtMs.length < badFramesPerMinute) return false;
    return nowMs - this.#faultsAtMs.shift()! < MINUTE_MS;
  }

  /**
   * Counts a request refused for its rate. Returns how long the client must stay away, or 0 while
   * it is tolerated. A refusal costs as much as an answer, so no socket is refused more than five
   * seconds' worth of requests in a minute.
   */
  addRefusal({ requestsPerSecond }: SocketLimits, nowMs: number): number {
    if (nowMs - this.#countingSinceMs >= MINUTE_MS) {
      this.#countingSinceMs = nowMs;
      this.#refusals = 0;
    }
    this.#refusals += 1;
    if (this.#refusals <= TOLERATED_S * requestsPerSecond) return 0;
    return MINUTE_MS - (nowMs - this.#countingSinceMs);
  }
}

const SECOND_MS = 1_000;
/** Thirty thirtieths of a second, added up, are a little more than one. */
const ROUNDING_MS = 0.01;
const MINUTE_MS = 60_000;
const TOLERATED_S = 5;
