import { useEffect, useRef } from 'preact/hooks';
import { holdPlace } from './place.ts';

/**
 * Holds the page at its place while `isHeld`: `ask` is called in place of leading elsewhere, also
 * by the browser's way back, with what leads there after all. A reload is asked about by the
 * browser.
 */
export function useHeldPlace(isHeld: boolean, ask: (leave: () => void) => void): () => void {
  const asked = useRef(ask);
  asked.current = ask;
  const release = useRef(() => {});
  useEffect(() => {
    if (!isHeld) return;
    const letGo = holdPlace((leave) => asked.current(leave));
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', warn);
    release.current = () => {
      letGo();
      removeEventListener('beforeunload', warn);
    };
    return () => release.current();
  }, [isHeld]);
  return () => release.current();
}
