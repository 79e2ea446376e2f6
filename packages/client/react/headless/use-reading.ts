import { useEffect, useRef, useState } from 'react';
import { lastSent, newSince } from '../../timeline/unread.ts';
import { useConversation } from '../hooks.ts';
import { useBeforePaint } from './before-paint.ts';
import { useEvent } from './use-event.ts';

export interface Reading {
  /**
   * The number of the last message above the unread line; null for none, undefined before it is
   * known.
   */
  readonly line: number | null | undefined;
  /** Messages of others that are unread, or have arrived since the reader was at the end. */
  readonly newCount: number;
}

/**
 * Follows how far a person has read an open conversation. The unread line keeps its place from the
 * opening until the page was hidden. Shown messages count as read only while the page is seen, has
 * the focus, and is at the end. Null follows no conversation.
 */
export function useReading(conversationId: string | null, ownId: string, isAtEnd: boolean): Reading {
  const { messages, status, conversation, live } = useConversation(conversationId);
  const [line, setLine] = useState<number | null | undefined>(undefined);
  const position = conversation?.last_read_sequence ?? null;
  const unread = conversation?.unread ?? 0;
  const isKnown = status === 'ready' && conversation !== null;
  const [isHeld, setHeld] = useState(false);
  const before = useRef(position);
  const moved = useEvent(() => {
    if (isKnown && line === undefined) setLine(unread > 0 ? position : null);
    // Marked unread here or elsewhere: it stays so while the conversation is open.
    const isMovedBack = before.current !== null && position !== null && position < before.current;
    before.current = position;
    if (!isMovedBack || line === undefined) return;
    setLine(position);
    setHeld(true);
  });
  // Before it is painted: the unread line decides where the conversation opens.
  useBeforePaint(moved, [isKnown, position]);

  const last = lastSent(messages);
  const seen = useRef(0);
  if (isKnown && (isAtEnd || seen.current === 0)) seen.current = last;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const mark = useEvent(() => {
    timer.current = undefined;
    const isSeen = document.visibilityState === 'visible' && document.hasFocus();
    if (!isSeen || !isAtEnd || isHeld || line === undefined || position === null || last <= position) return;
    live?.markRead(last).catch(() => {});
  });
  const markSoon = useEvent(() => {
    timer.current ??= setTimeout(mark, MARK_MS);
  });
  useEffect(markSoon, [last, isAtEnd, line, isHeld, position]);
  const leave = useEvent(() => {
    if (document.visibilityState === 'hidden') setLine(unread > 0 || isHeld ? position : last);
    else if (line === null) setLine(last);
  });
  useEffect(() => {
    const changed = () => (document.visibilityState === 'hidden' ? leave() : markSoon());
    document.addEventListener('visibilitychange', changed);
    addEventListener('focus', markSoon);
    addEventListener('blur', leave);
    return () => {
      document.removeEventListener('visibilitychange', changed);
      removeEventListener('focus', markSoon);
      removeEventListener('blur', leave);
      clearTimeout(timer.current);
      // StrictMode runs the effects of one component twice.
      timer.current = undefined;
    };
  }, []);
  const isLineShown = line !== null && line !== undefined;
  const newCount = Math.max(isLineShown ? unread : 0, newSince(messages, seen.current, ownId));
  return { line, newCount: isAtEnd ? 0 : newCount };
}

/** Reads of one moment are one request. */
const MARK_MS = 300;
