import { Balancer } from '../support/balancer.ts';
import { Contract } from '../support/contract.ts';
import { startNode, TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Random } from '../support/random.ts';
import { startRedis } from '../support/redis.ts';
import { SdkClients } from '../support/sdk-clients.ts';
import { SteadyLoad } from '../support/steady-load.ts';
import { storedMessages } from '../support/stored-messages.ts';
import type { Teardown } from '../support/teardown.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface GracefulRestartOptions extends Seeded {
  readonly clients: number;
  readonly conversations: number;
  readonly messagesPerSecond: number;
  /** PARLEY_DRAIN_MS of the nodes. */
  readonly drainMs: number;
  /**
   * Whether more than twice the even share is a problem. With few clients, or on a busy machine, it
   * proves nothing.
   */
  readonly evenly: boolean;
}

interface GracefulRestartFigures extends Found {
  readonly clients: number;
  /** Clients of the node when it was asked to stop. */
  readonly clientsOfNode: number;
  /** Handshakes that reached the balancer from then on. */
  readonly reconnects: number;
  /** Maximum of these handshakes within any 100 ms. */
  readonly peakPer100Ms: number;
  /** The maximum if they were spread as evenly as possible. */
  readonly evenPer100Ms: number;
  readonly ratio: number;
  readonly acknowledged: number;
  /** Sends that were refused or not answered, and tried again. */
  readonly retried: number;
  /** Messages handed over, over all clients. */
  readonly delivered: number;
  /** Messages that were acknowledged and are not in Postgres. */
  readonly lost: number;
  /** Messages in Postgres that a client reading there was not handed. */
  readonly missing: number;
  readonly doubled: number;
  /** Clients that were not live all the time. */
  readonly interrupted: number;
  /** Milliseconds from the signal to the end of the process. */
  readonly stoppedAfterMs: number;
}

/**
 * Two nodes behind a balancer, clients of the SDK on both, and messages throughout; one node is
 * asked to stop and started again. Nothing acknowledged is lost, every client ends with the
 * messages in Postgres, each once and in order, and the clients that have to move do not come all
 * at once.
 */
export const gracefulRestart = campaign({
  whole: () => ({ clients: 1_000, conversations: 50, messagesPerSecond: 50, drainMs: 10_000, evenly: true }),
  run,
});

async function run(
  t: Teardown,
  options: GracefulRestartOptions,
  random: Random,
): Promise<GracefulRestartFigures> {
  const { messagesPerSecond, drainMs } = options;
  const { url: databaseUrl } = await createTestDatabase(t);
  const { url: redisUrl } = await startRedis(t);
  const env = { PARLEY_SOCKET_SOCKETS_PER_ACTOR: '100000', PARLEY_DRAIN_MS: String(drainMs) };
  const start = () => startNode(t, { databaseUrl, redisUrl, env });
  const nodes = await Promise.all([start(), start()]);
  let first = nodes[0];
  const balancer = await Balancer.start(t, () => [first.baseUrl, nodes[1].baseUrl]);
  const front = await behind(balancer, first);

  const conversationIds = await createConversations(front, options.conversations);
  const clients = await SdkClients.open(t, {
    url: balancer.url,
    account: front.demo.account_id,
    tokens: [front.demo.users.ada.access_token, front.demo.api_key],
    conversationIds: Array.from({ length: options.clients }, () => {
      const chosen = Array.from({ length: SUBSCRIPTIONS }, () => random.pick(conversationIds));
      return [...new Set(chosen)];
    }),
  });
  await clients.watch();
  const load = new SteadyLoad(t, {
    node: () => front,
    conversationIds,
    perSecond: messagesPerSecond,
    random,
  });
  await load.sends(messagesPerSecond);

  const clientsOfNode = balancer.socketsOf(first.baseUrl);
  const before = balancer.handshakes.length;
  const stoppedAt = performance.now();
  const { code } = await stop(first);
  const stoppedAfterMs = Math.round(performance.now() - stoppedAt);
  first = await startNode(t, { databaseUrl, redisUrl, env, dataDir: first.dataDir });
  await load.sends(messagesPerSecond);
  await load.stop();

  const stored = await storedMessages(databaseUrl, conversationIds);
  const report = await clients.finish(stored);
  const ids = new Set([...stored.values()].flat().map(({ id }) => id));
  const lost = load.acknowledged.filter((id) => !ids.has(id)).length;
  const reconnects = balancer.handshakes.slice(before);
  const peakPer100Ms = peakWithin(reconnects, WINDOW_MS);
  const evenPer100Ms = rounded((clientsOfNode * WINDOW_MS) / Math.min(SPREAD_MS, drainMs / 2));
  const problems = [...report.problems];
  if (code !== 0) problems.push(`the node ended with ${code}`);
  if (lost > 0) problems.push(`acknowledged and lost: ${lost}`);
  if (ids.size !== load.acknowledged.length) {
    problems.push(`${load.acknowledged.length} acknowledged, ${ids.size} in Postgres`);
  }
  if (options.evenly && peakPer100Ms > 2 * evenPer100Ms) {
    problems.push(`${peakPer100Ms} came within 100 ms, ${evenPer100Ms} were even`);
  }
  return {
    clients: options.clients,
    clientsOfNode,
    reconnects: reconnects.length,
    peakPer100Ms,
    evenPer100Ms,
    ratio: rounded(peakPer100Ms / evenPer100Ms),
    acknowledged: load.acknowledged.length,
    retried: load.retried,
    delivered: report.delivered,
    lost,
    missing: report.missing,
    doubled: report.doubled,
    interrupted: report.interrupted,
    stoppedAfterMs,
    problems,
  };
}

/** Maximum number for each client. */
const SUBSCRIPTIONS = 2;
const WINDOW_MS = 100;
/** The spread of `goaway` (docs/realtime.md#guarantees, 5). */
const SPREAD_MS = 5_000;

/** Returns both nodes as their callers see them. */
async function behind(balancer: Balancer, { running, dataDir, demo }: TestNode): Promise<TestNode> {
  const contract = await Contract.of(balancer.url);
  return new TestNode(running, dataDir, { ...demo, base_url: balancer.url }, contract);
}

async function stop({ running }: TestNode): Promise<{ code: number | null }> {
  running.child.kill('SIGTERM');
  return running.ended;
}

/**
 * Creates conversations as another user than the readers: otherwise the catch-up would have the
 * recent changes of their feeds.
 */
async function createConversations(node: TestNode, count: number): Promise<string[]> {
  const participants = [{ type: 'user', actor_id: node.demo.users.grace.id }];
  const created = await Promise.all(
    Array.from({ length: count }, (_, n) =>
      node.call('POST', '/v1/messaging/conversations', { type: 'group', title: `Pier ${n}`, participants }),
    ),
  );
  return created.map(({ body }) => String(body.id));
}

/** Returns the most times within a window. `times` are in order. */
function peakWithin(times: readonly number[], windowMs: number): number {
  let peak = 0;
  let from = 0;
  for (const [index, time] of times.entries()) {
    while (time - times[from]! >= windowMs) from += 1;
    peak = Math.max(peak, index - from + 1);
  }
  return peak;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
