import { skippedTime } from '@parley/ui/text/field-time.ts';
import { inLanguage } from '@parley/ui/text/language.ts';
import { texts } from '../texts/texts.ts';

/** A time that is offered for a message. */
export interface SendTime {
  readonly label: string;
  readonly at: Date;
}

/** Returns the times that are offered, in the time zone of the person. */
export function sendTimes(now: Date): SendTime[] {
  const evening = atHour(now, 0, 18);
  const daysToMonday = (8 - now.getDay()) % 7 || 7;
  return [
    { label: texts.writing.times.hour, at: new Date(now.getTime() + 3_600_000) },
    ...(now.getHours() < 17 ? [{ label: texts.writing.times.evening, at: evening }] : []),
    { label: texts.writing.times.tomorrow, at: atHour(now, 1, 9) },
    ...(daysToMonday > 1 ? [{ label: texts.writing.times.monday, at: atHour(now, daysToMonday, 9) }] : []),
  ];
}

function atHour(now: Date, days: number, hour: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hour);
}

/** Returns the moment of a `datetime-local` field, or null if it is none or has passed. */
export function momentOf(value: string, now: Date): Date | null {
  const at = new Date(value);
  return Number.isNaN(at.getTime()) || at <= now || skippedTime(value) !== '' ? null : at;
}

/** Returns day and time as people say them, without seconds. */
export function whenText(at: Date): string {
  return when().format(at);
}

const when = inLanguage(
  (locale) =>
    new Intl.DateTimeFormat(locale, {
      weekday: 'short',
      day: 'numeric',
      month: 'short',
      hour: 'numeric',
      minute: '2-digit',
    }),
);

/** Returns the name of the person's time zone. */
export function timeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone.replaceAll('_', ' ');
}
