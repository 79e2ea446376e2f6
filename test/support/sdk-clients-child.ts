/**
 * The process behind SdkClients (sdk-clients.ts): takes orders from its parent, and ends with it.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { type Client, connect } from '@parley/client';
import { WebSocket } from 'ws';
import { historyProblems, type Received } from './check-delivery.ts';
import type { Order, SdkClientsOptions, SdkReport, Word } from './sdk-clients.ts';
import { until } from './until.ts';

/** Milliseconds between two connects, so that they do not all enter one backlog. */
const APART_MS = 2;
const MAX_PROBLEMS = 20;

let isWatched = false;
const closed: Record<string, number> = {};

class Reader {
  readonly client: Client;
  readonly history: ReadonlyMap<string, Received[]>;
  readonly problems: string[] = [];
  isStalled = false;
  isInterrupted = false;
  #socket: WebSocket | undefined;

  constructor(options: Omit<SdkClientsOptions, 'conversationIds'>, index: number, ids: readonly string[]) {
    const { url, account, tokens } = options;
    const opened = (socket: WebSocket) => {
      this.#socket = socket;
    };
    this.client = connect({
      url,
      account,
      // Two consecutive clients share a token, because the balancer alternates as well.
      token: tokens[(index >> 1) % tokens.length]!,
      // The WebSocket of `ws` can stop reading.
      WebSocket: class extends WebSocket {
        constructor(address: string) {
          super(address, { perMessageDeflate: false });
          opened(this);
          this.on('close', (code) => {
            if (isWatched) closed[code] = (closed[code] ?? 0) + 1;
          });
        }
      },
    });
    this.client.on('state', (state) => {
      if (state !== 'live') this.isInterrupted = true;
    });
    this.client.on('end', (end) => this.problems.push(`ended: ${JSON.stringify(end)}`));
    this.history = new Map(ids.map((id) => [id, []]));
    for (const [id, history] of this.history) {
      this.client.subscribe(id, {
        afterSequence: 0,
        onMessage: (message) => {
          history.push({ sequence: message.sequence ?? 0, id: message.id });
          if (!this.isStalled) taken(id, message.sequence ?? 0);
        },
        onStale: () => this.problems.push(`${id} is stale`),
        onEnd: (why) => this.problems.push(`${id} has ended: ${JSON.stringify(why)}`),
      });
    }
  }

  stall(): void {
    this.isStalled = true;
    this.#socket?.pause();
  }

  unstall(): void {
    this.#socket?.resume();
  }

  isComplete(stored: Stored): boolean {
    return [...this.history].every(([id, history]) => {
      return (history.at(-1)?.sequence ?? 0) >= (stored[id]?.at(-1)?.sequence ?? 0);
    });
  }
}

type Stored = Readonly<Record<string, readonly Received[]>>;

const readers: Reader[] = [];
/** Number of readers by conversation; undefined until it is requested. */
let audience: Map<string, number> | undefined;
const takers = new Map<string, number>();

function taken(conversationId: string, sequence: number): void {
  if (audience === undefined) return;
  const key = `${conversationId} ${sequence}`;
  const count = (takers.get(key) ?? 0) + 1;
  if (count < (audience.get(conversationId) ?? 0)) {
    takers.set(key, count);
    return;
  }
  takers.delete(key);
  sendWord({ receivedByAll: { conversationId, sequence } });
}

async function open({ conversationIds, ...options }: SdkClientsOptions): Promise<void> {
  for (const [index, ids] of conversationIds.entries()) {
    readers.push(new Reader(options, index, ids));
    await pause(APART_MS);
  }
  await until(() => readers.every(({ client }) => client.state === 'live'), {
    what: 'every client to be live',
  });
}

function watch(): void {
  isWatched = true;
  for (const reader of readers) reader.isInterrupted = false;
}

function stall(count: number): void {
  for (const reader of readers.slice(0, count)) reader.stall();
  audience = new Map();
  takers.clear();
  for (const reader of readers.slice(count)) {
    for (const id of reader.history.keys()) audience.set(id, (audience.get(id) ?? 0) + 1);
  }
}

async function finish(stored: Stored): Promise<SdkReport> {
  const problems: string[] = [];
  await until(() => readers.every((reader) => reader.isComplete(stored)), {
    what: 'every client to have everything',
  }).catch((error: Error) => problems.push(error.message));
  const counts = { delivered: 0, doubled: 0, missing: 0 };
  for (const [index, reader] of readers.entries()) {
    problems.push(...reader.problems.map((problem) => `client ${index}: ${problem}`));
    for (const [id, history] of reader.history) {
      const own = stored[id] ?? [];
      const got = new Set(history.map((message) => message.id));
      counts.delivered += history.length;
      counts.doubled += history.length - got.size;
      counts.missing += own.filter((message) => !got.has(message.id)).length;
      problems.push(...historyProblems(history, own).map((problem) => `client ${index}, ${id}: ${problem}`));
    }
  }
  const interrupted = readers.filter((reader) => reader.isInterrupted).length;
  for (const { client } of readers) client.close();
  return { ...counts, interrupted, closed: { ...closed }, problems: problems.slice(0, MAX_PROBLEMS) };
}

async function obey(order: Order): Promise<SdkReport | null> {
  switch (order.op) {
    case 'open':
      await open(order.options);
      break;
    case 'watch':
      watch();
      break;
    case 'stall':
      stall(order.count);
      break;
    case 'unstall':
      for (const reader of readers) reader.unstall();
      break;
    case 'finish':
      return finish(order.stored);
  }
  return null;
}

function sendWord(word: Word): void {
  process.send?.(word);
}

process.on('message', (order: Order) => {
  obey(order).then(
    (answer) => sendWord({ answer }),
    (error: unknown) => sendWord({ failed: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
