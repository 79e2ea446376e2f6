/**
 * Without influence: PAGES, ANSWERS, src/app/demo, src/app/supervise.ts, src/app/supervisor,
 * src/app/tail.ts, packages/client, src/core/installation, src/core/registration,
 * src/edge/gateway, src/features/agents, src/features/cells, src/features/compliance,
 * src/features/identity, src/features/mail, src/features/platform-events, src/features/push,
 * src/features/search, src/features/webhooks, src/api/documents, src/core/documents.
 */

import t from 'tap';
import { importKills } from '../campaigns/import-kills.ts';

t.test('a slice of the campaign: an import that is killed writes the same rows', async (t) => {
  const { problems, kills, compared } = await importKills(t, { seed: 1, kills: 2, messages: 3_000 });
  t.strictSame(problems, []);
  t.ok(kills > 0 && compared > 3_000, `${kills} kills, ${compared} rows`);
});
