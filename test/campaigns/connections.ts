import pg from 'pg';
import { createGroup } from '../support/cluster.ts';
import { Listener, startNode, type TestNode } from '../support/node.ts';
import { createEmptyDatabase, startPostgres, type TestPostgres } from '../support/postgres.ts';
import type { Random } from '../support/random.ts';
import { startRedis } from '../support/redis.ts';
import { SteadyLoad } from '../support/steady-load.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { campaign, type Found, type Seeded } from './campaign.ts';

interface ConnectionsOptions extends Seeded {
  readonly restarts: number;
  /** Messages a second, each to one of two nodes. */
  readonly perSecond: number;
  /** Milliseconds within which a node serves, or names the limit, and serves once it was raised. */
  readonly servesWithinMs: number;
  /** Milliseconds from then until every open socket has every acknowledged message. */
  readonly seenWithinMs: number;
}

interface ConnectionsFigures extends Found {
  /** Limits by which a node was out, with how often. */
  readonly out: Readonly<Record<number, number>>;
  readonly acknowledged: number;
  readonly retried: number;
  /** Milliseconds until each node served, or named the limit, behind the restart. */
  readonly answeredMs: readonly number[];
  /** Milliseconds until nodes that were out served, behind the raise of the limit. */
  readonly raisedMs: readonly number[];
  /** Milliseconds until every open socket had every acknowledged message. */
  readonly seenMs: readonly number[];
}

/**
 * Postgres restarts under load while the role of two nodes may open fewer connections than both
 * want, from half of them to all. Each node serves, or names the limit and serves once it was
 * raised; one that is not ready acknowledges nothing; every acknowledged message reaches every open
 * socket.
 */
export const connections = campaign({
  whole: () => ({ restarts: 40, perSecond: 50, servesWithinMs: 5_000, seenWithinMs: 10_000 }),
  run,
});

async function run(
  t: Teardown,
  { restarts, perSecond, servesWithinMs, seenWithinMs }: ConnectionsOptions,
  random: Random,
): Promise<ConnectionsFigures> {
  const postgres = await startPostgres(t);
  const redis = await startRedis(t);
  const databaseUrl = await databaseOfRole(postgres);
  const start = () => startNode(t, { databaseUrl, redisUrl: redis.url });
  const nodes = [await start(), await start()] as const;
  const conversationId = await createGroup(nodes[0], 'connections');
  const listeners = await Promise.all(nodes.map((node) => Listener.open(node, conversationId, {})));
  const load = new SteadyLoad(t, {
    node: () => random.pick(nodes),
    conversationIds: [conversationId],
    perSecond,
    random,
  });
  const problems: string[] = [];
  const out: Record<number, number> = {};
  const [answeredMs, raisedMs, seenMs]: [number[], number[], number[]] = [[], [], []];

  for (let n = 0; n < restarts; n++) {
    await load.sends(perSecond);
    // The lowest have room for one node, and not for both.
    const limit = HALF + random.below(random.next() < 0.5 ? 5 : HALF + 1);
    await limitTo(postgres, limit);
    await (random.next() < 0.5 ? postgres.kill() : postgres.stop());
    await postgres.start();
    const since = performance.now();
    const states = await Promise.all(
      nodes.map((node) => settled(node, since + servesWithinMs, problems, `limit ${limit}`)),
    );
    answeredMs.push(...states.map(({ ms }) => Math.round(ms - since)));
    if (states.some(({ isReady }) => !isReady)) {
      out[limit] = (out[limit] ?? 0) + 1;
      await limitTo(postgres, -1);
      const raised = performance.now();
      const back = await Promise.all(
        nodes.map((node) =>
          until(() => sends(node, conversationId), { what: `a node at ${limit} to serve` }),
        ),
      );
      raisedMs.push(...back.map((ms) => Math.round(ms - raised)));
      if (Math.max(...back) > raised + servesWithinMs) {
        problems.push(
          `limit ${limit}: back ${Math.round(Math.max(...back) - raised)} ms after it was raised`,
        );
      }
    }
    const acknowledged = [...load.acknowledged];
    const from = performance.now();
    await until(() => listeners.every((one) => hasAll(one, acknowledged)), {
      what: 'every socket to have all',
    });
    const took = Math.round(performance.now() - from);
    seenMs.push(took);
    if (took > seenWithinMs) problems.push(`limit ${limit}: sockets had all ${took} ms later`);
    await limitTo(postgres, -1);
    for (const node of nodes) await until(() => sends(node, conversationId), { what: 'a node to serve' });
  }
  await load.stop();
  const { length } = load.acknowledged;
  return { out, acknowledged: length, retried: load.retried, answeredMs, raisedMs, seenMs, problems };
}

/** What one node wants: 9 in its pool, and 10 of its own. Two want twice as many. */
const HALF = 19;

async function databaseOfRole(postgres: TestPostgres): Promise<string> {
  const url = new URL(await createEmptyDatabase(postgres, 'connections'));
  await asAdmin(postgres, `CREATE ROLE gateway LOGIN PASSWORD 'gateway'`);
  await asAdmin(postgres, 'ALTER DATABASE connections OWNER TO gateway');
  return Object.assign(url, { username: 'gateway', password: 'gateway' }).href;
}

async function limitTo(postgres: TestPostgres, limit: number): Promise<void> {
  await asAdmin(postgres, `ALTER ROLE gateway CONNECTION LIMIT ${limit}`);
  // This server may forget what was committed in the moment before it is killed.
  await asAdmin(postgres, 'CHECKPOINT');
}

async function asAdmin(postgres: TestPostgres, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(sql);
  await client.end();
}

/** Resolves once the node is ready, or says which limit keeps it out. */
async function settled(node: TestNode, deadlineMs: number, problems: string[], at: string) {
  let said = 'no answer';
  while (performance.now() < deadlineMs) {
    // A node that hangs is a finding, and must not hang the campaign.
    const signal = AbortSignal.timeout(Math.ceil(deadlineMs - performance.now()));
    const response = await fetch(`${node.baseUrl}/readyz`, { signal }).catch(() => undefined);
    said = (await response?.text()) ?? said;
    if (response?.status === 200) return { isReady: true, ms: performance.now() };
  }
  if (!/"too_many_connections".*"limited_by":"role"/.test(said)) problems.push(`${at}: ${said}`);
  return { isReady: false, ms: performance.now() };
}

/** Returns the time if the node acknowledges a message. */
async function sends(node: TestNode, conversationId: string): Promise<number | undefined> {
  const answer = await node.send(conversationId).catch(() => undefined);
  return answer?.status === 201 ? performance.now() : undefined;
}

function hasAll(listener: Listener, acknowledged: readonly string[]): boolean {
  const seen = new Set(listener.created().map(({ data }) => data?.id));
  return acknowledged.every((id) => seen.has(id));
}
