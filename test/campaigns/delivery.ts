import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { redisName } from '../../src/platform/engine/partitions.ts';
import { type Cluster, checkCluster, Load, startClusterBehindLinks } from '../support/cluster.ts';
import { Losses, lossFaults } from '../support/link-faults.ts';
import type { Listener } from '../support/node.ts';
import { QuietWrites } from '../support/quiet-writes.ts';
import { Random } from '../support/random.ts';
import { type Repairs, repairsOf } from '../support/repairs.ts';
import { checkShown, clockSeconds, Shown, type ShownReader } from '../support/shown.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface DeliveryOptions extends Seeded {
  /** Faults, one after the other. */
  readonly faults: readonly FaultName[];
  /** Default: a cluster of its own. Each of its nodes has a link to Redis. */
  readonly cluster?: Cluster;
}

interface DeliveryFigures extends Found {
  readonly faults: Readonly<Record<string, number>>;
  readonly acknowledged: number;
  readonly refused: number;
  /** Messages that arrived, over all readers. */
  readonly delivered: number;
  /** Acknowledged changes in quiet conversations. */
  readonly changes: Readonly<Record<string, number>>;
  /** Number of final states that were compared with Postgres, over all readers, by kind. */
  readonly compared: Readonly<Record<string, number>>;
  /** Events that were left out on the way to a node. */
  readonly losses: Readonly<Record<string, number>>;
  /** Counted on the nodes that run at the end. */
  readonly repairs: Repairs;
  readonly voids: number;
}

/**
 * Two nodes under constant load while Redis is flushed, rewound, restarted, stopped and hung,
 * single messages of it are lost, and nodes are stopped and killed, in a seeded order. At the end
 * every reader has the messages in Postgres once and in order, on the socket that it opened, and so
 * all edits, deletions, notifications and changed conversations. Everything acknowledged is there,
 * every message has its notifications once, and nothing is left in the outbox.
 */
export const delivery = campaign({ whole: (seed) => ({ faults: anyFaults(seed, 40) }), run });

async function run(t: Teardown, options: DeliveryOptions, random: Random): Promise<DeliveryFigures> {
  const { seed, faults } = options;
  const cluster = options.cluster ?? (await startClusterBehindLinks(t, seed));
  const { conversationId } = cluster;
  const counts: Record<string, number> = {};
  const quiet = await QuietWrites.start(t, {
    nodes: () => cluster.nodes,
    random: new Random(seed + 1),
    conversations: QUIET_CONVERSATIONS,
  });
  const losses = new Losses(() => quiet.pass());
  // Node 1 is stopped but never killed: its sockets live through everything.
  const listeners = [await cluster.nodes[1].listen(conversationId)];
  const readers = [await toReader(cluster, 'the first reader', listeners[0]!, conversationId)];
  readers.push(...(await watchQuiet(cluster, quiet, [0, 1])));
  const loads = ([0, 1] as const).map(
    (index) => new Load(t, () => cluster.nodes[index], conversationId, { label: `load${index}`, width: 4 }),
  );
  for (const name of faults) {
    counts[name] = (counts[name] ?? 0) + 1;
    await FAULTS[name](cluster, random, losses);
    await recovered(loads);
    const late = await joinAtTheEnd(cluster, random);
    readers.push(await toReader(cluster, `late reader ${listeners.length}`, late, conversationId));
    listeners.push(late);
    if (name === 'killed') readers.push(...(await watchQuiet(cluster, quiet, [0])));
  }
  await Promise.all(loads.map((load) => load.stop()));
  // The last writes are lost, and no later frame shows that.
  await losses.during(cluster.links, 1, 0);
  await losses.during(cluster.links, 1, 0, () => quiet.stop());

  const acknowledged = loads.flatMap((load) => load.acknowledged);
  const [first, ...others] = listeners;
  const late = others.filter(({ closeCode }) => closeCode === undefined);
  const open = readers.filter(({ listener }) => listener.closeCode === undefined);
  const shown = await checkShown(cluster.databaseUrl, open);
  const { problems, voids } = await checkAll(cluster, first!, late, acknowledged);
  return {
    faults: counts,
    acknowledged: acknowledged.length,
    refused: loads.flatMap((load) => load.sent).length - acknowledged.length,
    delivered: listeners.reduce((sum, listener) => sum + listener.created().length, 0),
    changes: quiet.made,
    compared: shown.compared,
    losses: losses.byEvent,
    repairs: await repairsOf(cluster.nodes),
    voids,
    problems: [...problems, ...shown.problems, ...losses.problems()],
  };
}

type Fault = (cluster: Cluster, random: Random, losses: Losses) => Promise<void>;

const QUIET_CONVERSATIONS = 3;

const FAULTS = {
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
  'some frames lost': ({ links }, random, losses) => lossFaults(links, random, losses)['some frames lost'](),
  'all frames lost': ({ links }, random, losses) => lossFaults(links, random, losses)['all frames lost'](),
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
} satisfies Readonly<Record<string, Fault>>;

export type FaultName = keyof typeof FAULTS;

function anyFaults(seed: number, count: number): FaultName[] {
  const random = new Random(seed);
  return Array.from({ length: count }, () => random.pick(Object.keys(FAULTS) as FaultName[]));
}

/** A reader on a socket that is never opened again. */
interface Reader extends ShownReader {
  readonly listener: Listener;
}

/** Opens one socket for each quiet conversation on each of these nodes. */
function watchQuiet(
  cluster: Cluster,
  { conversationIds }: QuietWrites,
  indexes: readonly (0 | 1)[],
): Promise<Reader[]> {
  const places = indexes.flatMap((index) => conversationIds.map((id) => ({ index, id })));
  return Promise.all(
    places.map(async ({ index, id }) => {
      const listener = await cluster.nodes[index].listen(id);
      return toReader(cluster, `a reader of ${id} on node ${index}`, listener, id);
    }),
  );
}

/** Returns a reader of ada's, live from now on. */
async function toReader(
  { nodes, databaseUrl }: Cluster,
  name: string,
  listener: Listener,
  conversationId: string,
): Promise<Reader> {
  return {
    name,
    listener,
    shown: () => Shown.of(listener.frames),
    conversationIds: new Set([conversationId]),
    actorId: nodes[0].demo.users.ada.id,
    sinceSeconds: await clockSeconds(databaseUrl),
  };
}

/** Resolves when both nodes acknowledge again. */
async function recovered(loads: readonly Load[]): Promise<void> {
  const before = loads.map((load) => load.acknowledged.length);
  await until(() => loads.every((load, index) => load.acknowledged.length > before[index]! + 20), {
    what: 'both nodes to acknowledge again',
  });
}

/** Opens a reader near the end of a long timeline: its replay meets the results of the fault. */
async function joinAtTheEnd({ nodes, conversationId }: Cluster, random: Random): Promise<Listener> {
  const { body } = await nodes[1].send(conversationId);
  const afterSequence = Math.max(0, Number(body.sequence) - 500);
  return random.pick(nodes).listen(conversationId, { afterSequence });
}

/** Checks the first reader for everything, and late readers for all that came after they joined. */
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
    // Without statistics of the new rows the planner would look for each notification in a whole
    // feed.
    await client.query('SET enable_nestloop = off');
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
