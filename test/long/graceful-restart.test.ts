/**
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client/ai,
 * packages/client/react, src/core/installation, src/features/compliance, src/features/mail,
 * src/platform/outbound.
 */

import t from 'tap';
import { gracefulRestart } from '../campaigns/graceful-restart.ts';

t.test('a short run of the campaign of a graceful restart', async (t) => {
  const figures = await gracefulRestart(t, {
    seed: 7,
    clients: 50,
    conversations: 5,
    messagesPerSecond: 20,
    drainMs: 3_000,
    evenly: false,
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.clientsOfNode > 10 && figures.reconnects >= figures.clientsOfNode, 'they had to move');
  t.same([figures.lost, figures.missing, figures.doubled], [0, 0, 0]);
});
