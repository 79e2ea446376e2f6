import t from 'tap';
import { hostileBodies } from '../campaigns/hostile-bodies.ts';

t.test('queries, ids and bodies that no client means are answered, none with 5xx', async (t) => {
  const { problems, endpoints } = await hostileBodies(t, { seed: 7, requests: 2_000 });
  t.strictSame(problems, []);
  t.ok(endpoints > 60, `${endpoints} endpoints took some`);
});
