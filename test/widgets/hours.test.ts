import t from 'tap';
import { answerTimeOf } from '../../src/features/widgets/widgets/answer-times.ts';
import { standingAt } from '../../src/features/widgets/widgets/hours.ts';

const at = (time: string) => Date.parse(time);
const BERLIN = {
  timezone: 'Europe/Berlin',
  open: [
    { day: 'monday', from: '09:00', to: '17:00' },
    { day: 'friday', from: '22:00', to: '02:00' },
  ],
} as const;
const hours = { ...BERLIN, open: [...BERLIN.open] };

t.test('open and closed, by the clock of the zone', async (t) => {
  // 2 March 2026 is a Monday; Berlin is an hour ahead.
  const cases: readonly [string, boolean, string | null][] = [
    ['2026-03-02T07:59:59Z', false, '2026-03-02T08:00:00.000Z'],
    ['2026-03-02T08:00:00Z', true, null],
    ['2026-03-02T15:59:59Z', true, null],
    ['2026-03-02T16:00:00Z', false, '2026-03-06T21:00:00.000Z'],
    ['2026-03-07T00:59:59Z', true, null],
    ['2026-03-07T01:00:00Z', false, '2026-03-09T08:00:00.000Z'],
    // Summer time begins on 29 March.
    ['2026-03-28T12:00:00Z', false, '2026-03-30T07:00:00.000Z'],
  ];
  for (const [now, is_open, opens_at] of cases) {
    t.strictSame(standingAt(hours, at(now)), { is_open, opens_at }, now);
  }
});

t.test('always, never, and the whole day', async (t) => {
  const now = at('2026-03-02T08:00:00Z');
  t.strictSame(standingAt(null, now), { is_open: true, opens_at: null });
  t.strictSame(standingAt({ timezone: 'UTC', open: [] }, now), { is_open: false, opens_at: null });
  const monday = { timezone: 'UTC', open: [{ day: 'monday' as const, from: '00:00', to: '00:00' }] };
  t.ok(standingAt(monday, at('2026-03-02T23:59:59Z')).is_open);
  t.notOk(standingAt(monday, at('2026-03-03T00:00:00Z')).is_open);
  // A zone that is a day ahead of another.
  const kiritimati = { timezone: 'Pacific/Kiritimati', open: monday.open };
  t.ok(standingAt(kiritimati, at('2026-03-01T12:00:00Z')).is_open);
});

t.test('the usual time of an answer is the median within the hours', async (t) => {
  const now = at('2026-03-10T12:00:00Z');
  const answers = (asked_at: string, ...minutes: readonly (number | null)[]) =>
    minutes.map((wait) => ({
      asked_at,
      answered_at: wait === null ? null : new Date(at(asked_at) + wait * 60_000).toISOString(),
    }));
  const monday = '2026-03-02T09:00:00Z';
  t.equal(answerTimeOf(answers(monday, 1, 1, 1, 1), null, now), null, 'too few');
  t.equal(answerTimeOf(answers(monday, 1, 2, 5, 600, 600), null, now), 'minutes');
  t.equal(answerTimeOf(answers(monday, 1, 2, 6, 600, 600), null, now), 'hour');
  t.equal(answerTimeOf(answers(monday, 1, 2, 61, 600, 600), null, now), 'day');
  t.equal(answerTimeOf(answers(monday, 1, 2, 1_441, null, null), null, now), null, 'longer than a day');
  t.equal(answerTimeOf(answers(monday, 1, 2, null, null, null), null, now), null, 'no answer is the longest');
  const fresh = answers('2026-03-10T11:00:00Z', null, null, null);
  t.equal(answerTimeOf([...answers(monday, 1, 1, 1, 1, 1), ...fresh], null, now), 'minutes', 'still in time');
  t.comment('asked on Saturday, answered on Monday four minutes after opening');
  const saturday = answers('2026-03-07T08:00:00Z', ...Array.from({ length: 5 }, () => 48 * 60 + 4));
  t.equal(answerTimeOf(saturday, hours, now), 'minutes');
  t.equal(answerTimeOf(saturday, null, now), null);
});
