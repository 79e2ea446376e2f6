/** The growing load: the choice of the next rate, and the sentence at the end. */

import t from 'tap';
import { conclusion, nextRate, type Step } from '../../bench/lib/stepping.ts';

const OPTIONS = { startRate: 100, limitMs: 50, mostRate: 100_000 };
const step = (ratePerSecond: number, p99Ms: number, failed = 0): Step => {
  return { ratePerSecond, p50Ms: p99Ms / 4, p99Ms, failed };
};

/** Steps against an installation whose p99 breaks at `most`. */
function climb(most: number, options = OPTIONS): Step[] {
  const steps: Step[] = [];
  for (let rate = nextRate(steps, options); rate !== undefined; rate = nextRate(steps, options)) {
    steps.push(step(rate, rate <= most ? 20 : 80));
    if (steps.length > 50) throw new Error('it does not end');
  }
  return steps;
}

t.test('rates double until the limit breaks twice, then close in on it', async (t) => {
  const rates = climb(1_000).map(({ ratePerSecond }) => ratePerSecond);
  t.same(rates, [100, 200, 400, 800, 1_600, 1_600, 1_200, 1_200, 1_000, 1_100, 1_100]);
});

t.test('the most is never exceeded', async (t) => {
  const steps = climb(1e9, { ...OPTIONS, mostRate: 300 });
  t.same(
    steps.map(({ ratePerSecond }) => ratePerSecond),
    [100, 200, 300],
  );
  t.match(
    conclusion('http://a', steps, { ...OPTIONS, mostRate: 300 }),
    'http://a takes 300 sends a second with a p99 of 20 ms (median 5.0 ms), within the limit of 50 ms; the load was not raised further.',
  );
});

t.test('an installation that is too slow from the beginning ends the search as well', async (t) => {
  const steps = climb(0);
  t.equal(steps.at(-1)?.ratePerSecond, 1);
  t.match(
    conclusion('http://a', steps, OPTIONS),
    /did not keep a p99 of 50 ms at any rate that was tried: at 1 /,
  );
});

t.test('a rate that broke the limit once, and then did not, is good', async (t) => {
  const steps = [step(100, 80), step(100, 20)];
  t.equal(nextRate(steps.slice(0, 1), OPTIONS), 100);
  t.equal(nextRate(steps, OPTIONS), 200);
});

t.test('the answer is the highest rate below the lowest that broke twice', async (t) => {
  const steps = [step(100, 20), step(200, 80), step(200, 90), step(150, 80), step(150, 80), step(400, 20)];
  t.equal(nextRate(steps, OPTIONS), 125);
  t.match(
    conclusion('http://a', steps, OPTIONS),
    'http://a takes 100 sends a second with a p99 of 20 ms (median 5.0 ms), within the limit of 50 ms; at 150 sends a second it was 80 ms.',
  );
});

t.test('sends that fail break the limit, however quick', async (t) => {
  const steps = [step(1_000, 9.5), step(1_050, 9, 3), step(1_050, 9, 2)];
  t.equal(nextRate(steps, OPTIONS), undefined, 'within a tenth');
  t.match(conclusion('http://a', steps, OPTIONS), /; at 1,050 sends a second, 2 sends failed\.$/);
});
