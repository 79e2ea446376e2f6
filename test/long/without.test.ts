/**
 * A build without a feature, in use: a short run of the campaign.
 *
 * Without influence: src/app/demo, src/app/supervise.ts, src/app/supervisor, src/app/tail.ts,
 * packages/client, src/edge/console, packages/widget,
 * src/api/documents/pages, src/core/documents, packages/ui.
 */

import t from 'tap';
import { without } from '../campaigns/without.ts';

t.test('a short run of the campaign of a build without a feature', async (t) => {
  const figures = await without(t, {
    seed: 5,
    feature: 'agents',
    types: false,
    suites: ['jobs'],
    seconds: 3,
    quietSeconds: 2,
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.strictSame(figures.needing, ['event-sources.test.ts']);
  t.ok(figures.files > 0 && figures.acknowledged > 10 && figures.followers > 0, JSON.stringify(figures));
});
