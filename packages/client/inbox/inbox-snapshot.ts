import type { Conversation, ConversationInclude } from '@parley/protocol/resources/conversation.ts';
import type { InboxSummary } from '@parley/protocol/resources/inbox.ts';
import type { Loading } from '../live/loaded-object.ts';
import type { ConversationFilter } from '../rest/conversations.ts';

/** The query of an inbox: the filters of a list of conversations. */
export interface InboxQuery extends Omit<ConversationFilter, 'conversation_ids' | 'limit' | 'include'> {
  /** Conversations of the first page and of each `loadMore`; 25 by default, 100 at most. */
  readonly pageSize?: number;
  /**
   * `last_message` and `participants` by default, which name the other person of a direct message.
   * Leave out `participants` where groups have hundreds of members. Others' read positions do not
   * count as a change.
   */
  readonly include?: readonly ConversationInclude[];
}

/** The state of an inbox at a moment. */
export interface InboxSnapshot extends Loading {
  /** In order; each is the same object until it changed. */
  readonly conversations: readonly Conversation[];
  /** Whether `loadMore` may find more. */
  readonly hasMore: boolean;
  /**
   * Counts over all conversations of the caller, whatever the filter; null until they are known.
   */
  readonly summary: InboxSummary | null;
}
