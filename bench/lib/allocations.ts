import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Allocated } from '../servers/allocated.ts';
import { parleyDialect } from './dialects.ts';
import { createReaders, pagesSide } from './feed-readers.ts';
import type { Side } from './pairs.ts';
import { type BenchDatabase, drainOutbox } from './postgres.ts';
import type { Product } from './product.ts';
import { RawSubscribers } from './raw-subscribers.ts';
import type { SendStand } from './send-stand.ts';
import { until } from './until.ts';
import type { Session } from './work.ts';

/** Bytes that one operation allocates. */
export interface Bytes {
  readonly heap: number;
  /** Contents of buffers, which lie outside the heap. */
  readonly buffers: number;
}

/** Runs `work`, which resolves with its result and its number of operations. */
export async function countAllocations<T>(
  { process }: Pick<Product, 'process'>,
  work: () => Promise<readonly [result: T, operations: number]>,
): Promise<readonly [result: T, bytes: Bytes]> {
  const read = () => {
    process.tell({ allocated: true });
    return process.message<Allocated>();
  };
  await read();
  const [result, operations] = await work();
  const { heapBytes, bufferBytes } = await read();
  if (operations === 0) throw new Error('no operation was counted');
  return [result, { heap: heapBytes / operations, buffers: bufferBytes / operations }];
}

/** A stand for `openTraffic` needs room for its sockets, and heartbeats in a short time. */
export const TRAFFIC_ENV = {
  PARLEY_SOCKET_SOCKETS_PER_ACTOR: '4000',
  PARLEY_SOCKET_HEARTBEAT_MS: '1000',
};

/** The operations of `openTraffic`. */
export const TRAFFIC = ['send', 'page', 'delivery', 'heartbeat'] as const;

/**
 * Returns a function that measures sends to direct conversations and pages of 20 notifications, by
 * 64 connections, messages to a thousand sockets, and their heartbeats.
 */
export async function openTraffic(session: Session, stand: SendStand) {
  const { blockMs } = session.timing;
  const many = SOCKETS[session.scale];
  const { product, database } = stand;
  const { process, port, headers, demo } = product;
  const sends = stand.side(CONNECTIONS, 'direct');
  const readers = await createReaders(product, database);
  const pages = pagesSide({
    name: 'parley',
    process,
    port,
    postgres: database,
    readers,
    connections: CONNECTIONS,
  });
  const dialect = parleyDialect({
    authorization: headers.Authorization!,
    version: demo.service_version,
    accountId: demo.account_id,
    conversations: () => [stand.conversation('silent', 0)],
  });
  const count = async (side: Side, operations?: () => number) => {
    const [, bytes] = await countAllocations(product, async () => {
      const block = await side.run(blockMs);
      // The work that it left counts.
      await drainOutbox(database);
      await drainSearch(database);
      return [block, operations?.() ?? block.operations ?? 0];
    });
    return bytes;
  };
  return async (): Promise<Readonly<Record<(typeof TRAFFIC)[number], Bytes>>> => {
    const send = await count(sends);
    const page = await count(pages);
    const sockets = await RawSubscribers.open({ port, count: many, dialect });
    session.disposer.add('sockets', sockets, (it) => it.close());
    const delivery = await count(stand.side(1, 'silent'), () => sockets.deliveries);
    const [, heartbeat] = await countAllocations(product, async () => {
      const before = sockets.pings;
      await delay(HEARTBEATS_MS);
      return [undefined, sockets.pings - before];
    });
    if (sockets.lost > 0) throw new Error(`the server closed ${sockets.lost} sockets`);
    sockets.close();
    return { send, page, delivery, heartbeat };
  };
}

const CONNECTIONS = 64;
const SOCKETS = { full: 1_000, short: 1_000, brief: 50 };
const HEARTBEATS_MS = 3_000;

/** Resolves when a search finds everything that was sent. */
async function drainSearch({ database }: BenchDatabase): Promise<void> {
  await until(async () => {
    const { rows } = await sql`SELECT FROM search_notes LIMIT 1`.execute(database.kysely);
    return rows.length === 0;
  }, 'the end of indexing');
}
