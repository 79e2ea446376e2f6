import type { Listening } from './controls/delivery-loop.ts';
import { seedConversations } from './lib/conversations.ts';
import { type Block, type Comparison, compareBlocks } from './lib/pairs.ts';
import { startPostgres } from './lib/postgres.ts';
import { startProduct } from './lib/product.ts';
import { MISSED, resumeFromMemory, resumeTogether, type Statements } from './lib/resumes.ts';
import { comparisonRow } from './lib/row.ts';
import { ServerProcess } from './lib/server-process.ts';
import type { Findings, Session, Work } from './lib/work.ts';

/**
 * Thousands of sockets lose their connection, twenty messages are sent to each of their
 * conversations, and all come back at once. The figure is the time from the first connection to the
 * last `caught_up`, with the statements that it took.
 */
export const P10: Work = { name: 'p10', title: 'resuming together', run };

async function run(session: Session): Promise<void> {
  const { sockets, rounds } = SIZES[session.scale];
  await session.part('P10 resumes', () => measureResumes(session, sockets, rounds));
}

export async function measureResumes(session: Session, sockets: number, rounds: number): Promise<Findings> {
  const { disposer, say } = session;
  const { parley } = await startPostgres(disposer, ['parley']);
  const product = await startProduct(disposer, {
    databaseUrl: parley.url,
    env: { PARLEY_SOCKET_SOCKETS_PER_ACTOR: String(2 * sockets) },
  });
  const conversations = await seedConversations(product, parley, sockets / SOCKETS_A_CONVERSATION);
  const process = new ServerProcess({ entry: 'bench/controls/uws-catch-up.ts' });
  disposer.add('uws', process, (it) => it.stop());
  process.tell({ frame: JSON.stringify({ type: 'event', pad: 'x'.repeat(FRAME_BYTES) }) });
  const control = { process, port: (await process.message<Listening>()).port };

  const ours: Block[] = [];
  const theirs: Block[] = [];
  // One more round than counts: the first finds a server that has not resumed yet.
  for (let round = 0; round <= rounds; round++) {
    const options = { product, postgres: parley, sockets, conversations };
    const oursNow = async () => {
      const { statements, ...block } = await resumeTogether(session, options);
      const used = total(statements);
      say(`  parley: ${block.figure.toFixed(2)} s, ${used} statements: ${listed(statements)}`);
      const notes = {
        ...block.notes,
        ...Object.fromEntries(statements),
        resumes_a_statement: sockets / used,
      };
      if (round > 0) ours.push({ ...block, notes });
    };
    const theirsNow = async () => {
      const block = await resumeFromMemory(session, product, control, sockets);
      say(`  uws: ${block.figure.toFixed(2)} s`);
      if (round > 0) theirs.push(block);
    };
    for (const measure of round % 2 === 0 ? [oursNow, theirsNow] : [theirsNow, oursNow]) await measure();
  }
  const comparison = compareBlocks(
    { name: 'parley', blocks: ours },
    { name: 'uws, from memory', blocks: theirs },
  );
  const work = `P10 ${sockets.toLocaleString('en-US')} sockets, ${MISSED} behind`;
  return {
    rows: [comparisonRow(work, comparison, 's', { atMost: MAX_RATIO, besides: fewStatements })],
    comparisons: { [work]: comparison },
    facts: {
      sockets,
      conversations: conversations.length,
      'messages behind': MISSED,
      'bytes of a control frame': FRAME_BYTES,
    },
  };
}

const SIZES = {
  full: { sockets: 5_000, rounds: 5 },
  short: { sockets: 2_000, rounds: 1 },
  brief: { sockets: 100, rounds: 1 },
} as const;
const SOCKETS_A_CONVERSATION = 10;
const MAX_RATIO = 3.5;
const LEAST_RESUMES = 50;
/** The size that P4 found in a frame of ours. */
const FRAME_BYTES = 780;

function fewStatements({ ours }: Comparison) {
  const least = Math.min(...ours.blocks.map(({ notes }) => notes?.resumes_a_statement ?? 0));
  return [
    { text: `${Math.round(least)} ≥ ${LEAST_RESUMES} resumes a statement`, met: least >= LEAST_RESUMES },
  ];
}

function total(statements: Statements): number {
  return [...statements.values()].reduce((sum, count) => sum + count, 0);
}

function listed(statements: Statements): string {
  return [...statements].map(([name, count]) => `${name} ${count}`).join(', ');
}
