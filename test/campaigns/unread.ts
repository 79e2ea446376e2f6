import { setTimeout as pause } from 'node:timers/promises';
import { RawSocket, TEXT } from '../gateway/raw-socket.ts';
import { PARLEY } from '../start/parley.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { PeakMemory } from '../support/peak-memory.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Random } from '../support/random.ts';
import { RawClient } from '../support/raw-client.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

/** A kind of client that asks and does not read. */
interface Shape {
  readonly name: string;
  /** The letters of the messages: a control character takes six bytes of JSON. */
  readonly letters: 'control' | 'plain';
  /** Number of sockets that replay the whole conversation, and the time between two. */
  readonly sockets: number;
  readonly spacingMs: number;
  /** Requests for a page of 100 messages. */
  readonly pages: number;
}

interface UnreadOptions extends Seeded {
  /** Messages of 40,000 characters in each of the two conversations. */
  readonly messages: number;
  readonly shapes: readonly Shape[];
  /** Milliseconds for which others are measured before; 0: not at all. */
  readonly measuredMs: number;
}

interface ShapeFigures {
  readonly shape: string;
  /**
   * Resident memory of the node in megabytes: before, its maximum growth, and some seconds after
   * the end.
   */
  readonly beforeMb: number | undefined;
  readonly grownMb: number | undefined;
  readonly behindMb: number | undefined;
  /** Megabytes of answers that the server held at most. */
  readonly heldMb: number;
  /** The ends of the sockets, as the server counts them. */
  readonly sockets: Readonly<Record<string, number>>;
  /** Statuses of the pages; `none`: cut before a status. */
  readonly pages: Readonly<Record<string, number>>;
  /**
   * Requests of others beside it, refused requests, and the p99 in milliseconds before and
   * meanwhile.
   */
  readonly others: number;
  readonly refused: number;
  readonly p99Ms: readonly [before: number, meanwhile: number];
  /** Messages sent meanwhile to a socket that reads, and seconds until it was live. */
  readonly read: number;
  readonly readSeconds: number;
}

interface UnreadFigures extends Found {
  readonly shapes: readonly ShapeFigures[];
}

/** The shapes of a whole run: together, and each alone with several spacings. */
export const SHAPES: readonly Shape[] = [
  { name: 'sockets at once', letters: 'control', sockets: 100, spacingMs: 0, pages: 0 },
  { name: 'sockets 40 ms apart', letters: 'control', sockets: 100, spacingMs: 40, pages: 0 },
  { name: 'sockets 150 ms apart', letters: 'control', sockets: 100, spacingMs: 150, pages: 0 },
  { name: 'pages', letters: 'control', sockets: 0, spacingMs: 0, pages: 100 },
  { name: 'pages of plain letters', letters: 'plain', sockets: 0, spacingMs: 0, pages: 100 },
  { name: 'mixed', letters: 'control', sockets: 100, spacingMs: 40, pages: 100 },
  { name: 'mixed, plain letters', letters: 'plain', sockets: 100, spacingMs: 40, pages: 100 },
];

/**
 * A node, a conversation of large messages, and two members who request it repeatedly without
 * reading: replays on sockets, and pages. Each shape has its own node, since a process rarely gives
 * memory back. The sockets end as slow readers, no page is refused, a socket that reads gets
 * everything, and other clients are served as before.
 */
export const unread = campaign({
  whole: () => ({ messages: 1_000, shapes: SHAPES, measuredMs: 10_000 }),
  run,
});

async function run(t: Teardown, options: UnreadOptions, random: Random): Promise<UnreadFigures> {
  const { messages, shapes, measuredMs } = options;
  const { url: databaseUrl } = await createTestDatabase(t);
  const problems: string[] = [];
  const figures: ShapeFigures[] = [];
  const large = new Map<Shape['letters'], string>();
  for (const shape of shapes) {
    const node = await startNode(t, { databaseUrl, env: ENVIRONMENT, command: COMMAND });
    let conversation = large.get(shape.letters);
    if (conversation === undefined) {
      conversation = await fill(node, shape.letters, messages);
      large.set(shape.letters, conversation);
      // The cost of the sends is not measured.
      await pause(2_000);
    }
    const run = await runShape(t, { node, conversation, shape, messages, measuredMs, random });
    figures.push(run);
    problems.push(...problemsOf(shape, run, messages));
    await node.kill('SIGTERM');
  }
  return { shapes: figures, problems };
}

interface Run {
  readonly node: TestNode;
  readonly conversation: string;
  readonly shape: Shape;
  readonly messages: number;
  readonly measuredMs: number;
  readonly random: Random;
}

