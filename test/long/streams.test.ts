/**
 * Without influence: OPERATION, ASIDE, PAGES, src/contract/client/ai, src/contract/client/react,
 * src/features/mail.
 */

import t from 'tap';
import { streams } from '../campaigns/streams.ts';

t.test('a short run of the campaign of streams', async (t) => {
  const figures = await streams(t, { seed: 3, conversations: 2, questions: 2, readers: 4 });
  t.strictSame(figures.problems, [], JSON.stringify(figures));
  t.equal(figures.replies, 6);
  t.ok(figures.whole > 0 && figures.overtaken > 0, JSON.stringify(figures));
});
