import t from 'tap';
import { delivery } from '../campaigns/delivery.ts';

t.test('a short run of the delivery campaign', async (t) => {
  const figures = await delivery(t, {
    seed: 7,
    faults: ['some frames lost', 'restarted', 'all frames lost', 'hung'],
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.acknowledged > 100);
});
