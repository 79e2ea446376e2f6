import type { SocketLimits } from '../../protocol/socket/socket-limits.ts';

/** How one socket behaves, made when it sends its first frame. Times in milliseconds of one clock. */
export class ClientLimits {
  /** When the bucket of requests will be full again. */
  #fullAtMs = 0;
  /** When the last faults came, oldest first: as many as close the socket, at most. */
  #faultsAtMs: number[] | undefined;
  #countingSinceMs = Number.NEGATIVE_INFINITY;
  #refusals = 0;

  /** Takes one request out of the bucket; false when it is empty. */
  takeRequest({ requestsPerSecond }: SocketLimits, nowMs: number): boolean {
    const fullAtMs = Math.max(this.#fullAtMs, nowMs) + SECOND_MS / requestsPerSecond;
    if (fullAtMs - nowMs > SECOND_MS + ROUNDING_MS) return false;
    this.#fullAtMs = fullAtMs;
    return true;
  }

  /** Counts a frame that was malformed or out of place; true when there were too many in a minute. */
  addFault({ badFramesPerMinute }: SocketLimits, nowMs: number): boolean {
    this.#faultsAtMs ??= [];
    this.#faultsAtMs.push(nowMs);
    if (this.#faultsAtMs.length < badFramesPerMinute) return false;
    return nowMs - this.#faultsAtMs.shift()! < MINUTE_MS;
  }

  /**
   * Counts a request that was refused for its rate; answers how long the client is to stay away, or 0
   * while it is tolerated: answering costs as much as serving, so nobody is refused more than five
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
