import { setImmediate as turn } from 'node:timers/promises';
import { Cron } from 'croner';

/** The schedule of an agent (triggers/rules.ts): five fields, and their IANA timezone. */
export interface CronSchedule {
  readonly cron_schedule: string;
  readonly timezone: string;
}

/**
 * Returns the first time after `after` at which a schedule is due, to the minute and with daylight
 * saving; null if there is none. Throws croner's error for an invalid schedule.
 */
export function nextDue(schedule: CronSchedule, after: Date): Date | null {
  return cronOf(schedule).nextRun(after);
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
  const cron = cronOf(schedule);
  const next = cron.nextRun(since);
  if (next === null || next > now) return { newest: since, others: [], next };
  const due: Date[] = [];
  // croner's search excludes its reference time.
  for (let before = new Date(now.getTime() + 1); due.length <= most; before = due.at(-1)!) {
    const [earlier] = cron.previousRuns(1, before);
    if (earlier === undefined || earlier <= since) {
      due.push(since);
      break;
    }
    due.push(earlier);
    await turn();
  }
  const [newest, ...others] = due;
  return { newest: newest!, others, next: cron.nextRun(now) };
}

function cronOf({ cron_schedule, timezone }: CronSchedule): Cron {
  return new Cron(cron_schedule, { mode: '5-part', timezone, paused: true });
}
