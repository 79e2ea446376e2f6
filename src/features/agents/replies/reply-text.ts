import { MESSAGE_LIMITS } from '@parley/protocol/resources/chat-message.ts';
import { cutText } from '../models/text-cleaner.ts';
import type { AgentReply } from './reply.ts';

/** Separates the texts of different turns. */
export const BLANK_LINE = '\n\n';

/**
 * The text of one reply as it grows. Invariant: `body` is text that every reader and Postgres store
 * alike: what is appended is clean (models/text-cleaner.ts), and no cut splits a surrogate pair or
 * leaves more than a message may have. Lengths are in UTF-16 units.
 */
export class ReplyText {
  #head = '';
  #stepText = '';
  #attempt = 1;
  /** The text reached the maximum length of a message. It ends there until a reset makes room. */
  #full = false;

  /** Returns the head and the text after it. */
  get body(): string {
    return this.#stepText === '' ? this.#head : `${this.#front}${this.#stepText}`;
  }

  /** Returns the text without the head. */
  get ownText(): string {
    return this.#stepText;
  }

  /** Starts at 1; each reset increments it. */
  get attempt(): number {
    return this.#attempt;
  }

  /** Returns whether text was left out because a message has no room for more. */
  get isFull(): boolean {
    return this.#full;
  }

  /** Sets the head of the text. Only before the first delta was published. */
  begin(head: string): void {
    const said = this.#stepText;
    this.#head = head;
    this.#stepText = '';
    this.#grow(said);
  }

  append(text: string): void {
    if (!this.#full) this.#grow(text);
  }

  /** Keeps `keep` units after the head and starts a new attempt. Returns the length of the body. */
  reset(keep: number): number {
    this.#stepText = cutText(this.#stepText, keep);
    this.#full = false;
    this.#attempt += 1;
    return this.body.length;
  }

  get #front(): string {
    return this.#head === '' ? '' : `${this.#head}${BLANK_LINE}`;
  }

  #grow(text: string): void {
    const room = Math.max(0, MESSAGE_LIMITS.bodyCharacters - this.#front.length - this.#stepText.length);
    const fitting = cutText(text, room);
    this.#full ||= fitting.length < text.length;
    this.#stepText += fitting;
  }
}

/** The reply of a run without a conversation: its text goes only into the run's output. */
export class BufferedReply extends ReplyText implements AgentReply {
  readonly messageId = null;

  open(): void {}

  async settle(): Promise<void> {}

  async finish(): Promise<void> {}

  abandon(): void {}
}
