import type { Pace } from './pace.ts';
import type { ReplyText } from './reply-text.ts';

/** One publication of a growing text. */
export type Piece =
  | { readonly kind: 'delta'; readonly attempt: number; readonly offset: number; readonly text: string }
  | { readonly kind: 'reset'; readonly attempt: number; readonly keep: number; readonly reason: string };

/**
 * Publishes a text as it grows (docs/realtime.md#streamed-replies). Text after a silence is
 * published at once, later text gathers, so no two deltas are closer than the window. Invariant:
 * the published pieces, concatenated, are the first `#publishedLength` units of `attempt`.
 */
export class PacedText {
  readonly #text: ReplyText;
  readonly #pace: Pace;
  readonly #publish: (piece: Piece) => void;
  #attempt = 1;
  #publishedLength = 0;
  #publishedAtMs = Number.NEGATIVE_INFINITY;
  #reason = '';
  #state: 'held' | 'published' | 'over' = 'held';
  #whenDrained: (() => void)[] = [];

  constructor(text: ReplyText, pace: Pace, publish: (piece: Piece) => void) {
    this.#text = text;
    this.#pace = pace;
    this.#publish = publish;
  }

  /** Returns the text of a reader that has missed no piece. */
  get snapshot(): { readonly attempt: number; readonly body: string } {
    return { attempt: this.#attempt, body: this.#text.body.slice(0, this.#publishedLength) };
  }

  /** Publishes the text that was held back, because readers have the message now. */
  begin(): void {
    if (this.#state !== 'held') return;
    this.#state = 'published';
    this.changed();
  }

  /** Handles a text that may have grown. */
  changed(): void {
    if (this.#state !== 'published') return;
    this.#publishReset();
    if (this.#isDrained) return;
    // Gathering text keeps its time: a shorter wait makes more deltas, but none earlier.
    const isSilent = this.#pace.clock.now() - this.#publishedAtMs >= this.#pace.gatherMs;
    if (isSilent && !this.#pace.isWaiting(this.#flush)) this.#flush();
    else this.#pace.wake(this.#flush);
  }

  /** Handles a text that was cut to its first `keep` units, with a new attempt. */
  reset(keep: number, reason: string): void {
    this.#reason = reason;
    this.#publishedLength = Math.min(this.#publishedLength, keep);
    this.changed();
  }

  /** Resolves when all text was published, or never will be; at once before `begin`. */
  drained(): Promise<void> {
    if (this.#state !== 'published' || this.#isDrained) return Promise.resolve();
    return new Promise((resolve) => this.#whenDrained.push(resolve));
  }

  /** Stops publishing. */
  stop(): void {
    this.#state = 'over';
    this.#pace.forget(this.#flush);
    this.#settle();
  }

  get #isDrained(): boolean {
    return this.#attempt === this.#text.attempt && this.#publishedLength === this.#text.body.length;
  }

  #publishReset(): void {
    const { attempt } = this.#text;
    if (this.#attempt === attempt) return;
    this.#attempt = attempt;
    this.#publish({ kind: 'reset', attempt, keep: this.#publishedLength, reason: this.#reason });
  }

  readonly #flush = (): void => {
    this.#pace.forget(this.#flush);
    const { body } = this.#text;
    if (this.#state === 'published' && !this.#isDrained) {
      const offset = this.#publishedLength;
      this.#publishedLength = body.length;
      this.#publishedAtMs = this.#pace.clock.now();
      this.#publish({ kind: 'delta', attempt: this.#attempt, offset, text: body.slice(offset) });
    }
    this.#settle();
  };

  #settle(): void {
    for (const resolve of this.#whenDrained.splice(0)) resolve();
  }
}
