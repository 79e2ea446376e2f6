/**
 * Without influence: OPERATION, packages/client/ai, packages/console/administration,
 * packages/console/installation, src/features/cells, src/features/identity,
 * src/features/import, src/features/platform-events, src/features/widgets,
 * src/api/documents/pages, src/core/documents.
 */

import t from 'tap';
import { console as campaign } from '../../campaigns/console.ts';

t.test('a short run of the campaign of a page that lives through everything', async (t) => {
  const options = { seconds: 600, acts: 50, compareEvery: 28, faultEvery: 19 };
  const figures = await campaign(t, { seed: 1, ...options });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.match(figures, { comparisons: 2, faults: { kill: 1, break: 1 } });
});
