/** Moments as fields of the type `datetime-local` have them, in the time zone of the browser. */

import { uiTexts } from '../texts/ui-texts.ts';
import { inLanguage } from './language.ts';

/** Returns a moment as the value of a field. */
export function fieldTime(at: Date): string {
  return new Date(shownMs(at)).toISOString().slice(0, 16);
}

/**
 * Returns what to say about the value of a field that clocks skip, as they do in the night in which
 * summer time begins; an empty text about any other value.
 */
export function skippedTime(value: string): string {
  const writtenMs = Date.parse(`${value}Z`);
  if (Number.isNaN(writtenMs) || shownMs(new Date(value)) === writtenMs) return '';
  return uiTexts.text.skipped(written().format(writtenMs));
}

/** Returns the time that clocks show at a moment, as if it were one of UTC, in ms since 1970. */
function shownMs(at: Date): number {
  return at.getTime() - at.getTimezoneOffset() * 60_000;
}

/** For times that are written as those of UTC: the time zone of the browser does not have them. */
const written = inLanguage(
  (locale) => new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }),
);
