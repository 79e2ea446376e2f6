import t from 'tap';
import { scheduled } from '../campaigns/scheduled.ts';

t.test(
  'Redis away when they are due, then a node killed half-way: each is sent once, none early',
  async (t) => {
    const figures = await scheduled(t, { seed: 7, faults: ['away', 'killed'], messages: 100 });
    t.same(figures.problems, [], JSON.stringify(figures));
    t.ok(figures.sent > 100 && figures.canceled > 0, JSON.stringify(figures));
  },
);
