import { setImmediate as turn } from 'node:timers/promises';
import { Cron } from 'croner';

/** Of a scheduled agent (trigger-rules.ts): five fields, and the IANA timezone that they are meant in. */
export interface CronSchedule {
  readonly cron_schedule: string;
  readonly timezone: string;
}

/**
 * When a schedule is due first behind `after`, to the minute and with daylight saving; null: never again. Throws
 * croner's error where it is no schedule.
 */
export function nextDue(schedule: CronSchedule, after: Date): Date | null {
  return cronOf(schedule).nextRun(after);
}

export interface DueTimes {
  /** The last occurrence by now. */
  readonly newest: Date;
  /** Those before it, newest first. */
  readonly others: readonly Date[];
  /** The first one that is still to come. */
  readonly next: Date | null;
}

/**
 * What a schedule has come to by `now`, being due since `since`: the newest occurrence and at most `most` before it.
 * Lets other work in between: after a long pause there are many, and each takes croner a millisecond or two.
 */
export async function dueBy(
  schedule: CronSchedule,
  { since, now, most }: { readonly since: Date; readonly now: Date; readonly most: number },
): Promise<DueTimes> {
  const cron = cronOf(schedule);
  const next = cron.nextRun(since);
  if (next === null || next > now) return { newest: since, others: [], next };
  const due: Date[] = [];
  // croner looks strictly before its reference.
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
