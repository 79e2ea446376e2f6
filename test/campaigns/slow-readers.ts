import { readFileSync } from 'node:fs';
import { startNode, type TestNode } from '../support/node.ts';
import { PeakMemory } from '../support/peak-memory.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { SdkClients } from '../support/sdk-clients.ts';
import { SteadyLoad } from '../support/steady-load.ts';
import { storedMessages } from '../support/stored-messages.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface SlowReadersOptions extends Seeded {
  readonly readers: number;
  /** Number of readers that stop reading. */
  readonly stalled: number;
  /** Messages of 41 KB to each reader that stops; more if kernels buffer that many. */
  readonly floodMessages: number;
}

interface SlowReadersFigures extends Found {
  readonly readers: number;
  readonly stalled: number;
  /** Megabytes sent to each reader that stopped. */
  readonly floodMb: number;
  /** Messages handed over, over all clients. */
  readonly delivered: number;
  readonly missing: number;
  readonly doubled: number;
  /** The ends of connections, as their clients saw them. */
  readonly closed: Readonly<Record<string, number>>;
  /**
   * The server's maximum memory while all clients read, and its growth while some did not; null if
   * /proc is not available.
   */
  readonly readingMb: number | null;
  readonly grownMb: number | null;
  readonly allowedMb: number;
}

/**
 * One node, clients of the SDK on one conversation, messages throughout. Some clients are also on a
 * second conversation, which is flooded: once while they read, once while they do not. They are
 * closed with 4001, the server holds 1 MiB for each at most, and when they read again they end with
 * everything. Other clients are not touched; bench/slow-readers.ts measures what they lose in time.
 */
export const slowReaders = campaign({
  whole: () => ({ readers: 1_000, stalled: 50, floodMessages: 400 }),
  run,
});

async function run(t: Teardown, options: SlowReadersOptions): Promise<SlowReadersFigures> {
  const { seed, readers, stalled, floodMessages } = options;
  const { url: databaseUrl } = await createTestDatabase(t);
  const node = await startNode(t, { databaseUrl, env: ENVIRONMENT });
  const conversation = await createConversation(node);
  const flooded = await createConversation(node);
  const clients = await SdkClients.open(t, {
    url: node.baseUrl,
    account: node.demo.account_id,
    tokens: [node.demo.users.ada.access_token, node.demo.api_key],
    conversationIds: Array.from({ length: readers }, (_, index) =>
      index < stalled ? [conversation, flooded] : [conversation],
    ),
  });
  const load = new SteadyLoad(t, {
    node: () => node,
    conversationIds: [conversation],
    perSecond: MESSAGES_PER_SECOND,
    random: new Random(seed),
  });
  const memory = new PeakMemory(t, node);

  await clients.stall(0);
  for (let n = 0; n < floodMessages; n++) {
    const sequence = await flood(node, flooded);
    await until(() => (clients.receivedByAll.get(flooded) ?? 0) >= sequence - UNDER_WAY, {
      what: `message ${sequence} to be read`,
    });
  }
  await until(() => (clients.receivedByAll.get(flooded) ?? 0) >= floodMessages, {
    what: 'the whole flood to be read',
  });
  const readingMb = memory.take();

  await clients.watch();
  await clients.stall(stalled);
  const overflow = Math.max(floodMessages, Math.ceil((kernelBytes() + 2 * 1_048_576) / BODY.length));
  for (let n = 0; n < overflow; n++) await flood(node, flooded);
  const withStalledMb = memory.take();
  // The other clients go on meanwhile, and afterwards.
  await load.sends(MESSAGES_PER_SECOND);
  await clients.unstall();
  await load.stop();

  const stored = await storedMessages(databaseUrl, [conversation, flooded]);
  const report = await clients.finish(stored);
  const problems = [...report.problems];
  const { missing, doubled, delivered, closed } = report;
  if (closed[SLOW_CONSUMER] !== stalled || Object.keys(closed).length !== 1) {
    problems.push(`${stalled} did not read, connections ended with ${JSON.stringify(closed)}`);
  }
  const acknowledged = load.acknowledged.length;
  if (stored.get(conversation)?.length !== acknowledged) {
    problems.push(`${acknowledged} acknowledged, ${stored.get(conversation)?.length} in Postgres`);
  }
  const grownMb =
    readingMb === undefined || withStalledMb === undefined ? null : Math.max(0, withStalledMb - readingMb);
  const allowedMb = Math.ceil(stalled * SOCKET_MB) + NOISE_MB;
  if (grownMb !== null && grownMb > allowedMb) {
    problems.push(`${grownMb} MB more while some did not read, ${allowedMb} MB are allowed`);
  }
  return {
    readers,
    stalled,
    floodMb: Math.round((overflow * BODY.length) / 1e6),
    delivered,
    missing,
    doubled,
    closed,
    readingMb: readingMb ?? null,
    grownMb,
    allowedMb,
    problems,
  };
}

const ENVIRONMENT = {
  PARLEY_SOCKET_SOCKETS_PER_ACTOR: '100000',
  // A reader that stops answers no heartbeat either, which must not close its socket here, nor must
  // the cut after 4001.
  PARLEY_SOCKET_HEARTBEAT_MS: '600000',
  PARLEY_SOCKET_CUT_MS: '300000',
};
const SLOW_CONSUMER = 4001;
/** Few: the clients count, and must not become slow readers by it. */
const MESSAGES_PER_SECOND = 5;
const BODY = 'x'.repeat(40_000);
/** Messages of the flood in flight while it is read: well below the limit of a socket's queue. */
const UNDER_WAY = 8;
/** The limit, and the frame that exceeds it. */
const SOCKET_MB = (1_048_576 + 65_536) / 1e6;
/** Normal variation of a process of this size. */
const NOISE_MB = 80;

/** Creates a conversation with its reader alone, so that there are no notifications. */
async function createConversation(node: TestNode): Promise<string> {
  const { body } = await node.call('POST', '/v1/messaging/conversations', {
    type: 'group',
    title: 'Quay',
    participants: [{ type: 'user', actor_id: node.demo.users.ada.id }],
  });
  return String(body.id);
}

/**
 * Returns the bytes that both kernels may buffer between the server and a reader that has stopped.
 */
function kernelBytes(): number {
  try {
    const most = (name: string) => Number(readFileSync(`/proc/sys/net/ipv4/${name}`, 'utf8').split(/\s+/)[2]);
    return most('tcp_rmem') + most('tcp_wmem');
  } catch {
    return 12_000_000;
  }
}

/** Resolves with the number of the message. */
async function flood(node: TestNode, conversationId: string): Promise<number> {
  const { status, body } = await node.send(conversationId, { body: BODY }, node.demo.users.ada.access_token);
  if (status !== 201) throw new Error(`a send was answered with ${status} ${JSON.stringify(body)}`);
  return Number(body.sequence);
}
