import { useCallback, useRef } from 'react';

/** Returns a function that stays the same and calls the newest `act`. */
export function useEvent<Parameters extends readonly unknown[], Result>(
  act: (...parameters: Parameters) => Result,
): (...parameters: Parameters) => Result {
  const newest = useRef(act);
  newest.current = act;
  return useCallback((...parameters: Parameters) => newest.current(...parameters), []);
}
