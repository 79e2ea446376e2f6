import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { redisName } from '../../src/engine/partitions.ts';
import { type Cluster, checkCluster, Load, startCluster } from '../support/cluster.ts';
import type { Listener } from '../support/node.ts';
import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

export interface DeliveryOptions {
  readonly seed: number;
  /** How many faults, one after the other. */
  readonly faults: number;
  /** Default: one of its own. */
  readonly cluster?: Cluster;
}

export interface DeliveryFigures {
  readonly seed: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly acknowledged: number;
  readonly refused: number;
  readonly voids: number;
  readonly seconds: number;
  /** Empty: everything held. */
  readonly problems: readonly string[];
}

/**
 * Two nodes under constant load while Redis is flushed, rewound, restarted, stopped and hung and nodes
 * are stopped and killed, in a seeded order. At the end every reader has what Postgres has, once and in
 * order; everything acknowledged is there; every message has its notifications once; nothing is left
 * in the outbox.
 */
export async function delivery(t: Teardown, options: DeliveryOptions): Promise<DeliveryFigures> {
  const { seed, faults } = options;
  const startedAt = performance.now();
  const random = new Random(seed);
  const cluster = options.cluster ?? (await startCluster(t));
  const { conversationId } = cluster;
  const counts: Record<string, number> = {};
  // Node 1 is stopped but never killed: its sockets live through everything.
  const listeners = [await cluster.nodes[1].listen(conversationId)];
  const loads = ([0, 1] as const).map(
    (index) => new Load(t, () => cluster.nodes[index], conversationId, { label: `load${index}`, width: 4 }),
  );
  for (let n = 0; n < faults; n++) {
    const name = random.pick(Object.keys(FAULTS));
    counts[name] = (counts[name] ?? 0) + 1;
    await FAULTS[name]!(cluster, random);
    await recovered(loads);
    listeners.push(await joinAtTheEnd(cluster, random));
  }
  await Promise.all(loads.map((load) => load.stop()));
  await cluster.nodes[1].send(conversationId);

  const acknowledged = loads.flatMap((load) => load.acknowledged);
  const [first, ...others] = listeners;
  const late = others.filter(({ closeCode }) => closeCode === undefined);
  const problems = await checkAll(cluster, first!, late, acknowledged);
  return {
    seed,
    faults: counts,
    acknowledged: acknowledged.length,
    refused: loads.flatMap((load) => load.sent).length - acknowledged.length,
    seconds: Math.round((performance.now() - startedAt) / 1_000),
    ...problems,
  };
}

type Fault = (cluster: Cluster, random: Random) => Promise<void>;

const FAULTS: Readonly<Record<string, Fault>> = {
  flushall: ({ redis }) => redis.flushall(),
  async rewound({ redis, conversationId }, random) {
    const client = new Redis(redis.url);
    await client.set(redisName('seq', conversationId), random.below(100));
    client.disconnect();
  },
  async restarted({ redis }) {
    await redis.kill();
    await redis.start();
  },
  async away({ redis }, random) {
    await redis.stop();
    await pause(500 + random.below(1_500));
    await redis.start();
  },
  async hung({ redis }, random) {
    redis.hang();
    await pause(500 + random.below(2_000));
    redis.resume();
  },
  async stopped({ nodes }, random) {
    const node = random.pick(nodes);
    node.signal('SIGSTOP');
    await pause(3_000);
    node.signal('SIGCONT');
  },
  async killed(cluster) {
    await cluster.nodes[0].kill('SIGKILL');
    await cluster.restart(0);
  },
};

/** Both nodes acknowledge again. */
async function recovered(loads: readonly Load[]): Promise<void> {
  const before = loads.map((load) => load.acknowledged.length);
  await until(() => loads.every((load, index) => load.acknowledged.length > before[index]! + 20), {
    what: 'both nodes to acknowledge again',
  });
}

/** A reader that begins near the end of a long timeline: its replay meets what the fault left. */
async function joinAtTheEnd({ nodes, conversationId }: Cluster, random: Random): Promise<Listener> {
  const { body } = await nodes[1].send(conversationId);
  const afterSequence = Math.max(0, Number(body.sequence) - 500);
  return random.pick(nodes).listen(conversationId, { afterSequence });
}

/** The first reader is held to everything, those that joined late to what came after they joined. */
async function checkAll(
  cluster: Cluster,
  first: Listener,
  late: readonly Listener[],
  acknowledged: Load['acknowledged'],
): Promise<{ problems: string[]; voids: number }> {
  if (first.closeCode !== undefined) {
    return {
      problems: [`the first reader was closed: ${first.closeCode}`],
      voids: await countVoids(cluster),
    };
  }
  const problems = await checkCluster(cluster, [first], acknowledged);
  const stored = (await cluster.nodes[1].page(cluster.conversationId)).map(({ sequence }) => sequence);
  for (const listener of late) {
    const from = listener.sequences()[0] ?? 0;
    const expected = stored.filter((sequence) => sequence >= from);
    await until(() => listener.created().length >= expected.length, {
      what: `a late reader to get ${expected.length} messages, it has ${listener.created().length}`,
    });
    if (JSON.stringify(listener.sequences()) !== JSON.stringify(expected)) {
      problems.push(`a reader from ${from} on differs from Postgres`);
    }
  }
  return { problems: [...problems, ...(await checkEffects(cluster))], voids: await countVoids(cluster) };
}

async function checkEffects({ databaseUrl }: Cluster): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await until(async () => (await client.query('SELECT FROM outbox LIMIT 1')).rowCount === 0, {
      what: 'an empty outbox',
    });
    const { rows } = await client.query(`
      SELECT count(*)::int AS wrong FROM (
        SELECT m.id FROM messages m
        JOIN participants p ON p.conversation_id = m.conversation_id AND p.type = 'user' AND p.actor_id <> m.author_id
        LEFT JOIN notifications n ON n.message_id = m.id AND n.recipient_id = p.actor_id
        WHERE m.status = 'sent' GROUP BY m.id, p.actor_id HAVING count(n.id) <> 1
      ) x`);
    return rows[0].wrong === 0 ? [] : [`${rows[0].wrong} notifications missing or doubled`];
  } finally {
    await client.end();
  }
}

async function countVoids({ databaseUrl }: Cluster): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query(`SELECT count(*)::int AS voids FROM messages WHERE kind = 'void'`);
  await client.end();
  return rows[0].voids;
}
