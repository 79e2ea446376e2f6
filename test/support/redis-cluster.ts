import { channelIn, PARTITIONS, partitionOf, redisName } from '../../src/platform/engine/partitions.ts';
import { readClusterView, SLOTS } from '../../src/platform/engine/shards/cluster-slots.ts';
import { freePort } from './free-port.ts';
import { type RedisLogin, type RedisSettings, redisClient, startRedis, type TestRedis } from './redis.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

/** A Redis Cluster of three masters, with a replica each unless its options say otherwise. */
export interface TestCluster {
  /** The form for REDIS_URL, without credentials. */
  readonly url: string;
  readonly servers: readonly TestRedis[];
  /** Returns the master that has the slot of this id. */
  masterOf(id: string): Promise<TestRedis>;
  /** Returns another master than this one, and its replica. */
  anotherShard(master: TestRedis): Promise<readonly TestRedis[]>;
  /** Resolves when all servers see a master with a following replica for every slot. */
  isReady(): Promise<void>;
  /**
   * Moves the slot of this id, with its counters, to another master. Returns the moment
   * (`performance.now()`) at which that master has it.
   */
  migrate(id: string): Promise<{ readonly to: TestRedis; readonly atMs: number }>;
  /** Makes the replica of a master take its place. Resolves as `migrate` does. */
  failOver(
    master: TestRedis,
    cause: ClusterFailover,
  ): Promise<{ readonly to: TestRedis; readonly atMs: number }>;
  /** Resolves when this many nodes listen there to announcements in this partition. */
  areHeard(server: TestRedis, id: string, nodes: number): Promise<void>;
  /** Sends a command as the operator. */
  call<T>(server: TestRedis, name: string, ...args: (string | number)[]): Promise<T>;
}

export interface TestClusterOptions {
  readonly hasReplicas?: boolean;
  readonly settings?: RedisSettings;
  /** The operator's login. */
  readonly operator?: RedisLogin;
}

export type ClusterFailover = 'killed' | 'hung' | 'switched over';

