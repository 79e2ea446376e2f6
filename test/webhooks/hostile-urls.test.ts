import t from 'tap';
import { hostileUrls } from '../campaigns/hostile-urls.ts';

t.test('no hostile URL reaches what is not public', async (t) => {
  const { problems, ...figures } = await hostileUrls(t, { seed: 1, changes: 100, every: 7 });
  t.strictSame(problems, [], JSON.stringify(figures));
  t.ok(figures.urls > 200 && figures.lookups > 50 && figures.changesDelivered > 10, JSON.stringify(figures));
});
