import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { runParley } from '../start/parley.ts';
import {
  type Cluster,
  checkCluster,
  type Sent,
  startClusterBehindLinks,
  startClusterOver,
} from '../support/cluster.ts';
import type { TestNode } from '../support/node.ts';
import type { Random } from '../support/random.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type ClusterFailover, startRedisCluster, type TestCluster } from '../support/redis-cluster.ts';
import { type FailoverCause, failOver, type SentinelGroup, startSentinelGroup } from '../support/sentinel.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface RedisAwayOptions extends Seeded {
  /** Faults, one after the other. */
  readonly faults: readonly FaultName[];
  /** Milliseconds for which Redis is away each time. */
  readonly awayMs: number;
  /** Messages a second, from both nodes, into one conversation. */
  readonly perSecond: number;
  /**
   * Whether it fails if other shards, or a new master, are slow, for a quiet machine. Otherwise
   * only some sends pass between two faults.
   */
  readonly judgesSpeed?: boolean;
  /** Default: a ground of its own, as the faults need it. */
  readonly ground?: Partial<Pick<Ground, 'group' | 'several' | 'redisCluster'>> & {
    readonly cluster: Cluster;
  };
}

interface RedisAwayFigures extends Found {
  readonly faults: Readonly<Record<string, number>>;
  readonly acknowledged: number;
  /** Sends not answered 201, and those begun in the first second of a fault. */
  readonly refused: number;
  readonly refusedAtOnce: number;
  /** Milliseconds until the answer. */
  readonly p99Ms: { readonly before: number; readonly away: number; readonly firstSecond: number };
  readonly voids: number;
  /**
   * Numbers that another node had taken, on both nodes, by fault; and the seconds of that fault.
   */
  readonly collisions: Readonly<Record<string, { readonly count: number; readonly seconds: number }>>;
  readonly withoutCounters: number;
  /** Longest time for which a node accepted a key that the other had deleted. */
  readonly staleKeyMs: number;
  readonly keysDeleted: number;
  /** Longest time for an answer to a send that began during a fault. */
  readonly slowestMs: number;
  /**
   * Longest time from the promotion of a replica, or the move of a slot, until both nodes used it.
   */
  readonly usedMs: number;
  /**
   * p99 while a shard without the conversation is stopped, and for as long before each stop; 0 if
   * none was stopped.
   */
  readonly othersP99Ms: { readonly before: number; readonly stopped: number };
}

/**
 * Two nodes write into one conversation while Redis is killed, hung, wiped, cut off from one of
 * them, failed over by Sentinel, exchanged, or a cluster whose slots and masters change. Sends go
 * on: everything acknowledged is there, every reader gets it once and in order on the socket that
 * it opened, and a right that ends on one node ends on the other.
 */
export const redisAway = campaign({
  words: ['', 'cut-off', 'sentinel', 'several', 'cluster'],
  whole: (_seed, word) => ({ ...WHOLE[word as keyof typeof WHOLE], judgesSpeed: true }),
  run,
});

