import type { ScrollKeeper } from '@parley/client/timeline/scroll-keeper.ts';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Source, Target } from './use-source.ts';

interface Scrolled {
  readonly list: RefObject<HTMLElement | null>;
  readonly keeper: RefObject<ScrollKeeper | undefined>;
  /** Called when the list stands where its reader begins. */
  readonly onOpened: () => void;
}

export interface OpeningInput extends Scrolled {
  readonly isReady: boolean;
  /** The index of the first unread message, or -1. */
  readonly unreadAt: number;
  readonly reveal: TargetInput['reveal'];
}

/**
 * Begins at the newest message, or at the unread line where what is unread does not fit, unless the
 * reader has scrolled already.
 */
export function useOpening({ list, keeper, isReady, unreadAt, reveal, onOpened }: OpeningInput): void {
  const isDone = useRef(false);
  useLayoutEffect(() => {
    if (!isReady || isDone.current) return;
    // It is in the document with the next rendering.
    if (unreadAt >= 0 && !reveal(unreadAt)) return;
    isDone.current = true;
    onOpened();
    const scroll = keeper.current!;
    if (!scroll.isAtEnd) return;
    scroll.toEnd();
    const line = list.current!.querySelector('.timeline-unread');
    if (line !== null && !scroll.isBelowTop(line)) scroll.show(line, 'start');
  });
}

export interface TargetInput extends Scrolled {
  readonly target: Target | null;
  readonly source: Source;
  /** Puts the message of an index into the document. Returns whether it is there. */
  readonly reveal: (index: number) => boolean;
}

/** Leads the reader to a message as soon as it is there, once a turn. */
export function useTarget({ target, source, list, keeper, reveal, onOpened }: TargetInput): void {
  const done = useRef(0);
  useEffect(() => {
    if (target === null || done.current === target.turn) return;
    const index = source.messages.findIndex(({ id }) => id === target.id);
    if (index < 0 || !reveal(index)) return;
    const row = list.current!.querySelector(`[data-message="${CSS.escape(target.id)}"]`);
    if (row === null) return;
    done.current = target.turn;
    keeper.current!.show(row, 'center');
    onOpened();
    if (row instanceof HTMLElement) row.focus({ preventScroll: true });
  });
}
