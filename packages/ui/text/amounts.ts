/** Amounts of money and time as people read them. */

const USD = new Intl.NumberFormat(undefined, {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumFractionDigits: 6,
});

/** Returns a cost in US dollars, to the last millionth. */
export function costText(usd: number): string {
  return USD.format(usd);
}

/** Returns a duration as text: milliseconds, seconds, or minutes and seconds. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}
