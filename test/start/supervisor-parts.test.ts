/** A supervisor's sums over its nodes: sockets of actors, and metrics. */

import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import t from 'tap';
import { ActorSockets } from '../../src/app/supervisor/actor-sockets.ts';
import { MergedMetrics } from '../../src/app/supervisor/merged-metrics.ts';

t.test('an actor is full when all nodes together have as many sockets as it may open', async (t) => {
  const sockets = new ActorSockets<string>(5);
  t.strictSame(sockets.count('one', [['ada', 3]]), { full: [], free: [] });
  t.strictSame(
    sockets.count('two', [
      ['ada', 2],
      ['grace', 1],
    ]),
    { full: ['ada'], free: [] },
  );
  t.strictSame(sockets.full(), ['ada'], 'for a node that starts');
  t.strictSame(sockets.count('two', [['ada', 3]]), { full: [], free: [] }, 'it is said once');
  t.strictSame(sockets.count('two', [['ada', 1]]), { full: [], free: ['ada'] });
  t.strictSame(sockets.count('two', [['ada', 2]]), { full: ['ada'], free: [] });
  t.strictSame(sockets.end('one'), ['ada'], 'what an ended node had does not count');
  t.strictSame(sockets.end('two'), []);
  t.strictSame(sockets.end('three'), [], 'it had none');
  t.strictSame(sockets.full(), []);
});

/** The metrics of a node that has counted this much. */
async function counted(sends: number, waiting: number, seconds: readonly number[]) {
  const registers = [new Registry()];
  new Counter({ name: 'sends', help: 'Sends', labelNames: ['by'], registers }).inc({ by: 'ada' }, sends);
  new Gauge({ name: 'sockets', help: 'Sockets', registers }).set(sends);
  new Gauge({ name: 'waiting', help: 'Of all nodes', registers, aggregator: 'max' }).set(waiting);
  new Gauge({ name: 'healthy', help: 'Of a node', registers, aggregator: 'omit' }).set(1);
  const histogram = new Histogram({ name: 'time', help: 'Time', buckets: [1, 2], registers });
  for (const second of seconds) histogram.observe(second);
  return registers[0]!.getMetricsAsJSON();
}

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

t.test('metrics are added up where a sum means something', async (t) => {
  const merged = new MergedMetrics();
  const nodes = [
    { slot: 1, metrics: await counted(3, 7, [0.5, 1.5]) },
    { slot: 2, metrics: await counted(4, 6, [1.5, 9]) },
  ];
  t.strictSame(linesOf(await merged.text(nodes)), [
    'sends{by="ada"} 7',
    'sockets 7',
    'waiting 7',
    'healthy{process="1"} 1',
    'healthy{process="2"} 1',
    'time_bucket{le="1"} 1',
    'time_bucket{le="2"} 3',
    'time_bucket{le="+Inf"} 4',
    'time_sum 12.5',
    'time_count 4',
  ]);

  t.comment('one is replaced, and ends');
  const former = { slot: null, metrics: nodes[0]!.metrics };
  const next = { slot: 1, metrics: await counted(0, 7, []) };
  const during = await merged.text([former, nodes[1]!, next]);
  t.match(during, 'sends{by="ada"} 7');
  t.match(during, 'sockets 4\n');
  merged.end(former.metrics);
  const after = await merged.text([nodes[1]!, next]);
  for (const line of ['sends{by="ada"} 7', 'time_count 4', 'healthy{process="1"} 1'])
    t.match(linesOf(after), new Set([line]));
  merged.end(nodes[1]!.metrics);
  t.match(await merged.text([next]), 'sends{by="ada"} 7');
  t.match(await merged.text([]), 'time_sum 12.5');

  t.comment('two that end at once');
  const crashed = new MergedMetrics();
  for (const { metrics } of nodes) crashed.end(metrics);
  t.match(await crashed.text([]), 'sends{by="ada"} 7');
});
