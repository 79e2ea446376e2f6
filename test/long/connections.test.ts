/**
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/installation,
 * src/features/compliance, src/features/mail, src/platform/outbound.
 */

import t from 'tap';
import { connections } from '../campaigns/connections.ts';

t.test('a short run of the campaign with too few connections', async (t) => {
  const figures = await connections(t, {
    seed: 5,
    restarts: 3,
    perSecond: 30,
    servesWithinMs: 20_000,
    seenWithinMs: 60_000,
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.retried > 0, 'the load noticed');
});
