import { useEffect, useRef, useState } from 'preact/hooks';
import { failureText } from '../texts/failure-text.ts';
import { useEvent } from './use-event.ts';

/** The value that was read, and the operations on it. */
export interface Resource<T> {
  /** The last value of the present key; null before the first. */
  readonly value: T | null;
  /** The failure of the last read; empty if it succeeded. */
  readonly problem: string;
  /** Reads it again, while the value stays. Resolves when that has succeeded or failed. */
  readonly reload: () => Promise<void>;
  /** Replaces the value, where a change has answered with it. */
  readonly set: (value: T) => void;
}

export interface ResourceOptions<T> {
  /** A new version says that the value has changed on the server: it is read again. */
  readonly version?: unknown;
  /** Whether the value changes by itself: it is then read again every two seconds, in sight. */
  readonly isMoving?: (value: T | null) => boolean;
}

/**
 * Reads something when the component is shown, and again when `key`, its identity, changes. Nothing
 * is read while `key` is null. `read` gets the last value, and a signal that aborts when its answer
 * is no longer of use.
 */
export function useResource<T>(
  key: unknown,
  read: (signal: AbortSignal, known: T | null) => Promise<T>,
  { version, isMoving = () => false }: ResourceOptions<T> = {},
): Resource<T> {
  const [state, setState] = useState<State<T>>({ of: key, value: null, problem: '' });
  const reading = useRef<AbortController | undefined>(undefined);
  const { value, problem } = state.of === key ? state : { value: null, problem: '' };
  const reload = useEvent(async () => {
    reading.current?.abort();
    reading.current = new AbortController();
    const { signal } = reading.current;
    const show = (next: Partial<State<T>>) => {
      if (signal.aborted) return;
      reading.current = undefined;
      setState({ of: key, value, problem: '', ...next });
    };
    await read(signal, value).then(
      (next) => show({ value: next }),
      (error: unknown) => show({ problem: failureText(error) }),
    );
  });
  useEffect(() => {
    if (key === null) return;
    void reload();
    return () => reading.current?.abort();
  }, [key, version, reload]);
  const goesOn = key !== null && isMoving(value);
  useEffect(() => {
    if (!goesOn) return;
    const again = () => {
      if (!document.hidden && reading.current === undefined) void reload();
    };
    // Each read leads to another state, which restarts the time.
    const timer = setTimeout(again, AGAIN_MS);
    document.addEventListener('visibilitychange', again);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', again);
    };
  }, [goesOn, state, reload]);
  const set = useEvent((next: T) => {
    reading.current?.abort();
    reading.current = undefined;
    setState({ of: key, value: next, problem: '' });
  });
  return { value, problem, reload, set };
}

interface State<T> {
  /** The key of the value. */
  readonly of: unknown;
  readonly value: T | null;
  readonly problem: string;
}

const AGAIN_MS = 2_000;
