import { useKeys } from '@parley/ui/hooks/use-keys.ts';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { go } from '../nav/place.ts';

/** Opens the next or previous conversation by Alt and an arrow key, also from within a text. */
export function useNeighbourKeys(ids: readonly string[], openId: string | null): void {
  useKeys((event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[pressedKey(event)];
    const isPlain = event.altKey && !(event.ctrlKey || event.metaKey || event.shiftKey);
    if (step === undefined || !isPlain || event.defaultPrevented) return;
    if (document.querySelector('dialog[open]') !== null) return;
    const id = ids[openId === null ? 0 : ids.indexOf(openId) + step];
    if (id === undefined) return;
    event.preventDefault();
    go({ main: { at: 'conversation', id } });
  });
}
