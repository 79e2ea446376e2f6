/**
 * Without influence: PAGES, ANSWERS, src/app/demo, src/app/supervise.ts, src/app/supervisor,
 * src/app/tail.ts, packages/client, src/core/installation, src/core/registration,
 * src/edge/gateway, src/features/agents, src/features/cells, src/features/compliance,
 * src/features/identity, src/features/mail, src/features/platform-events, src/features/push,
 * src/features/search, src/features/webhooks, src/api/documents, src/core/documents.
 */

import t from 'tap';
import { archives } from '../campaigns/archives.ts';

t.test('archives that are made to do harm, a fiftieth of their size', async (t) => {
  const { problems, archives: each, sent } = await archives(t, { seed: 1, size: 0.02 });
  t.strictSame(problems, []);
  t.ok(each.length >= 10 && sent > 0, `${each.length} archives, ${sent} sends`);
});
