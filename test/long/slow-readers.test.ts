/**
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client/ai,
 * packages/client/react, src/core/installation, src/features/compliance, src/features/mail,
 * src/platform/outbound.
 */

import t from 'tap';
import { slowReaders } from '../campaigns/slow-readers.ts';

t.test('a short run of the campaign of slow readers', async (t) => {
  const figures = await slowReaders(t, { seed: 7, readers: 50, stalled: 5, floodMessages: 160 });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.same([figures.missing, figures.doubled], [0, 0]);
});
