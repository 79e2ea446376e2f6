/**
 * The states of the SDK's link: its table, and what it promises in a network and with servers of a
 * model, whose clock is virtual. `npm run campaign -- link` runs many more histories.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  BID,
  CLOSE,
  DIAL,
  DOWN,
  DUE,
  FAILED,
  LINK_TABLE,
  type LinkEvent,
  type LinkMove,
  type LinkState,
  LOST,
  MOVE,
  OPEN,
  PAUSE,
  RISE,
  STAY,
  WAIT,
} from '../link/link-table.ts';
import { runHistories } from './link/link-histories.ts';
import { LinkWatch } from './link/link-watch.ts';
import { drawTable, readNamedTable } from './link/named-table.ts';

t.test('link/README.md has the table', async (t) => {
  const text = readFileSync(join(import.meta.dirname, '../link/README.md'), 'utf8');
  const table = drawTable(readNamedTable());
  const [, drawn] = text.split('<!-- drawn from link-table.ts -->\n\n');
  t.equal(drawn, table);
});

t.test('a link keeps its promises, whatever happens to it', async (t) => {
  const { problems, reached, unreached } = await runHistories(new LinkWatch(t), { first: 1, count: 3_000 });
  t.strictSame(problems, []);
  t.strictSame(reached, [], 'unreachable cells');
  t.strictSame(unreached, [], 'all others');
});

t.test('histories find a fault of the table', async (t) => {
  const watch = new LinkWatch(t);
  const ignored = 0;
  const faults: readonly (readonly [what: string, state: LinkState, event: LinkEvent, move: LinkMove])[] = [
    ['a connection that ends during a climb is not missed', RISE, LOST, ignored],
    ['a failed move is taken for a lost connection', MOVE, FAILED, LINK_TABLE[DIAL][FAILED]],
    ['a node that goes away is stayed with', OPEN, BID, ignored],
    ['a wait that the server asked for is one of our own', DOWN, BID, LINK_TABLE[DOWN][PAUSE]],
    ['a pause never ends', WAIT, DUE, ignored],
    ['a move begins as if there were no connection', STAY, DUE, LINK_TABLE[WAIT][DUE]],
    ['close() leaves a try', DIAL, CLOSE, ignored],
  ];
  for (const [what, state, event, move] of faults) {
    watch.plant(state, event, move);
    const { problems } = await runHistories(watch, { first: 1, count: 500, mostProblems: 1 });
    t.equal(problems.length, 1, what);
    t.comment(`${what}: ${problems[0]}`);
    watch.restore();
  }
});
