import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { useEffect, useRef } from 'preact/hooks';
import { go } from '../nav/place.ts';

/** Opens the next or previous conversation by Alt and an arrow key, also from within a text. */
export function useNeighbourKeys(ids: readonly string[], openId: string | null): void {
  const current = useRef({ ids, openId });
  current.current = { ids, openId };
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[pressedKey(event)];
      const isPlain = event.altKey && !(event.ctrlKey || event.metaKey || event.shiftKey);
      if (step === undefined || !isPlain || event.defaultPrevented) return;
      if (document.querySelector('dialog[open]') !== null) return;
      const { ids, openId } = current.current;
      const id = ids[openId === null ? 0 : ids.indexOf(openId) + step];
      if (id === undefined) return;
      event.preventDefault();
      go({ main: { at: 'conversation', id } });
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
}
