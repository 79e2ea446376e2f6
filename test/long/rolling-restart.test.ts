/**
 * Nodes behind nginx, with its settings in docker-compose.yml, are restarted in turn under load.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/installation,
 * src/features/mail, src/platform/outbound.
 */

import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { ROOT } from '../start/parley.ts';
import { type Cluster, checkCluster, Load } from '../support/cluster.ts';
import { freePort } from '../support/free-port.ts';
import { startNginxWith } from '../support/nginx.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { startRedis } from '../support/redis.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

t.test('nodes that are restarted one second apart cost no request', async (t) => {
  const { cluster, balanced, restart, errors } = await start(t);
  const load = new Load(t, () => balanced, cluster.conversationId, { label: 'restart', width: 8 });
  const acknowledged = () => load.acknowledged.length;
  await until(() => acknowledged() > 50, { what: 'sends before the first restart' });

  for (const index of [0, 1, 0, 1] as const) {
    await restart(index);
    const before = acknowledged();
    // The distance between two restarts is what this test is about.
    await pause(1_000);
    await until(() => acknowledged() > before, { what: 'sends between two restarts' });
  }
  await load.stop();

  const refused = load.sent.filter(({ sequence }) => sequence === undefined);
  const reasons = errors().match(/(?<=\*\d+ ).*?(?= while)/g);
  t.equal(refused.length, 0, `of ${load.sent.length}; ${[...new Set(reasons)].join(', ')}`);
  t.same(await checkCluster(cluster, [], load.acknowledged), []);
});

t.test('the balancer shows others neither the metrics nor who is ready', async (t) => {
  const { balanced } = await start(t);
  const statusFor = (path: string, localAddress: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      get(balanced.baseUrl + path, { localAddress, agent: false }, ({ statusCode }) =>
        resolve(statusCode),
      ).on('error', reject);
    });
  t.equal(await statusFor('/readyz', '127.0.0.1'), 200, 'its own check');
  t.equal(await statusFor('/readyz', '127.0.0.2'), 403);
  t.equal(await statusFor('/metrics', '127.0.0.1'), 404);
  t.equal(await statusFor('/healthz', '127.0.0.2'), 200);
});

interface Balanced {
  readonly cluster: Cluster;
  /** Stands for a node, by way of the balancer. */
  readonly balanced: TestNode;
  /** Resolves when the node is ready again. */
  readonly restart: (index: 0 | 1) => Promise<void>;
  /** What nginx has logged. */
  readonly errors: () => string;
}

async function start(t: Teardown): Promise<Balanced> {
  const redis = await startRedis(t);
  const { url: databaseUrl } = await createTestDatabase(t);
  const ports = [await freePort(), await freePort()] as const;
  const run = (index: 0 | 1, dataDir?: string) =>
    startNode(t, {
      databaseUrl,
      redisUrl: redis.url,
      env: { PORT: String(ports[index]), PARLEY_DRAIN_DELAY_MS: composed('PARLEY_DRAIN_DELAY_MS') },
      ...(dataDir !== undefined && { dataDir }),
    });
  const nodes: [TestNode, TestNode] = [await run(0), await run(1)];
  const { port, errors } = await startNginxWith(t, (port) => balancer(port, ports));
  const { demo } = nodes[0];
  const cluster = { nodes, redis, links: [], databaseUrl, conversationId: demo.conversations.group };
  return {
    cluster: { ...cluster, restart: () => Promise.reject(new Error('see below')) },
    balanced: nodes[0].behind(`http://127.0.0.1:${port}`),
    async restart(index) {
      const { running, dataDir } = nodes[index];
      running.child.kill('SIGTERM');
      await running.ended;
      nodes[index] = await run(index, dataDir);
    },
    errors,
  };
}

const COMPOSE = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');

/** Returns the value of a variable of both nodes. */
function composed(name: string): string {
  return new RegExp(`^ {2}${name}: (.+)$`, 'm').exec(COMPOSE)?.[1] ?? '';
}

/** Returns the configuration of the balancer, with ports of this machine. */
function balancer(port: number, [first, second]: readonly [number, number]): string {
  const [, content = ''] = COMPOSE.split(/^ {4}content: \|\n/m);
  return content
    .replaceAll('$$', '$')
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
    .replace('node-1:8080', `127.0.0.1:${first}`)
    .replace('node-2:8080', `127.0.0.1:${second}`);
}
