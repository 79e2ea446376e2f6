import type { Logger } from '../../log.ts';

/**
 * Logs frames that cannot be read, once in ten seconds: a node that publishes one publishes many.
 */
export class DroppedFrames {
  readonly #log: Logger;
  #count = 0;
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(log: Logger) {
    this.#log = log;
  }

  add(channel: string, error: unknown): void {
    this.#count++;
    const nowMs = performance.now();
    if (nowMs - this.#loggedAtMs < LOG_EVERY_MS) return;
    this.#loggedAtMs = nowMs;
    this.#log.warn({ err: error, channel, frames: this.#count }, 'frames that cannot be read were dropped');
    this.#count = 0;
  }
}

const LOG_EVERY_MS = 10_000;
