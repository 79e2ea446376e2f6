import { type FollowHost, isAttached } from './follow-host.ts';

/**
 * Notices that events which the server does not keep may be missing since a read: after a lost
 * connection, and where polls carry the events, which are sent only while a poll is open.
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

  /** Notes a read, which has everything until now. */
  readBegan(): void {
    const { timing, state, transport } = this.#host;
    this.#isCovered = isAttached(state());
    this.#stopPolling?.();
    // Another transport may take over meanwhile.
    this.#stopPolling = transport() === 'poll' ? timing.after(POLLED_MS, this.#missed) : undefined;
  }

  close(): void {
    this.#unfollow();
    this.#stopPolling?.();
  }
}

/** The time between two reads where polls carry the events. */
const POLLED_MS = 15_000;
