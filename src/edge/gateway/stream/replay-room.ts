import type { Reader } from './reader.ts';

/** A reader with more bytes buffered is sent no past messages until it took most of the bytes. */
const PAUSE_ABOVE = 128 * 1024;
const RESUME_BELOW = 64 * 1024;

/** The most that readers that catch up hold together; above it even drained readers wait. */
const MAX_BYTES = 64 * 1024 * 1024;

/** A reader that takes nothing for this many milliseconds while others wait is given up. */
const STALLED_MS = 10_000;

/** Milliseconds between two measurements of the bytes that readers hold. */
const LOOK_MS = { waiting: 100, otherwise: 1_000 } as const;

interface Held {
  bytes: number;
  /** When the reader last took something. */
  sinceMs: number;
}

/**
 * Decides which reader may be sent more of what it missed. Readers that ask and do not read thus
 * hold a bounded number of bytes, each and all together. As much as a part (range-cache.ts) may be
 * sent between two looks.
 */
export class ReplayRoom {
  readonly #maxBytes: number;
  readonly #stalledMs: number;
  /** Readers that have not taken all that they were sent here. */
  readonly #held = new Map<Reader, Held>();
  #total = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor({ maxBytes = MAX_BYTES, stalledMs = STALLED_MS } = {}) {
    this.#maxBytes = maxBytes;
    this.#stalledMs = stalledMs;
  }

  /** The bytes that readers held when last sent something. */
  get bytes(): number {
    return this.#total;
  }

  /** Returns whether the reader may be sent more at once. */
  admits(reader: Reader): boolean {
    return reader.bufferedBytes <= PAUSE_ABOVE && this.#hasRoom();
  }

  /**
   * Resolves when the reader may be sent more, or is closed. Meanwhile its caller keeps nothing
   * that can be read again.
   */
  async admit(reader: Reader): Promise<void> {
    while (!reader.closed && !this.admits(reader)) {
      if (reader.bufferedBytes > PAUSE_ABOVE) await reader.drained(RESUME_BELOW);
      else await this.#turn();
    }
  }

  /** Must be called after the reader was sent something. */
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
    for (const resolve of this.#waiting.splice(0)) resolve();
    if (this.#held.size > 0) this.#timer ??= setTimeout(this.#lookAgain, LOOK_MS.otherwise).unref();
  };
}
