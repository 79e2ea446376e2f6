import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { WebSocket } from 'ws';
import { countAllocations } from './allocations.ts';
import { type ParleyCaller, parleyDialect, resumingDialect } from './dialects.ts';
import { HttpConnections, postRequest } from './http-connections.ts';
import type { Block } from './pairs.ts';
import { type BenchDatabase, drainOutbox } from './postgres.ts';
import { type Charged, startMeter } from './processor-time.ts';
import { type Product, readMetrics } from './product.ts';
import { RawSubscribers } from './raw-subscribers.ts';
import { until } from './until.ts';
import { textFrame } from './websocket-frames.ts';
import type { Session } from './work.ts';

/** Number of messages that each socket is behind. */
export const MISSED = 20;

export interface ResumeOptions {
  readonly product: Product;
  readonly postgres: BenchDatabase;
  readonly sockets: number;
  /** The conversations over which the sockets are spread. */
  readonly conversations: readonly string[];
}

/** The results of a round of resumes. */
export interface Resumed extends Block {
  /** Statements that the server ran meanwhile, by name, without those of an idle server. */
  readonly statements: Statements;
}

export type Statements = ReadonlyMap<string, number>;

/**
 * Drops sockets of the demo account's key, one conversation each, and sends messages to each
 * conversation; all sockets come back to the same node and resume. Resolves when each socket has
 * exactly its missed messages; the figure is seconds.
 */
export async function resumeTogether(session: Session, options: ResumeOptions): Promise<Resumed> {
  const { product, postgres, sockets, conversations } = options;
  const { port } = product;
  const caller = callerOf(product);
  const others = await readOpenSockets(product);
  const before = await RawSubscribers.open({
    port,
    count: sockets,
    dialect: (index) => parleyDialect({ ...caller, conversations: () => [of(conversations, index)] }),
  });
  session.disposer.add('sockets', before, (it) => it.close());
  const cursor = await readCursor(product);
  before.close();
  await until(async () => (await readOpenSockets(product)) <= others, 'all sockets gone');
  const heads = await readHeads(postgres, conversations);
  await sendToEach(product, conversations, MISSED);
  await drainOutbox(postgres);
  const resumes = conversations.map((id) =>
    textFrame(
      JSON.stringify({ type: 'resume', id: '1', cursor, conversations: { [id]: heads.get(id) ?? 0 } }),
    ),
  );
  const idleFrom = await readStatements(product);
  await delay(IDLE_MS);
  const statementsBefore = await readStatements(product);
  const ofLoops = difference(statementsBefore, idleFrom);
  const charged = { servers: [product.process], postgres };
  const [block, bytes] = await countAllocations(product, async () => {
    const dialect = (index: number) => resumingDialect(caller, of(resumes, index));
    return [await comeBack(session, charged, port, sockets, dialect), sockets];
  });
  const all = difference(await readStatements(product), statementsBefore);
  const notes = { ...block.notes, allocated_bytes: bytes.heap, allocated_buffer_bytes: bytes.buffers };
  return { ...block, notes, statements: new Map([...all].filter(([name]) => !ofLoops.has(name))) };
}

/** Long enough for every loop of a node that looks more than once a second. */
const IDLE_MS = 2_000;

/** Opens the control: a server that sends as much to each socket that asks. */
export function resumeFromMemory(
  session: Session,
  product: Product,
  control: { readonly port: number; readonly process: { readonly pid: number } },
  sockets: number,
): Promise<Block> {
  const dialect = resumingDialect(callerOf(product), textFrame('{}'));
  return comeBack(session, { servers: [control.process] }, control.port, sockets, () => dialect);
}

/** Connections under way at once: within the backlog of uWS (512), with room. */
const AT_ONCE = 250;
const PATIENCE_MS = 60_000;

/** Returns the seconds from the first connection until all sockets have everything. */
async function comeBack(
  { disposer }: Session,
  charged: Charged,
  port: number,
  count: number,
  dialect: (index: number) => ReturnType<typeof resumingDialect>,
): Promise<Block> {
  const used = startMeter(charged);
  const startMs = performance.now();
  const back = await RawSubscribers.open({ port, count, dialect, atOnce: AT_ONCE });
  disposer.add('sockets', back, (it) => it.close());
  const connectedS = (performance.now() - startMs) / 1_000;
  await back.delivered(count * MISSED, PATIENCE_MS);
  await until(() => back.caughtUp >= count, 'every socket caught up');
  const figure = (performance.now() - startMs) / 1_000;
  const processor = used(count);
  if (back.caughtUp !== count || back.deliveries !== count * MISSED || back.lost > 0) {
    throw new Error(`${back.caughtUp} of ${count} caught up, ${back.deliveries} messages, ${back.lost} lost`);
  }
  back.close();
  return { figure, processor, notes: { connected_s: connectedS } };
}

/** Sends so many messages to each of the conversations. Rejects when a message is refused. */
export async function sendToEach(
  { port, headers }: Product,
  conversations: readonly string[],
  times: number,
): Promise<void> {
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
    await Promise.all(conversations.flatMap((id) => Array.from({ length: times }, () => post(id))));
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

async function readOpenSockets(product: Product): Promise<number> {
  return Number(/^parley_sockets_open (\d+)$/m.exec(await readMetrics(product))?.[1]);
}

/** Returns the highest number of each conversation with messages. */
async function readHeads({ database }: BenchDatabase, ids: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ id: string; head: number }>`
    SELECT conversation_id AS id, max(sequence) AS head FROM messages
    WHERE conversation_id IN (${sql.join(ids)}) GROUP BY 1`.execute(database.kysely);
  return new Map(rows.map(({ id, head }) => [id, head]));
}

/** Returns the statements that a resume may cause, without the server's regular ones. */
async function readStatements(product: Product): Promise<Statements> {
  const lines = (await readMetrics(product)).matchAll(/^parley_statements_total\{name="([^"]+)"\} (\d+)$/gm);
  const own = (name: string) => !BACKGROUND.test(name);
  return new Map(
    [...lines].filter(([, name]) => own(name!)).map(([, name, count]) => [name!, Number(count)]),
  );
}

/** The cursor's sample each second, the outbox, the jobs, and the search for unfinished work. */
const BACKGROUND = /^(read-snapshot|find-.*|.*outbox.*|.*jobs?.*|.*scheduled.*)$/;

function difference(after: Statements, before: Statements): Statements {
  const grown = [...after].map(([name, count]): [string, number] => [name, count - (before.get(name) ?? 0)]);
  return new Map(grown.filter(([, count]) => count > 0));
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
