import t, { type Test } from 'tap';
import type { Missed } from '../../src/platform/engine/engine.ts';
import { type Announcement, COUNTER_MS, WINDOW } from '../../src/platform/engine/losses/announcement.ts';
import { Arrivals } from '../../src/platform/engine/losses/arrivals.ts';
import { Departures } from '../../src/platform/engine/losses/departures.ts';
import { openEnvelope } from '../../src/platform/engine/losses/envelope.ts';
import { Random } from '../support/random.ts';

const A = 'publisher_aa';

/** One publisher and one receiver over a broker with a clock of its own. */
class FakeLink {
  nowMs = 1_000_000;
  readonly missed: Missed[] = [];
  readonly arrivals: Arrivals;
  readonly #departures = new Departures(A, this.nowMs);
  readonly #joined = new Set<string>();

  constructor(t: Test) {
    this.arrivals = new Arrivals(
      (missed) => this.missed.push(missed),
      () => this.nowMs,
    );
    t.teardown(() => this.arrivals.forget());
    this.announce(true);
  }

  /** `meanwhile`: what happens before the broker's confirmation arrives. */
  join(channels: string | readonly string[], meanwhile: () => void = () => {}): void {
    this.nowMs += 1;
    const names = [channels].flat();
    for (const channel of names) this.#joined.add(channel);
    this.arrivals.joining(names);
    const atUs = this.#brokerUs();
    meanwhile();
    this.arrivals.joined(names, atUs);
    this.nowMs += 1;
  }

  leave(channel: string): void {
    this.#joined.delete(channel);
    this.arrivals.left([channel]);
  }

  publish(channel: string): void {
    this.deliver(this.take(channel));
  }

  lose(channel: string): void {
    this.take(channel);
  }

  /** Published and taken by the broker, on its way. */
  take(channel: string): { channel: string; message: Buffer } {
    const { answer, ...taken } = this.takeUnanswered(channel);
    answer();
    return taken;
  }

