/**
 * Without influence: PAGES, src/app/demo, src/app/supervise.ts, src/app/supervisor,
 * src/app/tail.ts, packages/client, src/core/installation, src/core/registration,
 * src/features/cells, src/features/identity, src/features/import,
 * src/api/documents/pages, src/core/documents.
 */

import t from 'tap';
import { SWEEPING_ENV } from '../campaigns/account.ts';
import { forgotten } from '../campaigns/forgotten.ts';
import { holds } from '../campaigns/holds.ts';
import { startCluster } from '../support/cluster.ts';

const cluster = await startCluster(t, SWEEPING_ENV, { sharesFiles: true });

t.test('a short run of the campaign of legal holds', async (t) => {
  const figures = await holds(t, { seed: 5, interleavings: 12, cluster });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.heldFirst > 0 && figures.heldFirst + figures.heldLater === 12, JSON.stringify(figures));
});

t.test('a short run of the campaign of texts that are to be forgotten', async (t) => {
  const figures = await forgotten(t, { seed: 5, rounds: 1, ways: ['redact', 'sweep'], cluster });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.places.length > 6, 'it was everywhere before');
});
