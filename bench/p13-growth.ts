import { sql } from 'kysely';
import { Disposer } from '../src/platform/lifecycle.ts';
import type { Curves, Point } from './lib/curves.ts';
import { createReaders, pagesSide } from './lib/feed-readers.ts';
import { GROWN, Growth } from './lib/growth.ts';
import { CONVERSATIONS } from './lib/insert-script.ts';
import { type Comparison, comparePairs, type Side } from './lib/pairs.ts';
import { type BenchDatabase, checkpoint, drainOutbox, startPostgres } from './lib/postgres.ts';
import { resumeTogether, sendToEach } from './lib/resumes.ts';
import { comparisonRow, count, type Row } from './lib/row.ts';
import { CONNECTIONS } from './lib/send-load.ts';
import { SendStand } from './lib/send-stand.ts';
import type { Findings, Session, Work } from './lib/work.ts';

/**
 * Sends, pages and resumes with two million messages and as many notifications, against the same
 * with ten thousand: two nodes, each with a Postgres of its own in its shipped state, in turn.
 */
export const P13: Work = { name: 'p13', title: 'growth', fullOnly: true, run };

async function run(session: Session): Promise<void> {
  const { sizes, small: few, warmMs } = SIZES[session.scale];
  const large = await Grown.open(session, 'more rows');
  const points = new Map<What, Point[]>(WHATS.map((what) => [what, [[few, 1]]]));
  for (const size of sizes) {
    const findings = await session.part(`P13 ${count(size)} rows`, async () => {
      await large.growTo(size, session.say);
      // Each size has a new control, because sends make it grow as well.
      const own = session.disposer.add('control', new Disposer(), (it) => it.close());
      try {
        const small = await Grown.open({ ...session, disposer: own }, `${count(few)} rows`);
        await small.growTo(few, session.say);
        await new Promise((resolve) => setTimeout(resolve, CURSOR_AGE_MS));
        // The other node has run for minutes, and its code is optimized.
        for (const what of WHATS) await small.sides[what].run(warmMs);
        return await measure(session, small, large, size, size === sizes.at(-1));
      } finally {
        await own.close();
      }
    });
    for (const [what, line] of points) {
      const comparison = findings.comparisons?.[workOf(what, size)];
      if (comparison !== undefined) line.push([size, comparison.ratio.median]);
    }
  }
  await session.part('P13 curve', async () => ({ rows: [], curves: { growth: curvesOf(points, few) } }));
}

/** Sends come last, since they add rows to both sides. */
const WHATS = ['pages', 'resumes', 'sends'] as const;
type What = (typeof WHATS)[number];

/** Short blocks of sends, so that the control stays small. */
const SIZES = {
  full: {
    small: 10_000,
    sizes: [100_000, 500_000, 2_000_000],
    sockets: 500,
    warmMs: 3_000,
    sends: { blockMs: 2_000, warmupMs: 1_000 },
  },
  short: {
    small: 10_000,
    sizes: [100_000],
    sockets: 500,
    warmMs: 3_000,
    sends: { blockMs: 2_000, warmupMs: 1_000 },
  },
  brief: { small: 1_000, sizes: [2_000], sockets: 50, warmMs: 100, sends: {} },
} as const;
const LEAST_RATIO = 0.8;
/**
 * A cursor is up to ten seconds older than its reading: resumes before that would get the new
 * conversations again.
 */
const CURSOR_AGE_MS = 12_000;
/** For the sizes on the way to the last one, which are points of a curve. */
const BETWEEN = { pairs: 2, blockMs: 2_000, warmupMs: 1_000 };

