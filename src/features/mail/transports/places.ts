import { ApiError } from '@parley/protocol/errors/errors.ts';
import { networkOf } from '../../../api/access/rate-limit.ts';

/**
 * Limits the mails that may arrive concurrently, in total and from one address. A sender is unknown
 * before the last byte of its mail, and until then the bytes take disk and memory.
 */
export class Places {
  readonly #most: number;
  readonly #mostPerAddress: number;
  readonly #byNetwork = new Map<string, number>();
  #taken = 0;

  constructor({ most = 40, mostPerAddress = 20 } = {}) {
    this.#most = most;
    this.#mostPerAddress = mostPerAddress;
  }

  /** Returns a function that releases the place. Throws ApiError `rate_limit_exceeded`. */
  take(address: string): () => void {
    const network = networkOf(address);
    const own = this.#byNetwork.get(network) ?? 0;
    if (this.#taken >= this.#most || own >= this.#mostPerAddress) {
      const message = 'Too many mails are on their way in at the same time. Try again later.';
      throw new ApiError('rate_limit_exceeded', message, { retryAfterS: 1 });
    }
    this.#taken += 1;
    this.#byNetwork.set(network, own + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#taken -= 1;
      const left = this.#byNetwork.get(network)! - 1;
      if (left === 0) this.#byNetwork.delete(network);
      else this.#byNetwork.set(network, left);
    };
  }
}
