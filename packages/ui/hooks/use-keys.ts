import { useEffect } from 'preact/hooks';
import { useEvent } from './use-event.ts';

/** Calls the newest `press` at each key, wherever in the page it is pressed. */
export function useKeys(press: (event: KeyboardEvent) => void): void {
  const pressed = useEvent(press);
  useEffect(() => {
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, [pressed]);
}
