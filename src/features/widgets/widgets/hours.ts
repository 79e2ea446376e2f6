import { WEEKDAYS } from '@parley/protocol/resources/notification-settings.ts';
import type { WidgetHours } from '@parley/protocol/resources/widget.ts';
import { timezoneOffset } from '../../../platform/timezone-offset.ts';

export interface Standing {
  readonly is_open: boolean;
  /** ISO 8601; null while open, or if it does not open within a week. */
  readonly opens_at: string | null;
}

/**
 * Returns whether the team is present at a moment, in milliseconds since 1970, and when it is next.
 */
export function standingAt(hours: WidgetHours | null, nowMs: number): Standing {
  if (hours === null) return { is_open: true, opens_at: null };
  const today = localDay(hours.timezone, nowMs);
  let opensMs = Number.POSITIVE_INFINITY;
  // Yesterday's hours may end today.
  for (let days = -1; days <= DAYS_AHEAD; days += 1) {
    const day = today + days * DAY_MS;
    for (const { day: weekday, from, to } of hours.open) {
      if (WEEKDAYS[(new Date(day).getUTCDay() + 6) % 7] !== weekday) continue;
      const beginsMs = momentOf(hours.timezone, day + clockMs(from));
      const endsMs = momentOf(hours.timezone, day + clockMs(to) + (to > from ? 0 : DAY_MS));
      if (beginsMs <= nowMs && nowMs < endsMs) return { is_open: true, opens_at: null };
      if (beginsMs > nowMs) opensMs = Math.min(opensMs, beginsMs);
    }
  }
  const isSoon = opensMs !== Number.POSITIVE_INFINITY;
  return { is_open: false, opens_at: isSoon ? new Date(opensMs).toISOString() : null };
}

const DAY_MS = 86_400_000;
const DAYS_AHEAD = 7;

/** Returns the milliseconds of a time of day, such as 22:30. */
function clockMs(clock: string): number {
  return (Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3))) * 60_000;
}

/** Returns midnight of the local day, as if the zone were UTC. */
function localDay(timezone: string, ms: number): number {
  const local = ms + timezoneOffset(timezone, ms);
  return local - (((local % DAY_MS) + DAY_MS) % DAY_MS);
}

/**
 * Returns the moment of a local time in the zone. A time that its clocks skip becomes a later one.
 */
function momentOf(timezone: string, local: number): number {
  return local - timezoneOffset(timezone, local - timezoneOffset(timezone, local));
}
