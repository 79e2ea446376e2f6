import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { Listening } from './controls/delivery-loop.ts';
import { seedConversations } from './lib/conversations.ts';
import { type ParleyCaller, parleyDialect, resumingDialect } from './lib/dialects.ts';
import { HttpConnections, postRequest } from './lib/http-connections.ts';
import { type Block, compareBlocks } from './lib/pairs.ts';
import { startPostgres } from './lib/postgres.ts';
import { type Product, readMetrics, startProduct } from './lib/product.ts';
import { RawSubscribers } from './lib/raw-subscribers.ts';
import { ServerProcess } from './lib/server-process.ts';
import { textFrame } from './lib/websocket-frames.ts';
import { comparisonRow, type Findings, type Session, type Work } from './lib/work.ts';

/**
 * Thousands of sockets lose their connection, twenty messages are sent to each of their conversations, and all
 * come back at once: from the first connection to the last `caught_up`, and the statements that it took.
 */
export const P10: Work = { name: 'p10', title: 'resuming together', run };

async function run(session: Session): Promise<Findings> {
  const { disposer, full } = session;
  const sockets = full ? FULL_SOCKETS : SHORT_SOCKETS;
  const { parley } = await startPostgres(disposer, ['parley']);
  const product = await startProduct(disposer, {
    databaseUrl: parley.url,
    env: { PARLEY_SOCKET_SOCKETS_PER_ACTOR: String(2 * sockets) },
  });
  const conversations = await seedConversations(product, parley, sockets / SOCKETS_A_CONVERSATION);
  const control = disposer.add('uws', new ServerProcess({ entry: 'bench/controls/uws-catch-up.ts' }), (it) =>
    it.stop(),
  );
  control.tell({ frame: JSON.stringify({ type: 'event', pad: 'x'.repeat(FRAME_BYTES) }) });
  const { port: controlPort } = await control.message<Listening>();
  const caller = callerOf(product);

  const ours: Block[] = [];
  const theirs: Block[] = [];
  const rounds = full ? 5 : 1;
  // One round more than counts: the first finds a server that has done none of it.
  for (let round = 0; round <= rounds; round++) {
    const before = await RawSubscribers.open({
      port: product.port,
      count: sockets,
      dialect: (index) => parleyDialect({ ...caller, conversations: () => [of(conversations, index)] }),
    });
    disposer.add('sockets', before, (it) => it.close());
    const cursor = await readCursor(product);
    before.close();
    await untilNobody(product);
    await sendMissed(product, conversations);
    const heads = round * MISSED;
    const resumes = conversations.map((id) =>
      textFrame(JSON.stringify({ type: 'resume', id: '1', cursor, conversations: { [id]: heads } })),
    );
    const statements = await readStatements(product);
    const block = await comeBack(session, product.port, sockets, (index) =>
      resumingDialect(caller, of(resumes, index)),
    );
    const used = difference(await readStatements(product), statements);
    const statementsUsed = [...used.values()].reduce((sum, count) => sum + count, 0);
    const bare = await comeBack(session, controlPort, sockets, () =>
      resumingDialect(caller, textFrame('{}')),
    );
    session.say(
      `  ${block.figure.toFixed(2)} s, ${statementsUsed} statements (uws ${bare.figure.toFixed(2)} s): ${listed(used)}`,
    );
    if (round === 0) continue;
    ours.push({
      ...block,
      notes: { ...block.notes, ...Object.fromEntries(used), resumes_a_statement: sockets / statementsUsed },
    });
    theirs.push(bare);
  }
  const comparison = compareBlocks(
    { name: 'parley', blocks: ours },
    { name: 'uws, from memory', blocks: theirs },
  );
  const seconds = comparison.ours.figure.median;
  const least = Math.min(...ours.map(({ notes }) => notes?.resumes_a_statement ?? 0));
  const work = `P10 ${sockets.toLocaleString('en-US')} sockets, ${MISSED} behind`;
  const besides = {
    text: `≤ 3 s, ${Math.round(least)} ≥ 50 resumes a statement`,
    met: seconds <= MAX_S && least >= LEAST_RESUMES,
  };
  return {
    rows: [comparisonRow(work, { comparison, unit: 's', besides })],
    comparisons: { [work]: comparison },
    facts: {
      sockets,
      conversations: conversations.length,
      'messages behind': MISSED,
      'bytes of a control frame': FRAME_BYTES,
    },
  };
}

