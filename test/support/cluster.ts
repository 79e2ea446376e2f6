import { setTimeout as pause } from 'node:timers/promises';
import { answered } from './answered.ts';
import { deliveryProblems } from './check-delivery.ts';
import type { FaultProxy } from './fault-proxy.ts';
import { startLinks } from './link-faults.ts';
import { type Listener, startNode, type TestNode } from './node.ts';
import { createTestDatabase } from './postgres.ts';
import { startRedis, type TestRedis } from './redis.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

/** Two nodes over one Postgres and one Redis, and the demo account's group on them. */
export interface Cluster {
  readonly nodes: readonly [TestNode, TestNode];
  readonly redis: TestRedis;
  /** The link of each node to Redis; empty if nodes have no links of their own. */
  readonly links: readonly FaultProxy[];
  readonly databaseUrl: string;
  readonly conversationId: string;
  /** Starts another node in place of a killed node, with the same data directory. */
  restart(index: 0 | 1): Promise<void>;
}

export interface ClusterOptions {
  /** Whether the nodes have one data directory, and so share their files. */
  readonly sharesFiles?: boolean;
}

export async function startCluster(
  t: Teardown,
  env: NodeJS.ProcessEnv = {},
  options: ClusterOptions = {},
): Promise<Cluster> {
  return startOver(t, await startRedis(t), [], env, options);
}

/** Starts the cluster with a separate link to Redis for each node. */
export async function startClusterBehindLinks(t: Teardown, seed: number): Promise<Cluster> {
  const redis = await startRedis(t);
  return startOver(t, redis, await startLinks(t, { redis, seed, count: 2 }));
}

/** Starts the cluster with any REDIS_URL; `redis` is for faults. */
export function startClusterOver(
  t: Teardown,
  redis: TestRedis,
  env: NodeJS.ProcessEnv = {},
): Promise<Cluster> {
  return startOver(t, redis, [], env);
}

async function startOver(
  t: Teardown,
  redis: TestRedis,
  links: readonly FaultProxy[],
  env: NodeJS.ProcessEnv = {},
  { sharesFiles = false }: ClusterOptions = {},
): Promise<Cluster> {
  const { url: databaseUrl } = await createTestDatabase(t);
  const start = (index: 0 | 1, dataDir?: string) => {
    const link = links[index];
    const redisUrl = link === undefined ? redis.url : `redis://127.0.0.1:${link.port}`;
    return startNode(t, { databaseUrl, redisUrl, env, ...(dataDir !== undefined && { dataDir }) });
  };
  const startBoth = async (): Promise<[TestNode, TestNode]> => {
    // Starts them one after the other: each writes its demo.json there.
    const first = await start(0);
    return [first, await start(1, first.dataDir)];
  };
  const nodes = await (sharesFiles ? startBoth() : Promise.all([start(0), start(1)]));
  return {
    nodes,
    redis,
    links,
    databaseUrl,
    conversationId: nodes[0].demo.conversations.group,
    async restart(index) {
      nodes[index] = await start(index, nodes[index].dataDir);
    },
  };
}

/** Returns the same nodes with a new group of the same people, for tests that share a cluster. */
export async function onFreshGroup(cluster: Cluster): Promise<Cluster> {
  return { ...cluster, conversationId: await createGroup(cluster.nodes[0], 'Another group') };
}

/**
 * Creates a group of people of the demo account, by default all three; returns its id. Retries
 * while the node is not ready.
 */
export async function createGroup(
  node: TestNode,
  title: string,
  people: readonly (keyof TestNode['demo']['users'])[] = ['ada', 'grace', 'vera'],
): Promise<string> {
  const participants = people.map((name) => ({ type: 'user', actor_id: node.demo.users[name].id }));
  const { id } = await answered(() => node, {
    method: 'POST',
    path: '/v1/messaging/conversations',
    body: { type: 'group', title, participants },
  });
  return String(id);
}

/** The result of one send. */
export interface Sent {
  readonly clientMessageId: string;
  /** The number in the answer 201; undefined if the send was not acknowledged. */
  readonly sequence: number | undefined;
  readonly status: number | undefined;
}

export interface LoadOptions {
  /** Prefix of the client ids. */
  readonly label: string;
  readonly width?: number;
  /** Pause between two sends of a caller. 0: no pause after a successful send. */
  readonly pauseMs?: number;
}

/**
 * Callers without pauses, or under constant refusal, would take the whole processor from the code
 * under test.
 */
const PAUSE_MS = 10;

/**
 * Keeps `width` callers sending to a node until stopped, each send tried once. A send without an
 * answer counts as not acknowledged.
 */
export class Load {
  readonly sent: Sent[] = [];
  readonly #workers: Promise<void>[];
  #stopped = false;

  constructor(
    t: Teardown,
    node: () => TestNode,
    conversationId: string,
    { label, width = 8, pauseMs = PAUSE_MS }: LoadOptions,
  ) {
    t.teardown(() => {
      this.#stopped = true;
    });
    let count = 0;
    const work = async () => {
      while (!this.#stopped) {
        const clientMessageId = `${label}-${count++}`;
        const answer = await node()
          .send(conversationId, { client_message_id: clientMessageId })
          .catch(() => undefined);
        const sequence = answer?.status === 201 ? Number(answer.body.sequence) : undefined;
        this.sent.push({ clientMessageId, sequence, status: answer?.status });
        if (sequence === undefined || pauseMs > 0) await pause(pauseMs || PAUSE_MS);
      }
    };
    this.#workers = Array.from({ length: width }, work);
  }

  get acknowledged(): Sent[] {
    return this.sent.filter(({ sequence }) => sequence !== undefined);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#workers);
  }
}

/**
 * Waits until every listener has received all messages in Postgres. Returns the problems of any
 * listener's order, of any acknowledged send, and of any page.
 */
export async function checkCluster(
  cluster: Pick<Cluster, 'nodes' | 'conversationId'>,
  listeners: readonly Listener[],
  acknowledged: readonly Sent[],
): Promise<string[]> {
  // Not `killed`: any signal sets it, and a node may have been stopped for a while.
  const node = cluster.nodes.find(
    ({ running: { child } }) => child.exitCode === null && child.signalCode === null,
  )!;
  const stored = await node.page(cluster.conversationId);
  const sequences = stored.map(({ sequence }) => sequence);
  const last = sequences.at(-1) ?? 0;
  await until(() => listeners.every((listener) => (listener.created().at(-1)?.sequence ?? 0) >= last), {
    what: `everybody to get ${last}: ${listeners.map((listener) => listener.sequences().at(-1))}`,
  });
  const problems = listeners.flatMap((listener, index) =>
    deliveryProblems(listener.sequences(), sequences).map((problem) => `listener ${index}: ${problem}`),
  );
  const known = new Set(sequences);
  const lost = acknowledged.filter(({ sequence }) => !known.has(sequence!));
  if (lost.length > 0) problems.push(`acknowledged and lost: ${lost.length}`);
  if (known.size !== sequences.length) problems.push('a number came twice');
  return problems;
}
