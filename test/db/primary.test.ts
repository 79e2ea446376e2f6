import t from 'tap';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { acquireNodeLock } from '../../src/platform/db/connection/node-lock.ts';
import { placeOf, serversOf } from '../../src/platform/db/connection/servers.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { LatestTimeline } from '../../src/platform/db/connection/timeline.ts';
import { isUnavailable } from '../../src/platform/db/connection/unavailable.ts';
import { createLog } from '../../src/platform/log.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { PostgresPair } from '../support/standby.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const log = createLog('silent');

t.test('URLs of several servers', (t) => {
  const of = (url: string) => serversOf(url);
  t.same(of('postgres://u:p@a:1/x?connect_timeout=3'), {
    urls: ['postgres://u:p@a:1/x?connect_timeout=3'],
    isPrimaryWanted: false,
  });
  const both = ['postgres://u:p@a:1/x', 'postgres://u:p@b/x'];
  t.same(of('postgres://u:p@a:1,b/x?target_session_attrs=read-write'), { urls: both, isPrimaryWanted: true });
  t.same(of('postgres://u:p@a:1,b/x'), { urls: both, isPrimaryWanted: true });
  t.match(of('postgresql://a/x?target_session_attrs=primary'), { isPrimaryWanted: true });
  t.same(of('postgres://u@h/x?host=a,b&port=1,2').urls, [
    'postgres://u@h/x?host=a&port=1',
    'postgres://u@h/x?host=b&port=2',
  ]);
  t.equal(placeOf('postgres://u:s3cret@a:1,b/x?target_session_attrs=read-write'), 'a:1,b/x');
  for (const attributes of ['standby', 'read-only', 'any']) {
    t.throws(() => of(`postgres://a,b/x?target_session_attrs=${attributes}`), {
      message: /^target_session_attrs .*read-write/,
    });
  }
  t.throws(() => of('postgres://u:s3cret@a:x,b/x'), { message: /^DATABASE_URL is not of the form [^\n]*$/ });
  t.end();
});

t.test('what a process has seen decides', (t) => {
  const latest = new LatestTimeline();
  let raised = 0;
  latest.onRaised(() => {
    raised += 1;
  });
  const primary = (timeline: number, cluster = 'one') => ({ cluster, timeline, is_writable: true });
  t.ok(latest.admits(primary(3)));
  t.notOk(latest.admits({ cluster: 'one', timeline: 0, is_writable: false }), 'a standby');
  t.notOk(latest.admits(primary(2)), 'an earlier timeline');
  t.notOk(latest.admits(primary(9, 'other')), 'another cluster');
  t.ok(latest.admits(primary(3)));
  t.ok(latest.admits(primary(4)));
  t.notOk(latest.admits(primary(3)), 'which was the latest before');
  t.equal(raised, 2);
  t.end();
});

t.test('connections follow the primary, and no former one is used again', async (t) => {
  const pair = await PostgresPair.start(t);
  const database = await open(t, pair.url);
  const lock = await acquireNodeLock({ primary: database.direct, mode: 'shared', log });
  t.teardown(() => lock.close());
  const ways = () => [database, database.pipeline, database.reader, database.relaxed, ...database.writers];
  const timelines = async () => {
    const answers = await Promise.all(ways().map((way) => way.query(READ)));
    return new Set(answers.map(([row]) => row!.timeline));
  };
  const allAt = (timeline: string) =>
    until(
      () =>
        timelines().then(
          (seen) => lock.held && database.connected && seen.size === 1 && seen.has(timeline),
          () => false,
        ),
      { what: `timeline ${timeline}` },
    );
  t.same(await timelines(), new Set(['00000001']));

  t.comment('a former primary that answers all the time');
  await pair.promote();
  await allAt('00000002');
  const former = pair.other;
  t.same(await sessionsOf(former), [], 'the former one has none but those that wait for its standby');
  await database.query(READ);
  await pair.restore();

  t.comment('one that hangs, and then goes on');
  await pair.failOver('hung');
  await allAt('00000003');
  await pair.other.resume();
  await until(async () => (await sessionsOf(pair.other)).length === 0, { what: 'no session of the node' });
  t.same(await timelines(), new Set(['00000003']));
  const late = await open(t, pair.url);
  t.match(await late.query(READ), [{ timeline: '00000003' }], 'a new process takes the later of two');

  t.comment('only a standby is there');
  await pair.restore();
  await t.rejects(open(t, pair.other.url), /^cannot reach Postgres at .* is read-only/);

  t.comment('an address of one host leads to the standby for a moment');
  const target = { port: portOf(pair.primary.url) };
  const proxy = await FaultProxy.start({ target });
  t.teardown(() => proxy.close());
  const moving = new URL(pair.primary.url);
  moving.port = String(proxy.port);
  const unchecked = await open(t, moving.href);
  const everyWay = [unchecked, unchecked.pipeline, unchecked.reader, ...unchecked.writers];
  target.port = portOf(pair.other.url);
  proxy.cut();
  for (const way of everyWay) {
    const failure = await way.query(READ_ROLE).catch((error: unknown) => error);
    t.ok(isUnavailable(failure), `a read of the standby: ${failure}`);
  }
  target.port = portOf(pair.primary.url);
  for (const way of everyWay) {
    await until(
      () =>
        way.query(READ_ROLE).then(
          ([row]) => row!.is_standby === false,
          () => false,
        ),
      { what: 'the primary' },
    );
  }

  const standby = `${pair.other.url}?target_session_attrs=read-write`;
  await t.rejects(open(t, standby), /^cannot reach Postgres at .*read-only/);
});

/** The sessions of Parley that could still do something there, but its watch. */
function sessionsOf(member: PostgresPair['primary']): Promise<object[]> {
  return member.query(`
    SELECT pid, query FROM pg_stat_activity
    WHERE application_name = 'parley' AND wait_event IS DISTINCT FROM 'SyncRep'`);
}

async function open(t: Teardown, url: string): Promise<Database> {
  const database = await openDatabase({ url, log, patienceMs: 0 });
  t.teardown(() => database.close());
  return database;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

const READ_ROLE = statement<[], { is_standby: boolean }>('role')`SELECT pg_is_in_recovery() AS is_standby`;

const READ = statement<[], { timeline: string }>('timeline')`
    SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline`;
