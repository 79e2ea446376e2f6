/** Moments and days as people read them, in the time zone of the browser. */

import { inLanguage } from './language.ts';

const formats = inLanguage((locale) => ({
  time: new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit' }),
  day: new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' }),
  longDay: new Intl.DateTimeFormat(locale, { weekday: 'long', day: 'numeric', month: 'long' }),
  dayOfYear: new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', year: 'numeric' }),
  weekday: new Intl.DateTimeFormat(locale, { weekday: 'long' }),
  full: new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'short' }),
  relative: new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }),
}));

/** Returns the time of day. */
export function timeOf(text: string): string {
  return formats().time.format(new Date(text));
}

/** Returns the time of a moment of today, else the day. */
export function shortTimeOf(text: string, now = new Date()): string {
  const at = new Date(text);
  if (at.toDateString() === now.toDateString()) return formats().time.format(at);
  return at.getFullYear() === now.getFullYear() ? formats().day.format(at) : formats().dayOfYear.format(at);
}

/** Returns the day for a heading: "today", "yesterday", a weekday with its date, a date. */
export function dayOf(text: string, now = new Date()): string {
  const at = new Date(text);
  const days = Math.round((midnight(at) - midnight(now)) / DAY_MS);
  if (days === 0 || days === -1) return formats().relative.format(days, 'day');
  return at.getFullYear() === now.getFullYear()
    ? formats().longDay.format(at)
    : formats().dayOfYear.format(at);
}

/** Returns a moment of the coming days: "today 09:00", "tomorrow 09:00", "Monday 09:00". */
export function comingTimeOf(text: string, now = new Date()): string {
  const at = new Date(text);
  const days = Math.round((midnight(at) - midnight(now)) / DAY_MS);
  const day =
    days === 0 || days === 1 ? formats().relative.format(days, 'day') : formats().weekday.format(at);
  return `${day} ${formats().time.format(at)}`;
}

/** Returns whether two moments are of one day. */
export function isSameDay(one: string, other: string): boolean {
  return midnight(new Date(one)) === midnight(new Date(other));
}

/** Returns day and time in full, for a hint. */
export function fullTimeOf(text: string): string {
  return formats().full.format(new Date(text));
}

const DAY_MS = 86_400_000;

function midnight(at: Date): number {
  return Date.UTC(at.getFullYear(), at.getMonth(), at.getDate());
}
