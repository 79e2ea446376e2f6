/**
 * Short runs of campaigns over two nodes, one cluster for all of them.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, src/contract/client, src/features/mail,
 * src/platform/outbound.
 */

import t from 'tap';
import { sealedUnderKills } from '../campaigns/audit.ts';
import { counts } from '../campaigns/counts.ts';
import { idempotency } from '../campaigns/idempotency.ts';
import { scheduleStorm } from '../campaigns/schedule-storm.ts';
import { scheduled } from '../campaigns/scheduled.ts';
import { onFreshGroup, startCluster } from '../support/cluster.ts';

const shared = await startCluster(t);

t.test('a short run of the idempotency campaign', async (t) => {
  const figures = await idempotency(t, { seed: 3, keys: 80, cluster: shared });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.interrupted + figures.inProgress > 0, 'something was in the way');
});

t.test('Redis away when they are due: each scheduled message is sent once, none early', async (t) => {
  const cluster = await onFreshGroup(shared);
  const figures = await scheduled(t, { seed: 7, faults: ['away'], messages: 100, cluster });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.sent > 50 && figures.canceled > 0, JSON.stringify(figures));
});

t.test('a node killed while many are due: each is sent once, none early, in order', async (t) => {
  const figures = await scheduleStorm(t, {
    ...{ seed: 7, messages: 200, conversations: 4, spreadMs: 1_000 },
    cluster: shared,
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.sentAtKill < 200 && figures.sent === 200, JSON.stringify(figures));
});

t.test('a node killed while it seals the audit: the chain has every event, once and in order', async (t) => {
  const load = { seed: 5, callers: 4, changesPerCaller: 30, kills: 1 };
  const figures = await sealedUnderKills(t, { ...load, cluster: shared });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.links > 120 && figures.heads > 0, JSON.stringify(figures));
});

t.test('unread and unseen counts are those of a slow re-count, on both nodes', async (t) => {
  const figures = await counts(t, { seed: 3, histories: 16, cluster: shared });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.compared >= 16 * 6 && figures.acts.read! > 16, JSON.stringify(figures));
});
