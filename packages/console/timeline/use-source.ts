import type { TimelineMessage } from '@parley/client';
import { useConversation, useMessagesAround } from '@parley/client/react';
import { useEvent } from '@parley/ui/hooks/use-event.ts';
import { useEffect, useRef, useState } from 'preact/hooks';
import { usePlace } from '../nav/place.ts';

/** The messages of which a part is shown. */
export interface Source {
  /** A new key for other messages. */
  readonly key: string;
  readonly messages: readonly TimelineMessage[];
  readonly status: 'loading' | 'ready' | 'ended';
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
  readonly loadOlder: () => Promise<unknown>;
  readonly loadNewer: () => Promise<unknown>;
}

/** A message to which the reader is led. */
export interface Target {
  readonly id: string;
  /** Counts the times that the reader was led anywhere. */
  readonly turn: number;
}

export interface Shown {
  readonly source: Source;
  readonly target: Target | null;
  /** Follows the newest messages from now on. */
  readonly toNewest: () => void;
}

/**
 * Follows the newest messages of a conversation, or those around a message that the place names, or
 * around the first unread one, if it is not among the newest. A message that arrives meanwhile is
 * not appended to an old part. `line` is the number above the unread line (`useReading` of the
 * SDK).
 */
export function useSource(
  conversationId: string,
  message: string | undefined,
  line: number | null | undefined,
): Shown {
  const own = useConversation(conversationId);
  const [chosen, setAt] = useState<string | null | undefined>(undefined);
  const opensAt = useRef<number | null>(undefined);
  if (opensAt.current === undefined && own.status === 'ready' && line !== undefined) {
    const oldest = own.messages.find(({ sequence }) => sequence !== null)?.sequence ?? 0;
    const isFarUp = message === undefined && line !== null && own.hasOlder && oldest > line + 1;
    opensAt.current = isFarUp ? line + 1 : null;
  }
  const at = chosen === undefined ? (opensAt.current ?? null) : chosen;
  const around = useMessagesAround(conversationId, at);
  const [target, setTarget] = useState<Target | null>(null);
  const isReady = own.status === 'ready';
  const lead = useEvent(() => {
    if (message === undefined) {
      setAt((before) => (before === undefined ? undefined : null));
      setTarget(null);
      return;
    }
    const isIn = (messages: readonly TimelineMessage[]) => messages.some(({ id }) => id === message);
    const isShown = at === null ? isIn(own.messages) : isIn(around.messages);
    if (!isShown) setAt(isIn(own.messages) ? null : message);
    setTarget((before) => ({ id: message, turn: (before?.turn ?? 0) + 1 }));
  });
  const turn = useTurn();
  useEffect(() => {
    if (isReady) lead();
  }, [isReady, message, turn]);
  const source: Source =
    at === null
      ? {
          key: 'newest',
          messages: own.messages,
          status: own.status,
          hasOlder: own.hasOlder,
          hasNewer: false,
          loadOlder: async () => own.live?.loadOlder(),
          loadNewer: async () => {},
        }
      : {
          key: String(at),
          messages: around.messages,
          status: around.status,
          hasOlder: around.hasOlder,
          hasNewer: around.hasNewer,
          loadOlder: async () => around.live?.loadOlder(),
          loadNewer: async () => around.live?.loadNewer(),
        };
  return { source, target, toNewest: () => setAt(null) };
}

/** Counts the times that the page was led to its present place. */
function useTurn(): number {
  const place = usePlace();
  const last = useRef({ place, href: location.href, turn: 0 });
  if (last.current.place !== place) {
    const turn = last.current.turn + (last.current.href === location.href ? 1 : 0);
    last.current = { place, href: location.href, turn };
  }
  return last.current.turn;
}
