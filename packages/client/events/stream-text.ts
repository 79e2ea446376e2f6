import type {
  MessageDelta,
  MessageReset,
  MessageSnapshot,
  StreamSeal,
} from '@parley/protocol/socket/event-data.ts';

type Delta = Omit<MessageDelta, 'message_id'>;
type Reset = Pick<MessageReset, 'attempt' | 'keep'>;
type Snapshot = Omit<MessageSnapshot, 'message_id'>;

/**
 * The text of one message while it is streamed. Invariant: while `whole`, `body` is exactly the
 * writer's text at some moment of `attempt`; after a piece is missing it stays unchanged until a
 * snapshot or the finished message arrives. Offsets and lengths are in UTF-16 units.
 */
export class StreamText {
  attempt: number;
  body: string;
  whole: boolean;

  /** `whole` is false if it began in the middle. */
  constructor({ attempt, body }: Snapshot, whole = true) {
    this.attempt = attempt;
    this.body = body;
    this.whole = whole;
  }

  /** Adds a piece. Methods return true if `body` changed. */
  delta({ attempt, offset, text }: Delta): boolean {
    if (attempt < this.attempt || !this.whole) return false;
    if (attempt > this.attempt || offset > this.body.length) return this.#lose();
    const known = this.body.slice(offset, offset + text.length);
    if (!text.startsWith(known)) return this.#lose();
    if (known.length === text.length) return false;
    this.body += text.slice(known.length);
    return true;
  }

  reset({ attempt, keep }: Reset): boolean {
    if (attempt <= this.attempt) return false;
    // The text that a skipped attempt removed is unknown.
    const follows = attempt === this.attempt + 1 && this.whole && keep <= this.body.length;
    if (!follows && keep > 0) return this.#lose();
    const shorter = keep < this.body.length;
    this.attempt = attempt;
    this.body = this.body.slice(0, keep);
    this.whole = true;
    return shorter;
  }

  snapshot({ attempt, body }: Snapshot): boolean {
    if (attempt < this.attempt) return false;
    // The text that arrived over the other connection meanwhile is newer.
    if (attempt === this.attempt && this.whole && this.body.startsWith(body)) return false;
    const changed = body !== this.body;
    this.attempt = attempt;
    this.body = body;
    this.whole = true;
    return changed;
  }

  /**
   * Returns whether the pieces form exactly this text, and the sealed attempt if there is a seal.
   */
  matches(body: string | null, seal?: StreamSeal): boolean {
    return this.whole && this.body === body && (seal === undefined || this.attempt === seal.attempt);
  }

  #lose(): false {
    this.whole = false;
    return false;
  }
}
