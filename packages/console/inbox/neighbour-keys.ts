import { useKeys } from '@parley/ui/hooks/use-keys.ts';
import { isForText } from '@parley/ui/typing/for-text.ts';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { go } from '../nav/place.ts';

/**
 * Opens the next or previous conversation: by Alt and an arrow key, also from within a text, and by
 * J and K.
 */
export function useNeighbourKeys(ids: readonly string[], openId: string | null): void {
  useKeys((event) => {
    const { ctrlKey, metaKey, shiftKey, altKey, target } = event;
    if (ctrlKey || metaKey || shiftKey || event.defaultPrevented) return;
    const keys = altKey ? WITH_ALT : isForText(target) ? {} : PLAIN;
    const step = keys[pressedKey(event)];
    if (step === undefined || document.querySelector('dialog[open]') !== null) return;
    const id = ids[openId === null ? 0 : ids.indexOf(openId) + step];
    if (id === undefined) return;
    event.preventDefault();
    go({ main: { at: 'conversation', id } });
  });
}

const WITH_ALT: Readonly<Record<string, 1 | -1>> = { ArrowDown: 1, ArrowUp: -1 };
const PLAIN: Readonly<Record<string, 1 | -1>> = { j: 1, k: -1 };
