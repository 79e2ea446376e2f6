import { useCallback, useRef } from 'preact/hooks';

/**
 * Returns a function that stays the same and calls the newest `act`. Effects that call it do not
 * begin again with another render.
 */
export function useEvent<Parameters extends readonly unknown[], Result>(
  act: (...parameters: Parameters) => Result,
): (...parameters: Parameters) => Result {
  const newest = useRef(act);
  newest.current = act;
  return useCallback((...parameters: Parameters) => newest.current(...parameters), []);
}
