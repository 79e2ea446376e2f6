import type { Tx } from '../../db/handle.ts';

/**
 * The text that one run writes for people, as it grows: a streaming message in the conversation, a draft on a
 * customer's case, or nothing but a buffer where there is no conversation. One run, one node, one reply at a time.
 */
export interface AgentReply {
  /** The message's or draft's id; null before it is opened, and where there is no conversation. */
  readonly messageId: string | null;
  /** The text so far: what readers have, or get within the window. */
  readonly body: string;
  /** What this claim of the run has said of it. */
  readonly said: string;

  /** The model said more. The first text opens the message. Never throws, never waits. */
  append(text: string): void;

  /** A model failed over: what was said is cut to its first `keep` UTF-16 units. */
  reset(keep: number, reason: string): void;

  /** Opens the message although nothing was said: there are files for it. Never throws, never waits. */
  open(): void;

  /**
   * Puts what is outstanding on the way and waits until the message, if there is to be one, is in Postgres.
   * No text may follow. Rejects where the message could not be written, once: it counts as not begun then.
   */
  settle(): Promise<void>;

  /**
   * After `settle`, in the transaction that ends or pauses the run: the whole body, `complete`, and with the commit
   * everybody is told (`message.updated` or `draft.updated` with its seal). Files are attached. Nothing where there
   * is no message.
   */
  finish(tx: Tx, artifactIds: readonly string[]): Promise<void>;

  /** The run is not this node's any more: nothing more is told. */
  abandon(): void;
}
