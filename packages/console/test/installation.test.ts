/** How the page of operators puts answers together. */

import './english.ts';
import type { InstallationNode, NodeFigures } from '@parley/protocol/resources/installation.ts';
import t from 'tap';
import { secondsToAsk, withAnswer } from '../installation/history.ts';

t.test('answers overlap, and each may lack what another has', async (t) => {
  let known = withAnswer([], [node('one', [2, 6]), node('two', [3])]);
  known = withAnswer(known, [node('one', [4, 6, 8]), node('two', [])]);
  t.strictSame(times(known), { one: [2, 4, 6, 8], two: [3] });
  known = withAnswer(known, [node('one', [604]), node('three', [603])]);
  t.strictSame(
    times(known),
    { one: [4, 6, 8, 604], three: [603] },
    'ten minutes, and no node that has ended',
  );
});

t.test('a page that was out of sight asks for what it missed', async (t) => {
  t.equal(secondsToAsk(Number.POSITIVE_INFINITY), 600);
  t.equal(secondsToAsk(2_000), 8);
  t.equal(secondsToAsk(30_000), 36);
});

function times(nodes: readonly InstallationNode[]): Record<string, number[]> {
  return Object.fromEntries(
    nodes.map(({ id, figures }) => [id, figures.map(({ at }) => Date.parse(at) / 1_000)]),
  );
}

function node(id: string, seconds: readonly number[]): InstallationNode {
  return {
    object: 'installation_node',
    id,
    state: 'up',
    answers: false,
    release: '1',
    node_version: '22',
    started_at: at(0),
    silent_seconds: 0,
    postgres: 'up',
    redis: 'up',
    files: 'up',
    figures: seconds.map(
      (second): NodeFigures => ({
        at: at(second),
        sockets: 1,
        sends_per_second: 0,
        deliveries_per_second: 0,
        send_p50_ms: null,
        send_p99_ms: null,
        event_loop_p99_ms: 0,
        outbox_lag_seconds: 0,
        memory_bytes: 1,
      }),
    ),
  };
}

function at(second: number): string {
  return new Date(second * 1_000).toISOString();
}
