/**
 * Schedules around every change of every clock that this runtime knows, for ten years
 * (docs/agents.md#triggers). What clocks show comes from Date here, by the time zone of the
 * process; the code asks Intl.
 */

import t, { type Test } from 'tap';
import { dueBy, nextDue } from '../../src/features/agents/triggers/cron.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const STEP_MS = 15 * MINUTE_MS;
const FROM_MS = Date.UTC(2026, 0, 1);
const UNTIL_MS = Date.UTC(2036, 0, 1);

/** A change of the clocks of a zone. */
interface Change {
  readonly zone: string;
  /** The first moment of the new time. */
  readonly atMs: number;
  /** The offsets from UTC before and after. */
  readonly before: number;
  readonly after: number;
}

/** The times of day of a schedule, in minutes since midnight, and what a change makes of them. */
interface Kind {
  readonly cron: string;
  readonly minutes: ReadonlySet<number>;
  /**
   * `once`: a repeated time is due at the first alone. `twice`: at both. `flowing`: at both, and
   * skipped times are not made up for.
   */
  readonly rule: 'once' | 'twice' | 'flowing';
}

const ownZone = process.env.TZ;
t.teardown(() => {
  if (ownZone === undefined) delete process.env.TZ;
  else process.env.TZ = ownZone;
});

const zones = Intl.supportedValuesOf('timeZone');
const changes = zones.flatMap(changesOf);

t.test('a time of day is due each day, at each change of each zone', async (t) => {
  t.ok(zones.length > 400, 'the zones of a whole ICU');
  t.ok(new Set(changes.map(({ zone }) => zone)).size > 100, 'zones with changes');
  // Many zones change at the same moment and in the same way.
  for (const change of distinct(changes, ({ atMs, before, after }) => `${atMs} ${before} ${after}`)) {
    const [, first, second] = quartersAround(change);
    for (const minute of [first!, second!]) await check(t, change, daily(minute));
  }
});

t.test('lists, ranges and steps lose none, in each kind of change', async (t) => {
  const kinds = distinct(
    changes,
    ({ atMs, before, after }) => `${(atMs + before) % DAY_MS} ${after - before}`,
  );
  const untilMidnight = ({ atMs, before, after }: Change) => after > before && (atMs + after) % DAY_MS === 0;
  const fromMidnight = ({ atMs, before, after }: Change) => after > before && (atMs + before) % DAY_MS === 0;
  t.ok(kinds.some(untilMidnight), 'an hour that is skipped up to midnight');
  t.ok(kinds.some(fromMidnight), 'an hour that is skipped from midnight on');
  for (const change of kinds) {
    const single = quartersAround(change).map(daily);
    for (const kind of [...single, ...kindsAround(change)]) await check(t, change, kind);
  }
});

/** Compares the times of both directions with the expected ones, over three days. */
async function check(t: Test, change: Change, { cron, minutes, rule }: Kind): Promise<void> {
  const [sinceMs, nowMs] = [change.atMs - 1.5 * DAY_MS, change.atMs + 1.5 * DAY_MS];
  const expected = dueTimes(change.zone, { sinceMs, nowMs, minutes, rule });
  const schedule = { cron_schedule: cron, timezone: change.zone };
  const forwards: string[] = [];
  for (
    let at = nextDue(schedule, new Date(sinceMs - 1));
    at!.getTime() <= nowMs;
    at = nextDue(schedule, at!)
  ) {
    forwards.push(at!.toISOString());
  }
  const of = `${cron} in ${change.zone} about ${new Date(change.atMs).toISOString()}`;
  if (`${forwards}` !== `${expected}`) t.strictSame(forwards, expected, of);
  const asked = { since: new Date(expected[0]!), now: new Date(nowMs), most: 1_000 };
  const { newest, others } = await dueBy(schedule, asked);
  const backwards = [newest, ...others].map((at) => at.toISOString()).reverse();
  if (`${backwards}` !== `${expected}`) t.strictSame(backwards, expected, `${of}, backwards`);
}

