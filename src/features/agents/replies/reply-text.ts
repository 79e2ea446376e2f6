import { MESSAGE_LIMITS } from '../../../contract/protocol/resources/chat-message.ts';

/** Separates the texts of different turns. */
export const BLANK_LINE = '\n\n';

/**
 * The text of one reply as it grows. Invariant: `body` is text that every reader and Postgres store
 * alike: no half of a surrogate pair (one at the end waits for its other half), no U+0000, and no
 * longer than a message may be. Lengths are in UTF-16 units.
 */
export class ReplyText {
  #head = '';
  #stepText = '';
  #attempt = 1;
  /** The first half of a pair whose second half is still to come. */
  #half = '';
  /** The text reached the maximum length of a message. It ends there until a reset makes room. */
  #full = false;

  /** The head and the text after it. */
  get body(): string {
    return this.#stepText === '' ? this.#head : `${this.#front}${this.#stepText}`;
  }

  /** The text without the head. */
  get ownText(): string {
    return this.#stepText;
  }

  /** Starts at 1; each reset increments it. */
  get attempt(): number {
    return this.#attempt;
  }

  /** Sets the head of the text. Only before the first delta was published. */
  begin(head: string): void {
    const said = this.#stepText;
    this.#head = head;
    this.#stepText = '';
    this.#grow(said);
  }

  append(text: string): void {
    if (this.#full) return;
    const whole = this.#half + text;
    const end = endsInHalf(whole) ? whole.length - 1 : whole.length;
    this.#half = whole.slice(end);
    this.#grow(whole.slice(0, end));
  }

  /** Keeps `keep` units after the head and starts a new attempt. Returns the length of the body. */
  reset(keep: number): number {
    const kept = this.#stepText.slice(0, Math.max(0, keep));
    this.#stepText = endsInHalf(kept) ? kept.slice(0, -1) : kept;
    this.#half = '';
    this.#full = false;
    this.#attempt += 1;
    return this.body.length;
  }

  /** No more text follows: a half pair that is left is dropped. */
  end(): void {
    if (this.#half !== '') this.#grow(this.#half);
    this.#half = '';
  }

  get #front(): string {
    return this.#head === '' ? '' : `${this.#head}${BLANK_LINE}`;
  }

  #grow(text: string): void {
    const room = Math.max(0, MESSAGE_LIMITS.bodyCharacters - this.#front.length - this.#stepText.length);
    const clean = text.toWellFormed().replaceAll('\0', '\uFFFD');
    const fitting = clean.slice(0, room);
    this.#full ||= fitting.length < clean.length;
    this.#stepText += endsInHalf(fitting) ? fitting.slice(0, -1) : fitting;
  }
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
