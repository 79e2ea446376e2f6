/** The order of blocks, and the pairs that are compared. */

import t from 'tap';
import { type Block, compareBy, compareRounds, type Side } from '../../bench/lib/pairs.ts';
import { all, comparisonRow } from '../../bench/lib/row.ts';
import { spreadOf } from '../../bench/lib/spread.ts';
import { renderTable } from '../../bench/lib/table.ts';

t.test('sides take turns, A B C C B A, after a warm-up that does not count', async (t) => {
  const ran: string[] = [];
  const side = (name: string, figures: number[]): Side => ({
    name,
    run: async (blockMs) => {
      ran.push(`${name}${blockMs}`);
      // The machine gets slower: neighbours suffer alike.
      return { figure: blockMs === 1 ? 1e9 : figures.shift()!, processor: { node: figures.length + 1 } };
    },
  });
  const [first, second] = await compareRounds({
    ours: side('A', [100, 50, 20]),
    controls: [side('B', [50, 25, 10]), side('C', [200, 200, 20])],
    pairs: 3,
    blockMs: 2,
    warmupMs: 1,
  });
  t.equal(ran.join(' '), 'A1 B1 C1 A2 B2 C2 C2 B2 A2 A2 B2 C2');
  t.same(first!.ratio, { median: 2, least: 2, most: 2 });
  t.same(second!.ratio, { median: 0.5, least: 0.25, most: 1 });
  t.equal(first!.ours.figure.median, 50);
  t.same(first!.ours.processor, { node: 2 }, 'the median of the blocks');
});

t.test('something else that the same blocks saw can be compared', async (t) => {
  const side = (name: string, postgres: number): Side => ({
    name,
    run: async (): Promise<Block> => ({ figure: 1, processor: { postgres } }),
  });
  const [comparison] = await compareRounds({
    ours: side('ours', 60),
    controls: [side('control', 120)],
    pairs: 2,
    blockMs: 1,
    warmupMs: 1,
  });
  const time = compareBy(comparison!, ({ processor }) => processor?.postgres ?? Number.NaN);
  t.equal(time.ratio.median, 0.5);
});

t.test('a median of an even number of values lies between', async (t) => {
  t.same(spreadOf([4, 1, 3, 2]), { median: 2.5, least: 1, most: 4 });
  t.throws(() => spreadOf([]), RangeError);
});

t.test('a row names its goal, and is met only where every condition is', async (t) => {
  const [comparison] = await compareRounds({
    ours: { name: 'ours', run: async () => ({ figure: 120, processor: { node: 9.25, postgres: 124.4 } }) },
    controls: [{ name: 'theirs', run: async () => ({ figure: 100, processor: { generator: 30 } }) }],
    pairs: 1,
    blockMs: 1,
    warmupMs: 1,
  });
  const lag = (met: boolean) => ({ besides: () => [{ text: 'lag', met }] });
  const met = comparisonRow('P0 work', comparison!, '/s', { atLeast: 1.2, ...lag(true) });
  t.same(met.goal, { text: '≥ 1.2 ×, lag', met: true });
  t.equal(comparisonRow('', comparison!, '/s', { atLeast: 1.2, ...lag(false) }).goal?.met, false);
  t.equal(comparisonRow('', comparison!, '/s', { atMost: 1.1 }).goal?.met, false);
  t.equal(comparisonRow('', comparison!, '/s').goal, null);
  t.equal(all([]), null);
  const [, , line] = renderTable([met]).split('\n');
  t.match(
    line,
    /^P0 work +120 \/s +100 \/s \(theirs\) +1\.20 \(1\.20–1\.20\) +9\.3\/124\/– \(–\/–\/30\) +≥ 1\.2 ×, lag ✓$/,
  );
});
