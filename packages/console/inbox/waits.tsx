import { fullTimeOf } from '@parley/ui/text/time.ts';
import { useSyncExternalStore } from 'preact/compat';
import { texts } from '../texts/texts.ts';
import { durationOf } from './duration.ts';

export interface WaitsProps {
  /** Since when the customer waits. */
  readonly since: string;
}

/** How long a customer waits for an answer, as of this minute. */
export function Waits({ since }: WaitsProps) {
  const minutes = Math.max(0, Math.floor((useMinute() - Date.parse(since)) / MINUTE_MS));
  const { short, long } = durationOf(minutes);
  return (
    <span class="waits" data-age={ageOf(minutes)} title={texts.inbox.waitsSince(fullTimeOf(since))}>
      <span aria-hidden="true">{texts.inbox.waits(short)}</span>
      <span class="hidden-visually">{texts.inbox.waitsFor(long)}</span>
    </span>
  );
}

/** Returns the tone: an hour is late, and a day is very late. */
function ageOf(minutes: number): 'new' | 'late' | 'very-late' {
  if (minutes < 60) return 'new';
  return minutes < 1440 ? 'late' : 'very-late';
}

const MINUTE_MS = 60_000;

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let now = Date.now();

/** Follows the time, each minute: one timer serves all that is shown. */
function useMinute(): number {
  return useSyncExternalStore(follow, () => now);
}

function follow(listener: () => void): () => void {
  if (listeners.size === 0) {
    now = Date.now();
    timer = setInterval(() => {
      now = Date.now();
      for (const one of listeners) one();
    }, MINUTE_MS);
  }
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) clearInterval(timer);
  };
}
