import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { LiveConversation } from '../../conversation/live-conversation.ts';
import type { ConversationEnd } from '../../conversation/view/conversation-snapshot.ts';
import type { SentMessage, TimelineMessage } from '../../conversation/view/timeline.ts';
import { ScrollKeeper } from '../../timeline/scroll-keeper.ts';
import { itemsOf, type TimelineItem } from '../../timeline/timeline-items.ts';
import { firstUnread } from '../../timeline/unread.ts';
import { type InitialPage, useConversation, useMessagesAround, useThread } from '../hooks.ts';
import { useClient } from '../provider.ts';
import { useBeforePaint } from './before-paint.ts';
import { useEvent } from './use-event.ts';
import { useReading } from './use-reading.ts';
import { useThreadReading } from './use-thread-reading.ts';

/** The options of a timeline. */
export interface TimelineOptions extends InitialPage<ChatMessage> {
  /** Messages of the first page and of each further one; 30 by default, 100 at most. */
  readonly pageSize?: number;
  /** Shows the replies to this message instead of the conversation. */
  readonly threadId?: string | null | undefined;
  /** The id of a message to which the reader is led, at first and whenever it is another one. */
  readonly message?: string | null | undefined;
  /** The time zone of days (IANA); that of the platform by default. */
  readonly timeZone?: string | undefined;
}

/** A timeline as a component draws it. */
export interface TimelineState {
  /** `ended` when the messages cannot be read (any more). */
  readonly status: 'loading' | 'ready' | 'ended';
  /** Why it ended; null otherwise. */
  readonly end: ConversationEnd | null;
  /** The lines in order: days, the unread line, messages. */
  readonly items: readonly TimelineItem[];
  /** The message that a thread replies to; null elsewhere, and until it was read. */
  readonly root: SentMessage | null;
  /** Whether `loadOlder` may find more. Scrolling near the top calls it. */
  readonly hasOlder: boolean;
  /** Whether the reader is at the newest message, and is kept there. */
  readonly isAtEnd: boolean;
  /** Messages of others that are unread, or have arrived since the reader left the end. */
  readonly newCount: number;
  /** The id of the message to which the reader was led last; null if none. */
  readonly found: string | null;
  /** The id of the caller's actor; '' until the first connection. */
  readonly ownId: string;
  /** The conversation with its methods; undefined until it is open. */
  readonly live: LiveConversation | undefined;
  /** The ref of the element that scrolls, with `overflow-anchor: none`. */
  readonly scrollRef: (element: HTMLElement | null) => void;
  /** The ref of the element in it whose children are the lines. */
  readonly listRef: (element: HTMLElement | null) => void;
  /** Returns the attributes by which the element of a line is known. */
  readonly itemProps: (item: TimelineItem) => Readonly<Record<`data-${string}`, string>>;
  /** Loads the page before the oldest message; the reader keeps the place. */
  readonly loadOlder: () => void;
  /** Leads the reader to the newest message. */
  readonly toEnd: () => void;
  /** Leads the reader to a message, whose surroundings are loaded if need be. */
  readonly jumpTo: (messageId: string) => void;
}

/** A place to which the reader is led as soon as it is in the document. */
interface Wish {
  /** The part of the timeline that has it, as the state `at` names it. */
  readonly at: string | number | null;
  readonly to: 'end' | { readonly selector: string; readonly block: 'start' | 'center' };
}

/** Messages of which the timeline shows all. */
interface Source {
  readonly status: 'loading' | 'ready' | 'ended';
  readonly end: ConversationEnd | null;
  readonly messages: readonly TimelineMessage[];
  readonly hasOlder: boolean;
  readonly hasNewer?: boolean;
  readonly live: { loadOlder(): Promise<boolean>; loadNewer?(): Promise<boolean> } | undefined;
}

/**
 * Follows the timeline of a conversation, or of a thread, and keeps the place of its reader: at the
 * end while the reader is there, else at the first visible message. It begins at the unread line.
 * Seen messages are marked read. A component shows one timeline, so the ids belong into its key.
 */
