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

t.test('a short run of the campaign with failovers by Sentinel', async (t) => {
  const figures = await redisAway(t, {
    seed: 4,
    faults: ['master hung', 'switched over', 'master killed'],
    awayMs: 3_000,
    perSecond: 60,
  });
  t.same(figures.problems, [], JSON.stringify(figures));
});

t.test('a short run of the campaign over several Redis, of which one is left out and added', async (t) => {
  const figures = await redisAway(t, {
    seed: 5,
    faults: ['one left out', 'one added', 'another left out', 'one added', 'one hung'],
    awayMs: 3_000,
    perSecond: 60,
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.keysDeleted > 3);
});

t.test('a short run of the campaign over a cluster whose slots and masters change', async (t) => {
  const figures = await redisAway(t, {
    seed: 6,
    faults: [
      'slot moved',
      'slot moved',
      'slot moved',
      'shard hung',
      'slot moved',
      'shard killed',
      'shard switched over',
      'another shard stopped',
    ],
    awayMs: 3_000,
    perSecond: 60,
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.keysDeleted > 3);
});
