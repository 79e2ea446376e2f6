/** Two nodes over one Redis: each shows both, and the problems of Redis. */

import type { Installation, InstallationCheck } from '@parley/protocol/resources/installation.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { lockUser } from '../../src/core/accounts/actors/users.ts';
import { addOperator } from '../../src/core/accounts/users/operators.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { startCluster } from '../support/cluster.ts';
import type { TestNode } from '../support/node.ts';
import { until } from '../support/until.ts';

const cluster = await startCluster(t);
const [first, second] = cluster.nodes;
const { demo } = first;
const database = await openDatabase({ url: cluster.databaseUrl, log: createLog('silent') });
t.teardown(() => database.close());
await database.transaction(async (tx) => {
  await addOperator(tx, (await lockUser(tx, demo.account_id, demo.users.ada.id))!);
});
const token = await signIn();

t.test('each node shows both, with what each does', async (t) => {
  const listener = await second.listen(cluster.conversationId);
  t.teardown(() => listener.socket.close());
  const shown = await until(
    async () => {
      await first.send(cluster.conversationId);
      const both = await Promise.all([read(first), read(second)]);
      return both.every((installation) => isBusy(installation)) ? both : undefined;
    },
    { what: 'both nodes show the sends of one and the socket and deliveries of the other' },
  );
  for (const { nodes, checks } of shown) {
    t.strictSame(
      nodes.map(({ state, redis, postgres }) => [state, redis, postgres]),
      Array(2).fill(['up', 'up', 'up']),
    );
    t.equal(nodes.filter(({ answers }) => answers).length, 1);
    t.match(of(checks, 'redis'), { state: 'ok', message: /^Every node/ });
  }
  const ids = ({ nodes }: Installation) => nodes.map(({ id }) => id);
  t.strictSame(ids(shown[0]!), ids(shown[1]!), 'in the same order');
  const answering = ({ nodes }: Installation) => nodes.find(({ answers }) => answers)?.id;
  t.not(answering(shown[0]!), answering(shown[1]!));
});

t.test('without Redis each goes on to answer, and says what to do', async (t) => {
  await cluster.redis.stop();
  for (const node of cluster.nodes) {
    const { nodes, checks } = await until(
      async () => {
        const installation = await read(node);
        const states = installation.nodes.map(({ state }) => state).sort();
        return String(states) === 'silent,up' ? installation : undefined;
      },
      { what: 'the other node is silent' },
    );
    const [own] = nodes.filter(({ answers }) => answers);
    t.match(own, { state: 'up', redis: 'away', silent_seconds: 0 }, 'it goes on to measure itself');
    t.match(of(checks, 'redis'), { state: 'attention', message: /Start Redis/ });
    t.match(of(checks, 'redis'), { docs_url: /\/docs\/operations#when-redis-needs-attention$/ });
    t.match(of(checks, 'postgres'), { state: 'ok' });
  }
  await cluster.redis.start();
  await until(async () => isWhole(await read(first)) && isWhole(await read(second)), {
    what: 'both nodes hear each other again',
  });
});

t.test('a killed node becomes silent, one that is stopped is gone at once', async (t) => {
  await second.kill('SIGKILL');
  await until(async () => of((await read(first)).checks, 'redis').state === 'attention', {
    what: 'the node is silent',
  });
  const { nodes, checks } = await read(first);
  t.strictSame(nodes.map(({ state }) => state).sort(), ['silent', 'up']);
  t.match(of(checks, 'redis').message, /has been silent for \d+ s/);

  await cluster.restart(1);
  await until(async () => (await read(first)).nodes.filter(({ state }) => state === 'up').length === 2, {
    what: 'the new node is up',
  });
  await cluster.nodes[1].kill('SIGTERM');
  const left = await until(
    async () => {
      const { nodes: remaining } = await read(first);
      return remaining.length === 2 ? remaining : undefined;
    },
    { what: 'the stopped node has left' },
  );
  t.strictSame(left.map(({ state }) => state).sort(), ['silent', 'up'], 'it told the others');
});

function isBusy({ nodes }: Installation): boolean {
  const some = (test: (figures: Installation['nodes'][number]['figures'][number]) => boolean) =>
    nodes.some(({ figures }) => figures.some(test));
  return (
    nodes.length === 2 &&
    some(({ sends_per_second, send_p99_ms }) => sends_per_second > 0 && send_p99_ms !== null) &&
    some(({ deliveries_per_second }) => deliveries_per_second > 0) &&
    some(({ sockets }) => sockets > 0)
  );
}

function isWhole({ nodes, checks }: Installation): boolean {
  return (
    nodes.every(({ state, redis }) => state === 'up' && redis === 'up') && of(checks, 'redis').state === 'ok'
  );
}

function of(checks: readonly InstallationCheck[], name: string): InstallationCheck {
  return checks.find((check) => check.name === name)!;
}

async function read(node: TestNode): Promise<Installation> {
  const response = await fetch(`${node.baseUrl}/v1/installation?history_seconds=60`, {
    headers: {
      Authorization: `Bearer ${token}`,
      'Service-Account': demo.account_id,
      'Service-Version': NEWEST_VERSION,
    },
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  return JSON.parse(text);
}

async function signIn(): Promise<string> {
  const { body } = await first.call('POST', '/v1/auth/tokens', { user_id: demo.users.ada.id });
  return String(body.access_token);
}