export function useTimeline(
  conversationId: string | null,
  { threadId = null, message = null, timeZone, ...page }: TimelineOptions = {},
): TimelineState {
  const ownId = useClient()?.actor?.id ?? '';
  const isThread = threadId !== null;
  // A message in the middle of the shown part; null for the newest part.
  const [at, setAt] = useState<string | number | null>(null);
  const own = useConversation(conversationId, page);
  const thread = useThread(conversationId ?? '', conversationId === null ? null : threadId, page);
  const around = useMessagesAround(conversationId ?? '', at, page);
  const newest: Source = isThread ? thread : own;
  // The reader sees what was there until the other part is loaded.
  const isMoving = at !== null && around.status === 'loading';
  const source: Source = at === null || isMoving ? newest : around;
  const { messages, status, hasOlder, hasNewer = false } = source;

  const [isKeptAtEnd, setKeptAtEnd] = useState(true);
  const [isOpened, setOpened] = useState(false);
  const isAtEnd = isKeptAtEnd && !hasNewer;
  const isReading = isAtEnd && isOpened && status === 'ready' && !isMoving;
  const reading = useReading(isThread ? null : conversationId, ownId, isReading);
  const threadReading = useThreadReading(isThread ? thread : null, ownId, isReading);
  const { line, newCount } = isThread ? threadReading : reading;
  const items = useMemo(
    () => itemsOf({ messages, line: line ?? null, ownId, timeZone }),
    [messages, line, ownId, timeZone],
  );

  const [box, scrollRef] = useState<HTMLElement | null>(null);
  const [list, listRef] = useState<HTMLElement | null>(null);
  const [keeper, setKeeper] = useState<ScrollKeeper | null>(null);
  const isLoading = useRef({ top: false, bottom: false });
  const near = useEvent(async (edge: 'top' | 'bottom') => {
    if (isLoading.current[edge] || status !== 'ready' || line === undefined) return;
    if (!(edge === 'top' ? hasOlder : hasNewer)) return;
    isLoading.current[edge] = true;
    try {
      await (edge === 'top' ? source.live?.loadOlder() : source.live?.loadNewer?.());
    } catch {
      // The connection says why; the next scrolling tries again.
    }
    // The new lines are measured first.
    requestAnimationFrame(() => {
      isLoading.current[edge] = false;
    });
  });
  useBeforePaint(() => {
    if (box === null || list === null) return;
    const made = new ScrollKeeper(box, list, { atEnd: setKeptAtEnd, near });
    setKeeper(made);
    return () => made.close();
  }, [box, list, near]);

  const wish = useRef<Wish | null>(null);
  const [wishes, setWishes] = useState(0);
  const lead = useEvent((next: Wish) => {
    wish.current = next;
    setWishes((count) => count + 1);
  });
  const fulfil = useEvent(() => {
    if (wish.current?.at !== at || isMoving || status !== 'ready') return;
    if (keeper === null || list === null) return;
    const { to } = wish.current;
    if (to === 'end') {
      if (hasNewer) return;
      keeper.toEnd();
    } else {
      const row = list.querySelector(to.selector);
      if (row === null) return;
      keeper.show(row, to.block);
      if (to.block === 'center' && row instanceof HTMLElement) row.focus({ preventScroll: true });
    }
    wish.current = null;
  });
  const begin = useEvent(() => {
    if (isOpened || keeper === null || list === null || status !== 'ready' || line === undefined) return;
    setOpened(true);
    if (line === null || wish.current !== null || !keeper.isAtEnd) return;
    const isFarUp = hasOlder && firstUnread(messages, line, ownId) === 0;
    if (isFarUp) {
      setAt(line + 1);
      lead({ at: line + 1, to: { selector: UNREAD, block: 'start' } });
      return;
    }
    const row = list.querySelector(UNREAD);
    if (row !== null && !keeper.isBelowTop(row)) keeper.show(row, 'start');
  });
  useBeforePaint(() => {
    if (keeper === null) return;
    keeper.hasMoreBelow = hasNewer;
    keeper.keep();
    begin();
    fulfil();
  }, [keeper, items, hasNewer, status, wishes, begin, fulfil]);

  const toEnd = useEvent(() => {
    setAt(null);
    setFound(null);
    lead({ at: null, to: 'end' });
  });
  const [found, setFound] = useState<string | null>(null);
  const jumpTo = useEvent((messageId: string) => {
    const isShown = isThread || messages.some(({ id }) => id === messageId);
    const next = isShown ? at : messageId;
    setAt(next);
    setFound(messageId);
    lead({ at: next, to: { selector: `[data-message="${CSS.escape(messageId)}"]`, block: 'center' } });
  });
  useEffect(() => {
    if (message !== null) jumpTo(message);
  }, [message, jumpTo]);
  const isLost = at !== null && around.status === 'ended';
  useEffect(() => {
    if (isLost) toEnd();
  }, [isLost, toEnd]);

  const [shownAt] = useState(Date.now);
  const last = newest.messages.at(-1);
  const led = useRef(last?.key);
  // A message of this client, whose answer may come before its echo was drawn.
  const isWrittenHere =
    last !== undefined &&
    (isThread || last.reply_to_id === null) &&
    (last.id === null
      ? // One that waits since before does not take its writer away from the beginning.
        last.delivery === 'pending' && Date.parse(last.created_at) >= shownAt
      : last.key !== last.id);
  const written = isWrittenHere ? last.key : null;
  useEffect(() => {
    if (written === null || written === led.current) return;
    led.current = written;
    toEnd();
  }, [written, toEnd]);
  const isLong = isReading && !isThread && at === null && messages.length > MOST_KEPT;
  const { live } = own;
  useEffect(() => {
    if (isLong) live?.forgetOlder(KEPT).catch(() => {});
  }, [isLong, live]);

  return {
    status,
    end: source.end,
    items,
    root: isThread ? thread.root : null,
    hasOlder,
    isAtEnd,
    newCount,
    found,
    ownId,
    live,
    scrollRef,
    listRef,
    itemProps,
    loadOlder: useEvent(() => void near('top')),
    toEnd,
    jumpTo,
  };
}

function itemProps(item: TimelineItem): Record<`data-${string}`, string> {
  if (item.type !== 'message') return { 'data-line': item.type };
  return { 'data-message': item.message.id ?? item.key };
}

const UNREAD = '[data-line="unread"]';
/** Messages in the memory of the page while its reader is at the end. */
const MOST_KEPT = 600;
const KEPT = 200;
