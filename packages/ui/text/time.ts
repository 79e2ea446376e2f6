/** Moments and days as people read them, in the language and time zone of the browser. */

const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const LONG_DAY = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
const DAY_OF_YEAR = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'long', year: 'numeric' });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

/** Returns the time of day. */
export function timeOf(text: string): string {
  return TIME.format(new Date(text));
}

/** Returns the time of a moment of today, else the day. */
export function shortTimeOf(text: string, now = new Date()): string {
  const at = new Date(text);
  if (at.toDateString() === now.toDateString()) return TIME.format(at);
  return at.getFullYear() === now.getFullYear() ? DAY.format(at) : DAY_OF_YEAR.format(at);
}

/** Returns the day for a heading: "today", "yesterday", a weekday with its date, a date. */
export function dayOf(text: string, now = new Date()): string {
  const at = new Date(text);
  const days = Math.round((midnight(at) - midnight(now)) / DAY_MS);
  if (days === 0 || days === -1) return RELATIVE.format(days, 'day');
  return at.getFullYear() === now.getFullYear() ? LONG_DAY.format(at) : DAY_OF_YEAR.format(at);
}

/** Returns whether two moments are of one day. */
export function isSameDay(one: string, other: string): boolean {
  return midnight(new Date(one)) === midnight(new Date(other));
}

/** Returns day and time in full, for a hint. */
export function fullTimeOf(text: string): string {
  return FULL.format(new Date(text));
}

const DAY_MS = 86_400_000;

function midnight(at: Date): number {
  return Date.UTC(at.getFullYear(), at.getMonth(), at.getDate());
}