const FULL_SOCKETS = 5_000;
const SHORT_SOCKETS = 2_000;
const SOCKETS_A_CONVERSATION = 10;
const MISSED = 20;
const MAX_S = 3;
const LEAST_RESUMES = 50;
/** As many as P4 found in a frame of ours. */
const FRAME_BYTES = 780;
/** Connections under way at once: within the backlog of uWS (512), with room. */
const AT_ONCE = 250;
const PATIENCE_MS = 60_000;

/** Seconds from the first connection until all have got everything. */
async function comeBack(
  { disposer }: Session,
  port: number,
  count: number,
  dialect: (index: number) => ReturnType<typeof resumingDialect>,
): Promise<Block> {
  const startMs = performance.now();
  const back = await RawSubscribers.open({ port, count, dialect, atOnce: AT_ONCE });
  disposer.add('sockets', back, (it) => it.close());
  const connectedS = (performance.now() - startMs) / 1_000;
  await back.delivered(count * MISSED, PATIENCE_MS);
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (back.caughtUp < count && performance.now() < deadlineMs) await delay(1);
  const figure = (performance.now() - startMs) / 1_000;
  if (back.caughtUp !== count || back.deliveries !== count * MISSED || back.lost > 0) {
    throw new Error(`${back.caughtUp} of ${count} caught up, ${back.deliveries} messages, ${back.lost} lost`);
  }
  back.close();
  return { figure, notes: { connected_s: connectedS } };
}

async function sendMissed({ port, headers }: Product, conversations: readonly string[]): Promise<void> {
  const connections = await HttpConnections.open({ host: '127.0.0.1', port, size: CONNECTIONS });
  const post = (id: string) =>
    new Promise<void>((resolve, reject) => {
      const body = JSON.stringify({ body: 'The build is green again.', client_message_id: randomUUID() });
      const request = postRequest(`/v1/messaging/conversations/${id}/messages`, headers, body);
      connections.send(request, (status, answer) => {
        if (status === 201) resolve();
        else reject(new Error(`a send was refused: ${status} ${answer}`));
      });
    });
  try {
    await Promise.all(conversations.flatMap((id) => Array.from({ length: MISSED }, () => post(id))));
  } finally {
    connections.close();
  }
}

const CONNECTIONS = 64;

function readCursor({ port, headers }: Product): Promise<string> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/realtime`, { headers });
  return new Promise<string>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('message', (bytes: Buffer) => {
      const { type, cursor }: { type: string; cursor: string } = JSON.parse(bytes.toString());
      if (type === 'ready') resolve(cursor);
    });
  }).finally(() => socket.terminate());
}

async function untilNobody(product: Product): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!/^parley_sockets_open 0$/m.test(await readMetrics(product))) {
    if (performance.now() > deadlineMs) throw new Error('sockets that were dropped are still open');
    await delay(20);
  }
}

type Statements = ReadonlyMap<string, number>;

/** Those that a resume may cause: what the server asks by itself again and again is left out. */
async function readStatements(product: Product): Promise<Statements> {
  const lines = (await readMetrics(product)).matchAll(/^parley_statements_total\{name="([^"]+)"\} (\d+)$/gm);
  const own = (name: string) => !BACKGROUND.test(name);
  return new Map(
    [...lines].filter(([, name]) => own(name!)).map(([, name, count]) => [name!, Number(count)]),
  );
}

/** The cursor's sample each second, the outbox, the jobs, and what looks for work that was left. */
const BACKGROUND = /^(read-snapshot|find-.*|.*outbox.*|.*jobs?.*|.*scheduled.*)$/;

function difference(after: Statements, before: Statements): Statements {
  const grown = [...after].map(([name, count]): [string, number] => [name, count - (before.get(name) ?? 0)]);
  return new Map(grown.filter(([, count]) => count > 0));
}

function listed(statements: Statements): string {
  return [...statements].map(([name, count]) => `${name} ${count}`).join(', ');
}

function callerOf({ headers, demo }: Product): ParleyCaller {
  return {
    authorization: headers.Authorization!,
    version: demo.service_version,
    accountId: demo.account_id,
  };
}

function of<T>(all: readonly T[], index: number): T {
  return all[index % all.length]!;
}