async function runShape(t: Teardown, run: Run): Promise<ShapeFigures> {
  const { node, conversation, shape, messages, measuredMs, random } = run;
  const quiet = await createConversation(node, [node.demo.users.vera.id]);
  const others = new Others(node, quiet);
  const port = Number(new URL(node.baseUrl).port);
  // One reader takes everything first, so that the comparison shows only what non-readers add:
  // reading 240 MB makes the heap of a fresh process grow, and others wait for it as well.
  const measuring = others.measure(measuredMs);
  await readAll(t, node, port, conversation, messages);
  await measuring;
  const p99Before = others.takeP99();
  const memory = new PeakMemory(t, node);
  const beforeMb = memory.take();

  const tokens = [node.demo.users.ada.access_token, node.demo.users.grace.access_token] as const;
  const meanwhile = others.measure(Number.POSITIVE_INFINITY);
  let heldMb = 0;
  let watches = true;
  const watch = async () => {
    while (watches) {
      heldMb = Math.max(heldMb, Math.round((await node.metric('parley_http_held_answer_bytes')) / 1e6));
      await pause(500);
    }
  };
  const watching = watch();

  const { total: endedBefore } = await socketEnds(node);
  const opening = openSockets(node, port, tokens, conversation, shape);
  const clients: RawClient[] = [];
  for (let n = 0; n < shape.pages; n++) {
    const headers = Object.entries(node.headers(random.pick(tokens))).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const path = `/v1/messaging/conversations/${conversation}/messages?limit=100`;
    const client = new RawClient(port);
    client.socket.pause();
    client.send([`GET ${path} HTTP/1.1`, 'Host: a', ...headers, '\r\n'].join('\r\n'));
    clients.push(client);
  }
  const sockets = await opening;
  const { read, seconds: readSeconds } = await readAll(t, node, port, conversation, messages);
  await until(async () => (await socketEnds(node)).total >= endedBefore + shape.sockets, {
    what: 'the end of the sockets that do not read',
  });
  // A page that the kernels took whole ended long before; other pages are cut.
  await until(async () => (await node.metric('parley_http_held_answer_bytes')) === 0, {
    what: 'the end of the pages that are not read',
  });
  const ends = await socketEnds(node);
  const grownMb = grown(beforeMb, memory.take());
  for (const client of clients) client.socket.resume();
  await Promise.all(
    clients.map((client) => until(() => client.over || client.received.length > 0, { what: 'an answer' })),
  );
  await others.stop();
  await meanwhile;
  watches = false;
  await watching;
  const pages = countBy(clients.map(({ statuses }) => String(statuses[0] ?? 'none')));
  for (const client of clients) client.destroy();
  for (const { socket } of sockets) socket.destroy();
  // A short run, which measures nothing, does not wait for memory that the node gives back.
  if (measuredMs > 0) await pause(SETTLE_MS);
  memory.take();
  await pause(100);
  return {
    shape: shape.name,
    beforeMb,
    grownMb,
    behindMb: memory.take(),
    heldMb,
    sockets: ends.byReason,
    pages,
    others: others.count,
    refused: others.refused,
    p99Ms: [p99Before, others.takeP99()],
    read,
    readSeconds,
  };
}

/** Subscribes from the first message on, and reads until the socket is live. */
async function readAll(t: Teardown, node: TestNode, port: number, conversationId: string, messages: number) {
  const fromMs = performance.now();
  const reader = await RawSocket.open(port, socketHeaders(node, node.demo.users.vera.access_token));
  reader.frame(TEXT, subscription(conversationId));
  const pongs = setInterval(() => reader.frame(TEXT, JSON.stringify({ type: 'pong', t: 0 })), 1_000);
  t.teardown(() => clearInterval(pongs));
  await until(
    () => reader.texts.slice(-9).some((text) => text.startsWith('{"type":"caught_up"')) || reader.ended,
    { what: 'a socket that reads to be live' },
  );
  clearInterval(pongs);
  reader.socket.destroy();
  const created = reader.texts.filter((text) => text.slice(0, 100).includes('"message.created"'));
  const seconds = Math.round((performance.now() - fromMs) / 100) / 10;
  return { read: Math.min(created.length, messages), seconds };
}

function problemsOf(shape: Shape, figures: ShapeFigures, messages: number): string[] {
  const problems: string[] = [];
  const { grownMb, refused, read, pages, sockets } = figures;
  if (grownMb !== undefined && grownMb > ALLOWED_MB) {
    problems.push(`${grownMb} MB more, ${ALLOWED_MB} MB are allowed`);
  }
  if (refused > 0) problems.push(`${refused} requests of others were refused`);
  if (read !== messages) problems.push(`a socket that reads was sent ${read} of ${messages} messages`);
  if ((pages['200'] ?? 0) !== shape.pages) problems.push(`pages were answered ${JSON.stringify(pages)}`);
  const slow = (sockets.slow_consumer ?? 0) + (sockets.heartbeat_timeout ?? 0);
  if (slow !== shape.sockets) problems.push(`sockets ended with ${JSON.stringify(sockets)}`);
  return problems.map((problem) => `${shape.name}: ${problem}`);
}

