import { WebSocket } from 'ws';
import { startRedis } from '../test/support/redis.ts';
import { seedConversations } from './lib/conversations.ts';
import { HttpConnections, postRequest } from './lib/http-connections.ts';
import { openLoop } from './lib/open-loop.ts';
import { type Block, compareBlocks, spreadOf } from './lib/pairs.ts';
import { startPostgres } from './lib/postgres.ts';
import { type Product, startProduct } from './lib/product.ts';
import { comparisonRow, type Findings, type Session, type Work } from './lib/work.ts';

/** From a send on one node to its frame on a socket of another, over Redis, and on a socket of its own: of the same messages. */
export const P9: Work = { name: 'p9', title: 'from node to node', run };

async function run(session: Session): Promise<Findings> {
  const { disposer, full, say } = session;
  const { parley } = await startPostgres(disposer, ['parley']);
  const redis = await startRedis({ teardown: (release) => void disposer.add('redis', undefined, release) });
  const options = { databaseUrl: parley.url, env: { REDIS_URL: redis.url } };
  const here = await startProduct(disposer, options);
  const there = await startProduct(disposer, options);
  const [conversation] = await seedConversations(here, parley, 1);
  const connections = disposer.add(
    'connections',
    await HttpConnections.open({ host: '127.0.0.1', port: here.port, size: 16 }),
    (it) => it.close(),
  );
  const sentAtMs = new Map<string, number>();
  const listen = (product: Product, onFrame: (id: string, ms: number) => void) =>
    openListener(session, product, conversation!, (id) => {
      const sentMs = sentAtMs.get(id);
      if (sentMs !== undefined) onFrame(id, performance.now() - sentMs);
    });
  let onSame: number[] = [];
  let onOther: number[] = [];
  const done = new Map<string, { left: number; call: (ok: boolean) => void }>();
  const note = (id: string) => {
    const one = done.get(id);
    if (one === undefined) return;
    one.left -= 1;
    if (one.left === 0) one.call(true);
  };
  await listen(here, (id, ms) => {
    onSame.push(ms);
    note(id);
  });
  await listen(there, (id, ms) => {
    onOther.push(ms);
    note(id);
  });

  let number = 0;
  const runBlock = async (durationMs: number) => {
    onSame = [];
    onOther = [];
    const report = await openLoop({
      ratePerSecond: RATE,
      durationMs,
      send: (_, call) => {
        const id = `p9-${number++}`;
        const body = JSON.stringify({ body: `The build is green again. ${id}`, client_message_id: id });
        sentAtMs.set(id, performance.now());
        done.set(id, { left: 2, call });
        const path = `/v1/messaging/conversations/${conversation}/messages`;
        connections.send(postRequest(path, here.headers, body), (status) => {
          if (status !== 201) call(false);
        });
      },
    });
    sentAtMs.clear();
    done.clear();
    if (report.failed > 0) throw new Error(`${report.failed} messages did not reach both nodes`);
    return { same: blockOf(onSame), other: blockOf(onOther) };
  };
  const blocks: { same: Block; other: Block }[] = [];
  await runBlock(2_000);
  for (let n = 0; n < (full ? 10 : 2); n++) {
    const block = await runBlock(full ? 6_000 : 2_000);
    say(`  other node: ${block.other.figure.toFixed(2)} ms, same node: ${block.same.figure.toFixed(2)} ms`);
    blocks.push(block);
  }
  const comparison = compareBlocks(
    { name: 'other node', blocks: blocks.map(({ other }) => other) },
    { name: 'same node', blocks: blocks.map(({ same }) => same) },
  );
  const addedMs = spreadOf(blocks.map(({ other, same }) => other.figure - same.figure)).median;
  const p99Ms = spreadOf(blocks.map(({ other }) => other.notes?.p99_ms ?? Number.NaN)).median;
  const work = 'P9 send to frame, median';
  const besides = {
    text: `+${addedMs.toFixed(2)} ≤ 1 ms, p99 ${p99Ms.toFixed(1)} ≤ 10 ms`,
    met: addedMs <= 1 && p99Ms <= 10,
  };
  return {
    rows: [comparisonRow(work, { comparison, unit: 'ms', besides })],
    comparisons: { [work]: comparison },
    facts: { 'messages a second': RATE },
  };
}

const RATE = 200;

function blockOf(times: readonly number[]): Block {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return {
    figure: at(0.5),
    notes: { p90_ms: at(0.9), p99_ms: at(0.99), max_ms: at(1), frames: times.length },
  };
}

/** Live when it resolves. Calls with the client's id of each message, first thing. */
function openListener(
  { disposer }: Session,
  { port, headers }: Product,
  conversation: string,
  onMessage: (clientMessageId: string) => void,
): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/realtime`, { headers });
  disposer.add('socket', socket, (it) => it.terminate());
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('message', (bytes: Buffer) => {
      const text = bytes.toString();
      const id = /"body":"[^"]*(p9-\d+)"/.exec(text)?.[1];
      if (id !== undefined) return onMessage(id);
      if (text.startsWith('{"type":"ready"')) {
        socket.send(JSON.stringify({ type: 'subscribe', id: '1', conversation_id: conversation }));
      } else if (text.startsWith('{"type":"ping"')) socket.send('{"type":"pong","t":0}');
      else if (text.startsWith('{"type":"caught_up"')) resolve();
    });
  });
}
