import { setTimeout as delay } from 'node:timers/promises';
import {
  type IdleServer,
  openIdleControl,
  openIdleParley,
  SOCKETS_A_CONVERSATION,
} from './lib/idle-servers.ts';
import { type Block, type Comparison, compareBlocks } from './lib/pairs.ts';
import { comparisonRow, type Findings, type Row, type Session, type Work } from './lib/work.ts';
import type { SettledMemory } from './servers/settled-memory.ts';

/**
 * Memory that an idle, authenticated socket with one subscription adds to a warm process, compared with servers
 * without authentication.
 */
export const P7: Work = { name: 'p7', title: 'memory of idle sockets', fullOnly: true, run };

async function run(session: Session): Promise<Findings> {
  const sockets = session.full ? FULL_SOCKETS : SHORT_SOCKETS;
  const waves = session.full ? 3 : 1;
  const ours = await measure(session, await openIdleParley(session, sockets), sockets, waves);
  const rows: Row[] = [];
  const comparisons: Record<string, Comparison> = {};
  for (const name of ['uws', 'ws', 'socket-io'] as const) {
    const blocks = await measure(session, await openIdleControl(session, name), sockets, waves);
    const comparison = compareBlocks({ name: 'parley', blocks: ours }, { name, blocks });
    const work = `P7 memory a socket, against ${name}`;
    const first = ours[0]!.notes?.first_wave_bytes ?? Number.NaN;
    const met = first <= MAX_BYTES && comparison.ours.figure.median <= MAX_BYTES;
    comparisons[work] = comparison;
    const besides = { text: `≤ ${MAX_BYTES} B, first wave ${first} B too`, met };
    rows.push(
      name === 'uws'
        ? // Its later waves fit into what the first one left, so that nothing is left to divide by.
          { ...comparisonRow(work, { comparison, unit: 'B', besides }), ratio: null }
        : comparisonRow(work, { comparison, unit: 'B', atMost: GOALS[name] }),
    );
  }
  return { rows, comparisons, facts: { sockets, waves, 'sockets a conversation': SOCKETS_A_CONVERSATION } };
}

const FULL_SOCKETS = 10_000;
const SHORT_SOCKETS = 2_000;
const MAX_BYTES = 3_072;
const GOALS = { ws: 1, 'socket-io': 0.2 } as const;

/**
 * A first wave of sockets comes and goes, so that the figure is not the growth of a new process; what that one
 * cost is noted. Each wave counts against the mean of before and after it.
 */
async function measure(
  session: Session,
  server: IdleServer,
  sockets: number,
  waves: number,
): Promise<Block[]> {
  const blocks: Block[] = [];
  let before = await settled(server);
  let first: number | undefined;
  for (let wave = 0; wave <= waves; wave++) {
    const subscribers = await server.open(sockets);
    let open: SettledMemory;
    try {
      open = await settled(server);
      if (subscribers.lost > 0) throw new Error(`${server.name} closed ${subscribers.lost} sockets`);
    } finally {
      subscribers.close();
    }
    // For the other side to see that they are gone.
    await delay(GONE_MS);
    const after = await settled(server);
    const cold = Math.round((open.rss - before.rss) / sockets);
    if (first === undefined) first = cold;
    else {
      const figure = (open.rss - (before.rss + after.rss) / 2) / sockets;
      const heap = (open.heapUsed - (before.heapUsed + after.heapUsed) / 2) / sockets;
      blocks.push({ figure, notes: { first_wave_bytes: first, heap_bytes: Math.round(heap) } });
      session.say(`  ${server.name}: ${Math.round(figure)} B a socket (first wave ${first})`);
    }
    before = after;
  }
  await server.process.stop();
  return blocks;
}

const GONE_MS = 500;

function settled({ process }: IdleServer): Promise<SettledMemory> {
  process.tell({ settle: true });
  return process.message<SettledMemory>();
}
