import { useEffect, useState } from 'preact/hooks';
import { useEvent } from './use-event.ts';

/** What was read. */
export interface Read<T> {
  /** The last value that was read; null before the first. */
  readonly value: T | null;
  /** Why the last read failed; empty if it did not. */
  readonly problem: string;
  /** Replaces the value, where a change has answered with it. */
  readonly set: (value: T) => void;
}

/**
 * Reads something when the component is shown, and again when `key` changes. Nothing is read while
 * `key` is empty.
 */
export function useRead<T>(key: string, read: () => Promise<T>): Read<T> {
  const [state, setState] = useState<Omit<Read<T>, 'set'>>({ value: null, problem: '' });
  const begin = useEvent(read);
  useEffect(() => {
    if (key === '') return;
    let isShown = true;
    begin().then(
      (value) => isShown && setState({ value, problem: '' }),
      (error: Error) => isShown && setState((known) => ({ ...known, problem: error.message })),
    );
    return () => {
      isShown = false;
    };
  }, [key, begin]);
  const set = useEvent((value: T) => setState({ value, problem: '' }));
  return { ...state, set };
}
