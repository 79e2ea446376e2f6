import { useCallback, useRef } from 'preact/hooks';

/**
 * Returns a function that stays the same and calls the newest `act`. For what effects call, so that
 * another render does not begin them again.
 */
export function useEvent<Parameters extends readonly unknown[], Result>(
  act: (...parameters: Parameters) => Result,
): (...parameters: Parameters) => Result {
  const newest = useRef(act);
  newest.current = act;
  return useCallback((...parameters: Parameters) => newest.current(...parameters), []);
}
