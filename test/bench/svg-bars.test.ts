/** Pictures of bars: their content and lengths. */

import t from 'tap';
import type { Bars } from '../../bench/lib/bars.ts';
import { drawBars } from '../../bench/lib/svg-bars.ts';

const BARS: Bars = {
  title: 'Time <of> a send',
  unit: 'µs',
  parts: ['Postgres', 'nothing', 'node', 'rights'],
  bars: [
    { name: 'floor', values: { Postgres: 40, node: 10 } },
    { name: 'ours & more', values: { Postgres: 50, node: 20, rights: 30 } },
  ],
};

t.test('each bar has its parts, one behind the other, and its sum', async (t) => {
  const svg = drawBars(BARS);
  t.match(svg, '>Time &lt;of> a send</text>');
  // From 150 to 690 are 100 µs.
  const places = [...svg.matchAll(/<rect x="([\d.]+)" y="\d+" width="([\d.]+)" height="30"/g)];
  t.strictSame(
    places.map(([, x, width]) => [Number(x), Number(width)]),
    [
      [150, 216],
      [366, 54],
      [420, 0],
      [150, 270],
      [420, 108],
      [528, 162],
    ],
  );
  for (const sum of ['50', '100']) t.match(svg, `>${sum}</text>`);
});

t.test('a table has the value of each part of each bar', async (t) => {
  const svg = drawBars(BARS);
  for (const cell of ['µs', 'ours &amp; more', 'Postgres', 'rights', '40.0', '10.0', '30.0', '–'])
    t.match(svg, `>${cell}</text>`);
  t.notMatch(svg, '>nothing</text>', 'parts of no bar');
});

t.test('no parts are no picture', async (t) => {
  t.throws(() => drawBars({ ...BARS, bars: [{ name: 'none', values: {} }] }), RangeError);
});
