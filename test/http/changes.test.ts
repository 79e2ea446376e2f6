/** Routes that change something: who opens the transaction, and what is stored with it. */

import { ApiError } from '@parley/protocol/errors/errors.ts';
import { Body } from '@parley/protocol/schema/schema.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { sql } from 'kysely';
import t from 'tap';
import { Type } from 'typebox';
import { Idempotency } from '../../src/api/access/idempotency.ts';
import {
  type AskingRoute,
  type ChangeRoute,
  type CommittingRoute,
  defineRoute,
  type ReadRoute,
  type Route,
} from '../../src/api/pipeline/route.ts';
import type { Database } from '../../src/platform/db/connection/database.ts';
import { openTestDatabase } from '../access/rows.ts';
import { startTestApp } from '../support/app.ts';
import { settingsOf } from '../support/settings.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { HEADERS, serve } from './fixture.ts';

t.test('a route that changes something has one of two forms, or does not compile', async (t) => {
  type Facts = Omit<ReadRoute, 'method' | 'handle' | 'asks' | 'prepare' | 'change' | 'commits'>;
  type IsRoute<Form> = Facts & Form extends Route ? true : false;
  type Change = Pick<ChangeRoute, 'method' | 'change'>;
  type Commit = Pick<CommittingRoute, 'method' | 'commits' | 'handle'>;

  type Ask = Pick<AskingRoute, 'method' | 'asks' | 'handle'>;

  const change: IsRoute<Change> = true;
  const commits: IsRoute<Commit> = true;
  const asks: IsRoute<Ask> = true;
  const both: IsRoute<Change & Commit> = false;
  const asksAndChanges: IsRoute<Change & Ask> = false;
  const neither: IsRoute<Pick<ReadRoute, 'handle'> & Pick<Change, 'method'>> = false;
  const withoutReason: IsRoute<Omit<Commit, 'commits'>> = false;
  const withoutAnswer: IsRoute<Omit<Commit, 'handle'> & { handle: () => Promise<object> }> = false;
  const read: IsRoute<Omit<Change, 'method'> & Pick<ReadRoute, 'method'>> = false;
  t.same(
    { change, commits, asks, both, asksAndChanges, neither, withoutReason, withoutAnswer, read },
    {
      change: true,
      commits: true,
      asks: true,
      both: false,
      asksAndChanges: false,
      neither: false,
      withoutReason: false,
      withoutAnswer: false,
      read: false,
    },
  );
});

t.test('the routes that commit by themselves, and why', async (t) => {
  const { routes } = await startTestApp(t);
  const reasons = routes.flatMap(({ name, commits }) => (commits === undefined ? [] : [[name, commits]]));
  t.strictSame(Object.fromEntries(reasons), {
    create_realtime_ticket:
      'Tickets are in the engine, not in Postgres: each opens one socket, within 30 seconds.',
    show_typing: 'Who types is in no table: the event is all there is of it.',
    refresh_token:
      'The refusal of a token that was used before is committed too: it ends the family of the token.',
    send_message:
      'WritePath commits many messages together, and LockedWrites those that change their conversation.',
    forward_message:
      'WritePath commits many messages together, and LockedWrites those that change their conversation.',
    approve_reply_draft:
      'LockedWrites opens the transaction, perhaps more than once, until the message has a sequence number.',
    send_scheduled_message_now:
      'LockedWrites opens the transaction, perhaps more than once, until the message has a sequence number.',
    create_alert:
      'LockedWrites opens the transaction, perhaps more than once, until the message has a sequence number.',
    import_messages:
      'LockedWrites opens the transaction, perhaps more than once, until the message has a sequence number.',
    mark_all_notifications:
      'A feed may be long: it is marked in batches, and the answer is stored with the last of them.',
    cancel_agent_run:
      'The request to cancel is committed first, and then waited for until the node of the run has ended it.',
  });
  t.strictSame(
    routes.filter(({ method, handle }) => method === 'GET' && handle === undefined),
    [],
  );
});

t.test('changes of one resource do not keep other requests from Postgres', async (t) => {
  const { call, database, demo } = await startTestApp(t);
  const { grace } = demo.users;
  const held = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holder = database.transaction(async (tx) => {
    await tx.kysely.selectFrom('actors').select('id').where('id', '=', grace.id).forUpdate().execute();
    locked.resolve();
    await held.promise;
  });
  await locked.promise;
  const headers = { 'Service-Version': NEWEST_VERSION };
  // Three times as many as the pool has connections.
  const changes = Array.from({ length: 30 }, (_, index) =>
    call('PATCH', `/v1/users/${grace.id}`, { body: { name: `Grace ${index}` }, headers }),
  );
  await until(async () => (await waitingForLocks(database)) > 0, { what: 'a change that waits for the row' });
  t.equal((await call('GET', '/v1/users')).status, 200);
  held.resolve();
  await holder;
  const answers = await Promise.all(changes);
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([200]));
});

async function waitingForLocks(database: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*)::integer AS count FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(database.kysely);
  return rows[0]!.count;
}

