import type { ReactElement } from 'react';
import type { PartProps } from './words.ts';

/** The language and time zone of a time. */
export type TimeLook = Pick<PartProps, 'locale' | 'timeZone'>;

/** Shows the time of a day. */
export function Time({ at, ...look }: TimeLook & { readonly at: string }): ReactElement {
  return (
    <time className="parley-time" dateTime={at}>
      {timeOf(at, look)}
    </time>
  );
}

/** Returns the time of a day. */
export function timeOf(at: string, { locale, timeZone }: TimeLook): string {
  return new Date(at).toLocaleTimeString(locale, { timeZone, hour: '2-digit', minute: '2-digit' });
}

/** Returns the day of a time. */
export function dayOf(at: string, { locale, timeZone }: TimeLook): string {
  const options = { timeZone, weekday: 'long', day: 'numeric', month: 'long' } as const;
  return new Date(at).toLocaleDateString(locale, options);
}
