import t from 'tap';
import { upgrades } from '../campaigns/upgrades.ts';

t.test('a short run of the campaign of upgrades', async (t) => {
  const figures = await upgrades(t, { seed: 7, upgrades: 2_000 });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.equal(Object.keys(figures.upgrades).length, 5, 'clients of each kind');
  t.ok(figures.messages > 5, 'messages were sent meanwhile');
});
