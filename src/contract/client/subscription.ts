import type { ConversationHandlers } from './conversation-feed.ts';

export interface SubscribeOptions extends ConversationHandlers {
  /**
   * The number of the last message that the application has already. By default only new messages
   * arrive.
   */
  readonly afterSequence?: number;
  /** Begins this many numbers before the newest, if `afterSequence` is absent. */
  readonly backlog?: number;
}

export interface ConversationSubscription {
  readonly conversationId: string;
  /** Every message up to this number that the caller may see has been passed to the handlers. */
  readonly completeThrough: number;
  unsubscribe(): void;
}
