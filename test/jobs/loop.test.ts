/** Loops that rest (platform/lifecycle.ts). */

import t from 'tap';
import { Loop } from '../../src/platform/lifecycle.ts';
import { until } from '../support/until.ts';

/** A loop of short pauses that rests while there is nothing to do, and the number of its rounds. */
function startLoop(t: Tap) {
  const state = { isBusy: false, rounds: 0 };
  const loop = new Loop({
    intervalMs: 5,
    run: async () => {
      state.rounds += 1;
    },
    rests: () => !state.isBusy,
    onError: (error) => t.fail(String(error)),
  });
  t.teardown(() => loop.close());
  return { loop, state };
}

type Tap = Pick<typeof t, 'teardown' | 'fail'>;

t.test('a loop that rests makes no round, and goes on when it is stirred', async (t) => {
  const { loop, state } = startLoop(t);
  const other = startLoop(t);
  other.state.isBusy = true;
  other.loop.stir();
  await until(() => other.state.rounds > 3, { what: 'the rounds of a loop that does not rest' });
  t.equal(state.rounds, 0);

  state.isBusy = true;
  loop.stir();
  await until(() => state.rounds > 3, { what: 'the rounds of the stirred loop' });

  state.isBusy = false;
  const before = state.rounds;
  other.state.rounds = 0;
  await until(() => other.state.rounds > 3, { what: 'the other loop' });
  t.ok(state.rounds <= before + 1, 'it rests again, after the round that had begun');
});

t.test('a wake-up ends a rest at once, and so does the end of the loop', async (t) => {
  const { loop, state } = startLoop(t);
  loop.wake();
  await until(() => state.rounds === 1, { what: 'the round' });
  await loop.close();
  loop.stir();
  t.equal(state.rounds, 1);
});
