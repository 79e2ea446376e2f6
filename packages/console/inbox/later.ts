import { texts } from '../texts/texts.ts';

/** A time that a menu offers, for snoozes and mutes. */
export interface LaterTime {
  readonly label: string;
  readonly at: Date;
}

/** Returns times to come that suit a working day, soonest first. */
export function laterTimes(now: Date): LaterTime[] {
  const hour = new Date(now.getTime() + HOUR_MS);
  const evening = at(now, 0, EVENING);
  const toMonday = (8 - now.getDay()) % 7 || 7;
  return [
    { label: texts.inbox.later.hour, at: hour },
    ...(evening.getTime() - now.getTime() > 2 * HOUR_MS
      ? [{ label: texts.inbox.later.evening, at: evening }]
      : []),
    { label: texts.inbox.later.tomorrow, at: at(now, 1, MORNING) },
    ...(toMonday > 1 ? [{ label: texts.inbox.later.monday, at: at(now, toMonday, MORNING) }] : []),
    { label: texts.inbox.later.week, at: at(now, 7, MORNING) },
  ];
}

/** Returns an hour of the day that is some days after another. */
function at(now: Date, days: number, hour: number): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hour);
}

const HOUR_MS = 3_600_000;
const MORNING = 9;
const EVENING = 18;
