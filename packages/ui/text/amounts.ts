/** Amounts of money and time as people read them. */

import { inLanguage } from './language.ts';

const usd = inLanguage(
  (locale) =>
    new Intl.NumberFormat(locale, {
      style: 'currency',
      currency: 'USD',
      minimumFractionDigits: 2,
      maximumFractionDigits: 6,
    }),
);
const seconds = inLanguage(
  (locale) => new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
);
const count = inLanguage((locale) => new Intl.NumberFormat(locale));

/** Returns a number of things. */
export function countText(value: number): string {
  return count().format(value);
}

/** Returns a cost in US dollars, to the last millionth. */
export function costText(amount: number): string {
  return usd().format(amount);
}

/** Returns a duration as text: milliseconds, seconds, or minutes and seconds. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${seconds().format(ms / 1_000)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}
