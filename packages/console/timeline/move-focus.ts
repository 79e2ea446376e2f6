import { pressedKey } from '@parley/ui/typing/pressed-key.ts';

/** Moves the focus from one message to another by the arrow keys, Home and End. */
export function moveFocus(event: KeyboardEvent): void {
  const row = event.target;
  if (!(row instanceof HTMLElement) || !row.matches('[data-message]')) return;
  const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[data-message]')];
  const at = all.indexOf(row);
  const next = { ArrowUp: all[at - 1], ArrowDown: all[at + 1], Home: all[0], End: all.at(-1) }[
    pressedKey(event)
  ];
  if (next === undefined) return;
  event.preventDefault();
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: 'nearest' });
}
