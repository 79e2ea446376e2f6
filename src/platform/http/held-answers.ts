import { ApiError } from '@parley/protocol/errors/errors.ts';
import type { Metrics } from '../metrics.ts';

export interface HeldLimits {
  readonly perCredential: number;
  readonly total: number;
}

/**
 * Bytes of answers in memory that clients have not taken. Above a limit requests are refused;
 * requests admitted before may hold as much again, and are cut above that.
 */
export class HeldAnswers {
  readonly #limits: HeldLimits;
  readonly #gauge: Metrics['httpHeldBytes'] | undefined;
  readonly #byCredential = new Map<string, number>();
  #total = 0;

  constructor(limits: HeldLimits, gauge?: Metrics['httpHeldBytes']) {
    this.#limits = limits;
    this.#gauge = gauge;
  }

  get total(): number {
    return this.#total;
  }

  /** Throws ApiError `service_unavailable` while the credential or all together hold too much. */
  requireRoom(credentialId: string): void {
    if (this.#total === 0) return;
    if ((this.#byCredential.get(credentialId) ?? 0) >= this.#limits.perCredential) {
      throw full(
        'Earlier answers to this credential have not been read. Read them, or close their connections.',
      );
    }
    if (this.#total >= this.#limits.total)
      throw full('Too many answers have not been read by their clients.');
  }

  /** Adds `bytes`, which may be negative. Returns whether there is room for them. */
  change(credentialId: string, bytes: number): boolean {
    const ofCredential = (this.#byCredential.get(credentialId) ?? 0) + bytes;
    if (ofCredential === 0) this.#byCredential.delete(credentialId);
    else this.#byCredential.set(credentialId, ofCredential);
    this.#total += bytes;
    this.#gauge?.set(this.#total);
    return ofCredential <= 2 * this.#limits.perCredential && this.#total <= 2 * this.#limits.total;
  }
}

function full(message: string): ApiError {
  return new ApiError('service_unavailable', message, { retryAfterS: 5 });
}
