/** Formats, stricter than those of libraries: what passes means the same to Postgres and Date. */

/**
 * Accepts RFC 3339 with offset, a day that exists, no leap second (Date has none), and a year and
 * an offset for Postgres. The library accepts a blank for the `T`, and offsets such as `+01`.
 */
export function isDateTime(text: string): boolean {
  const parts = DATE_TIME.exec(text);
  if (parts === null) return false;
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  // Date.UTC would take years below 100 as 19xx.
  return year > 0 && new Date(new Date(0).setUTCFullYear(year, month - 1, day)).getUTCDate() === day;
}

/** Applies the rule of ajv-formats, within the length that mail allows (RFC 5321, 4.5.3.1). */
export function isEmail(text: string): boolean {
  return text.length <= 254 && EMAIL.test(text);
}

/** Accepts `type/subtype` with parameters (RFC 9110, 8.3.1): visible ASCII and single blanks. */
export function isMediaType(text: string): boolean {
  return MEDIA_TYPE.test(text);
}

/** Accepts IANA names: Europe/Berlin. Intl also takes offsets (+01:00), without daylight saving. */
export function isTimezone(text: string): boolean {
  if (!/^[a-z]/i.test(text)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

const DATE_TIME =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:0\d|1[0-5]):[0-5]\d)$/;

const EMAIL =
  /^[a-z\d!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z\d!#$%&'*+/=?^_`{|}~-]+)*@(?:[a-z\d](?:[a-z\d-]*[a-z\d])?\.)+[a-z\d](?:[a-z\d-]*[a-z\d])?$/i;

const MEDIA_TYPE =
  /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?: ?; ?[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"[\x20\x21\x23-\x5b\x5d-\x7e]*"))*$/;
