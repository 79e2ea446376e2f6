import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { findRedis, launchRedis, type RedisLogin, redisClient, startRedis, type TestRedis } from './redis.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

/** A master and a replica, with three sentinels that watch them. */
export interface SentinelGroup {
  /** The form for REDIS_URL. */
  readonly url: string;
  readonly sentinels: readonly number[];
  /** The servers, whatever their present roles. */
  readonly servers: readonly [TestRedis, TestRedis];
  /** Returns the server that says it is the master and has a replica, and the other server. */
  roles(): Promise<{ readonly master: TestRedis; readonly replica: TestRedis }>;
  /**
   * Resolves when the server is a master, with the last moment (`performance.now()`) at which it
   * was not.
   */
  promoted(server: TestRedis): Promise<number>;
  /** Makes a server follow the other, as the sentinels would some ten seconds later. */
  follow(server: TestRedis): Promise<void>;
  /** Resolves when the sentinels would fail the master over to this replica. */
  isReady(replica: TestRedis): Promise<void>;
  /** Returns the names of the connections of nodes (`parley-…`) at a server. */
  connections(server: TestRedis): Promise<readonly string[]>;
  /** Asks a sentinel for a failover while the master is well. */
  switchOver(): Promise<void>;
}

export type FailoverCause = 'master killed' | 'master hung' | 'switched over';

/**
 * Makes the sentinels fail the master over. Returns the milliseconds from the promotion until each
 * node had both connections there. Afterwards the old master is its replica.
 */
export async function failOver(group: SentinelGroup, cause: FailoverCause, nodes: number): Promise<number> {
  const { master, replica } = await group.roles();
  await group.isReady(replica);
  if (cause === 'master killed') await master.kill();
  else if (cause === 'master hung') master.hang();
  else await group.switchOver();
  const promotedMs = await group.promoted(replica);
  await until(async () => (await group.connections(replica)).length >= 2 * nodes, {
    what: 'the nodes to use the new master',
  });
  const tookMs = performance.now() - promotedMs;
  master.resume();
  await master.start();
  await group.follow(master);
  return tookMs;
}

const MASTER = 'mymaster';
const DOWN_AFTER_MS = 1_000;

/** Secrets of servers and sentinels with TLS alone, and a password each. */
export interface SentinelSecrets {
  /** Paths of PEM files. */
  readonly certificate: { readonly ca: string; readonly cert: string; readonly key: string };
  readonly password: string;
  readonly sentinelPassword: string;
}

export async function startSentinelGroup(t: Teardown, secrets?: SentinelSecrets): Promise<SentinelGroup> {
  const { certificate, password, sentinelPassword } = secrets ?? {};
  const tls = certificate && {
    'tls-ca-cert-file': certificate.ca,
    'tls-cert-file': certificate.cert,
    'tls-key-file': certificate.key,
    'tls-replication': 'yes',
    'tls-auth-clients': 'no',
  };
  const login = async (password: string | undefined): Promise<RedisLogin> =>
    certificate && password !== undefined ? { password, tls: { ca: await readFile(certificate.ca) } } : {};
  const settings = { ...tls, ...(password !== undefined && { requirepass: password, masterauth: password }) };
  const servers = await Promise.all([startRedis(t, settings), startRedis(t, settings)]);
  const [first] = servers;
  const asOperator = await login(password);
  const clients = new Map(servers.map((server) => [server, redisClient(t, server.port, asOperator)]));
  const call = <T>(server: TestRedis, ...[name, ...args]: [string, ...(string | number)[]]): Promise<T> =>
    clients.get(server)!.call(name, ...args) as Promise<T>;
  const other = (server: TestRedis) => servers.find((one) => one !== server)!;
  const role = async (server: TestRedis) => {
    const [role] = await call<[string]>(server, 'ROLE').catch((): [string] => ['away']);
    return role;
  };
  const follow = async (server: TestRedis) => {
    await until(() => call(server, 'REPLICAOF', '127.0.0.1', other(server).port).catch(() => false), {
      what: 'a server to follow',
    });
  };
  await follow(servers[1]);
  const watching = {
    ...tls,
    ...(sentinelPassword !== undefined && { requirepass: sentinelPassword }),
    ...(password !== undefined && { [`sentinel auth-pass ${MASTER}`]: password }),
  };
  const sentinels = await Promise.all([1, 2, 3].map(() => startSentinel(t, first.port, watching)));
  const asWatcher = await login(sentinelPassword);
  const asked = sentinels.map((port) => redisClient(t, port, asWatcher));
  const facts = async (sentinel: Redis, ...args: string[]) =>
    pairs((await sentinel.call('SENTINEL', ...args)) as string[]);
  const group: SentinelGroup = {
    url: `${first.url.replace(/:.*/, '+sentinel:')}//${sentinels.map((port) => `127.0.0.1:${port}`).join(',')}/${MASTER}`,
    sentinels,
    servers,
    async roles() {
      const master = (await role(servers[0])) === 'master' ? servers[0] : servers[1];
      return { master, replica: other(master) };
    },
    async promoted(server) {
      let beforeMs = performance.now();
      const isMaster = async () => {
        const askedMs = performance.now();
        if ((await role(server)) === 'master') return true;
        beforeMs = askedMs;
        return false;
      };
      await until(isMaster, { what: 'the promotion' });
      return beforeMs;
    },
    follow,
    async isReady(replica) {
      const sees = async (sentinel: Redis) => {
        const { port, flags, ...more } = await facts(sentinel, 'MASTER', MASTER);
        const [one] = ((await sentinel.call('SENTINEL', 'REPLICAS', MASTER)) as string[][]).map(pairs);
        return (
          port === String(other(replica).port) &&
          flags === 'master' &&
          more['num-other-sentinels'] === '2' &&
          one?.port === String(replica.port) &&
          one.flags === 'slave' &&
          one['master-link-status'] === 'ok'
        );
      };
      await until(
        async () =>
          (await Promise.all(asked.map((sentinel) => sees(sentinel).catch(() => false)))).every(Boolean),
        { what: 'all sentinels to see the master and its replica' },
      );
    },
    async connections(server) {
      const list = await call<string>(server, 'CLIENT', 'LIST').catch(() => '');
      return [...list.matchAll(/ name=(parley-\S+)/g)].map(([, name]) => name!);
    },
    async switchOver() {
      await asked[0]!.call('SENTINEL', 'FAILOVER', MASTER);
    },
  };
  await group.isReady(servers[1]);
  return group;
}

async function startSentinel(
  t: Teardown,
  masterPort: number,
  settings: Readonly<Record<string, string>>,
): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-sentinel-'));
  const port = await freePort();
  const file = join(directory, 'sentinel.conf');
  const lines = [
    ...('tls-cert-file' in settings ? ['port 0', `tls-port ${port}`] : [`port ${port}`]),
    'bind 127.0.0.1',
    `dir ${directory}`,
    `sentinel monitor ${MASTER} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${MASTER} 5000`,
    ...Object.entries(settings).map((setting) => setting.join(' ')),
  ];
  await writeFile(file, lines.join('\n'));
  const child = await launchRedis(await findRedis(), [file, '--sentinel']);
  t.teardown(async () => {
    const exited = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await exited;
    await rm(directory, { recursive: true, force: true });
  });
  return port;
}

function pairs(list: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: list.length / 2 }, (_, n) => [list[2 * n]!, list[2 * n + 1]!]),
  );
}
