import { setTimeout as delay } from 'node:timers/promises';
import {
  type IdleServer,
  openIdleControl,
  openIdleParley,
  SOCKETS_A_CONVERSATION,
} from './lib/idle-servers.ts';
import { type Block, type Comparison, compareBlocks, type Measured } from './lib/pairs.ts';
import { comparisonRow, type Goal, type Row } from './lib/row.ts';
import type { Facts, Session, Work } from './lib/work.ts';
import type { SettledMemory } from './servers/settled-memory.ts';

/**
 * Memory that an idle, authenticated socket with one subscription adds to a warm process, compared
 * with servers without authentication.
 */
export const P7: Work = { name: 'p7', title: 'memory of idle sockets', fullOnly: true, run };

async function run(session: Session): Promise<void> {
  const { sockets, waves } = SIZES[session.scale];
  await session.part('P7 memory', async () => {
    const ours = await measureMemory(session, await openIdleParley(session, sockets), sockets, waves);
    const findings: { rows: Row[]; comparisons: Record<string, Comparison>; facts: Facts } = {
      rows: [],
      comparisons: {},
      facts: { sockets, waves, 'sockets a conversation': SOCKETS_A_CONVERSATION },
    };
    for (const name of ['uws', 'ws', 'socket-io'] as const) {
      const blocks = await measureMemory(session, await openIdleControl(session, name), sockets, waves);
      const comparison = compareBlocks({ name: 'parley', blocks: ours }, { name, blocks });
      const work = `P7 memory a socket, against ${name}`;
      findings.comparisons[work] = comparison;
      const row = comparisonRow(work, comparison, 'B', GOALS[name]);
      // Later waves of uWS fit into the first one's memory, so that the divisor would be zero.
      findings.rows.push(name === 'uws' ? { ...row, ratio: null } : row);
    }
    return findings;
  });
}

const SIZES = {
  full: { sockets: 10_000, waves: 3 },
  short: { sockets: 2_000, waves: 1 },
  brief: { sockets: 100, waves: 1 },
} as const;
const MAX_BYTES = 1_228;
const GOALS: Readonly<Record<'uws' | 'ws' | 'socket-io', Goal>> = {
  uws: { besides: ({ ours }) => [smallEnough(ours)] },
  ws: { atMost: 0.45 },
  'socket-io': { atMost: 0.11 },
};

function smallEnough({ figure, blocks }: Measured) {
  const first = blocks[0]?.notes?.first_wave_bytes ?? Number.NaN;
  return { text: `≤ ${MAX_BYTES} B (first wave ${first} B)`, met: figure.median <= MAX_BYTES };
}

/**
 * Measures memory. A first wave of sockets comes and goes, so that the figure excludes the growth
 * of a new process, whose cost is noted. Each wave counts against the mean of before and after it.
 */
export async function measureMemory(
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
    // The other side needs this time to see that they are gone.
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
