/**
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/installation,
 * src/features/mail, src/platform/outbound.
 */

import t from 'tap';
import { unread } from '../campaigns/unread.ts';

t.test('a short run of the campaign of readers that ask and do not read', async (t) => {
  const shapes = [
    { name: 'mixed', letters: 'control', sockets: 24, spacingMs: 10, pages: 24 },
    { name: 'mixed, plain letters', letters: 'plain', sockets: 24, spacingMs: 0, pages: 24 },
  ] as const;
  const figures = await unread(t, { seed: 3, messages: 120, shapes, measuredMs: 0 });
  t.same(figures.problems, [], JSON.stringify(figures));
});
