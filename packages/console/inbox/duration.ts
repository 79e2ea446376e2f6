import { texts } from '../texts/texts.ts';

/** Returns a duration for rows, and in words. */
export function durationOf(minutes: number): { readonly short: string; readonly long: string } {
  const { shortMinutes, shortHours, shortDays, ...words } = texts.inbox;
  const [count, short, long] =
    minutes < 60
      ? [minutes, shortMinutes, words.minutes]
      : minutes < 48 * 60
        ? [Math.floor(minutes / 60), shortHours, words.hours]
        : [Math.floor(minutes / 1440), shortDays, words.days];
  return { short: short(count), long: long(count) };
}
