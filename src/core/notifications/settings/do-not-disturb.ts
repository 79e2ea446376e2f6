import {
  type DoNotDisturb,
  WEEKDAYS,
  type Weekday,
} from '@parley/protocol/resources/notification-settings.ts';

/**
 * Returns whether a clock of the hours' timezone shows a time from `from` to before `to` at `at`,
 * on a day on which they begin, or after midnight on the day after. The hour that clocks skip in
 * spring does not exist: hours that end within it end where it was. In the hour that clocks repeat
 * in autumn, hours begin at the first and end at the second occurrence of a time, without a gap.
 */
export function isWithin(hours: DoNotDisturb, at: Date): boolean {
  const { timezone } = hours;
  const offset = offsetAt(timezone, at, 0);
  if (shows(hours, at, offset)) return true;
  // The same instants by the clock before or after a change that repeats them.
  const before = offsetAt(timezone, at, -LONGEST_CHANGE_MS);
  const isSecondTime = before > offset && offsetAt(timezone, at, offset - before) === before;
  if (isSecondTime && shows(hours, at, before)) return true;
  const after = offsetAt(timezone, at, LONGEST_CHANGE_MS);
  const isFirstTime = after < offset && offsetAt(timezone, at, offset - after) === after;
  return isFirstTime && shows(hours, at, after);
}

/** No timezone changes its clocks by more than two hours. */
const LONGEST_CHANGE_MS = 2 * 60 * 60 * 1_000;
const DAY_MINUTES = 24 * 60;

/** Returns whether a clock with this offset shows a time within the hours. */
function shows({ from, to, days }: DoNotDisturb, at: Date, offset: number): boolean {
  const local = new Date(at.getTime() + offset);
  const minutes = local.getUTCHours() * 60 + local.getUTCMinutes();
  const [begin, end] = [minutesOf(from), minutesOf(to)];
  if (begin < end) return minutes >= begin && minutes < end && beginsOn(days, local);
  if (minutes >= begin) return beginsOn(days, local);
  const dayBefore = new Date(local.getTime() - DAY_MINUTES * 60_000);
  return minutes < end && beginsOn(days, dayBefore);
}

function beginsOn(days: readonly Weekday[], local: Date): boolean {
  // Date counts from Sunday.
  return days.includes(WEEKDAYS[(local.getUTCDay() + 6) % 7]!);
}

function minutesOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}

/** Returns the milliseconds by which the timezone is ahead of UTC, `shiftMs` after `at`. */
function offsetAt(timezone: string, at: Date, shiftMs: number): number {
  // Clocks show whole seconds.
  const seconds = Math.floor((at.getTime() + shiftMs) / 1_000) * 1_000;
  const shown: Record<string, number> = {};
  for (const { type, value } of clockOf(timezone).formatToParts(seconds)) shown[type] = Number(value);
  const { year, month, day, hour, minute, second } = shown;
  return Date.UTC(year!, month! - 1, day!, hour!, minute!, second!) - seconds;
}

/** Making a format takes 50 us, using it 2. About 600 timezones exist, in any letter case. */
const clocks = new Map<string, Intl.DateTimeFormat>();
const MAX_CLOCKS = 1_000;

function clockOf(timeZone: string): Intl.DateTimeFormat {
  let clock = clocks.get(timeZone);
  if (clock === undefined) {
    if (clocks.size >= MAX_CLOCKS) clocks.clear();
    const two = '2-digit';
    clock = new Intl.DateTimeFormat('en', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: two,
      day: two,
      hour: two,
      minute: two,
      second: two,
    });
    clocks.set(timeZone, clock);
  }
  return clock;
}
