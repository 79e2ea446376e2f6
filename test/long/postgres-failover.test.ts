/**
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/installation,
 * src/features/compliance, src/features/mail, src/platform/outbound.
 */

import t from 'tap';
import { postgresFailover } from '../campaigns/postgres-failover.ts';

t.test('a short run of the campaign with a standby', async (t) => {
  const figures = await postgresFailover(t, {
    seed: 5,
    failovers: 2,
    perSecond: 30,
    betweenMs: 1_000,
    backWithinMs: 60_000,
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.equal(figures.lost, 0);
  t.ok(figures.retried > 0, 'the load noticed');
  t.ok(figures.seen >= figures.acknowledged);
});
