import { useEffect, useRef } from 'react';
import type { LiveThread } from '../../conversation/live-thread.ts';
import type { TimelineMessage } from '../../conversation/view/timeline.ts';
import { lastSent, newSince } from '../../timeline/unread.ts';
import type { Reading } from './use-reading.ts';

interface ShownThread {
  readonly status: 'loading' | 'ready' | 'ended';
  readonly messages: readonly TimelineMessage[];
  readonly live: LiveThread | undefined;
}

/** Marks the replies of a thread read while the page is seen and at the end. Null is no thread. */
export function useThreadReading(thread: ShownThread | null, ownId: string, isAtEnd: boolean): Reading {
  const isReady = thread?.status === 'ready';
  const messages = thread?.messages ?? NOTHING;
  const live = thread?.live;
  const last = lastSent(messages);
  const seen = useRef(0);
  if (isReady && (isAtEnd || seen.current === 0)) seen.current = last;
  useEffect(() => {
    const read = () => {
      if (isAtEnd && last > 0 && document.visibilityState === 'visible') live?.markRead().catch(() => {});
    };
    read();
    document.addEventListener('visibilitychange', read);
    return () => document.removeEventListener('visibilitychange', read);
  }, [live, last, isAtEnd]);
  // A thread has no unread line.
  return { line: null, newCount: isAtEnd ? 0 : newSince(messages, seen.current, ownId) };
}

const NOTHING: readonly TimelineMessage[] = [];
