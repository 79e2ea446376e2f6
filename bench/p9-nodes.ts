import { startRedis } from '../test/support/redis.ts';
import { HttpConnections, postRequest } from './lib/http-connections.ts';
import { BODY } from './lib/insert-script.ts';
import { Inserts, PGBENCH_FACT } from './lib/inserts.ts';
import { listen } from './lib/listener.ts';
import { openLoop } from './lib/open-loop.ts';
import { type Block, type Comparison, compareBlocks } from './lib/pairs.ts';
import { drainOutbox, startPostgres } from './lib/postgres.ts';
import { startMeter } from './lib/processor-time.ts';
import { startProduct } from './lib/product.ts';
import { comparisonRow } from './lib/row.ts';
import { SendStand } from './lib/send-stand.ts';
import { spreadOf } from './lib/spread.ts';
import { type Findings, type Session, TIMINGS, type Work } from './lib/work.ts';

/**
 * The time from a send on one node to its frame on another node's socket, over Redis, and on its
 * own node's socket, of the same messages. Equal work by pgbench runs in turn at the same rate.
 */
export const P9: Work = { name: 'p9', title: 'from node to node', run };

async function run(session: Session): Promise<void> {
  await session.part('P9 node to node', () => measure(session));
}

export const RATE = 200;
/**
 * Full: 20,000 sends; at so low a rate, V8 compiles the code of a send for a minute. The first turn
 * of a short run is no longer than its other turns.
 */
const TIMES = {
  full: { pairs: 10, blockMs: 10_000, warmupMs: 60_000 },
  short: { pairs: 2, blockMs: 2_000, warmupMs: 2_000 },
  brief: { ...TIMINGS.brief, warmupMs: 300 },
} as const;
const MAX_ADDED_MEDIAN_MS = 0.5;
const MAX_ADDED_P99_MS = 3;

/** The same messages, as each node's socket received them. */
interface Blocks {
  readonly same: Block;
  readonly other: Block;
}

async function measure(session: Session): Promise<Findings> {
  const { say } = session;
  const { parley } = await startPostgres(session.disposer, ['parley']);
  const redis = await startRedis({
    teardown: (release) => void session.disposer.add('redis', undefined, release),
  });
  const env = { REDIS_URL: redis.url };
  const stand = await SendStand.open(session, parley, { env });
  const there = await startProduct(session.disposer, { databaseUrl: parley.url, env });
  const trialMs = session.timing.warmupMs;
  const inserts = await Inserts.open(parley, await stand.sample('direct'), { recipients: 1, trialMs, say });
  const sends = new TimedSends(stand);
  const conversation = stand.conversation('direct', 0);
  await listen(session, stand.product, conversation, (id) => sends.arrived('same', id));
  await listen(session, there, conversation, (id) => sends.arrived('other', id));
  const servers = [stand.product.process, there.process];

  const ours: Blocks[] = [];
  const controls: Block[] = [];
  const { pairs, blockMs, warmupMs } = TIMES[session.scale];
  for (let pair = -1; pair < pairs; pair++) {
    const oursNow = async () => {
      const used = startMeter({ servers, postgres: parley });
      const block = await sends.run(pair < 0 ? warmupMs : blockMs);
      await drainOutbox(parley);
      const processor = used(block.same.notes?.frames ?? 1);
      if (pair >= 0) ours.push({ same: { ...block.same, processor }, other: { ...block.other, processor } });
    };
    const controlNow = async () => {
      const { latencyUs, processor } = await inserts.atRate(RATE, blockMs);
      const [p50_ms, p99_ms] = [latencyUs.p50 / 1_000, latencyUs.p99 / 1_000];
      if (pair >= 0) controls.push({ figure: p99_ms, processor, notes: { p50_ms, p99_ms } });
    };
    // The first turn is thrown away.
    for (const turn of pair % 2 === 0 ? [oursNow, controlNow] : [controlNow, oursNow]) await turn();
    if (pair < 0) continue;
    const [one, control] = [ours.at(-1)!, controls.at(-1)!];
    say(
      `  other node ${briefly(one.other)}, same node ${briefly(one.same)}, equal work p99 ${control.figure.toFixed(1)} ms`,
    );
  }
  return findingsOf(ours, controls, inserts);
}

