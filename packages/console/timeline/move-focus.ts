import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { INNER, WHOLE } from './one-tab-stop.ts';

/**
 * Moves the focus from one message to another by the arrow keys, Home and End, and through the
 * links and buttons of a message by the arrows to the sides. Escape leads back to the message.
 */
export function moveFocus(event: KeyboardEvent): void {
  const { target, currentTarget: list } = event;
  if (!(target instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.altKey) return;
  const row = target.closest<HTMLElement>('[data-message]');
  if (row === null || target.closest(WHOLE) !== null) return;
  const next = row === target ? ofList(list as HTMLElement, row, event) : null;
  const found = next ?? within(row, target, pressedKey(event));
  if (found === null) return;
  event.preventDefault();
  found.focus({ preventScroll: true });
  found.scrollIntoView({ block: 'nearest' });
}

function ofList(list: HTMLElement, row: HTMLElement, event: KeyboardEvent): HTMLElement | null {
  const all = [...list.querySelectorAll<HTMLElement>('[data-message]')];
  const at = all.indexOf(row);
  const next = { ArrowUp: all[at - 1], ArrowDown: all[at + 1], Home: all[0], End: all.at(-1) };
  return next[pressedKey(event) as keyof typeof next] ?? null;
}

/** Returns the element of a message to which a key leads from another one, or from the message. */
function within(row: HTMLElement, from: HTMLElement, key: string): HTMLElement | null {
  if (key === 'Escape') return from === row ? null : row;
  if (key !== 'ArrowRight' && key !== 'ArrowLeft') return null;
  const inner = [...row.querySelectorAll<HTMLElement>(INNER)];
  const all = [row, ...inner.filter((one) => one.checkVisibility() && one.closest(WHOLE) === null)];
  const step = (key === 'ArrowRight') === (getComputedStyle(row).direction === 'ltr') ? 1 : -1;
  return all.at((all.indexOf(from) + step) % all.length) ?? null;
}
