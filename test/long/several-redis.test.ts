/**
 * Without influence: ASIDE, PAGES, ANSWERS, src/app/demo, src/app/supervise.ts, src/app/supervisor,
 * src/app/tail.ts, packages/client, src/core/registration, src/features/compliance,
 * src/features/mail, src/platform/outbound.
 */

import t from 'tap';
import { redisAway } from '../campaigns/redis-away.ts';

t.test('a short run of the campaign over several Redis, of which one is left out and added', async (t) => {
  const figures = await redisAway(t, {
    seed: 5,
    faults: ['one hung', 'one left out', 'one added', 'another left out'],
    awayMs: 2_000,
    perSecond: 30,
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.keysDeleted > 3);
});
