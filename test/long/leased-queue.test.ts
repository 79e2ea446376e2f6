/**
 * Queues that this version and the one before share: the campaign, in short.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client.
 */

import t from 'tap';
import { leasedQueue } from '../campaigns/leased-queue.ts';

t.test('a slice of the campaign: with a node of the version before, each has its own rows', async (t) => {
  const { problems, webhooks, mails, sent } = await leasedQueue(t, { seed: 1, rounds: 2, work: 10 });
  t.strictSame(problems, []);
  t.ok(webhooks >= 40 && mails >= 20 && sent === 20);
});
