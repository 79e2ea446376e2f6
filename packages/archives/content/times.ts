/**
 * Times of archives are microseconds since 1970 as whole numbers: below 2^53 until the year 2255,
 * so no digit is lost.
 */
export type Micros = number;

/** Later ones are mistakes, or milliseconds for seconds. */
const END: Micros = Date.UTC(2100, 0) * 1000;

/** Returns the time of a Slack `ts`, such as `1405895017.000506`; null for anything else. */
export function slackMicros(ts: unknown): Micros | null {
  const [, seconds, fraction] = (typeof ts === 'string' && TS.exec(ts)) || [];
  if (seconds === undefined || fraction === undefined) return null;
  return within(Number(seconds) * 1_000_000 + Number(fraction.padEnd(6, '0')));
}

const TS = /^(\d{1,11})\.(\d{1,6})$/;

/** Returns the time of whole milliseconds; null for 0 and anything else. */
export function millis(value: unknown): Micros | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? within(value * 1000) : null;
}

/**
 * Returns the time of seconds with a fraction, as a number of JSON; null for 0 and anything else.
 */
export function seconds(value: unknown): Micros | null {
  if (typeof value !== 'number' || !Number.isFinite(value)) return null;
  const whole = Math.floor(value);
  return within(whole * 1_000_000 + Math.round((value - whole) * 1_000_000));
}

/**
 * Returns the time of RFC 3339 with up to six decimals, in UTC or with an offset; null otherwise.
 */
export function rfcMicros(value: unknown): Micros | null {
  const [, whole, fraction = '', offset] = (typeof value === 'string' && RFC_3339.exec(value)) || [];
  if (whole === undefined || offset === undefined) return null;
  return within(Date.parse(`${whole}${offset}`) * 1000 + Number(fraction.padEnd(6, '0')));
}

const RFC_3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)$/;

function within(at: Micros): Micros | null {
  return at > 0 && at < END ? at : null;
}

/** Returns the time as records have it: `2014-07-20T22:23:37.000506Z`. */
export function wireTime(at: Micros): string {
  const milliseconds = Math.floor(at / 1000);
  const rest = String(at - milliseconds * 1000).padStart(3, '0');
  return `${new Date(milliseconds).toISOString().slice(0, -1)}${rest}Z`;
}

export function wireTimeOrNull(at: Micros | null): string | null {
  return at === null ? null : wireTime(at);
}
