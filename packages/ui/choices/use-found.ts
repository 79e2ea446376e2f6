import { useEffect, useState } from 'preact/hooks';
import { useEvent } from '../hooks/use-event.ts';
import { failureText } from '../texts/failure-text.ts';

/** The results for the words of a field. */
export interface Found<Result> {
  /**
   * The last answer, also while the next one is on its way; null before the first and after a
   * failure.
   */
  readonly result: Result | null;
  /** The failure of the last search; empty if it succeeded. */
  readonly problem: string;
  /** Whether the answer is for the present words; otherwise one is on its way. */
  readonly isCurrent: boolean;
}

/**
 * Finds something for words, trimmed, once typing pauses; for no words at once. A late answer for
 * earlier words does not replace that for the present ones. Null finds nothing, and forgets the
 * earlier result.
 */
export function useFound<Result>(
  words: string | null,
  find: (words: string) => Promise<Result>,
): Found<Result> {
  const [answer, setAnswer] = useState<Answer<Result> | null>(null);
  const begin = useEvent(find);
  const present = words?.trim() ?? null;
  const asked = usePaused(present);
  useEffect(() => {
    if (asked === null) {
      setAnswer(null);
      return;
    }
    let isOver = false;
    const show = (result: Result | null, problem = '') => {
      if (!isOver) setAnswer({ words: asked, result, problem });
    };
    begin(asked).then(show, (error: unknown) => show(null, failureText(error)));
    return () => {
      isOver = true;
    };
  }, [asked, begin]);
  const { result = null, problem = '' } = answer ?? {};
  return { result, problem, isCurrent: answer?.words === present };
}

interface Answer<Result> {
  readonly words: string;
  readonly result: Result | null;
  readonly problem: string;
}

/** Returns a text as it was when typing paused last; an empty text and null at once. */
export function usePaused<Text extends string | null>(text: Text): Text {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), text ? PAUSE_MS : 0);
    return () => clearTimeout(timer);
  }, [text]);
  return text ? paused : text;
}

/** Longer than between two letters of most people, and too short to be felt as waiting. */
const PAUSE_MS = 150;