function findingsOf(ours: readonly Blocks[], controls: readonly Block[], inserts: Inserts): Findings {
  const side = (name: string, blocks: readonly Block[]) => ({ name, blocks });
  const others = ours.map(({ other }) => other);
  const same = ours.map(({ same }) => same);
  const [median, p99] = ['P9 send to frame, median', 'P9 send to frame on the same node, p99'] as const;
  const comparisons = {
    [median]: compareBlocks(side('other node', others), side('same node', same)),
    [p99]: compareBlocks(side('same node', same.map(byP99)), side('equal work', controls)),
  };
  const nearlyAsSoon = ({ ours, control }: Comparison) => [
    added(ours.blocks, control.blocks, ({ figure }) => figure, MAX_ADDED_MEDIAN_MS, 'median'),
    added(ours.blocks, control.blocks, ({ notes }) => notes?.p99_ms ?? Number.NaN, MAX_ADDED_P99_MS, 'p99'),
  ];
  const besidePgbench = ({ ours, control }: Comparison) => [
    added(ours.blocks, control.blocks, ({ figure }) => figure, MAX_ADDED_P99_MS, 'p99'),
  ];
  return {
    rows: [
      comparisonRow(median, comparisons[median], 'ms', { besides: nearlyAsSoon }),
      comparisonRow(p99, comparisons[p99], 'ms', { besides: besidePgbench }),
    ],
    comparisons,
    facts: {
      'messages a second': RATE,
      messages: same.reduce((sum, { notes }) => sum + (notes?.frames ?? 0), 0),
      'faster script of equal work': inserts.faster,
      pgbench: `${PGBENCH_FACT}, --rate, --log`,
    },
  };
}

/** Returns the median of one side's excess over another in neighbouring blocks. */
function added(
  ours: readonly Block[],
  control: readonly Block[],
  pick: (block: Block) => number,
  mostMs: number,
  what: string,
) {
  const ms = spreadOf(ours.map((block, index) => pick(block) - pick(control[index]!))).median;
  return {
    text: `${what} ${ms < 0 ? '−' : '+'}${Math.abs(ms).toFixed(2)} ≤ +${mostMs} ms`,
    met: ms <= mostMs,
  };
}

function byP99(block: Block): Block {
  return { ...block, figure: block.notes?.p99_ms ?? Number.NaN };
}

function briefly({ figure, notes }: Block): string {
  return `${figure.toFixed(2)} ms (p99 ${notes?.p99_ms?.toFixed(1)})`;
}

/** Sends in an open loop, each done when both sockets have its frame. */
class TimedSends {
  readonly #stand: SendStand;
  readonly #sentAtMs = new Map<string, number>();
  readonly #open = new Map<string, { left: number; done: (ok: boolean) => void }>();
  #times: Record<keyof Blocks, number[]> = { same: [], other: [] };
  #number = 0;

  constructor(stand: SendStand) {
    this.#stand = stand;
  }

  arrived(node: keyof Blocks, id: string): void {
    const sentMs = this.#sentAtMs.get(id);
    const one = this.#open.get(id);
    if (sentMs === undefined || one === undefined) return;
    this.#times[node].push(performance.now() - sentMs);
    one.left -= 1;
    if (one.left === 0) one.done(true);
  }

  async run(durationMs: number): Promise<Blocks> {
    this.#times = { same: [], other: [] };
    const { port, headers } = this.#stand.product;
    const path = this.#stand.path('direct', 0);
    const connections = await HttpConnections.open({ host: '127.0.0.1', port, size: 16 });
    const send = (done: (ok: boolean) => void) => {
      this.#number += 1;
      const id = `p9-${this.#number}`;
      const request = postRequest(
        path,
        headers,
        JSON.stringify({ body: `${BODY} ${id}`, client_message_id: id }),
      );
      this.#sentAtMs.set(id, performance.now());
      this.#open.set(id, { left: 2, done });
      connections.send(request, (status) => {
        if (status !== 201) done(false);
      });
    };
    try {
      const report = await openLoop({ ratePerSecond: RATE, durationMs, send: (_, done) => send(done) });
      if (report.failed > 0) throw new Error(`${report.failed} messages did not reach both nodes`);
    } finally {
      connections.close();
      this.#sentAtMs.clear();
      this.#open.clear();
    }
    return { same: blockOf(this.#times.same), other: blockOf(this.#times.other) };
  }
}

function blockOf(times: readonly number[]): Block {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return {
    figure: at(0.5),
    notes: { p90_ms: at(0.9), p99_ms: at(0.99), max_ms: at(1), frames: times.length },
  };
}
