import { useEffect, useRef, useState } from 'preact/hooks';

/** What was found last. */
export interface Found<Result> {
  /** Null before the first answer. */
  readonly result: Result | null;
  /** Whether it is for the present words; otherwise an answer is on its way. */
  readonly isCurrent: boolean;
}

/**
 * Finds something for words, once they have not changed for a moment. `find` must be the same
 * function while it finds the same; null finds nothing.
 */
export function useFound<Result>(
  words: string,
  find: ((words: string) => Promise<Result>) | null,
): Found<Result> {
  const [found, setFound] = useState<{ readonly words: string; readonly result: Result | null } | null>(null);
  useEffect(() => {
    if (find === null) return;
    let isOver = false;
    const show = (result: Result | null) => {
      if (!isOver) setFound({ words, result });
    };
    const timer = setTimeout(
      () => find(words).then(show, () => show(null)),
      words === '' ? 0 : TYPED_AFTER_MS,
    );
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [words, find]);
  return { result: found?.result ?? null, isCurrent: found?.words === words };
}

/**
 * Returns a function that acts, at once or as soon as everything is ready: Enter before an answer.
 */
export function useWhenReady(isReady: boolean, act: () => void): (isAsked?: boolean) => void {
  const isWanted = useRef(false);
  useEffect(() => {
    if (!isReady || !isWanted.current) return;
    isWanted.current = false;
    act();
  });
  return (isAsked = true) => {
    if (isAsked && isReady) act();
    else isWanted.current = isAsked;
  };
}

const TYPED_AFTER_MS = 130;