/** Returns the moments, by quarters of an hour, at which a schedule has to be due. */
function dueTimes(
  zone: string,
  { sinceMs, nowMs, minutes, rule }: Pick<Kind, 'minutes' | 'rule'> & { sinceMs: number; nowMs: number },
): string[] {
  process.env.TZ = zone;
  const due: string[] = [];
  const shown = new Set<number>();
  let lastLocalMs = localOf(sinceMs - STEP_MS);
  for (let atMs = sinceMs; atMs <= nowMs; atMs += STEP_MS) {
    const localMs = localOf(atMs);
    let isDue = minutes.has(minuteOf(localMs)) && !(rule === 'once' && shown.has(localMs));
    for (let skippedMs = lastLocalMs + STEP_MS; skippedMs < localMs; skippedMs += STEP_MS) {
      isDue ||= rule !== 'flowing' && minutes.has(minuteOf(skippedMs));
    }
    shown.add(localMs);
    lastLocalMs = localMs;
    if (isDue) due.push(new Date(atMs).toISOString());
  }
  return due;
}

/** Returns the quarters of an hour that the change skips or repeats, and those beside it. */
function quartersAround({ atMs, before, after }: Change): number[] {
  const first = atMs + Math.min(before, after);
  const length = Math.abs(after - before);
  return [-STEP_MS, 0, STEP_MS, length - STEP_MS, length].map((shift) => minuteOf(first + shift));
}

function daily(minute: number): Kind {
  const cron = `${minute % 60} ${Math.floor(minute / 60)} * * *`;
  return { cron, minutes: new Set([minute]), rule: 'once' };
}

function kindsAround(change: Change): Kind[] {
  const [, , minute = 0] = quartersAround(change);
  const [hour, of] = [Math.floor(minute / 60), minute % 60];
  const other = (hour + 12) % 24;
  const times = (hours: readonly number[], quarters: readonly number[]) =>
    new Set(hours.flatMap((hour) => quarters.map((quarter) => hour * 60 + quarter)));
  const all = Array.from({ length: 24 }, (_, hour) => hour);
  const even = all.filter((hour) => hour % 2 === 0);
  return [
    { cron: `${of} ${hour},${other} * * *`, minutes: times([hour, other], [of]), rule: 'twice' },
    { cron: `*/15 ${hour} * * *`, minutes: times([hour], [0, 15, 30, 45]), rule: 'twice' },
    { cron: `${of},45 ${hour} * * *`, minutes: times([hour], [of, 45]), rule: of === 45 ? 'once' : 'twice' },
    { cron: `${of} 0-23 * * *`, minutes: times(all, [of]), rule: 'twice' },
    { cron: `${of} */2 * * *`, minutes: times(even, [of]), rule: 'twice' },
    { cron: '15 */24 * * *', minutes: times([0], [15]), rule: 'twice' },
    { cron: '15 * * * *', minutes: times(all, [15]), rule: 'flowing' },
    { cron: '*/30 ? * * *', minutes: times(all, [0, 30]), rule: 'flowing' },
  ];
}

/** Returns the changes of a zone, found by the days on which its offset differs. */
function changesOf(zone: string): Change[] {
  process.env.TZ = zone;
  const found: Change[] = [];
  for (let dayMs = FROM_MS; dayMs < UNTIL_MS; dayMs += DAY_MS) {
    const [before, after] = [offsetOf(dayMs), offsetOf(dayMs + DAY_MS)];
    if (before === after) continue;
    let atMs = dayMs;
    while (offsetOf(atMs) === before) atMs += STEP_MS;
    found.push({ zone, atMs, before, after });
  }
  return found;
}

function offsetOf(atMs: number): number {
  return -new Date(atMs).getTimezoneOffset() * MINUTE_MS;
}

/** Returns what the clocks of the process show, as if that were UTC. */
function localOf(atMs: number): number {
  return atMs + offsetOf(atMs);
}

function minuteOf(localMs: number): number {
  return (((localMs % DAY_MS) + DAY_MS) % DAY_MS) / MINUTE_MS;
}

function distinct<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()];
}