t.test('no transaction is opened before every check has passed, and none for a GET', async (t) => {
  const { call, opened } = await start(t);
  const key = { 'Idempotency-Key': 'a' };
  for (const [headers, body, status] of [
    [{ 'Service-Version': '9' }, { name: 'x' }, 400],
    [{ Authorization: 'Bearer stranger' }, { name: 'x' }, 401],
    [{ 'Service-Account': 'acc_2' }, { name: 'x' }, 404],
    [{ Authorization: 'Bearer unpaid' }, { name: 'x' }, 402],
    [{ Authorization: 'Bearer reader' }, { name: 'x' }, 403],
    [{}, {}, 400],
    [{ 'Idempotency-Key': '' }, { name: 'x' }, 400],
    [key, { name: 'unprepared' }, 409],
  ] as const) {
    t.equal((await call('POST', '/v1/settings', headers, body)).status, status);
  }
  t.equal((await call('GET', '/v1/settings')).status, 200);
  t.equal(opened(), 0);

  t.equal((await call('POST', '/v1/settings', { 'Idempotency-Key': 'b' }, { name: 'once' })).status, 201);
  t.equal(opened(), 1);
  const again = await call('POST', '/v1/settings', { 'Idempotency-Key': 'b' }, { name: 'once' });
  t.equal(again.replayed, 'true');
  t.equal(opened(), 1, 'a replay changes nothing');
});

t.test('the answer is stored in the transaction of the change', async (t) => {
  const { call, database, held, names } = await start(t);
  const key = { 'Idempotency-Key': 'c' };
  const first = call('POST', '/v1/settings', key, { name: 'held' });
  await held.begun;
  t.match(await call('POST', '/v1/settings', key, { name: 'held' }), {
    status: 409,
    text: /idempotency_in_progress/,
  });
  // Another request takes the key over: as after a crash, the change of the first must not stand.
  await database.kysely
    .updateTable('idempotency_keys')
    .set({ claim: 'of another request' })
    .where('status', 'is', null)
    .execute();
  held.release();
  t.match(await first, { status: 409, text: /idempotency_in_progress/ });
  t.strictSame(await names(), []);
});

t.test('after the commit, before the answer', async (t) => {
  const { call, held, names, seen } = await start(t);
  const key = { 'Idempotency-Key': 'd' };
  const first = call('POST', '/v1/settings', key, { name: 'slow_effect' });
  await until(() => seen.length === 1, { what: 'what follows the commit' });
  t.strictSame(seen, [['slow_effect']], 'another connection sees the change');
  let isAnswered = false;
  void first.then(() => {
    isAnswered = true;
  });
  const replay = await call('POST', '/v1/settings', key, { name: 'slow_effect' });
  t.equal(replay.replayed, 'true');
  t.notOk(isAnswered);
  held.release();
  t.equal((await first).text, replay.text, 'byte for byte');

  const failing = { 'Idempotency-Key': 'e' };
  t.equal((await call('POST', '/v1/settings', failing, { name: 'failed_effect' })).status, 500);
  t.match(await call('POST', '/v1/settings', failing, { name: 'failed_effect' }), {
    status: 201,
    replayed: 'true',
  });
  t.strictSame(await names(), ['failed_effect', 'slow_effect'], 'the change stands');
  t.equal((await call('POST', '/v1/settings', {}, { name: 'refused' })).status, 409);
  t.strictSame(seen, [['slow_effect']], 'nothing follows what was rolled back');
});

async function start(t: Teardown) {
  const database = await openTestDatabase(t);
  const names = () => settingsOf(database);
  let opened = 0;
  const seen: string[][] = [];
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const common = {
    name: 'fixture',
    path: '/v1/settings',
    summary: 'A fixture',
    since: '1.0.harbor',
    response: Type.Unknown(),
  } as const;
  const routes = [
    defineRoute({ ...common, method: 'GET', permission: null, handle: async () => ({}) }),
    defineRoute({
      ...common,
      method: 'POST',
      permission: 'messaging:create',
      body: Body({ name: Type.String() }),
      status: 201,
      prepare({ body }) {
        if (body.name === 'unprepared') throw new ApiError('resource_conflict', 'Not now.');
        return { prepared: body.name.toUpperCase() };
      },
      async change(tx, { body: { name }, afterCommit }, { prepared }) {
        await tx.kysely.insertInto('settings').values({ name, value: prepared }).execute();
        afterCommit(async () => {
          if (name === 'failed_effect') throw new Error('what follows the commit failed');
          if (name !== 'slow_effect') return;
          seen.push(await names());
          await released.promise;
        });
        if (name === 'refused') throw new ApiError('resource_conflict', 'No.');
        if (name === 'held') {
          begun.resolve();
          await released.promise;
        }
        return { name, at: Date.now() };
      },
    }),
  ];
  const counted: Pick<Database, 'transaction'> = {
    transaction(work) {
      opened += 1;
      return database.transaction(work);
    },
  };
  const { url } = await serve(t, { routes, database: counted, idempotency: new Idempotency({ database }) });
  const call = async (method: string, path: string, headers: object = {}, body?: object) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...HEADERS, ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const replayed = response.headers.get('idempotent-replayed');
    return { status: response.status, replayed, text: await response.text() };
  };
  const held = { begun: begun.promise, release: released.resolve };
  return { call, database, names, seen, held, opened: () => opened };
}
