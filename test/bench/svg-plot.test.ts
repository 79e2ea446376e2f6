/** Pictures of curves: their content and places. */

import t from 'tap';
import type { Curves } from '../../bench/lib/curves.ts';
import { decades, linearTicks, plot, shortened } from '../../bench/lib/svg-plot.ts';

const CURVES: Curves = {
  title: 'Latency <of> sends',
  x: { label: 'sends a second', scale: 'linear' },
  y: { label: 'milliseconds', scale: 'logarithmic' },
  lines: [
    {
      name: 'ours & theirs',
      points: [
        [0, 1],
        [500, 10],
        [1_000, 100],
      ],
    },
    { name: 'control', points: [[1_000, 30]] },
  ],
};

t.test('ticks are round and enclose the values', async (t) => {
  t.same(linearTicks(1_000), [0, 200, 400, 600, 800, 1_000]);
  t.same(linearTicks(0.9), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  t.same(linearTicks(1_234), [0, 200, 400, 600, 800, 1_000, 1_200, 1_400]);
  t.same(decades([3, 40]), [2, 5, 10, 20, 50]);
  t.same(decades([10]), [10, 20], 'one value has a range as well');
  t.same([500, 20_000, 2e6].map(shortened), ['500', '20 k', '2 M']);
});

t.test('the picture has its title, its axes with their units, each line and its name', async (t) => {
  const svg = plot(CURVES);
  t.match(svg, /^<svg xmlns=.*>$/m);
  t.match(svg, '>Latency &lt;of> sends</text>');
  for (const label of ['sends a second', 'milliseconds', 'ours &amp; theirs', 'control'])
    t.match(svg, `>${label}</text>`);
  // Linear across, logarithmic upwards: from corner to corner through the middle.
  t.match(svg, 'points="76.0,336.0 406.0,192.0 736.0,48.0"');
  t.equal(svg.match(/<circle /g)?.length, 4);
});

t.test('no points are no picture', async (t) => {
  t.throws(() => plot({ ...CURVES, lines: [] }), RangeError);
});