/** Has the flags of `npm start`, which decide how much garbage the heap holds. */
const COMMAND: readonly [string, ...string[]] = [
  PARLEY[0],
  '--max-semi-space-size=32',
  '--heap-growing-percent=200',
  '--v8-pool-size=1',
  ...PARLEY.slice(1),
  'start',
];
const ENVIRONMENT = {
  // The sockets of a whole run end within a quarter of a minute.
  PARLEY_SOCKET_HEARTBEAT_MS: '8000',
  PARLEY_SOCKET_PONG_MS: '8000',
  PARLEY_SOCKET_CUT_MS: '2000',
};
const ALLOWED_MB = 150;
const CHARACTERS = 40_000;
/** Number of concurrent sends while a conversation is filled. */
const WIDTH = 8;
const SETTLE_MS = 5_000;
/** Time between two requests of other clients. */
const PACE_MS = 25;

async function fill(node: TestNode, letters: Shape['letters'], messages: number): Promise<string> {
  const conversation = await createConversation(node, [
    node.demo.users.ada.id,
    node.demo.users.grace.id,
    node.demo.users.vera.id,
  ]);
  const body = (letters === 'control' ? '\u0001' : 'x').repeat(CHARACTERS);
  for (let sent = 0; sent < messages; sent += WIDTH) {
    const batch = Array.from({ length: Math.min(WIDTH, messages - sent) }, () =>
      node.send(conversation, { body }, node.demo.users.ada.access_token),
    );
    for (const { status } of await Promise.all(batch)) {
      if (status !== 201) throw new Error(`a send was answered with ${status}`);
    }
  }
  return conversation;
}

async function createConversation(node: TestNode, userIds: readonly string[]): Promise<string> {
  const participants = userIds.map((id) => ({ type: 'user', actor_id: id }));
  const { body } = await node.call('POST', '/v1/messaging/conversations', {
    type: 'group',
    title: 'Quay',
    participants,
  });
  return String(body.id);
}

function socketHeaders(node: TestNode, token: string): Record<string, string> {
  const { 'Content-Type': _, ...headers } = node.headers(token);
  return headers;
}

function subscription(conversationId: string): string {
  return JSON.stringify({
    type: 'subscribe',
    id: 's',
    conversation_id: conversationId,
    after_sequence: 0,
  });
}

/** Opens sockets that request a replay in the given rhythm and read nothing. */
async function openSockets(
  node: TestNode,
  port: number,
  tokens: readonly string[],
  conversationId: string,
  { sockets, spacingMs }: Shape,
): Promise<RawSocket[]> {
  const opened: RawSocket[] = [];
  for (let n = 0; n < sockets; n++) {
    opened.push(await RawSocket.open(port, socketHeaders(node, tokens[n % tokens.length]!)));
  }
  for (const socket of opened) {
    socket.socket.pause();
    socket.frame(TEXT, subscription(conversationId));
    if (spacingMs > 0) await pause(spacingMs);
  }
  return opened;
}

/** Returns how the node has ended sockets. */
async function socketEnds(node: TestNode): Promise<{ total: number; byReason: Record<string, number> }> {
  const text = await (await fetch(`${node.adminUrl}/metrics`)).text();
  const byReason: Record<string, number> = {};
  for (const [, reason, count] of text.matchAll(/^parley_sockets_closed_total\{reason="(\w+)"\} (\d+)$/gm)) {
    byReason[reason!] = Number(count);
  }
  return { total: Object.values(byReason).reduce((sum, count) => sum + count, 0), byReason };
}

function grown(before: number | undefined, after: number | undefined): number | undefined {
  return before === undefined || after === undefined ? undefined : Math.max(0, after - before);
}

function countBy(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** An application of the account that sends and reads in its own conversation at a steady pace. */
class Others {
  count = 0;
  refused = 0;
  readonly #node: TestNode;
  readonly #conversation: string;
  #takenMs: number[] = [];
  #stopped = false;
  readonly #underWay = new Set<Promise<void>>();

  constructor(node: TestNode, conversation: string) {
    this.#node = node;
    this.#conversation = conversation;
  }

  /** Measures for this long, or until `stop`. */
  async measure(ms: number): Promise<void> {
    const endMs = performance.now() + ms;
    for (let n = 0; !this.#stopped && performance.now() < endMs; n++) {
      const one = n % 2 === 0 ? this.#send() : this.#read();
      this.#underWay.add(one);
      void one.finally(() => this.#underWay.delete(one));
      await pause(PACE_MS);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#underWay);
  }

  /** Returns the p99 in ms since the last call. */
  takeP99(): number {
    const sorted = this.#takenMs.sort((a, b) => a - b);
    this.#takenMs = [];
    return Math.round((sorted[Math.floor(sorted.length * 0.99)] ?? 0) * 10) / 10;
  }

  #send(): Promise<void> {
    return this.#take(() => this.#node.send(this.#conversation));
  }

  #read(): Promise<void> {
    const path = `/v1/messaging/conversations/${this.#conversation}/messages`;
    return this.#take(() => this.#node.call('GET', path));
  }

  async #take(work: () => Promise<{ readonly status: number }>): Promise<void> {
    const fromMs = performance.now();
    const { status } = await work();
    this.#takenMs.push(performance.now() - fromMs);
    this.count += 1;
    if (status >= 400) this.refused += 1;
  }
}
