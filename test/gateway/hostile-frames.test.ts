import t from 'tap';
import { hostileFrames } from '../campaigns/hostile-frames.ts';

t.test('a short run of the campaign of hostile frames', async (t) => {
  const figures = await hostileFrames(t, { seed: 7, frames: 2_500 });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.messages > 5, 'the neighbours were served meanwhile');
  t.ok(figures.ended >= 24);
  t.ok((figures.grownMb ?? 0) < 150, `${figures.grownMb} MB more`);
});
