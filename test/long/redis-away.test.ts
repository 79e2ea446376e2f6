import t from 'tap';
import { redisAway } from '../campaigns/redis-away.ts';

t.test('a short run of the campaign without Redis', async (t) => {
  const figures = await redisAway(t, {
    seed: 3,
    faults: ['cut off', 'killed', 'hung', 'wiped'],
    awayMs: 3_000,
    perSecond: 60,
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.withoutCounters > 50);
  t.ok(figures.keysDeleted > 3);
});
