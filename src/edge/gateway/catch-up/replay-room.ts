import type { Reader } from '../stream/reader.ts';

/**
 * The bytes buffered for a reader over which it is sent nothing of the past until it has taken most
 * of them.
 */
const PAUSE_ABOVE = 128 * 1024;
const RESUME_BELOW = 64 * 1024;

/**
 * What readers that catch up hold together, at most: then those wait that have taken everything.
 */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * While others wait for room, a reader that takes nothing for so long, in milliseconds, is given
 * up.
 */
const STALLED_MS = 10_000;

/**
 * How often it is looked at what readers have taken: while others wait for room, and otherwise. In
 * milliseconds.
 */
const LOOK_MS = { waiting: 100, otherwise: 1_000 } as const;

interface Held {
  bytes: number;
  /** When the reader last took something. */
  sinceMs: number;
}

/**
 * Decides which reader may be sent more of what it missed, so that readers that ask and do not read
 * hold a bounded number of bytes, each of them and all together. What is sent before the next look
 * may be as large as a part (range-cache.ts).
 */
export class ReplayRoom {
  readonly #maxBytes: number;
  readonly #stalledMs: number;
  /** Readers that were sent something here and have not taken all of it. */
  readonly #held = new Map<Reader, Held>();
  #total = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor({ maxBytes = MAX_BYTES, stalledMs = STALLED_MS } = {}) {
    this.#maxBytes = maxBytes;
    this.#stalledMs = stalledMs;
  }

  /** The bytes that readers held when they were last sent something. */
  get bytes(): number {
    return this.#total;
  }

  /** Whether the reader may be sent more at once. */
  admits(reader: Reader): boolean {
    return reader.bufferedBytes <= PAUSE_ABOVE && this.#hasRoom();
  }

  /**
   * Resolves when the reader may be sent more, or is closed. Its caller keeps nothing that can be
   * read again meanwhile.
   */
  async admit(reader: Reader): Promise<void> {
    while (!reader.closed && !this.admits(reader)) {
      if (reader.bufferedBytes > PAUSE_ABOVE) await reader.drained(RESUME_BELOW);
      else await this.#turn();
    }
  }

  /** To be called when the reader was sent something. */
  sent(reader: Reader): void {
    this.#note(reader, performance.now());
    if (this.#held.size > 0) this.#timer ??= setTimeout(this.#lookAgain, LOOK_MS.otherwise).unref();
  }

  #hasRoom(): boolean {
    if (this.#total < this.#maxBytes) return true;
    const nowMs = performance.now();
    if (nowMs - this.#lookedAtMs >= LOOK_MS.waiting) this.#look(nowMs);
    return this.#total < this.#maxBytes;
  }

  #look(nowMs: number): void {
    this.#lookedAtMs = nowMs;
    for (const reader of [...this.#held.keys()]) this.#note(reader, nowMs);
  }

  #note(reader: Reader, nowMs: number): void {
    const bytes = reader.heldBytes;
    const held = this.#held.get(reader);
    this.#total += bytes - (held?.bytes ?? 0);
    if (bytes === 0) this.#held.delete(reader);
    else if (held === undefined) this.#held.set(reader, { bytes, sinceMs: nowMs });
    else {
      if (bytes < held.bytes) held.sinceMs = nowMs;
      held.bytes = bytes;
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length === 0) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(this.#lookAgain, LOOK_MS.waiting);
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  readonly #lookAgain = (): void => {
    this.#timer = undefined;
    const nowMs = performance.now();
    this.#look(nowMs);
    if (this.#waiting.length > 0 && this.#total >= this.#maxBytes) {
      for (const [reader, { sinceMs }] of this.#held) {
        if (nowMs - sinceMs >= this.#stalledMs) reader.giveUp();
      }
    }
    // Those that find no room wait again.
    for (const resolve of this.#waiting.splice(0)) resolve();
    if (this.#held.size > 0) this.#timer ??= setTimeout(this.#lookAgain, LOOK_MS.otherwise).unref();
  };
}
