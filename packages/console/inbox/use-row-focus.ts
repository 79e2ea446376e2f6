import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** The focus in a list of rows, by their ids: it stays with its row when the order changes. */
export interface RowFocus {
  /** The row to which the Tab key leads. */
  readonly tabStop: string | undefined;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

/**
 * Moves the focus through rows (elements with `data-id`, each with a link) by the arrow keys, j and
 * k. `current` is the row to begin with.
 */
export function useRowFocus(
  list: RefObject<HTMLElement | null>,
  ids: readonly string[],
  current: string | null,
): RowFocus {
  const [focused, setFocused] = useState<string | null>(null);
  const held = useRef<string | null>(null);
  const tabStop = [focused, current].find((id) => id !== null && ids.includes(id)) ?? ids[0];

  useEffect(() => {
    const rowOf = (target: EventTarget | null) =>
      target instanceof Element && list.current?.contains(target) === true
        ? (target.closest<HTMLElement>('[data-id]')?.dataset.id ?? null)
        : null;
    const moved = ({ target }: Event) => {
      held.current = rowOf(target);
      if (held.current !== null) setFocused(held.current);
    };
    document.addEventListener('focusin', moved);
    document.addEventListener('pointerdown', moved);
    return () => {
      document.removeEventListener('focusin', moved);
      document.removeEventListener('pointerdown', moved);
    };
  }, [list]);
  const before = useRef(ids);
  // A row that changes its place leaves the document for a moment, and loses the focus. Of one that
  // has left the list, the row that followed it takes the focus.
  useLayoutEffect(() => {
    const id = held.current;
    const next = id === null ? undefined : rowInstead(id, before.current, ids);
    before.current = ids;
    if (next !== undefined && document.activeElement === document.body) focusRow(list, next);
  });

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = (event.target as HTMLElement).closest<HTMLElement>('[data-id]')?.dataset.id;
    const next = nextRow(pressedKey(event), ids, row);
    if (next === undefined) return;
    event.preventDefault();
    focusRow(list, next);
  };
  return { tabStop, onKeyDown };
}

/**
 * Returns the row itself while it is in the list. For one that has just left the list, returns the
 * nearest row that followed it, else the last row; the order may have changed at the same time.
 */
export function rowInstead(
  id: string,
  before: readonly string[],
  ids: readonly string[],
): string | undefined {
  if (ids.includes(id)) return id;
  if (!before.includes(id)) return undefined;
  const following = before.slice(before.indexOf(id));
  return following.find((row) => ids.includes(row)) ?? ids.at(-1);
}

/** Returns the id of the row to which a key leads from another one; undefined for other keys. */
export function nextRow(key: string, ids: readonly string[], from: string | undefined): string | undefined {
  const at = from === undefined ? -1 : ids.indexOf(from);
  switch (key) {
    case 'ArrowDown':
    case 'j':
      return ids[Math.min(at + 1, ids.length - 1)];
    case 'ArrowUp':
    case 'k':
      return ids[Math.max(at - 1, 0)];
    case 'Home':
      return ids[0];
    case 'End':
      return ids.at(-1);
    default:
      return undefined;
  }
}

/** Moves the focus to a row of a list. */
function focusRow(list: RefObject<HTMLElement | null>, id: string): void {
  list.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"] a`)?.focus();
}
