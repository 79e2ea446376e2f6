import t from 'tap';
import { delivery } from './delivery.ts';

t.test('a short run of the delivery campaign', async (t) => {
  const figures = await delivery(t, { seed: 7, faults: 4 });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.acknowledged > 100);
});
