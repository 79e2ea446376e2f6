/**
 * `/readyz` announces a stop for a while, in which the node serves on, so that balancers can turn
 * away.
 */

import t from 'tap';
import { freePort } from '../support/free-port.ts';
import { startNode, type TestNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

// Most of the time the tests wait for their processes.
t.jobs = 3;

/** No test waits for its end. */
const LONG = '600000';

t.test('SIGTERM: not ready at once, and nothing else changes until a second signal', async (t) => {
  const adminPort = await freePort();
  const node = await start(t, { PARLEY_DRAIN_DELAY_MS: LONG, PARLEY_ADMIN_PORT: String(adminPort) });
  const admin = `http://127.0.0.1:${adminPort}`;
  const { group } = node.demo.conversations;
  t.equal(await statusOf(`${node.baseUrl}/readyz`), 200);
  const before = await node.listen(group);

  node.signal('SIGTERM');
  await until(async () => (await statusOf(`${node.baseUrl}/readyz`)) === 503, { what: 'not to be ready' });
  t.equal(await statusOf(`${admin}/readyz`), 503, 'on the admin port too');
  t.equal(await statusOf(`${node.baseUrl}/healthz`), 200);
  t.strictSame(await (await fetch(admin)).json(), { paths: ['/healthz', '/readyz', '/metrics'] });
  const during = await node.tryListen(group);
  t.equal(during.closeCode, undefined, 'new sockets are accepted');
  t.equal((await node.send(group)).status, 201, 'and requests on new connections');
  const got = (sequence: number) => () =>
    [before, during].every((listener) => listener.created().at(-1)?.sequence === sequence);
  await until(got(1), { what: 'both sockets to have the message' });
  t.notOk(
    [before, during].some(({ frames }) => frames.some(({ type }) => type === 'goaway')),
    'the sockets are not sent away yet',
  );

  node.signal('SIGINT');
  const { code } = await node.running.ended;
  t.equal(code, 0);
  for (const listener of [before, during]) {
    // What the node sent last may be read after its end.
    await until(() => listener.closeCode !== undefined, { what: 'the socket to be closed' });
    t.match(
      listener.frames.find(({ type }) => type === 'goaway'),
      { reason: 'shutdown', deadline_ms: 100 },
    );
    t.equal(listener.closeCode, 4000);
  }
});

t.test('the delay ends by itself', async (t) => {
  const node = await start(t, { PARLEY_DRAIN_DELAY_MS: '50' });
  await node.kill('SIGTERM');
  const { code, stderr } = await node.running.ended;
  t.equal(code, 0);
  t.match(stderr, /"drain_delay_ms":50,.*"msg":"not ready any more.*"msg":"stopping".*"msg":"stopped"/s);
});

t.test('a signal that npm passes on beside the one of its process group is the same one', async (t) => {
  const node = await start(t, { PARLEY_DRAIN_DELAY_MS: LONG, npm_lifecycle_event: 'start' });
  node.signal('SIGTERM');
  node.signal('SIGTERM');
  await until(async () => (await statusOf(`${node.baseUrl}/readyz`)) === 503, { what: 'not to be ready' });
  t.equal((await node.send(node.demo.conversations.group)).status, 201);
  t.notMatch(node.running.stderr, '"msg":"stopping"');
  const end = () => {
    node.signal('SIGTERM');
    return node.running.child.exitCode !== null;
  };
  await until(end, { what: 'a later signal to end it' });
});

async function start(t: Teardown, env: NodeJS.ProcessEnv): Promise<TestNode> {
  const { url: databaseUrl } = await createTestDatabase(t);
  const soon = { PARLEY_DRAIN_MS: '100', PARLEY_LOG_LEVEL: 'info' };
  return startNode(t, { databaseUrl, env: { ...soon, ...env } });
}

/** On a connection of its own, as the probes of balancers are. */
async function statusOf(url: string): Promise<number> {
  const { status } = await fetch(url, { headers: { Connection: 'close' } });
  return status;
}
