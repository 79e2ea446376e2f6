import type { IncompleteReason } from '@parley/protocol/resources/agent-run.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';

/**
 * The text that one run writes for people: a streaming message, a draft on a customer's case, or a
 * buffer if there is no conversation. A run has one reply at a time, on one node.
 */
export interface AgentReply {
  /** The id of the message or draft; null before it is opened, and without a conversation. */
  readonly messageId: string | null;
  /** The text so far: readers have it, or get it within the window. */
  readonly body: string;
  /** The part of the body that this claim of the run has written. */
  readonly ownText: string;

  /** Appends text of the model. The first text opens the message. Never throws, never waits. */
  append(text: string): void;

  /** Cuts the text to its first `keep` UTF-16 units, because a model failed over. */
  reset(keep: number, reason: string): void;

  /** Opens the message without text, because there are files for it. Never throws, never waits. */
  open(): void;

  /**
   * Publishes outstanding text and waits until the message, if any, is in Postgres. No text may
   * follow. Rejects once if the message could not be written; it then counts as not begun.
   */
  settle(): Promise<void>;

  /**
   * Completes the message after `settle`, in the transaction that ends or pauses the run: the whole
   * body, `complete`, files attached, and why the text is not whole if it is not. The commit
   * enqueues `message.updated` or `draft.updated` with the seal. No-op if there is no message.
   */
  finish(tx: Tx, artifactIds: readonly string[], incomplete: IncompleteReason | null): Promise<void>;

  /** Stops publishing, because the run does not belong to this node any more. */
  abandon(): void;
}
