/**
 * Without influence: ASIDE, PAGES, ANSWERS, src/app/demo, src/app/supervise.ts, src/app/supervisor,
 * src/app/tail.ts, packages/client, src/core/registration, src/features/compliance,
 * src/features/mail, src/platform/outbound.
 */

import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { pino } from 'pino';
import t from 'tap';
import { FRAME_CODEC as codec } from '../../src/core/frames/frame-codec.ts';
import { RedisEngine } from '../../src/platform/engine/redis/redis-engine.ts';
import { redisAway } from '../campaigns/redis-away.ts';
import { freshDirectory } from '../start/parley.ts';
import { makeSignedCertificate } from '../support/certificate.ts';
import { onFreshGroup, startClusterOver } from '../support/cluster.ts';
import { ClusterReader } from '../support/cluster-reader.ts';
import { startSentinelGroup } from '../support/sentinel.ts';

/** Servers and sentinels with TLS alone, under a private authority, and a password of each kind. */

const certificate = await makeSignedCertificate(freshDirectory(t), '127.0.0.1');
const group = await startSentinelGroup(t, { certificate, password: 'secret', sentinelPassword: 'watcher' });
const url = urlWith('secret', 'watcher');

t.test('an authority or a password that is wrong is refused with the reason', async (t) => {
  t.match(url, /^rediss\+sentinel:/);
  const log = pino({ level: 'silent' });
  const refused = async (url: string, reason: RegExp) => {
    const error = await RedisEngine.connect({ codec, url, log, patienceMs: 100 }).then(
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

t.test('two nodes over it: a short run of the campaign in which the master fails over', async (t) => {
  const redis = { ...group.servers[0], url };
  const cluster = await startClusterOver(t, redis, { NODE_EXTRA_CA_CERTS: certificate.ca });
  const reader = await ClusterReader.open(t, cluster);
  await reader.arrives('a message');
  const figures = await redisAway(t, {
    seed: 4,
    faults: ['master hung', 'switched over', 'master killed'] as const,
    awayMs: 2_000,
    perSecond: 30,
    ground: { cluster: await onFreshGroup(cluster), group },
  });
  t.same(figures.problems, [], JSON.stringify(figures));
  await reader.areWhole();
  await reader.arrives('a message over the last master');
  reader.gotEachOnce();
});

function urlWith(password: string, sentinelPassword: string): string {
  return `${group.url.replace('//', `//:${password}@`)}?sentinel_password=${sentinelPassword}`;
}
