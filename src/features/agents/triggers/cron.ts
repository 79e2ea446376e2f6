import { setImmediate as turn } from 'node:timers/promises';
import { Cron } from 'croner';
import { timezoneOffset } from '../../../platform/timezone-offset.ts';

/** The schedule of an agent (triggers/rules.ts): five fields, and their IANA timezone. */
export interface CronSchedule {
  readonly cron_schedule: string;
  readonly timezone: string;
}

/**
 * Returns the first time after `after` at which a schedule is due, to the minute and with daylight
 * saving (docs/agents.md#triggers); null if there is none. Throws croner's error for an invalid
 * schedule.
 */
export function nextDue(schedule: CronSchedule, after: Date): Date | null {
  return timesOf(schedule).after(after);
}

export interface DueTimes {
  /** The last occurrence up to now. */
  readonly newest: Date;
  /** The occurrences before it, newest first. */
  readonly others: readonly Date[];
  /** The first future occurrence. */
  readonly next: Date | null;
}

/**
 * Returns the occurrences of a schedule that is due since `since`: the newest one by `now` and at
 * most `most` before it. Yields to other work in between: after a long pause there are many, and
 * each takes croner a millisecond or two.
 */
export async function dueBy(
  schedule: CronSchedule,
  { since, now, most }: { readonly since: Date; readonly now: Date; readonly most: number },
): Promise<DueTimes> {
  const times = timesOf(schedule);
  const next = times.after(since);
  if (next === null || next > now) return { newest: since, others: [], next };
  const due: Date[] = [];
  for (let before = new Date(now.getTime() + 1); due.length <= most; before = due.at(-1)!) {
    const earlier = times.before(before);
    if (earlier === null || earlier <= since) {
      due.push(since);
      break;
    }
    due.push(earlier);
    await turn();
  }
  const [newest, ...others] = due;
  return { newest: newest!, others, next: times.after(now) };
}

interface Times {
  /** Returns the first time after this one, or null. */
  after(at: Date): Date | null;
  /** Returns the last time before this one, or null. */
  before(at: Date): Date | null;
}

/**
 * Returns the times of a schedule: those of croner, and the end of an hour that clocks skip where
 * the schedule is due within it. croner knows that end only for a single time of day, and only on
 * the same day. A schedule of every hour needs no such time: an hour that does not come is no hour.
 */
function timesOf({ cron_schedule, timezone }: CronSchedule): Times {
  const cron = new Cron(cron_schedule, { mode: '5-part', timezone, paused: true });
  const next = (at: Date) => cron.nextRun(at);
  const previous = (at: Date) => cron.previousRuns(1, at)[0] ?? null;
  if (EVERY_HOUR.test(cron_schedule)) return { after: next, before: previous };
  /** The schedule by a clock without changes. Its times are local ones, as if they were of UTC. */
  const steady = new Cron(cron_schedule, { mode: '5-part', utcOffset: 0, paused: true });
  const localAt = (atMs: number) => atMs + timezoneOffset(timezone, atMs);
  return {
    after(at) {
      const skipped = endOfSkipped(timezone, steady.nextRun(new Date(localAt(at.getTime()))));
      const usual = next(at);
      return skipped !== null && (usual === null || skipped < usual) ? skipped : usual;
    },
    before(at) {
      const local = new Date(localAt(at.getTime() - 1) + 1);
      const skipped = endOfSkipped(timezone, steady.previousRuns(1, local)[0]);
      const usual = previous(at);
      return skipped !== null && (usual === null || skipped > usual) ? skipped : usual;
    },
  };
}

/** Five fields, of which the second, that of the hours, is any hour. */
const EVERY_HOUR = /^\s*\S+\s+[*?]\s/;

/**
 * Returns the moment at which the clocks of a timezone skip this local time; null if they show it.
 */
function endOfSkipped(timezone: string, local: Date | null | undefined): Date | null {
  if (local == null) return null;
  const localMs = local.getTime();
  const before = timezoneOffset(timezone, localMs - DAY_MS);
  const after = timezoneOffset(timezone, localMs + DAY_MS);
  const isShown = (offset: number) => timezoneOffset(timezone, localMs - offset) === offset;
  if (isShown(before) || isShown(after)) return null;
  let atMs = localMs - after;
  while (timezoneOffset(timezone, atMs) !== after) atMs += MINUTE_MS;
  return new Date(atMs);
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