async function run(t: Teardown, options: RedisAwayOptions, random: Random): Promise<RedisAwayFigures> {
  const { faults, awayMs, perSecond } = options;
  const { cluster, group, several = [], redisCluster } = options.ground ?? (await startGround(t, options));
  const { nodes, conversationId } = cluster;
  const listeners = await Promise.all(nodes.map((node) => node.listen(conversationId)));
  const loads = nodes.map(
    (node, index) => new PacedSends(t, node, conversationId, `away${index}`, perSecond / 2),
  );
  const keys = new EndingKeys(t, nodes);
  await until(() => loads.every((load) => load.sent.length > SENDS_BETWEEN), { what: 'some sends' });

  // The time compared with a time of faults must be as long.
  if (options.judgesSpeed) await pause(awayMs);
  const counted = { voids: -(await sum(nodes, VOIDS)), withoutCounters: -(await sum(nodes, WITHOUT)) };
  const periods: Period[] = [];
  const calm: Period[] = [];
  const counts: Record<string, number> = {};
  const collisions: Record<string, { count: number; seconds: number }> = {};
  let usedMs = 0;
  for (const name of faults) {
    if (options.judgesSpeed && name === 'another shard stopped') {
      const fromMs = performance.now();
      await pause(awayMs);
      calm.push({ name, fromMs, toMs: performance.now() });
    }
    const before = await sum(nodes, 'parley_number_collisions_total');
    const fromMs = performance.now();
    const fault: Fault = { ...FAULTS, ...FAILOVERS, ...CHANGES, ...OF_CLUSTER }[name];
    const tookMs = await fault({ ...cluster, group, several, redisCluster }, awayMs, random);
    if (typeof tookMs === 'number') usedMs = Math.max(usedMs, tookMs);
    const toMs = performance.now();
    periods.push({ name, fromMs, toMs });
    await until(async () => (await sum(nodes, 'parley_engine_healthy')) === 2, { what: 'both links' });
    const answered = loads.map((load) => load.sent.length);
    await until(() => loads.every((load, index) => load.sent.length > answered[index]! + SENDS_BETWEEN), {
      what: 'sends behind the fault',
    });
    // For this long the other node is in doubt, and a conversation contended.
    if (options.judgesSpeed) await pause(Math.min(awayMs, 2_000));
    collisions[name] ??= { count: 0, seconds: 0 };
    const of = collisions[name];
    of.count += (await sum(nodes, 'parley_number_collisions_total')) - before;
    of.seconds += Math.round((performance.now() - fromMs) / 1_000);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  await Promise.all([...loads.map((load) => load.stop()), keys.stop()]);

  const sent = loads.flatMap((load) => load.sent);
  const acknowledged = sent.filter(({ sequence }) => sequence !== undefined);
  const inFirstSecond = ({ beganMs }: PacedSend) =>
    periods.some(({ fromMs }) => beganMs >= fromMs - 100 && beganMs < fromMs + 1_000);
  const isAway = ({ beganMs }: PacedSend) =>
    periods.some(({ fromMs, toMs }) => beganMs >= fromMs + 1_000 && beganMs < toMs);
  const refused = sent.filter(({ sequence }) => sequence === undefined);
  const late = refused.filter((one) => !inFirstSecond(one));
  const problems = await checkCluster(cluster, listeners, acknowledged);
  if (late.length > sent.length / 1_000) {
    problems.push(`${late.length} sends were refused, such as ${JSON.stringify(late[0])}`);
  }
  for (const [index, { closeCode }] of listeners.entries()) {
    if (closeCode !== undefined) problems.push(`listener ${index} was closed: ${closeCode}`);
  }
  const slowestMs = Math.max(
    ...sent.filter((one) => isAway(one) || inFirstSecond(one)).map(({ tookMs }) => tookMs),
  );
  const p99BeforeMs = p99(sent.filter(({ beganMs }) => beganMs < periods[0]!.fromMs));
  const within = (some: readonly Period[]) =>
    p99(sent.filter(({ beganMs }) => some.some(({ fromMs, toMs }) => beganMs >= fromMs && beganMs < toMs)));
  // Leaves out the time in which it comes back.
  const stopped = periods
    .filter(({ name }) => name === 'another shard stopped')
    .map((period) => ({ ...period, toMs: period.fromMs + awayMs }));
  const othersP99Ms = { before: within(calm), stopped: within(stopped) };
  if (
    options.judgesSpeed &&
    othersP99Ms.stopped > Math.max(1.2 * othersP99Ms.before, othersP99Ms.before + 10)
  ) {
    problems.push(`p99 ${othersP99Ms.stopped} ms beside a stopped shard, ${othersP99Ms.before} ms before`);
  }
  if (options.judgesSpeed && usedMs > (redisCluster === undefined ? IN_TIME_MS : IN_TIME_OF_CLUSTER_MS))
    problems.push(`a new master was used ${Math.round(usedMs)} ms after its promotion`);
  counted.voids += await sum(nodes, VOIDS);
  counted.withoutCounters += await sum(nodes, WITHOUT);
  const { voids } = counted;
  if (voids > acknowledged.length / 100) problems.push(`${voids} voids for ${acknowledged.length} messages`);
  return {
    faults: counts,
    acknowledged: acknowledged.length,
    refused: refused.length,
    refusedAtOnce: refused.length - late.length,
    p99Ms: {
      before: p99BeforeMs,
      away: p99(sent.filter(isAway)),
      firstSecond: p99(sent.filter(inFirstSecond)),
    },
    ...counted,
    collisions,
    staleKeyMs: Math.round(keys.staleMs),
    keysDeleted: keys.deleted,
    slowestMs: Math.round(slowestMs),
    usedMs: Math.round(usedMs),
    othersP99Ms,
    problems,
  };
}

/** Starts the nodes and the Redis that these faults need. */
async function startGround(t: Teardown, { seed, faults }: RedisAwayOptions) {
  if (faults.some((name) => name in FAILOVERS)) {
    const group = await startSentinelGroup(t);
    return { group, cluster: await startClusterOver(t, { ...group.servers[0], url: group.url }) };
  }
  if (faults.some((name) => name in OF_CLUSTER)) {
    const redisCluster = await startRedisCluster(t);
    const redis = { ...redisCluster.servers[0]!, url: redisCluster.url };
    return { redisCluster, cluster: await startClusterOver(t, redis) };
  }
  if (faults.some((name) => name in CHANGES)) {
    const several = await Promise.all([startRedis(t), startRedis(t)]);
    const redis = { ...several[0], url: urlOf(several, ['a', 'b']) };
    return { several, cluster: await startClusterOver(t, redis) };
  }
  return { cluster: await startClusterBehindLinks(t, seed) };
}

interface Period {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Milliseconds from a promotion within which a node uses the new master. */
const IN_TIME_MS = 3_000;
const IN_TIME_OF_CLUSTER_MS = 2_000;

const VOIDS = 'parley_voids_total';
const WITHOUT = 'parley_numbers_without_counters_total';

/** Sends of each node between two faults. */
const SENDS_BETWEEN = 10;

interface Ground extends Cluster {
  readonly group?: SentinelGroup | undefined;
  readonly several: readonly TestRedis[];
  readonly redisCluster?: TestCluster | undefined;
}

/** Resolves when it is over; for a failover with the time until both nodes used the new master. */
type Fault = (ground: Ground, awayMs: number, random: Random) => Promise<unknown>;

const FAULTS = {
  async killed({ redis }, awayMs) {
    await redis.kill();
    await pause(awayMs);
    await redis.start();
  },
  async hung({ redis }, awayMs) {
    redis.hang();
    await pause(awayMs);
    redis.resume();
  },
  async wiped({ redis }, awayMs) {
    await redis.flushall();
    await pause(awayMs);
  },
  async 'cut off'({ links }, awayMs, random) {
    const link = random.pick(links);
    const isSilent = random.below(2) === 0;
    if (isSilent) link.pause();
    else link.refuse();
    await pause(awayMs);
    if (isSilent) link.resume();
    else link.accept();
  },
} satisfies Readonly<Record<string, Fault>>;

const FAILOVERS = {
  'master killed': ({ group, nodes }) => failOver(group!, 'master killed', nodes.length),
  'master hung': ({ group, nodes }) => failOver(group!, 'master hung', nodes.length),
  'switched over': ({ group, nodes }) => failOver(group!, 'switched over', nodes.length),
} satisfies Readonly<Record<FailoverCause, Fault>>;

/** Any two of these in a row move every channel and every counter. */
const CHANGES = {
  'one left out': (ground) => useRedis(ground, ['b']),
  'one added': (ground) => useRedis(ground, ['a', 'b']),
  'another left out': (ground) => useRedis(ground, ['a']),
  'one hung': async ({ several: [, second] }, awayMs) => {
    second!.hang();
    await pause(awayMs);
    second!.resume();
  },
} satisfies Readonly<Record<string, Fault>>;

/** All but the last strike the conversation's shard. */
const OF_CLUSTER = {
  async 'slot moved'(ground) {
    const { to, atMs } = await ground.redisCluster!.migrate(ground.conversationId);
    return usedAfter(ground, to, atMs);
  },
  'shard killed': (ground) => failOverShard(ground, 'killed'),
  'shard hung': (ground) => failOverShard(ground, 'hung'),
  'shard switched over': (ground) => failOverShard(ground, 'switched over'),
  async 'another shard stopped'({ redisCluster, conversationId }, awayMs) {
    const its = await redisCluster!.masterOf(conversationId);
    const shard = await redisCluster!.anotherShard(its);
    for (const server of shard) server.hang();
    await pause(awayMs);
    for (const server of shard) server.resume();
    await redisCluster!.isReady();
  },
} satisfies Readonly<Record<string, Fault>>;

async function failOverShard(ground: Ground, cause: ClusterFailover): Promise<number> {
  const redisCluster = ground.redisCluster!;
  const master = await redisCluster.masterOf(ground.conversationId);
  const { to, atMs } = await redisCluster.failOver(master, cause);
  const tookMs = await usedAfter(ground, to, atMs);
  master.resume();
  await master.start();
  await redisCluster.isReady();
  return tookMs;
}

async function usedAfter(
  { redisCluster, nodes, conversationId }: Ground,
  to: TestRedis,
  atMs: number,
): Promise<number> {
  await redisCluster!.areHeard(to, conversationId, nodes.length);
  await until(async () => (await sum(nodes, 'parley_engine_healthy')) === nodes.length, {
    what: 'all links',
  });
  return performance.now() - atMs;
}

type FaultName = keyof typeof FAULTS | FailoverCause | keyof typeof CHANGES | keyof typeof OF_CLUSTER;

/** Changes the list as an operator does, while the nodes run. */
async function useRedis({ several, databaseUrl }: Ground, names: readonly string[]): Promise<void> {
  const env = { DATABASE_URL: databaseUrl, REDIS_URL: urlOf(several, names) };
  const { code, stderr } = await runParley(['admin', 'redis', 'use'], env);
  if (code !== 0) throw new Error(stderr);
}

/** Returns the URL with the addresses of the servers `a` and `b`. */
function urlOf(several: readonly TestRedis[], names: readonly string[]): string {
  return names.map((name) => `${several['ab'.indexOf(name)]!.url}#${name}`).join(',');
}

const WHOLE = {
  '': { faults: inTurn(FAULTS, 80), awayMs: 4_000, perSecond: 200 },
  'cut-off': { faults: ['cut off'], awayMs: 60_000, perSecond: 500 },
  sentinel: { faults: inTurn(FAILOVERS, 20), awayMs: 4_000, perSecond: 200 },
  several: { faults: inTurn(CHANGES, 20), awayMs: 4_000, perSecond: 200 },
  cluster: {
    // 100 slots and 20 failovers.
    faults: [...inTurn({ 'slot moved': 0 }, 93), ...inTurn(OF_CLUSTER, 34)],
    awayMs: 4_000,
    perSecond: 200,
  },
} satisfies Readonly<Record<string, Omit<RedisAwayOptions, 'seed'>>>;

function inTurn(faults: Readonly<Partial<Record<FaultName, unknown>>>, count: number): FaultName[] {
  const names = Object.keys(faults) as FaultName[];
  return Array.from({ length: count }, (_, index) => names[index % names.length]!);
}

async function sum(nodes: readonly TestNode[], metric: string): Promise<number> {
  const values = await Promise.all(nodes.map((node) => node.metric(metric)));
  return values.reduce((sum, value) => sum + value, 0);
}

interface PacedSend extends Sent {
  readonly beganMs: number;
  readonly tookMs: number;
}

function p99(sends: readonly PacedSend[]): number {
  const times = sends.map(({ tookMs }) => tookMs).sort((one, two) => one - two);
  return Math.round(times[Math.floor(times.length * 0.99)] ?? 0);
}

/** Sends at a steady pace over open connections, whatever became of earlier sends. */
class PacedSends {
  readonly sent: PacedSend[] = [];
  /**
   * A node ends an idle connection after 10 s; a send on it in that moment would count as refused.
   */
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 5_000 });
  readonly #underWay = new Set<Promise<void>>();
  readonly #pacing: Promise<void>;
  #isStopped = false;

  constructor(t: Teardown, node: TestNode, conversationId: string, label: string, perSecond: number) {
    t.teardown(() => {
      this.#isStopped = true;
      this.#agent.destroy();
    });
    this.#pacing = this.#pace(node, conversationId, label, perSecond);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#pacing;
    await Promise.all(this.#underWay);
  }

  async #pace(node: TestNode, conversationId: string, label: string, perSecond: number): Promise<void> {
    const startedMs = performance.now();
    for (let n = 0; !this.#isStopped; n++) {
      const inMs = startedMs + (n * 1_000) / perSecond - performance.now();
      if (inMs > 1) await pause(inMs);
      const send = this.#send(node, conversationId, `${label}-${n}`).finally(() =>
        this.#underWay.delete(send),
      );
      this.#underWay.add(send);
    }
  }

  async #send(node: TestNode, conversationId: string, clientMessageId: string): Promise<void> {
    const beganMs = performance.now();
    const answer = await post(this.#agent, node, `/v1/messaging/conversations/${conversationId}/messages`, {
      body: 'ahoy',
      client_message_id: clientMessageId,
    }).catch(() => undefined);
    const sequence = answer?.status === 201 ? Number(JSON.parse(answer.text).sequence) : undefined;
    const tookMs = performance.now() - beganMs;
    this.sent.push({ clientMessageId, sequence, status: answer?.status, beganMs, tookMs });
  }
}

