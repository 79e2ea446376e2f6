import { type FollowHost, isAttached } from './follow-host.ts';

/**
 * Notices that events which the server does not keep may be missing since a read: after a
 * connection was lost, and where polls carry the events, which are sent only while one is open.
 */
export class Gaps {
  readonly #host: Pick<FollowHost, 'timing' | 'state' | 'transport'>;
  readonly #missed: () => void;
  readonly #unfollow: () => void;
  /** Whether the events since the last read arrive. */
  #isCovered = false;
  #stopPolling: (() => void) | undefined;

  /** `missed` is called when another read is due. */
  constructor(host: Pick<FollowHost, 'timing' | 'state' | 'transport' | 'onState'>, missed: () => void) {
    this.#host = host;
    this.#missed = missed;
    this.#unfollow = host.onState((state) => {
      if (!isAttached(state)) {
        this.#isCovered = false;
        this.#stopPolling?.();
      } else if (state === 'live' && !this.#isCovered) missed();
    });
  }

  /** A read begins, which has everything until now. */
  readBegan(): void {
    const { timing, state, transport } = this.#host;
    this.#isCovered = isAttached(state());
    this.#stopPolling?.();
    // Also if another transport takes over meanwhile.
    this.#stopPolling = transport() === 'poll' ? timing.after(POLLED_MS, this.#missed) : undefined;
  }

  close(): void {
    this.#unfollow();
    this.#stopPolling?.();
  }
}

/** How often something is read again where polls carry the events. */
const POLLED_MS = 15_000;
