import type { List } from '@parley/protocol/lists.ts';
import type { DeclaredStatus } from '@parley/protocol/resources/activity.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { useCallback, useEffect, useState } from 'react';
import type { SearchFilter } from '../api.ts';
import type { Client } from '../client.ts';
import {
  type ConversationOptions,
  type LiveConversation,
  NOTHING as NO_CONVERSATION,
} from '../conversation/live-conversation.ts';
import { type LiveThread, NOTHING as NO_THREAD, type ThreadOptions } from '../conversation/live-thread.ts';
import { type LiveWindow, NOTHING as NO_WINDOW, type WindowOptions } from '../conversation/live-window.ts';
import type {
  ConversationSnapshot,
  ThreadSnapshot,
  WindowSnapshot,
} from '../conversation/view/conversation-snapshot.ts';
import type { SentMessage } from '../conversation/view/timeline.ts';
import { type Inbox, NOTHING as NO_INBOX } from '../inbox/inbox.ts';
import type { InboxQuery, InboxSnapshot } from '../inbox/inbox-snapshot.ts';
import {
  type ConnectionSnapshot,
  type ConnectionStatus,
  NOTHING as NO_CONNECTION,
} from '../live/connection-status.ts';
import type { LiveObject } from '../live/live-object.ts';
import type { NotificationQuery, NotificationsSnapshot } from '../notifications/feed-snapshot.ts';
import { NOTHING as NO_NOTIFICATIONS, type Notifications } from '../notifications/notifications.ts';
import { NOTHING as NO_PRESENCE, type Presence } from '../people/presence.ts';
import type { PresenceSnapshot } from '../people/presence-snapshot.ts';
import { NOTHING as NO_RUN, type Run } from '../runs/run.ts';
import type { RunSnapshot } from '../runs/run-snapshot.ts';
import type { LivePool, Opened } from './live-pool.ts';
import type { Showing } from './noted-reads.ts';
import { useClient } from './provider.ts';
import { SEARCHING, SearchResults, type SearchSnapshot } from './search-results.ts';
import { useLive } from './use-live.ts';

/** Follows the client's connection. */
export function useConnection(): Showing<ConnectionSnapshot, ConnectionStatus> {
  return useLive({
    key: 'connection',
    // It ends with its client.
    open: (client) => ({ live: client.connection, close: () => {} }),
    before: NO_CONNECTION,
  });
}

/** The first page of a list, which a server has read and rendered. */
export interface InitialPage<Item> {
  /** Shown until the list itself is read; the first value counts. */
  readonly initial?: List<Item> | undefined;
}

/** Follows a list of conversations. */
export function useInbox(
  query: InboxQuery = {},
  { initial }: InitialPage<Conversation> = {},
): Showing<InboxSnapshot, Inbox> {
  const [before] = useState(() => (initial ? { ...NO_INBOX, conversations: initial.data } : NO_INBOX));
  return useLive({
    key: `inbox ${JSON.stringify(query)}`,
    open: (client) => opened(client.inbox(query)),
    before,
    isEmpty: initial && isLoading,
  });
}

/** What a component shows of a conversation. */
export interface ConversationSelection<Selected> extends ConversationOptions, InitialPage<ChatMessage> {
  /**
   * Returns a value, or an object or list of values. The component is rendered only if one of them
   * is another one than before.
   */
  readonly select: (conversation: Showing<ConversationSnapshot, LiveConversation>) => Selected;
}

/**
 * Follows a conversation. Null follows none. Components with the same conversation share it, with
 * the page size of the first component. An ended one is opened again once it is readable. With
 * `select`, returns what that returns.
 */
export function useConversation<Selected>(
  id: string | null,
  options: ConversationSelection<Selected>,
): Selected;
export function useConversation(
  id: string | null,
  options?: ConversationOptions & InitialPage<ChatMessage>,
): Showing<ConversationSnapshot, LiveConversation>;
export function useConversation(
  id: string | null,
  { select, initial, ...options }: Partial<ConversationSelection<unknown>> = {},
): unknown {
  const [before] = useState(() =>
    initial ? { ...BEFORE_CONVERSATION, messages: shownMessages(initial) } : BEFORE_CONVERSATION,
  );
  return useLive({
    key: id === null ? null : conversationKey(id),
    open: (client) => opened(client.conversation(id!, options)),
    before,
    isEmpty: initial && isLoading,
    select,
  });
}

/** Follows the replies to a message of a conversation. Null follows none. */
export function useThread(
  conversationId: string,
  messageId: string | null,
  options?: ThreadOptions,
): Showing<ThreadSnapshot, LiveThread> {
  return useLive({
    key: messageId === null ? null : `thread ${conversationId} ${messageId}`,
    open: (client, pool) =>
      openedIn(client, pool, conversationId, (conversation) => conversation.thread(messageId!, options)),
    before: BEFORE_THREAD,
  });
}

/**
 * Follows the messages around a message of a conversation, given by id or number. Null follows
 * none.
 */