export async function startRedisCluster(
  t: Teardown,
  { hasReplicas = true, settings = {}, operator = {} }: TestClusterOptions = {},
): Promise<TestCluster> {
  const servers: TestRedis[] = [];
  const busPorts: number[] = [];
  for (let index = 0; index < (hasReplicas ? 6 : 3); index++) {
    const busPort = await freePort();
    busPorts.push(busPort);
    servers.push(
      await startRedis(t, {
        'cluster-enabled': 'yes',
        'cluster-port': busPort,
        'cluster-node-timeout': 1_000,
        'cluster-require-full-coverage': 'no',
        'cluster-replica-validity-factor': 0,
        ...settings,
      }),
    );
  }
  const clients = new Map(servers.map((server) => [server, redisClient(t, server.port, operator)]));
  const call = <T>(server: TestRedis, name: string, ...args: (string | number)[]): Promise<T> =>
    clients.get(server)!.call(name, ...args) as Promise<T>;
  const first = servers[0]!;
  await until(() => Promise.all(servers.map((server) => call(server, 'PING'))).catch(() => false), {
    what: 'connections to all servers',
  });
  const ids = new Map<TestRedis, string>();
  for (const [index, server] of servers.entries()) {
    ids.set(server, await call<string>(server, 'CLUSTER', 'MYID'));
    await call(server, 'CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    if (index < 3) {
      const start = Math.floor((index * 16_384) / 3);
      const end = Math.floor(((index + 1) * 16_384) / 3) - 1;
      await call(server, 'CLUSTER', 'ADDSLOTSRANGE', start, end);
    }
    if (index > 0) await call(first, 'CLUSTER', 'MEET', '127.0.0.1', server.port, busPorts[index]!);
  }
  for (const [index, server] of servers.entries()) {
    if (index < 3) continue;
    const follow = () =>
      call(server, 'CLUSTER', 'REPLICATE', ids.get(servers[index - 3]!)!).catch(() => false);
    await until(follow, { what: 'a replica to know its master' });
  }
  const nodesOf = (server: TestRedis) => call<string>(server, 'CLUSTER', 'NODES');
  const at = (address: string | undefined) => servers.find(({ port }) => address?.endsWith(`:${port}`));
  const views = async () => {
    const answers = servers.map(async (server) => ({
      from: `127.0.0.1:${server.port}`,
      text: await nodesOf(server).catch(() => ''),
    }));
    return Promise.all(answers);
  };
  const isMaster = async (server: TestRedis) => {
    const [role] = await call<[string]>(server, 'ROLE').catch((): [string] => ['away']);
    return role === 'master';
  };
  const replicaOf = async (master: TestRedis) => {
    for (const server of servers) {
      const [role, , port] = await call<[string, string, number]>(server, 'ROLE').catch(
        () => ['away'] as const,
      );
      if (role === 'slave' && port === master.port) return server;
    }
    throw new Error('the master has no replica');
  };
  const credentials = operator.password === undefined ? [] : ['AUTH2', 'default', operator.password];
  const cluster: TestCluster = {
    url: `${first.url.replace(/:.*/, '+cluster:')}//${servers
      .slice(0, 3)
      .map(({ port }) => `127.0.0.1:${port}`)
      .join(',')}`,
    servers,
    async masterOf(id) {
      const { masters } = readClusterView(await views());
      return at(masters[partitionOf(id)])!;
    },
    async anotherShard(master) {
      const masters = new Set(readClusterView(await views()).masters.map(at));
      const other = [...masters].find((one) => one !== master)!;
      return [other, await replicaOf(other)];
    },
    async isReady() {
      const isSettled = async (server: TestRedis) => {
        const view = readClusterView([{ from: `127.0.0.1:${server.port}`, text: await nodesOf(server) }]);
        const masters = new Set(view.masters.map(at));
        const info = await call<string>(server, 'CLUSTER', 'INFO');
        const text = await nodesOf(server);
        if (
          !info.includes('cluster_state:ok') ||
          masters.size !== 3 ||
          / (master|slave),?fail|fail\?/.test(text)
        )
          return false;
        if (await isMaster(server)) return masters.has(server);
        const [, , port, state] = await call<[string, string, number, string]>(server, 'ROLE');
        return state === 'connected' && [...masters].some((master) => master?.port === port);
      };
      const areSettled = async () => {
        const settled = await Promise.all(servers.map((server) => isSettled(server).catch(() => false)));
        if (!settled.every(Boolean)) return false;
        const ports = await Promise.all(
          servers.map(async (server) => (await call<[string, string, number]>(server, 'ROLE'))[2]),
        );
        return (
          new Set(
            ports.filter((port) => typeof port === 'number' && servers.some((one) => one.port === port)),
          ).size ===
          servers.length - 3
        );
      };
      await until(areSettled, { what: 'the cluster to be whole' });
    },
    async migrate(id) {
      const slot = SLOTS[partitionOf(id)]!;
      const from = await cluster.masterOf(id);
      const masters: TestRedis[] = [];
      for (const server of servers) if (await isMaster(server)) masters.push(server);
      const to = masters[(masters.indexOf(from) + 1) % masters.length]!;
      await call(to, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', ids.get(from)!);
      await call(from, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', ids.get(to)!);
      for (;;) {
        const keys = await call<string[]>(from, 'CLUSTER', 'GETKEYSINSLOT', slot, 100);
        if (keys.length === 0) break;
        const more = ['REPLACE', ...credentials, 'KEYS', ...keys];
        await call(from, 'MIGRATE', '127.0.0.1', to.port, '', 0, 500, ...more);
      }
      await call(to, 'CLUSTER', 'SETSLOT', slot, 'NODE', ids.get(to)!);
      const atMs = performance.now();
      for (const server of [from, ...masters.filter((one) => one !== from && one !== to)]) {
        await call(server, 'CLUSTER', 'SETSLOT', slot, 'NODE', ids.get(to)!);
      }
      return { to, atMs };
    },
    async failOver(master, cause) {
      const to = await replicaOf(master);
      if (cause === 'killed') await master.kill();
      else if (cause === 'hung') master.hang();
      else await call(to, 'CLUSTER', 'FAILOVER');
      let atMs = performance.now();
      const isPromoted = async () => {
        const askedMs = performance.now();
        if (await isMaster(to)) return true;
        atMs = askedMs;
        return false;
      };
      await until(isPromoted, { what: 'the promotion' });
      return { to, atMs };
    },
    async areHeard(server, id, nodes) {
      const name = redisName('ch', channelIn('nodes', partitionOf(id)));
      const count = async () => {
        const [, listening] = await call<[string, number]>(server, 'PUBSUB', 'SHARDNUMSUB', name).catch(
          (): [string, number] => ['', 0],
        );
        return listening >= nodes;
      };
      await until(count, { what: 'the nodes to listen at the new master' });
    },
    call,
  };
  await cluster.isReady();
  return cluster;
}

/** Returns an id of each partition. */
export function idOfEachPartition(): string[] {
  return Array.from({ length: PARTITIONS }, (_, partition) => channelIn('cnv', partition));
}
