/**
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/inbox,
 * src/core/installation, src/core/messages, src/core/notifications, src/edge/gateway,
 * src/features/agents, src/features/compliance, src/features/mail, src/features/push,
 * src/features/webhooks, src/platform/outbound.
 */

import t from 'tap';
import { startCluster } from '../support/cluster.ts';

t.test('a burst over two nodes keeps to the limit of its key within one percent', async (t) => {
  // One window, however slow the machine is.
  const { nodes } = await startCluster(t, { PARLEY_RATE_LIMIT: '300/3600' });
  const [{ demo }] = nodes;
  let sent = 0;
  const answers: { status: number; headers: Headers }[] = [];
  const caller = async () => {
    while (sent < 900) {
      const node = nodes[sent++ % 2]!;
      answers.push(await node.call('GET', '/v1/account', undefined, demo.api_key));
    }
  };
  await Promise.all(Array.from({ length: 40 }, caller));

  const passed = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status === 429);
  t.equal(passed.length + refused.length, 900);
  t.ok(passed.length >= 297 && passed.length <= 303, `${passed.length} passed`);
  for (const { headers } of passed) {
    const remaining = Number(headers.get('ratelimit-remaining'));
    if (headers.get('ratelimit-limit') !== '300' || !(remaining >= 0 && remaining < 300)) {
      t.fail(`RateLimit-Remaining: ${headers.get('ratelimit-remaining')}`);
    }
  }
  const unsaid = refused.filter(({ headers }) => !(Number(headers.get('retry-after')) > 0));
  t.equal(unsaid.length, 0, 'every refusal has Retry-After');
});