export function useMessagesAround(
  conversationId: string,
  at: string | number | null,
  options?: WindowOptions,
): Showing<WindowSnapshot, LiveWindow> {
  return useLive({
    key: at === null ? null : `around ${conversationId} ${at}`,
    open: (client, pool) =>
      openedIn(client, pool, conversationId, (conversation) => conversation.around(at!, options)),
    before: BEFORE_WINDOW,
  });
}

/** The typing actors, and the function to call at each keystroke. */
export interface Typing {
  /** The other actors that are typing; nameless until they are known. */
  readonly typing: ConversationSnapshot['typing'];
  /** To be called at each keystroke, with `false` where the text was removed. */
  readonly declare: (isTyping?: boolean) => void;
}

/** Follows who is typing in a conversation. Null follows none. */
export function useTyping(conversationId: string | null): Typing {
  const { typing, live } = useConversation(conversationId);
  const declare = useCallback((isTyping?: boolean) => live?.typing(isTyping), [live]);
  return { typing, declare };
}

/** Follows whether some users are online, by ids of their actors. */
export function usePresence(actorIds: readonly string[]): Showing<PresenceSnapshot, Presence> {
  const ids = [...new Set(actorIds)].sort();
  return useLive({
    key: ids.length === 0 ? null : `presence ${ids.join(' ')}`,
    open: (client) => opened(client.presence(ids)),
    before: NO_PRESENCE,
  });
}

/**
 * Declares the caller's own presence, in place of the option `presence` of `connect`, and again
 * when it is another one. `online` is `away` while the page is hidden.
 */
export function useOwnPresence(status: DeclaredStatus): void {
  const client = useClient();
  const isLive = useConnection().state === 'live';
  useEffect(() => {
    // A connection that is lost meanwhile is followed by another one.
    if (isLive) client?.setPresence(status).catch(() => {});
  }, [client, status, isLive]);
}

/** Follows the caller's notifications. */
export function useNotifications(
  query: NotificationQuery = {},
): Showing<NotificationsSnapshot, Notifications> {
  return useLive({
    key: `notifications ${JSON.stringify(query)}`,
    open: (client) => opened(client.notifications(query)),
    before: NO_NOTIFICATIONS,
  });
}

/** The numbers for badges; each is null until it is known. */
export interface Unread {
  /** Conversations with unread messages. */
  readonly conversations: number | null;
  /** Notifications that were not opened. */
  readonly notifications: number | null;
}

/** Follows the unread counts. */
export function useUnread(): Unread {
  const inbox = useInbox({ pageSize: 1, include: [] });
  const feed = useNotifications({ pageSize: 1 });
  return { conversations: inbox.summary?.unread ?? null, notifications: feed.summary?.unread ?? null };
}

/** Searches for words once they have not changed for a moment. Blank words find nothing. */
export function useSearch(words: string, filter: SearchFilter = {}): Showing<SearchSnapshot, SearchResults> {
  const asked = words.trim();
  return useLive({
    key: asked === '' ? null : `search ${JSON.stringify([asked, filter])}`,
    // Unfinished words must not be searched for.
    open: (client) => ({ ...opened(new SearchResults(client, asked, filter)), keptMs: 0 }),
    before: asked === '' ? NOTHING_FOUND : SEARCHING,
  });
}

/** Follows the run of an agent. Null follows none. */
export function useRun(id: string | null): Showing<RunSnapshot, Run> {
  return useLive({
    key: id === null ? null : `run ${id}`,
    open: (client) => opened(client.run(id!)),
    before: NO_RUN,
  });
}

/** No more can be requested before an object is open. */
const BEFORE_CONVERSATION: ConversationSnapshot = { ...NO_CONVERSATION, hasOlder: false };
const BEFORE_THREAD: ThreadSnapshot = { ...NO_THREAD, hasOlder: false };
const BEFORE_WINDOW: WindowSnapshot = { ...NO_WINDOW, hasOlder: false, hasNewer: false };

const NOTHING_FOUND: SearchSnapshot = { ...SEARCHING, status: 'ready' };

/** Returns the messages of a page as a timeline has them, whatever their order in the list. */
function shownMessages({ data }: List<ChatMessage>): SentMessage[] {
  return data
    .filter(({ sequence }) => sequence !== null)
    .sort((one, other) => one.sequence! - other.sequence!)
    .map((message) => ({ ...message, delivery: 'sent', key: message.id }));
}

function isLoading({ status }: { readonly status: string }): boolean {
  return status === 'loading';
}

function conversationKey(id: string): string {
  return `conversation ${id}`;
}

/** Opens a part of a conversation, which stays open for it. */
function openedIn<Object extends Pick<LiveObject<object>, 'snapshot' | 'on' | 'close'>>(
  client: Client,
  pool: LivePool,
  conversationId: string,
  open: (conversation: LiveConversation) => Object,
): Opened<Object> {
  const conversation = pool.acquire(conversationKey(conversationId), () =>
    opened(client.conversation(conversationId)),
  );
  const live = open(conversation.live);
  return {
    live,
    close: () => {
      live.close();
      conversation.close();
    },
  };
}

function opened<Object extends Pick<LiveObject<object>, 'snapshot' | 'on' | 'close'>>(
  live: Object,
): Opened<Object> {
  return { live, close: () => live.close() };
}
