/**
 * A part of the campaign `feeds`: random histories against a model.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/installation,
 * src/features/mail, src/platform/outbound.
 */

import t from 'tap';
import { feeds } from '../campaigns/feeds.ts';

t.test('order, pages, filters and counts are those of a slow model', async (t) => {
  const figures = await feeds(t, { seed: 1, histories: 24 });
  t.strictSame(figures.problems, []);
  t.ok(figures.pages > 24 * 3 * 8, `${figures.pages} pages`);
});
