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
  /** Of each node to Redis; empty: they have none of their own. */
  readonly links: readonly FaultProxy[];
  readonly databaseUrl: string;
  readonly conversationId: string;
  /** Starts another node in place of one that was killed, with its data directory. */
  restart(index: 0 | 1): Promise<void>;
}

export async function startCluster(t: Teardown, env: NodeJS.ProcessEnv = {}): Promise<Cluster> {
  return startOver(t, await startRedis(t), [], env);
}

/** Each node with a link of its own to Redis. */
export async function startClusterBehindLinks(t: Teardown, seed: number): Promise<Cluster> {
  const redis = await startRedis(t);
  return startOver(t, redis, await startLinks(t, { redis, seed, count: 2 }));
}

async function startOver(
  t: Teardown,
  redis: TestRedis,
  links: readonly FaultProxy[],
  env: NodeJS.ProcessEnv = {},
): Promise<Cluster> {
  const { url: databaseUrl } = await createTestDatabase(t);
  const start = (index: 0 | 1, dataDir?: string) => {
    const link = links[index];
    const redisUrl = link === undefined ? redis.url : `redis://127.0.0.1:${link.port}`;
    return startNode(t, { databaseUrl, redisUrl, env, ...(dataDir !== undefined && { dataDir }) });
  };
  const nodes = await Promise.all([start(0), start(1)]);
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

/** The same nodes with a group of its own, of the same people: for tests that share a cluster. */
export async function onFreshGroup(cluster: Cluster): Promise<Cluster> {
  return { ...cluster, conversationId: await createGroup(cluster.nodes[0], 'Another group') };
}

/** Of people of the demo account, all three by default; answers its id. Tried again while the node is not ready for it. */
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

/** What became of one send. */
export interface Sent {
  readonly clientMessageId: string;
  /** Of the 201; undefined: it was not acknowledged. */
  readonly sequence: number | undefined;
  readonly status: number | undefined;
}

export interface LoadOptions {
  /** Of the client ids. */
  readonly label: string;
  readonly width?: number;
  /** Between two sends of a caller. 0: none while it is answered. */
  readonly pauseMs?: number;
}

/** What would send, or be refused, all the time leaves nothing of the processor to those that are tested. */
const PAUSE_MS = 10;

/**
 * Keeps `width` callers sending to a node until stopped, each send tried once. One that gets no answer counts as
 * not acknowledged.
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
 * Waits until every listener has got all that Postgres has, and answers what is wrong: with any
 * listener's order, with any acknowledged send, with what a page shows.
 */
export async function checkCluster(
  cluster: Cluster,
  listeners: readonly Listener[],
  acknowledged: readonly Sent[],
): Promise<string[]> {
  // Not `killed`: that is set by any signal, and a node may have been stopped for a while.
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
