import { type Bytes, openTraffic, TRAFFIC, TRAFFIC_ENV } from './lib/allocations.ts';
import { startPostgres } from './lib/postgres.ts';
import { count, type Row } from './lib/row.ts';
import { SendStand } from './lib/send-stand.ts';
import { type Spread, spreadOf } from './lib/spread.ts';
import type { Session, Work } from './lib/work.ts';
import { measureResumes } from './p10-resume.ts';

/**
 * Bytes that the node allocates for an operation, from the counters of V8's collector. They hardly
 * depend on the machine or its other work, and each byte is collected while requests wait.
 */
export const GARBAGE: Work = { name: 'garbage', title: 'bytes allocated', fullOnly: true, run };

async function run(session: Session): Promise<void> {
  const { rounds, sockets } = SIZES[session.scale];
  await session.part('bytes allocated', async () => {
    const { parley } = await startPostgres(session.disposer, ['parley']);
    const stand = await SendStand.open(session, parley, { env: TRAFFIC_ENV });
    const measure = await openTraffic(session, stand);
    // Code that has just begun to run allocates for its compilation.
    await measure();
    const found: Awaited<ReturnType<typeof measure>>[] = [];
    for (let round = 0; round < rounds; round++) found.push(await measure());
    const rows = TRAFFIC.map((name) =>
      rowOf(
        name,
        found.map((one) => one[name]),
      ),
    );
    return { rows: rows.map(({ row }) => row), facts: Object.assign({}, ...rows.map(({ facts }) => facts)) };
  });
  await session.part('bytes allocated by resumes', async () => {
    const { comparisons = {} } = await measureResumes(session, sockets, rounds);
    const [comparison] = Object.values(comparisons);
    const { row, facts } = rowOf('resume', comparison!.ours.blocks.map(resumedBytes));
    return { rows: [row], facts };
  });
}

const SIZES = {
  full: { rounds: 5, sockets: 1_000 },
  short: { rounds: 1, sockets: 1_000 },
  brief: { rounds: 1, sockets: 100 },
} as const;
/** Half of the bytes before less garbage became a goal (results/garbage-*.json, the oldest). */
const MAX_SEND_BYTES = 31_200;

/** Returns the bytes that `resumeTogether` notes. */
export function resumedBytes({ notes = {} }: { readonly notes?: Readonly<Record<string, number>> }): Bytes {
  const { allocated_bytes: heap = Number.NaN, allocated_buffer_bytes: buffers = Number.NaN } = notes;
  return { heap, buffers };
}

function rowOf(
  name: string,
  found: readonly Bytes[],
): { readonly row: Row; readonly facts: Record<string, number> } {
  const heap = spreadOf(found.map((bytes) => bytes.heap));
  const buffers = spreadOf(found.map((bytes) => bytes.buffers)).median;
  const row = {
    work: `bytes allocated, a ${name}`,
    ours: `${count(heap.median)} B (${count(heap.least)}–${count(heap.most)}), buffers ${count(buffers)} B`,
    control: '',
    ratio: null,
    processor: { ours: {}, control: {} },
    goal: name === 'send' ? halved(heap) : null,
  };
  return {
    row,
    facts: { [`a ${name}, bytes of the heap`]: heap.median, [`a ${name}, bytes of buffers`]: buffers },
  };
}

function halved({ median }: Spread) {
  return { text: `≤ ${count(MAX_SEND_BYTES)} B`, met: median <= MAX_SEND_BYTES };
}
