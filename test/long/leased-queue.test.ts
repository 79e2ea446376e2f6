/**
 * Queues that this version and the one before share: the campaign, in short.
 *
 * Without influence: src/app/admin, src/app/demo, src/app/supervise.ts, src/app/supervisor,
 * src/app/tail.ts, src/contract/client, src/core/registration, src/edge/console,
 * src/features/agents/models, src/features/agents/replies, src/features/agents/runs,
 * src/features/agents/tools, src/features/cells, src/features/identity, src/features/import,
 * src/features/platform-events, src/features/search, src/features/widgets,
 * src/platform/http/documents/pages, src/platform/ui.
 */

import t from 'tap';
import { leasedQueue } from '../campaigns/leased-queue.ts';

t.test('a slice of the campaign: with a node of the version before, each has its own rows', async (t) => {
  const { problems, webhooks, mails, sent } = await leasedQueue(t, { seed: 1, rounds: 2, work: 10 });
  t.strictSame(problems, []);
  t.ok(webhooks >= 40 && mails >= 20 && sent === 20);
});