  /** As `take`; the publisher does not know of it before `answer` is called. */
  takeUnanswered(channel: string): { channel: string; message: Buffer; answer: () => void } {
    this.nowMs += 1;
    const counter = this.#departures.counter(channel);
    const message = counter.seal(Buffer.from('x'));
    const { given } = counter;
    const atUs = this.#brokerUs();
    return { channel, message, answer: () => this.#departures.taken(counter, given, atUs) };
  }

  deliver({ channel, message }: { channel: string; message: Buffer }): void {
    if (!this.#joined.has(channel)) return;
    const { publisherId, incarnation, number } = openEnvelope(message);
    this.arrivals.frame(publisherId, channel, incarnation, number);
  }

  announce(arrives = true, isLast = false): Announcement {
    const announcement = this.#departures.announce({ nowMs: this.nowMs, isLast });
    if (arrives) this.arrivals.announcement(A, announcement);
    return announcement;
  }

  /** The announcement of a second, and the receiver's own round. */
  second(arrives = true): void {
    this.pass(1_000);
    this.arrivals.round();
    this.announce(arrives);
  }

  pass(ms: number): void {
    this.nowMs += ms;
    this.arrivals.check();
  }

  /** Hours behind, and another unit. */
  #brokerUs(): number {
    return (this.nowMs + 5e6) * 1_000;
  }
}

t.test('all that arrives is whole, and raises nothing', async (t) => {
  const link = new FakeLink(t);
  link.join(['a', 'b']);
  for (let second = 0; second < 10; second++) {
    link.publish('a');
    link.publish('b');
    link.second();
  }
  t.same(link.missed, []);
  t.equal(
    link.arrivals.wholeMs,
    link.nowMs - 1_000,
    'whole up to the last announcement, less what one takes',
  );
});

t.test('a gap between frames is reported when nothing fills it', async (t) => {
  const link = new FakeLink(t);
  link.join(['a', 'b']);
  link.second();
  const { wholeMs } = link.arrivals;
  link.publish('a');
  link.lose('a');
  link.publish('a');
  link.pass(200);
  t.same(link.missed, [], 'it may have been overtaken');
  link.pass(100);
  t.match(link.missed, [{ reason: 'frames', frames: 1, channels: new Set(['a']), sinceMs: wholeMs }]);
  link.second();
  t.equal(link.missed.length, 1, 'once');
  t.ok(link.arrivals.wholeMs > wholeMs);
});

t.test('a frame that was overtaken is not lost', async (t) => {
  const link = new FakeLink(t);
  link.join('a');
  link.publish('a');
  const late = link.take('a');
  link.publish('a');
  const { wholeMs } = link.arrivals;
  link.announce();
  t.equal(link.arrivals.wholeMs, wholeMs, 'not whole while it is missing');
  link.deliver(late);
  link.pass(1_000);
  t.same(link.missed, []);
});

t.test('the last frame of a quiet channel is noticed by the announcement', async (t) => {
  const link = new FakeLink(t);
  link.join(['a', 'b']);
  for (let second = 0; second < 5; second++) link.second();
  const { wholeMs } = link.arrivals;
  link.lose('a');
  link.publish('b');
  link.second();
  t.equal(link.arrivals.wholeMs, wholeMs);
  link.pass(300);
  t.match(link.missed, [{ reason: 'frames', frames: 1, channels: new Set(['a']), sinceMs: wholeMs }]);
});

t.test('several lost frames of a channel that was quiet are all counted', async (t) => {
  const link = new FakeLink(t);
  link.join('a');
  link.second();
  for (let n = 0; n < 3; n++) link.lose('a');
  link.publish('a');
  link.second();
  link.pass(300);
  t.match(link.missed, [{ frames: 3 }]);
});

t.test('an announcement that is lost is covered by the next ones', async (t) => {
  for (const lost of [1, 2]) {
    const link = new FakeLink(t);
    link.join('a');
    link.second();
    const { wholeMs } = link.arrivals;
    link.lose('a');
    for (let n = 0; n < lost; n++) {
      link.announce(false);
      link.pass(1_000);
      t.equal(link.arrivals.wholeMs, wholeMs, 'no cursor passes it');
    }
    link.second();
    link.pass(300);
    t.match(link.missed, [{ reason: 'frames', frames: 1, sinceMs: wholeMs }]);
  }
});

t.test('too many lost announcements may have spoken of any channel', async (t) => {
  const link = new FakeLink(t);
  link.join(['a', 'b']);
  link.second();
  const { wholeMs } = link.arrivals;
  link.lose('a');
  for (let n = 0; n < 3; n++) link.announce(false);
  link.second();
  t.match(link.missed, [{ reason: 'silence', channels: undefined, sinceMs: wholeMs }]);
  link.second();
  t.equal(link.missed.length, 1);
});

t.test('frames published before the subscription do not count as missed', async (t) => {
  const link = new FakeLink(t);
  link.second();
  for (let n = 0; n < 5; n++) link.lose('a');
  link.join('a');
  link.second();
  link.pass(300);
  t.same(link.missed, []);
  link.lose('a');
  link.second();
  link.pass(300);
  t.match(link.missed, [{ frames: 1 }], 'what comes behind it is');
});

t.test('a frame not answered at the announcement may be older than the subscription', async (t) => {
  for (const isBetween of [false, true]) {
    const link = new FakeLink(t);
    link.publish('a');
    const older = link.takeUnanswered('a');
    link.join('a');
    const newer = isBetween ? link.takeUnanswered('a') : undefined;
    if (newer !== undefined) link.deliver(newer);
    link.announce();
    older.answer();
    newer?.answer();
    link.publish('a');
    link.second();
    link.pass(300);
    t.same(link.missed, []);
    link.lose('a');
    link.second();
    link.pass(300);
    t.match(link.missed, [{ frames: 1 }], 'what follows is missed');
  }
});

t.test(
  'a frame that is never answered counts as missed only by those that subscribed before it',
  async (t) => {
    const [early, late] = [new FakeLink(t), new FakeLink(t)];
    for (const link of [early, late]) {
      if (link === early) link.join('a');
      link.publish('a');
      for (let second = 0; second < WINDOW; second++) link.second();
      link.takeUnanswered('a');
      if (link === late) link.join('a');
      link.publish('a');
      link.second();
      link.pass(300);
    }
    t.match(early.missed, [{ frames: 1 }]);
    t.same(late.missed, []);
  },
);

t.test('a frame that is lost directly behind the subscription is missed', async (t) => {
  const link = new FakeLink(t);
  for (let n = 0; n < 5; n++) link.lose('a');
  link.join('a');
  link.lose('a');
  link.second();
  link.pass(300);
  t.match(link.missed, [{ frames: 1, channels: new Set(['a']) }]);
});

t.test('frames lost on a channel that was left do not count, nor those published meanwhile', async (t) => {
  const link = new FakeLink(t);
  link.join('a');
  link.publish('a');
  link.second();
  link.lose('a');
  link.publish('a');
  link.leave('a');
  link.pass(300);
  link.lose('a');
  link.lose('a');
  link.join('a');
  link.publish('a');
  link.second();
  link.pass(300);
  t.same(link.missed, []);
});

t.test('a counter that was not used for long starts again', async (t) => {
  const link = new FakeLink(t);
  link.join('a');
  link.publish('a');
  for (let second = 0; second < (2 * COUNTER_MS) / 1_000 + 1; second++) link.second();
  link.publish('a');
  link.second();
  t.same(link.missed, []);
  for (let second = 0; second < (2 * COUNTER_MS) / 1_000 + 1; second++) link.second();
  link.lose('a');
  link.second();
  link.pass(300);
  t.match(link.missed, [{ frames: 1 }], 'its first frame is missed too');
});

t.test(
  'a publisher that ends without an announcement requires a repair; one with an announcement does not',
  async (t) => {
    const link = new FakeLink(t);
    link.join('a');
    link.second();
    const { wholeMs } = link.arrivals;
    for (let round = 0; round < 20; round++) {
      link.arrivals.round();
      link.pass(1_000);
      if (round < 3) t.equal(link.arrivals.wholeMs, wholeMs, 'it is waited for');
    }
    t.match(link.missed, [{ reason: 'silence', channels: undefined, sinceMs: wholeMs }]);
    t.equal(link.missed.length, 1);
    t.equal(link.arrivals.wholeMs, Number.POSITIVE_INFINITY, 'nothing is waited for any more');

    const other = new FakeLink(t);
    other.join('a');
    other.second();
    other.announce(true, true);
    for (let round = 0; round < 20; round++) other.arrivals.round();
    t.same(other.missed, []);
    t.equal(other.arrivals.wholeMs, Number.POSITIVE_INFINITY);
  },
);

t.test('a last announcement speaks of what was lost before it', async (t) => {
  const link = new FakeLink(t);
  link.join('a');
  link.second();
  link.lose('a');
  link.announce(true, true);
  t.not(link.arrivals.wholeMs, Number.POSITIVE_INFINITY);
  link.pass(300);
  t.match(link.missed, [{ frames: 1 }]);
  t.equal(link.arrivals.wholeMs, Number.POSITIVE_INFINITY);
});

t.test('by chance: every loss is reported, and nothing else', async (t) => {
  for (let seed = 1; seed <= 100; seed++) {
    const random = new Random(seed);
    const link = new FakeLink(t);
    const channels = ['a', 'b', 'c', 'd'];
    const joined = new Set<string>();
    const lossy = seed % 2 === 0;
    const expected = new Set<string>();
    const reported = () => new Set(link.missed.flatMap(({ channels }) => [...(channels ?? ['all'])]));
    let lostInARow = 0;
    // Some frames are answered at once, some later, some never.
    let unanswered: (() => void)[] = [];
    const publish = (channel: string) => {
      const { answer, ...taken } = link.takeUnanswered(channel);
      link.deliver(taken);
      if (random.below(20) > 0) unanswered.push(answer);
      if (random.below(3) === 0) answerAll();
    };
    const answerAll = () => {
      for (const answer of unanswered) answer();
      unanswered = [];
    };
    const settle = () => {
      answerAll();
      lostInARow = 0;
      for (let n = 0; n < 3; n++) link.second();
      link.pass(300);
    };
    for (let step = 0; step < 400; step++) {
      const channel = random.pick(channels);
      const chance = random.below(100);
      if (chance < 60) publish(channel);
      else if (chance < 66 && lossy) {
        answerAll();
        link.lose(channel);
        // A frame that is lost in the second of the subscription, before others, may stay
        // unnoticed.
        if (joined.has(channel)) {
          expected.add(channel);
          settle();
        }
      } else if (chance < 80) {
        if (joined.delete(channel)) link.leave(channel);
        else {
          joined.add(channel);
          link.join(channel);
        }
      } else if (chance < 90) link.pass(random.below(400));
      else {
        // Three in a row would be silence.
        const arrives = lostInARow === 2 || random.below(5) > 0;
        lostInARow = arrives ? 0 : lostInARow + 1;
        link.second(arrives);
      }
    }
    settle();
    if (!lossy) t.same(link.missed, [], `seed ${seed}`);
    else t.same(reported(), expected, `seed ${seed}`);
  }
});
