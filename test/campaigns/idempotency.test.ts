import t from 'tap';
import { idempotency } from './idempotency.ts';

t.test('a short run of the idempotency campaign', async (t) => {
  const figures = await idempotency(t, { seed: 3, keys: 80 });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.interrupted + figures.inProgress > 0, 'something was in the way');
});
