/**
 * A node of the previous version, whose jobs are in the schema of graphile-worker, beside a node of
 * this version, and every queue that they share: a short run of the campaign.
 *
 * Without influence: OPERATION, packages/client, packages/console, packages/ui, src/edge/console,
 * src/features/cells, src/features/platform-events, src/features/search, src/api/documents.
 */

import t from 'tap';
import { queueVersions } from '../campaigns/queue-versions.ts';

t.test('a slice of the campaign: all that was acknowledged is done once, over the upgrade', async (t) => {
  const { problems, lost, twice, kills, sent, jobs, webhooks, mails } = await queueVersions(t, {
    seed: 1,
    seconds: 30,
    messages: 60,
    lifeMs: [10_000, 15_000],
  });
  t.strictSame(problems, []);
  t.strictSame({ lost, twice }, { lost: 0, twice: 0 });
  t.ok(kills.earlier > 1 && kills.current > 0, JSON.stringify(kills));
  t.ok(
    Object.values(jobs).every((count) => count > 3),
    JSON.stringify(jobs),
  );
  t.ok(sent > 40 && webhooks >= sent && mails > 5);
});
