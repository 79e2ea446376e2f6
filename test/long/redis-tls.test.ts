/**
 * Without influence: ASIDE, PAGES, ANSWERS, src/app/demo, src/app/supervise.ts, src/app/supervisor,
 * src/app/tail.ts, packages/client, src/core/registration, src/features/compliance,
 * src/features/mail, src/platform/outbound.
 */

import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { pino } from 'pino';
import t from 'tap';
import { FRAME_CODEC as codec } from '../../src/core/frames/frame-codec.ts';
import { readRedisUrl, serverOf } from '../../src/platform/engine/redis/redis-address.ts';
import { connectionTo, end } from '../../src/platform/engine/redis/redis-connection.ts';
import { RedisCluster } from '../../src/platform/engine/shards/redis-cluster.ts';
import { redisAway } from '../campaigns/redis-away.ts';
import { newChannel } from '../engine/contract.ts';
import { freshDirectory, ROOT } from '../start/parley.ts';
import { makeSignedCertificate } from '../support/certificate.ts';
import { onFreshGroup, startClusterOver } from '../support/cluster.ts';
import { ClusterReader } from '../support/cluster-reader.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { until } from '../support/until.ts';

/** A cluster with TLS alone, under a private authority, and a user with the rights of the docs. */

const directory = freshDirectory(t);
const { ca, cert, key } = await makeSignedCertificate(directory, '127.0.0.1');
const rules = documentedRules();
// So that a server that was killed knows the users when it comes back.
const aclfile = join(directory, 'users.acl');
const users = { default: ['on', '>operator', '~*', '&*', '+@all'], parley: rules };
writeFileSync(
  aclfile,
  Object.entries(users)
    .map(([name, words]) => `user ${name} ${words.join(' ')}\n`)
    .join(''),
);
const cluster = await startRedisCluster(t, {
  settings: {
    'tls-ca-cert-file': ca,
    'tls-cert-file': cert,
    'tls-key-file': key,
    'tls-cluster': 'yes',
    'tls-replication': 'yes',
    'tls-auth-clients': 'no',
    aclfile,
    masterauth: 'operator',
  },
  operator: { password: 'operator', tls: { ca: readFileSync(ca) } },
});
const url = cluster.url.replace('//', '//parley:secret@');
const address = readRedisUrl(url)![0]!;
const log = pino({ level: 'silent' });
const connect = (to = url) => RedisCluster.connect({ codec, address: readRedisUrl(to)![0]!, log });

t.test('a private authority is refused until Node is given it', async (t) => {
  t.match(url, /^rediss\+cluster:/);
  await t.rejects(
    connect(),
    /^cannot use the Redis Cluster at ((?!secret)[^\n])*: self-signed certificate in certificate chain; have/,
  );
  // The second error of such a socket must not end the process.
  for (let n = 0; n < 20; n++) {
    const connection = connectionTo(serverOf(address, address.cluster![0]!), 'parley-test', () => false);
    const connecting = connection.connect().catch(() => {});
    while (connection.stream === undefined) await new Promise<void>((done) => process.nextTick(done));
    // The handshake comes next.
    await once(connection.stream, 'connect');
    await end(connection);
    await connecting;
  }
  // As NODE_EXTRA_CA_CERTS does it for the nodes below.
  setDefaultCACertificates([...getCACertificates(), readFileSync(ca, 'utf8')]);
});

t.test('a wrong password is refused with the reason', async (t) => {
  await t.rejects(
    connect(url.replace('secret', 'wrong')),
    /^cannot use ((?!wrong)[^\n])*: WRONGPASS [^,\n]*; have/,
  );
});

t.test('of the rights in the docs none can be left out', async (t) => {
  for (const rule of rules.filter((rule) => /^[~&+]/.test(rule))) {
    await letIn(rules.filter((one) => one !== rule));
    await forgetDenials();
    const engine = await connect().catch((error: Error) => error);
    if (engine instanceof Error) t.match(engine.message, /NOPERM|user executing the script/, rule);
    else {
      t.ok(['+info', '+ping', '+client|setname', '+sunsubscribe'].includes(rule), `${rule} is found missing`);
      (await engine.subscribe(newChannel(), () => {})).unsubscribe();
      await until(async () => rule === '+ping' || (await denials()).length > 0, { what: `a use of ${rule}` });
      await engine.close();
    }
    t.not((await denials()).length, 0, rule);
  }
  await letIn(rules);
});

t.test('two nodes over it: a short run of the campaign in which slots and masters change', async (t) => {
  await forgetDenials();
  const redis = { ...cluster.servers[0]!, url };
  const over = await startClusterOver(t, redis, { NODE_EXTRA_CA_CERTS: ca });
  const { nodes, conversationId } = over;
  const reader = await ClusterReader.open(t, over);
  await reader.arrives('a message');

  const { to } = await cluster.migrate(conversationId);
  await reader.arrives('a message during the move');
  await cluster.areHeard(to, conversationId, 2);
  await reader.areWhole();
  await reader.arrives('a message after the move');

  const figures = await redisAway(t, {
    seed: 6,
    faults: [
      'slot moved',
      'slot moved',
      'shard hung',
      'slot moved',
      'shard killed',
      'shard switched over',
      'another shard stopped',
    ],
    awayMs: 2_000,
    perSecond: 30,
    ground: { cluster: await onFreshGroup(over), redisCluster: cluster },
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  t.ok(figures.keysDeleted > 3);
  await reader.areWhole();
  await reader.arrives('a message over other masters');
  t.same(await denials(), [], 'the rights suffice');

  await Promise.all(cluster.servers.map((server) => cluster.call(server, 'ACL', 'DELUSER', 'parley')));
  await Promise.all(nodes.map((node) => node.running.logs(/WRONGPASS/)));
  await reader.arrives('a message without the user');
  await letIn(rules);
  await reader.areWhole();
  await reader.arrives('a message with the user again');
  reader.gotEachOnce();
  for (const { running } of nodes) {
    const lines = running.stderr.split('\n').filter((line) => line.includes('WRONGPASS'));
    t.ok(lines.length < 20, `it is said ${lines.length} times`);
  }
});

/** The words behind the name of the user, as Redis gets them from the shell. */
function documentedRules(): string[] {
  const text = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const [, rules = ''] = /^redis-cli ACL SETUSER parley (.*)$/m.exec(text) ?? [];
  return rules.replaceAll("'", '').split(' ');
}

async function letIn(rules: readonly string[]): Promise<void> {
  const letIn = cluster.servers.map((server) =>
    cluster.call(server, 'ACL', 'SETUSER', 'parley', 'reset', ...rules),
  );
  await Promise.all(letIn);
}

async function denials(): Promise<unknown[]> {
  const logs = cluster.servers.map((server) => cluster.call<unknown[]>(server, 'ACL', 'LOG'));
  return (await Promise.all(logs)).flat();
}

async function forgetDenials(): Promise<void> {
  await Promise.all(cluster.servers.map((server) => cluster.call(server, 'ACL', 'LOG', 'RESET')));
}
