/** The rests of background work (src/platform/background.ts), by a clock of the test. */

import t from 'tap';
import { BackgroundWork, type Clock, Load } from '../src/platform/background.ts';

/** A clock that moves when a test moves it, and while something pauses. */
class TestClock implements Clock {
  atMs = 0;
  activeAtMs = 0;
  activeShare = 0;
  restedMs = 0;
  during: (ms: number) => void = () => {};

  now(): number {
    return this.atMs;
  }

  activeMs(): number {
    return this.activeAtMs;
  }

  async pause(ms: number): Promise<void> {
    this.during(ms);
    this.atMs += ms;
    this.activeAtMs += ms * this.activeShare;
    this.restedMs += ms;
  }
}

t.test('work on a node that does nothing else hardly rests', async (t) => {
  const { load, work, rounds } = begin();
  t.equal(load.busy, 1, 'unknown');
  await rounds(work, 1_000, 5);
  t.ok(load.busy < 0.01);
  const { workedMs, restedMs } = await rounds(work, 1_000, 5);
  t.ok(restedMs < workedMs / 5, `rested ${restedMs} ms for ${workedMs}`);
});

t.test('while commits are always awaited it gets a tenth of the time, and no less', async (t) => {
  const { load, work, rounds } = begin();
  load.begin();
  const { workedMs, restedMs } = await rounds(work, 100, 5);
  t.equal(load.busy, 1);
  t.equal(restedMs, workedMs * 9);
  load.end();
  await rounds(work, 1_000, 5);
  t.ok(load.busy < 0.01, 'and is not held up behind them');
});

t.test('commits that overlap count once, and only while one is awaited', async (t) => {
  const { clock, load } = begin();
  load.begin();
  load.begin();
  load.end();
  clock.during = (ms) => {
    if (ms === 10) load.end();
  };
  await load.pause(1_000);
  t.equal(load.busy, 1);
  await load.pause(10);
  await load.pause(10_000);
  t.equal(load.busy, 0);
});

t.test('an event loop that is active counts, what the work does itself does not', async (t) => {
  const { clock, load, work, rounds } = begin();
  clock.activeShare = 0.5;
  await load.pause(1_000);
  t.equal(load.busy, 0.5);
  clock.activeShare = 0;
  for (let round = 0; round < 1_000; round++) {
    clock.activeAtMs += 5;
    await rounds(work, 1, 5);
  }
  t.ok(load.busy < 0.01, String(load.busy));
});

t.test('what is not measured any more counts as busy', async (t) => {
  const { clock, load } = begin();
  await load.pause(1_000);
  t.equal(load.busy, 0);
  clock.atMs += 10_000;
  t.equal(load.busy, 1);
});

t.test('work that should be through within a time rests less the longer it takes', async (t) => {
  const { load, rounds } = begin();
  load.begin();
  const work = new BackgroundWork(load, 100_000);
  const first = await rounds(work, 100, 5);
  t.ok(first.restedMs > first.workedMs * 8.5);
  while (load.clock.now() < 100_000) await rounds(work, 10, 5);
  const late = await rounds(work, 1_000, 5);
  t.ok(late.restedMs < late.workedMs / 5);
});

t.test('a piece that waited for long is not followed by minutes', async (t) => {
  const { load, work, rounds } = begin();
  load.begin();
  t.equal((await rounds(work, 1, 60_000)).restedMs, 1_000);
});

t.test('what is paced comes whole, and its source ends with it', async (t) => {
  const { work } = begin();
  let hasEnded = false;
  async function* numbers() {
    try {
      yield* [1, 2, 3];
    } finally {
      hasEnded = true;
    }
  }
  const seen: number[] = [];
  for await (const number of work.paced(numbers())) seen.push(number);
  t.strictSame(seen, [1, 2, 3]);
  hasEnded = false;
  for await (const _ of work.paced(numbers())) break;
  t.ok(hasEnded);
});

function begin() {
  const clock = new TestClock();
  const load = new Load(clock);
  const work = new BackgroundWork(load);
  /** Pieces that take `ms` each, on a clock that stands still otherwise. */
  const rounds = async (work: BackgroundWork, count: number, ms: number) => {
    const before = clock.restedMs;
    for (let n = 0; n < count; n++) {
      clock.atMs += ms;
      await work.rest();
    }
    return { workedMs: count * ms, restedMs: clock.restedMs - before };
  };
  return { clock, load, work, rounds };
}
