import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { pino } from 'pino';
import t from 'tap';
import { RedisEngine } from '../../src/platform/engine/redis-engine.ts';
import { freshDirectory } from '../start/parley.ts';
import { makeSignedCertificate } from '../support/certificate.ts';
import { startNode } from '../support/node.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { failOver, startSentinelGroup } from '../support/sentinel.ts';
import { until } from '../support/until.ts';

/** Servers and sentinels with TLS alone, under a private authority, and a password of each kind. */

const certificate = await makeSignedCertificate(freshDirectory(t), '127.0.0.1');
const group = await startSentinelGroup(t, { certificate, password: 'secret', sentinelPassword: 'watcher' });
const url = urlWith('secret', 'watcher');

t.test('an authority or a password that is wrong is refused with the reason', async (t) => {
  t.match(url, /^rediss\+sentinel:/);
  const log = pino({ level: 'silent' });
  const refused = async (url: string, reason: RegExp) => {
    const error = await RedisEngine.connect({ url, log, patienceMs: 100 }).then(
      () => new Error('it connected'),
      (error: Error) => error,
    );
    t.match(error.message, /^cannot use Redis at rediss\+sentinel:[^\n]*$/);
    t.match(error.message, reason);
    t.notMatch(error.message, /secret|watcher|hunter2/);
  };
  await refused(url, /certificate/);
  // As NODE_EXTRA_CA_CERTS does it for the nodes below.
  setDefaultCACertificates([...getCACertificates(), readFileSync(certificate.ca, 'utf8')]);
  await refused(urlWith('secret', 'hunter2'), /WRONGPASS|NOAUTH/);
  await refused(urlWith('hunter2', 'watcher'), /WRONGPASS/);
});

t.test('two nodes over it, while the master fails over', async (t) => {
  const { url: databaseUrl } = await createTestDatabase(t);
  const env = { NODE_EXTRA_CA_CERTS: certificate.ca };
  const start = () => startNode(t, { databaseUrl, redisUrl: url, env });
  const nodes = await Promise.all([start(), start()]);
  const [one, other] = nodes;
  const conversationId = one.demo.conversations.group;
  const listener = await other.listen(conversationId, { token: one.demo.users.ada.access_token });
  let sent = 0;
  const arrives = async (what: string) => {
    const { status, body } = await one.send(conversationId);
    t.equal(status, 201, what);
    sent += 1;
    await until(() => listener.sequences().includes(Number(body.sequence)), { what });
  };

  await arrives('a message');
  for (const cause of ['master killed', 'master hung', 'switched over'] as const) {
    await failOver(group, cause, nodes.length);
    await arrives(`a message after: ${cause}`);
    const healthy = () => Promise.all(nodes.map((node) => node.metric('parley_engine_healthy')));
    await until(async () => (await healthy()).every(Boolean), { what: `whole links after: ${cause}` });
    await arrives('a message over the new master');
  }
  t.equal(new Set(listener.sequences()).size, listener.sequences().length, 'none came twice');
  t.equal(listener.created().length, sent);
  t.equal(listener.closeCode, undefined, 'on the socket of the beginning');
});

function urlWith(password: string, sentinelPassword: string): string {
  return `${group.url.replace('//', `//:${password}@`)}?sentinel_password=${sentinelPassword}`;
}
