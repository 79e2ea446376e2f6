import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { build, type Histogram } from 'hdr-histogram-js';
import { createConversation } from '../src/core/conversations/rows/conversation-store.ts';
import { compareWith } from './lib/compare.ts';
import { type Dialect, parleyDialect } from './lib/dialects.ts';
import { HttpConnections, postRequest } from './lib/http-connections.ts';
import { type OpenLoopReport, openLoop } from './lib/open-loop.ts';
import type { Block, Side } from './lib/pairs.ts';
import { type BenchDatabase, startPostgres } from './lib/postgres.ts';
import { type Charged, startMeter } from './lib/processor-time.ts';
import { type Product, startProduct } from './lib/product.ts';
import { RawSubscribers } from './lib/raw-subscribers.ts';
import type { Session, Work } from './lib/work.ts';

/**
 * The waiting time of a conversation's readers while fifty others do not read at all, and while
 * those read. The load is the same in both cases: those fifty are also on a second conversation of
 * large messages. Before a block it fills the kernel's buffers for sockets that do not read; within
 * the block, slowly, our queue, until the socket is closed.
 */
export const SLOW_READERS: Work = {
  name: 'slow-readers',
  title: 'readers beside stalled ones',
  fullOnly: true,
  run,
};

async function run(session: Session): Promise<void> {
  const { disposer, say } = session;
  const { all, slow } = READERS[session.scale];
  const { parley } = await startPostgres(disposer, ['parley']);
  const product = await startProduct(disposer, {
    databaseUrl: parley.url,
    env: {
      PARLEY_SOCKET_SOCKETS_PER_ACTOR: String(4 * all),
      // Cut soon after its 4001, because a socket counts as closed once it is gone.
      PARLEY_SOCKET_CUT_MS: String(CUT_MS),
      // A socket that does not read answers no heartbeat, which must not close it here.
      PARLEY_SOCKET_PONG_MS: '120000',
    },
  });
  const ground: Ground = {
    product,
    slow,
    conversation: await seedConversation(product, parley),
    flooded: await seedConversation(product, parley),
    timings: new Timings(),
    charged: { servers: [product.process], postgres: parley },
  };
  const prefill = (await messagesToClosing(ground)) - QUEUE_MESSAGES;
  say(`  ${prefill} messages of the flood before each block`);
  const readers = await RawSubscribers.open({
    port: product.port,
    count: all - slow,
    dialect: dialectOf(product, [ground.conversation]),
    onDelivery: (ordinal) => ground.timings.arrived(ordinal),
  });
  disposer.add('readers', readers, (it) => it.close());
  const work = `p99 of ${all - slow} readers, ${slow} others stalled`;
  await session.part(work, () =>
    compareWith(session, {
      unit: 'ms',
      ours: sideOf('stalled', ground, readers, prefill),
      against: [{ work, control: sideOf('reading', ground, readers, prefill), atMost: MAX_RATIO }],
      facts: {
        readers: all,
        'of these on the flooded conversation': slow,
        'messages a second': RATE,
        'flood, messages a second': FLOOD_RATE,
        'flood, bytes of a body': FLOOD_BODY.length,
        'flood, messages before a block': prefill,
      },
    }),
  );
}

const READERS = {
  full: { all: 1_000, slow: 50 },
  short: { all: 1_000, slow: 50 },
  brief: { all: 100, slow: 5 },
} as const;
const MAX_RATIO = 1.2;
const RATE = 25;
/** Half a megabyte a second to each: the bytes missing to its end come early in a block. */
const FLOOD_RATE = 12;
/** The most that a message may hold. */
const FLOOD_BODY = 'x'.repeat(40_000);
/** A few more messages than our queue takes. */
const QUEUE_MESSAGES = 32;
const BODY = 'The build is green again.';
/** The shortest block in which stalled sockets are sure to be closed. */
const BLOCK_MS = 6_000;
const PATIENCE_MS = 10_000;
const CUT_MS = 80;

interface Ground {
  readonly product: Product;
  /** The number of readers on the flooded conversation. */
  readonly slow: number;
  readonly conversation: string;
  readonly flooded: string;
  readonly timings: Timings;
  readonly charged: Charged;
}

/** The time of each send in the conversation, and of its way to each reader. Microseconds. */
class Timings {
  readonly #sentAt: number[] = [];
  #histogram = newHistogram();

  get sent(): number {
    return this.#sentAt.length;
  }

  /** Notes a send. A reader's deliveries are in the order of the sends, none left out. */
  send(): void {
    this.#sentAt.push(performance.now());
  }

  arrived(ordinal: number): void {
    const sentAt = this.#sentAt[ordinal];
    if (sentAt === undefined) throw new Error('a message arrived that was never sent');
    this.#histogram.recordValue(Math.round((performance.now() - sentAt) * 1_000));
  }

  /** Returns the values recorded since the last call. */
  take(): Histogram {
    const histogram = this.#histogram;
    this.#histogram = newHistogram();
    return histogram;
  }
}

function newHistogram(): Histogram {
  return build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: 120_000_000,
    numberOfSignificantValueDigits: 3,
  });
}

