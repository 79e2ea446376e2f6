import { Redis } from 'ioredis';
import { startRedis } from '../../test/support/redis.ts';
import type { Listening } from '../controls/delivery-loop.ts';
import type { WrittenStart } from '../controls/fastify-sends.ts';
import type { FloorStart } from '../controls/uws-sends.ts';
import { type Dialect, socketIoRoomsDialect, topicsDialect } from './dialects.ts';
import { seedHistory } from './history.ts';
import { CONVERSATIONS } from './insert-script.ts';
import { RawSubscribers } from './raw-subscribers.ts';
import { openDirect } from './send-conversations.ts';
import { SendLoad } from './send-load.ts';
import { HISTORY, type SendStand, sendPath, shares } from './send-stand.ts';
import { ServerProcess } from './server-process.ts';
import type { Session } from './work.ts';

/** A control that takes sends as P2 sends to direct conversations. */
export interface SendControl {
  readonly load: SendLoad;
  readonly process: ServerProcess;
}

type Options = Readonly<{ nodeFlags?: readonly string[] }>;

/**
 * Opens a careful implementation: Fastify, pg and Socket.IO with its Redis adapter, over a Redis of
 * its own, which is charged with the node.
 */
export async function openWritten(
  session: Session,
  stand: SendStand,
  options: Options = {},
): Promise<SendControl & { readonly redisPid: number }> {
  const { disposer } = session;
  const { demo } = stand.product;
  const redis = await startRedis({ teardown: (release) => void disposer.add('redis', undefined, release) });
  const { ids, sender, recipient } = await openConversations(stand);
  const { answer, ...sample } = await stand.sample('direct');
  const { grace } = demo.users;
  const start = {
    databaseUrl: stand.database.url,
    redisUrl: redis.url,
    accountId: demo.account_id,
    shape: JSON.parse(answer),
    sample,
    callers: {
      [demo.api_key]: { id: sender, type: 'api_key', name: 'Demo key' },
      [grace.access_token]: { id: grace.id, type: 'user', name: 'Grace' },
    },
    rosters: Object.fromEntries(ids.map((id) => [id, [sender, recipient]])),
  } satisfies WrittenStart;
  const redisPid = await pidOf(redis.url);
  const control = await open(session, stand, ids, {
    ...options,
    name: 'what one would write',
    entry: 'bench/controls/fastify-sends.ts',
    start,
    servers: [{ pid: redisPid }],
    reader: (rooms) => socketIoRoomsDialect(demo.api_key, rooms),
    recipient: socketIoRoomsDialect(grace.access_token, []),
  });
  return { ...control, redisPid };
}

/** Opens the floor: only uWebSockets.js and pg, one batched insert and one publish. */
export async function openFloor(
  session: Session,
  stand: SendStand,
  options: Options = {},
): Promise<SendControl> {
  const { ids, sender, recipient } = await openConversations(stand);
  const { answer, ...sample } = await stand.sample('direct');
  const start = {
    databaseUrl: stand.database.url,
    accountId: stand.product.demo.account_id,
    shape: JSON.parse(answer),
    sample,
    senderId: sender,
    recipientId: recipient,
    lastSequence: HISTORY,
  } satisfies FloorStart;
  return open(session, stand, ids, {
    ...options,
    name: 'the floor',
    entry: 'bench/controls/uws-sends.ts',
    start,
    reader: topicsDialect,
    recipient: topicsDialect(ids),
  });
}

/** Opens as many conversations as ours has, with as much history before the first block. */
async function openConversations({ product, database }: SendStand) {
  const opened = await openDirect(product, database);
  await seedHistory(database, HISTORY);
  return opened;
}

interface ControlOptions extends Options {
  readonly name: string;
  readonly entry: string;
  readonly start: object;
  /** Charged beside its process. */
  readonly servers?: readonly { readonly pid: number }[];
  readonly reader: (conversations: readonly string[]) => Dialect;
  readonly recipient: Dialect;
}

async function open(
  { disposer }: Session,
  { product, database }: SendStand,
  conversations: readonly string[],
  { name, entry, nodeFlags = [], start, servers = [], reader, recipient }: ControlOptions,
): Promise<SendControl> {
  const process = disposer.add(name, new ServerProcess({ entry, nodeFlags }), (it) => it.stop());
  process.tell(start);
  const { port } = await process.message<Listening>();
  const of = shares(conversations);
  const subscribers = [
    await RawSubscribers.open({ port, count: of.length, dialect: (index) => reader(of[index]!) }),
    await RawSubscribers.open({ port, count: 1, dialect: recipient }),
  ];
  for (const it of subscribers) disposer.add('sockets', it, () => it.close());
  const load = new SendLoad({
    name,
    port,
    headers: product.headers,
    subscribers,
    database,
    servers: [process, ...servers],
    path: (index) => sendPath(conversations[index % CONVERSATIONS]!),
    frames: FRAMES,
  });
  return { load, process };
}

/** One frame to a reader and one to the recipient. */
const FRAMES = 2;

async function pidOf(redisUrl: string): Promise<number> {
  const client = new Redis(redisUrl);
  try {
    return Number(/^process_id:(\d+)/m.exec(await client.info('server'))?.[1]);
  } finally {
    client.disconnect();
  }
}
