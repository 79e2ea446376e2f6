import type { KeyboardEvent } from 'react';

/** Moves the focus among the elements of a selector by the arrow keys, Home and End. */
export function moveFocus(event: KeyboardEvent<HTMLElement>, selector: string): void {
  const { currentTarget: list, target, key } = event;
  if (!(target instanceof HTMLElement) || !target.matches(selector)) return;
  const all = [...list.querySelectorAll<HTMLElement>(selector)];
  const at = all.indexOf(target);
  const places: Record<string, number> = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: all.length - 1 };
  const next = all[places[key] ?? -1];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
