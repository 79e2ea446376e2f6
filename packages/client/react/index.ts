'use client';
/** The SDK for React: hooks over the live objects of a client. */

export {
  type ConversationSelection,
  type InitialPage,
  type Typing,
  type Unread,
  useConnection,
  useConversation,
  useInbox,
  useMessagesAround,
  useNotifications,
  useOwnPresence,
  usePresence,
  useRun,
  useSearch,
  useThread,
  useTyping,
  useUnread,
} from './hooks.ts';
export type { Showing } from './noted-reads.ts';
export { ParleyProvider, type ParleyProviderProps, useClient } from './provider.ts';
export type { SearchResults, SearchSnapshot } from './search-results.ts';
