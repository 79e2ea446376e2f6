import {
  type DoNotDisturb,
  WEEKDAYS,
  type Weekday,
} from '@parley/protocol/resources/notification-settings.ts';
import { timezoneOffset } from '../../../platform/timezone-offset.ts';

/**
 * Returns whether a clock of the hours' timezone shows a time from `from` to before `to` at `at`,
 * on a day on which they begin, or after midnight on the day after. The hour that clocks skip in
 * spring does not exist: hours that end within it end where it was. In the hour that clocks repeat
 * in autumn, hours begin at the first and end at the second occurrence of a time, without a gap.
 */
export function isWithin(hours: DoNotDisturb, at: Date): boolean {
  const { timezone } = hours;
  const nowMs = at.getTime();
  const offset = timezoneOffset(timezone, nowMs);
  if (shows(hours, at, offset)) return true;
  // The same instants by the clock before or after a change that repeats them.
  const before = timezoneOffset(timezone, nowMs - LONGEST_CHANGE_MS);
  const isSecondTime = before > offset && timezoneOffset(timezone, nowMs + offset - before) === before;
  if (isSecondTime && shows(hours, at, before)) return true;
  const after = timezoneOffset(timezone, nowMs + LONGEST_CHANGE_MS);
  const isFirstTime = after < offset && timezoneOffset(timezone, nowMs + offset - after) === after;
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
