import { useConversation } from '@parley/client/react';
import { ScrollKeeper } from '@parley/client/timeline/scroll-keeper.ts';
import { firstUnread } from '@parley/client/timeline/unread.ts';
import { useEvent } from '@parley/ui/hooks/use-event.ts';
import { dayOf, fullTimeOf } from '@parley/ui/text/time.ts';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useMessageContext } from '../message/message-context.tsx';
import { MessageRow } from '../message/message-row.tsx';
import { texts } from '../texts/texts.ts';
import { moveFocus } from './move-focus.ts';
import { useOneTabStop } from './one-tab-stop.ts';
import { rowsOf, type TimelineRow } from './rows.ts';
import { around, indexesOf, NEWEST, type ShownRange, withNewer, withOlder } from './shown-range.ts';
import { useOpening, useTarget } from './use-opening.ts';
import type { Source, Target } from './use-source.ts';

export interface MessageListProps {
  readonly source: Source;
  readonly target: Target | null;
  readonly line: number | null | undefined;
  /** The number of times the reader asked for the end. */
  readonly ends: number;
  readonly onAtEnd: (isAtEnd: boolean) => void;
  /** Called when the reader has sent a message. */
  readonly onOwn: () => void;
}

/** The part of a timeline that is in the document, scrolled. */
export function MessageList(props: MessageListProps) {
  const { source, target, line, ends, onAtEnd, onOwn } = props;
  const { messages } = source;
  const { conversationId, customerIds, rights } = useMessageContext();
  const { ownId } = rights;
  const { reads } = useConversation(conversationId);
  const [range, setRange] = useState<ShownRange>(NEWEST);
  const [isAtEnd, setAtEnd] = useState(true);
  const [isOpened, setOpened] = useState(false);
  const [active, setActive] = useState<string | null>(null);
  const indexes = indexesOf(messages, range, isAtEnd);
  const [from, to] = indexes;
  const isNewest = to === messages.length && !source.hasNewer;
  const rows = useMemo(
    () => rowsOf({ messages, shown: [from, to], line: line ?? null, ownId, customerIds, reads, isNewest }),
    [messages, from, to, line, ownId, customerIds, reads, isNewest],
  );

  const box = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const keeper = useRef<ScrollKeeper>(undefined);
  useOneTabStop(list);
  const isLoading = useRef({ top: false, bottom: false });
  const near = useEvent(async (edge: 'top' | 'bottom') => {
    if (isLoading.current[edge] || source.status !== 'ready' || line === undefined) return;
    isLoading.current[edge] = true;
    try {
      if (edge === 'top') {
        if (from === 0 && source.hasOlder) await source.loadOlder();
        else if (from === 0) return;
        grow('top');
      } else {
        if (isNewest) return;
        if (to === messages.length) {
          // A range without ends would move on with what is loaded, and take away what is read.
          setRange({ from: messages[from]?.key ?? null, to: messages[to - 1]?.key ?? null });
          await source.loadNewer();
        }
        grow('bottom');
      }
    } catch {
      // The connection says why; the next scrolling tries again.
    } finally {
      // The new rows are measured first.
      requestAnimationFrame(() => {
        isLoading.current[edge] = false;
      });
    }
  });
  const newest = useEvent(() => ({ messages: source.messages, indexes }));
  const grow = useEvent((edge: 'top' | 'bottom') => {
    // The loaded messages are rendered with the next frame, and then shown.
    requestAnimationFrame(() => {
      const now = newest();
      setRange((edge === 'top' ? withOlder : withNewer)(now.messages, now.indexes));
    });
  });
  const atEnd = useEvent((value: boolean) => {
    setAtEnd(value);
    onAtEnd(value);
    // New messages are shown from now on, and old ones make room for them.
    if (value) setRange(({ from: first }) => ({ from: first, to: null }));
  });
  useLayoutEffect(() => {
    const made = new ScrollKeeper(box.current!, list.current!, { atEnd, near });
    keeper.current = made;
    return () => made.close();
  }, []);
  useLayoutEffect(() => {
    keeper.current!.hasMoreBelow = !isNewest;
    keeper.current!.keep();
  }, [rows, isNewest]);

  const reveal = (index: number) => {
    const next = around(messages, indexes, index);
    if (next !== null) setRange(next);
    return next === null;
  };
  useOpening({
    list,
    keeper,
    // A list that is shown because the reader asked for the end begins there.
    isReady: source.status === 'ready' && line !== undefined && target === null && ends === 0,
    unreadAt: line == null ? -1 : firstUnread(messages, line, ownId),
    reveal,
    onOpened: () => setOpened(true),
  });
  const toNewest = useEvent(() => {
    // The newest part replaces an old part of the conversation, and begins at its end.
    if (source.hasNewer) return;
    setRange(NEWEST);
    keeper.current!.hasMoreBelow = false;
    keeper.current!.toEnd();
  });
  // This runs with the rendering and not after it: the reader may scroll away at once.
  useLayoutEffect(() => {
    if (ends > 0) toNewest();
  }, [ends]);
  useTarget({ target, list, keeper, source, reveal, onOpened: () => setOpened(true) });
  const [shownAt] = useState(Date.now);
  const last = messages.at(-1);
  const lastKey = last?.key;
  const isOwnEcho =
    last?.id === null &&
    last.delivery === 'pending' &&
    last.reply_to_id === null &&
    // One that waits since before does not take its writer away from the message of the address.
    Date.parse(last.created_at) >= shownAt;
  const sent = useEvent(onOwn);
  useEffect(() => {
    if (isOwnEcho) sent();
  }, [lastKey, isOwnEcho]);

  const inOrder = active !== null && rows.some(({ key }) => key === active) ? active : lastKey;
  return (
    <div
      class="timeline-scroll"
      ref={box}
      data-opening={!isOpened && ends === 0 && source.status !== 'ended'}
    >
      <div
        class="timeline-rows"
        ref={list}
        role="log"
        aria-live="off"
        aria-label={texts.timeline.messages}
        onFocusIn={({ target: focused }) => setActive(keyOf(focused, rows))}
        onKeyDown={moveFocus}
      >
        {source.hasOlder && <p class="timeline-older">{from === 0 ? texts.timeline.loadingOlder : ''}</p>}
        {rows.map((row) => (
          <Line
            key={row.key}
            row={row}
            isInTabOrder={row.key === inOrder}
            isFound={target !== null && row.type === 'message' && row.message.id === target.id}
          />
        ))}
        {source.status === 'ready' && messages.length === 0 && (
          <p class="timeline-empty">{texts.timeline.noMessage}</p>
        )}
      </div>
      {source.status === 'ended' && <p class="timeline-empty">{texts.timeline.notShown}</p>}
    </div>
  );
}

interface LineProps {
  readonly row: TimelineRow;
  readonly isInTabOrder: boolean;
  readonly isFound: boolean;
}

function Line({ row, ...place }: LineProps) {
  switch (row.type) {
    case 'day':
      return (
        <p class="timeline-day" title={fullTimeOf(row.at)}>
          <span>{dayOf(row.at)}</span>
        </p>
      );
    case 'unread':
      return (
        <p class="timeline-unread">
          <span>{texts.timeline.new}</span>
        </p>
      );
    case 'message': {
      const { message, continues, readers } = row;
      return <MessageRow message={message} continues={continues} readers={readers} {...place} />;
    }
  }
}

/** Returns the key of the row that an element is in, or null. */
function keyOf(element: EventTarget | null, rows: readonly TimelineRow[]): string | null {
  if (!(element instanceof Element)) return null;
  const id = element.closest('[data-message]')?.getAttribute('data-message');
  const row = rows.find((one) => one.type === 'message' && (one.message.id ?? one.key) === id);
  return row?.key ?? null;
}