/** Measures all three works at one size; the goal stands on the last. */
async function measure(
  session: Session,
  small: Grown,
  large: Grown,
  size: number,
  isLast: boolean,
): Promise<Findings> {
  const { say, timing } = session;
  const { small: few, sockets, sends } = SIZES[session.scale];
  const rows: Row[] = [];
  const comparisons: Record<string, Comparison> = {};
  const before = async () => {
    for (const { postgres } of [small, large]) {
      await drainOutbox(postgres);
      await checkpoint(postgres);
    }
  };
  for (const what of WHATS) {
    const comparison = await comparePairs({
      ours: large.sides[what],
      control: small.sides[what],
      before,
      onBlock: (side, { figure }) => say(`  ${what}, ${side}: ${count(figure)}/s`),
      ...(isLast ? timing : BETWEEN),
      ...(what === 'sends' ? sends : {}),
    });
    const work = workOf(what, size);
    comparisons[work] = comparison;
    rows.push(comparisonRow(work, comparison, '/s', isLast ? { atLeast: LEAST_RATIO } : {}));
  }
  const { rows: grown } = await sql<{ messages: number }>`
    SELECT count(*)::integer AS messages FROM messages`.execute(small.postgres.database.kysely);
  const facts = {
    ...GROWN,
    'rows of the control': few,
    'messages of the control at the end': grown[0]?.messages ?? 0,
    connections: CONNECTIONS,
    'sockets that resume': sockets,
  };
  return { rows, comparisons, facts };
}

function workOf(what: What, size: number): string {
  return `P13 ${what}, ${count(size)} of each`;
}

/** A node whose database grows. */
class Grown {
  readonly postgres: BenchDatabase;
  readonly growTo: (rows: number, say: Session['say']) => Promise<void>;
  readonly sides: Readonly<Record<What, Side>>;

  static async open(session: Session, name: string): Promise<Grown> {
    const { sockets } = SIZES[session.scale];
    const { parley } = await startPostgres(session.disposer, ['parley']);
    const env = { PARLEY_SOCKET_SOCKETS_PER_ACTOR: String(2 * sockets) };
    const stand = await SendStand.open(session, parley, { name, env, history: 0 });
    const { product } = stand;
    const readers = await createReaders(product, parley);
    const numbers = Array.from({ length: CONVERSATIONS }, (_, n) => n);
    const direct = numbers.map((n) => stand.conversation('direct', n));
    // Sockets resume in conversations where this changes no presence.
    const silent = numbers.map((n) => stand.conversation('silent', n));
    const growth = await Growth.open(session, {
      postgres: parley,
      accountId: product.demo.account_id,
      senderId: product.demo.users.ada.id,
      conversations: numbers.flatMap((n) => [direct[n]!, silent[n]!]),
      recipients: readers.map(({ id }) => id),
    });
    const { process, port } = product;
    const resume = { product, postgres: parley, sockets, conversations: silent };
    const growTo = async (rows: number, say: Session['say']) => {
      await growth.growTo(rows, say);
      // The node did not write these rows. The first number after them makes it read and deliver
      // them to its open streams, which would otherwise happen within a block.
      await sendToEach(product, [...direct, ...silent], 1);
    };
    return new Grown(parley, growTo, {
      sends: stand.side(CONNECTIONS, 'direct'),
      pages: pagesSide({ name, process, port, postgres: parley, readers, connections: CONNECTIONS }),
      resumes: {
        name,
        run: async () => {
          const { statements, ...block } = await resumeTogether(session, resume);
          const used = [...statements.values()].reduce((sum, times) => sum + times, 0);
          return { ...block, figure: sockets / block.figure, notes: { ...block.notes, statements: used } };
        },
      },
    });
  }

  private constructor(postgres: BenchDatabase, growTo: Grown['growTo'], sides: Readonly<Record<What, Side>>) {
    this.postgres = postgres;
    this.growTo = growTo;
    this.sides = sides;
  }
}

function curvesOf(points: ReadonlyMap<What, readonly Point[]>, small: number): Curves {
  return {
    title: 'Speed by the size of the database',
    x: { label: 'messages, and as many notifications', scale: 'logarithmic' },
    y: { label: `times the figure with ${count(small)} of each`, scale: 'linear' },
    lines: [...points].map(([name, line]) => ({ name, points: line })),
  };
}