function post(
  agent: Agent,
  node: TestNode,
  path: string,
  body: object,
): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const sending = request(`${node.baseUrl}${path}`, { agent, method: 'POST', headers: node.headers() });
    sending.once('error', reject);
    sending.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.once('end', () => resolve({ status: response.statusCode, text }));
      response.once('error', reject);
    });
    sending.end(JSON.stringify(body));
  });
}

/** Keys that are used on one node and deleted on the other, repeatedly and in turn. */
class EndingKeys {
  deleted = 0;
  /** Longest time from the answer to a deletion until the other node refused the key. */
  staleMs = 0;
  readonly #running: Promise<void>;
  #isStopped = false;

  constructor(t: Teardown, nodes: Cluster['nodes']) {
    t.teardown(() => {
      this.#isStopped = true;
    });
    this.#running = this.#run(nodes);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run([first, second]: Cluster['nodes']): Promise<void> {
    const { body: roles } = await first.call('GET', '/v1/roles');
    const [role] = roles.data as { id: string }[];
    for (let n = 0; !this.#isStopped; n++) {
      const [deleting, using] = n % 2 === 0 ? [first, second] : [second, first];
      const { status, body } = await deleting.call('POST', '/v1/api-keys', {
        name: `ending ${n}`,
        role_id: role!.id,
      });
      if (status !== 201) throw new Error(`no key: ${JSON.stringify(body)}`);
      const uses = async () => (await using.call('GET', '/v1/api-keys', undefined, String(body.key))).status;
      await until(async () => (await uses()) !== 401, { what: 'the key to be read' });
      await deleting.call('POST', `/v1/api-keys/${body.id}/actions/revoke`);
      const deletedMs = performance.now();
      let usedMs = deletedMs;
      await until(
        async () => {
          const beganMs = performance.now();
          if ((await uses()) === 401) return true;
          usedMs = beganMs;
          return false;
        },
        { what: 'the other node to refuse the key' },
      );
      this.staleMs = Math.max(this.staleMs, usedMs - deletedMs);
      this.deleted += 1;
      await pause(200);
    }
  }
}