/** Returns a side. Its figure is the p99 from send to arrival, in milliseconds: less is better. */
function sideOf(name: 'stalled' | 'reading', ground: Ground, readers: RawSubscribers, prefill: number): Side {
  const { product, timings } = ground;
  const run = async (blockMs: number): Promise<Block> => {
    const closedBefore = await slowConsumers(product);
    const slow = await openSlow(ground);
    const { port } = product;
    const connections = await HttpConnections.open({ host: '127.0.0.1', port, size: CONNECTIONS });
    try {
      if (name === 'stalled') slow.stall();
      for (let n = 0; n < prefill; n++) await post(connections, product, ground.flooded, FLOOD_BODY);
      if (name === 'reading') await slow.delivered(prefill * ground.slow, PATIENCE_MS);
      timings.take();
      const used = startMeter(ground.charged);
      const sentBefore = timings.sent;
      const report = await send(ground, connections, Math.max(blockMs, BLOCK_MS));
      await readers.delivered(timings.sent * readers.count, PATIENCE_MS);
      await requireClosed(product, closedBefore + (name === 'stalled' ? ground.slow : 0));
      if (readers.lost > 0) throw new Error(`the server closed ${readers.lost} readers`);
      const processor = used((timings.sent - sentBefore) * readers.count);
      return { ...blockOf(timings.take(), report), processor };
    } finally {
      slow.close();
      connections.close();
    }
  };
  return { name, run };
}

const CONNECTIONS = 16;

function openSlow({ product, slow, conversation, flooded }: Ground): Promise<RawSubscribers> {
  const dialect = dialectOf(product, [conversation, flooded]);
  return RawSubscribers.open({ port: product.port, count: slow, dialect });
}

/**
 * Returns how many of the flood's messages are sent until the first stalled socket is closed, which
 * depends on the machine.
 */
async function messagesToClosing(ground: Ground): Promise<number> {
  const { product, flooded } = ground;
  const slow = await openSlow(ground);
  const connections = await HttpConnections.open({ host: '127.0.0.1', port: product.port, size: 1 });
  try {
    slow.stall();
    for (let sent = 1; sent <= MAX_TO_CLOSING; sent++) {
      await post(connections, product, flooded, FLOOD_BODY);
      if (sent % STEP > 0) continue;
      await delay(2 * CUT_MS);
      if ((await slowConsumers(product)) > 0) return sent;
    }
    throw new Error(`no socket was closed after ${MAX_TO_CLOSING} messages of the flood`);
  } finally {
    slow.close();
    connections.close();
  }
}

const MAX_TO_CLOSING = 1_000;
const STEP = 4;

/** Sends the measured messages at their times, and the flood between. Rejects at a refusal. */
async function send(
  { product, conversation, flooded, timings }: Ground,
  connections: HttpConnections,
  durationMs: number,
): Promise<OpenLoopReport> {
  const floods: Promise<void>[] = [];
  const report = await openLoop({
    ratePerSecond: RATE,
    durationMs,
    send: (index, done) => {
      timings.send();
      post(connections, product, conversation, BODY).then(
        () => done(true),
        () => done(false),
      );
      while (floods.length < ((index + 1) * FLOOD_RATE) / RATE) {
        floods.push(post(connections, product, flooded, FLOOD_BODY));
      }
    },
  });
  await Promise.all(floods);
  if (report.failed > 0) throw new Error(`${report.failed} sends were refused`);
  return report;
}

/** Sends a message. Rejects when it is refused. */
function post(connections: HttpConnections, product: Product, to: string, body: string): Promise<void> {
  const request = JSON.stringify({ body, client_message_id: randomUUID() });
  const path = `/v1/messaging/conversations/${to}/messages`;
  return new Promise((resolve, reject) => {
    connections.send(postRequest(path, product.headers, request), (status, answer) => {
      if (status === 201) resolve();
      else reject(new Error(`a send was refused: ${status} ${answer}`));
    });
  });
}

function blockOf(histogram: Histogram, { latenessUs }: OpenLoopReport): Block {
  const ms = (percentile: number) => histogram.getValueAtPercentile(percentile) / 1_000;
  return {
    figure: ms(99),
    notes: {
      p50_ms: ms(50),
      p999_ms: ms(99.9),
      max_ms: histogram.maxValue / 1_000,
      deliveries: histogram.totalCount,
      generator_late_p99_ms: latenessUs.p99 / 1_000,
    },
  };
}

/** Requires that exactly so many sockets were closed for slowness since the server started. */
async function requireClosed(product: Product, expected: number): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  let closed = await slowConsumers(product);
  while (closed < expected && performance.now() < deadlineMs) {
    await delay(50);
    closed = await slowConsumers(product);
  }
  if (closed !== expected) throw new Error(`${closed} sockets were closed for slowness, not ${expected}`);
}

async function slowConsumers({ demo }: Product): Promise<number> {
  const text = await (await fetch(`${demo.admin_url}/metrics`)).text();
  return Number(/^parley_sockets_closed_total\{reason="slow_consumer"\} (\d+)$/m.exec(text)?.[1] ?? 0);
}

function dialectOf({ headers, demo }: Product, conversations: readonly string[]): Dialect {
  return parleyDialect({
    authorization: headers.Authorization!,
    version: demo.service_version,
    accountId: demo.account_id,
    conversations: () => conversations,
  });
}

/** Seeds a conversation without participants, so that no notifications are made. */
async function seedConversation({ demo }: Product, { database }: BenchDatabase): Promise<string> {
  const { conversation } = await database.transaction((tx) =>
    createConversation(tx, { accountId: demo.account_id, type: 'group', participants: [] }),
  );
  return conversation.id;
}
