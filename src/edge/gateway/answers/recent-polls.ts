import type { AnswerWire } from './answer-wire.ts';

/**
 * The sessions of polls that were answered a short while ago. They stay open and hear nothing, so
 * that a client counts as a socket between two polls, and its next poll on this node finds its
 * conversations open.
 */
export class RecentPolls {
  readonly #holdMs: number;
  readonly #kept = new Map<string, Kept>();
  #isClosed = false;

  /** Keeps each session for `holdMs`. */
  constructor(holdMs: number) {
    this.#holdMs = holdMs;
  }

  keep(pollId: string, actorId: string, wire: AnswerWire): void {
    if (this.#isClosed) {
      wire.gone();
      return;
    }
    this.take(pollId)?.gone();
    const end = () => this.take(pollId)?.gone();
    this.#kept.set(pollId, { actorId, wire, timer: setTimeout(end, this.#holdMs).unref() });
  }

  /** Returns whether the client has a session of this actor here. */
  has(pollId: string, actorId: string): boolean {
    return this.#kept.get(pollId)?.actorId === actorId;
  }

  /** Returns the session of the client, which the caller ends. */
  take(pollId: string): AnswerWire | undefined {
    const kept = this.#kept.get(pollId);
    clearTimeout(kept?.timer);
    this.#kept.delete(pollId);
    return kept?.wire;
  }

  /** Ends all sessions, and keeps none from now on. */
  close(): void {
    this.#isClosed = true;
    for (const pollId of [...this.#kept.keys()]) this.take(pollId)?.gone();
  }
}

interface Kept {
  readonly actorId: string;
  readonly wire: AnswerWire;
  readonly timer: NodeJS.Timeout;
}
