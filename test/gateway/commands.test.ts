/**
 * Requests and replies (docs/realtime.md#requests), and rights that end while a socket is open
 * (docs/architecture.md#rights-that-end).
 */

import { PERMISSIONS } from '@parley/protocol/permissions.ts';
import { pino } from 'pino';
import t from 'tap';
import { testRedisUrl } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { type Client, Ground } from './fixture.ts';
import { BINARY, CONTINUATION, RawSocket, TEXT } from './raw-socket.ts';

const ground = await Ground.start(t, { limits: { subscriptions: 2, requestsPerSecond: 30 } });
const { demo, database, rights } = ground;
const { group, direct, case: supportCase } = demo.conversations;

t.test('a subscription gets new events, and the earlier ones that it requested', async (t) => {
  await ground.storeMessages(direct, 3);
  const client = await ground.ready();
  const reply = await client.request('subscribe', { conversation_id: direct, after_sequence: 1 });
  t.strictSame(reply, {
    type: 'reply',
    id: reply.id,
    ok: true,
    result: { conversation_id: direct, head_sequence: 3 },
  });
  t.match(await client.frame('caught_up'), { conversation_id: direct, sequence: 3 });
  await ground.publish(direct, { event: 'draft.created', team: { id: 'msg_live' } });
  await client.frame(({ data }) => data?.id === 'msg_live');
  t.strictSame(
    // A slow machine sends a heartbeat meanwhile.
    client.frames.filter(({ type }) => type !== 'ping').map(({ type, sequence }) => [type, sequence]),
    [
      ['hello', undefined],
      ['ready', undefined],
      ['reply', undefined],
      ['event', 2],
      ['event', 3],
      ['caught_up', 3],
      ['event', undefined],
    ],
    'the reply, the replay, caught_up, what is live',
  );
  t.strictSame(Object.keys(reply), ['type', 'id', 'ok', 'result']);
  client.close();
});

t.test('subscribing twice is answered alike, and nothing comes twice', async (t) => {
  const client = await ground.ready();
  const first = await client.request('subscribe', { conversation_id: direct, after_sequence: 2 });
  await client.frame('caught_up');
  const second = await client.request('subscribe', { conversation_id: direct, after_sequence: 2 });
  t.strictSame(second.result, first.result);
  await until(() => client.frames.filter(({ type }) => type === 'caught_up').length === 2, { what: 'two' });
  t.match(await client.request('subscribe', { conversation_id: direct, after_sequence: 1 }), {
    error: { code: 'resource_conflict', param: 'after_sequence' },
  });
  t.equal(client.frames.filter(({ sequence, type }) => type === 'event' && sequence === 3).length, 1);

  t.strictSame((await client.request('unsubscribe', { conversation_id: direct })).result, {});
  t.strictSame((await client.request('unsubscribe', { conversation_id: direct })).result, {});
  await ground.publish(direct, { event: 'draft.created', team: { id: 'msg_gone' } });
  await client.request('ping');
  t.notOk(client.frames.some(({ data }) => data?.id === 'msg_gone'));
  t.ok((await client.request('subscribe', { conversation_id: direct, after_sequence: 0 })).ok);
  client.close();
});

t.test('too far behind: resync, and it may be subscribed afterwards', async (t) => {
  const client = await ground.ready();
  await ground.storeMessages(group, 1_002);
  await client.request('subscribe', { conversation_id: group, after_sequence: 1 });
  t.match(await client.frame('resync'), {
    conversation_id: group,
    reason: 'too_many',
    head_sequence: 1_002,
  });
  t.ok((await client.request('subscribe', { conversation_id: group })).ok);
  t.match(await client.frame('caught_up'), { sequence: 1_002 });
  client.close();
});

t.test('a socket has a limited number of subscriptions', async (t) => {
  const client = await ground.ready();
  t.ok((await client.request('subscribe', { conversation_id: direct })).ok);
  t.ok((await client.request('subscribe', { conversation_id: group })).ok);
  t.match(await client.request('subscribe', { conversation_id: supportCase }), {
    error: { code: 'limit_exceeded', quota: { limit: 2, used: 2, reset_at: null } },
  });
  t.ok((await client.request('unsubscribe', { conversation_id: group })).ok);
  t.ok((await client.request('subscribe', { conversation_id: supportCase })).ok);
  client.close();
});

t.test('conversations that may not be read count as missing', async (t) => {
  const vera = await ground.ready(demo.users.vera.access_token);
  const hidden = await vera.request('subscribe', { conversation_id: direct });
  const absent = await vera.request('subscribe', { conversation_id: 'cnv_nothere' });
  t.strictSame(hidden.error, absent.error);
  t.match(hidden, { ok: false, error: { code: 'resource_not_found', param: 'conversation_id' } });
  vera.close();

  const stranger = await ground.open({
    ...ground.headers(demo.other_account.api_key),
    'Service-Account': demo.other_account.account_id,
  });
  await stranger.frame('ready');
  t.strictSame((await stranger.request('subscribe', { conversation_id: group })).error, absent.error);
  stranger.close();

  const customer = await ground.ready(demo.customer.access_token);
  t.match(await customer.request('subscribe', { conversation_id: group }), {
    error: { code: 'resource_not_found' },
  });
  t.ok((await customer.request('subscribe', { conversation_id: supportCase })).ok);
  await ground.publish(supportCase, { event: 'draft.created', team: { id: 'msg_secret' } });
  await ground.publish(supportCase, {
    event: 'message.updated',
    team: { id: 'msg_team' },
    customer: { id: 'msg_customer' },
  });
  await customer.frame(({ data }) => data?.id === 'msg_customer');
  t.notOk(JSON.stringify(customer.frames).match(/msg_secret|msg_team/));
  customer.close();
});

t.test('the feed comes without asking', async (t) => {
  const client = await ground.ready();
  const key = await ground.ready(demo.api_key);
  await ground.publish(demo.users.ada.id, { event: 'notification.created', team: { id: 'ntf_1' } });
  const event = await client.frame(({ event }) => event === 'notification.created');
  t.match(event, { type: 'event', data: { id: 'ntf_1' } });
  t.notOk('conversation_id' in event);
  await key.request('ping');
  t.notOk(key.frames.some(({ type }) => type === 'event'));
  client.close();
  key.close();
});

t.test('ping is answered by pong, and invalid frames get an error', async (t) => {
  const client = await ground.ready();
  const pong = await client.request('ping');
  t.match(pong, { type: 'pong', t: Number });
  t.strictSame(Object.keys(pong), ['type', 'id', 't']);
  const cases: [string, string, string | null, string | null, string | null][] = [
    ['no JSON', 'nope', 'invalid_format', null, null],
    ['no object', '[]', 'invalid_format', null, null],
    ['null', 'null', 'invalid_format', null, null],
    ['no id', '{"type":"ping"}', 'missing_field', 'id', null],
    ['a number for an id', '{"type":"ping","id":1}', 'invalid_format', 'id', null],
    ['a long id', `{"type":"ping","id":"${'x'.repeat(65)}"}`, 'validation_failed', 'id', null],
    ['no type', '{"id":"a"}', 'missing_field', 'type', 'a'],
    ['an unknown op', '{"type":"rewind","id":"b"}', 'validation_failed', 'type', 'b'],
    ['a name of Object', '{"type":"constructor","id":"c"}', 'validation_failed', 'type', 'c'],
  ];
  for (const [name, text, code, param, id] of cases) {
    const before = client.frames.length;
    client.send(text);
    const answer = await until(() => client.frames[before], { what: name });
    t.match(answer, { type: 'reply', id, ok: false, error: { code, param, doc_url: /#/ } }, name);
  }
  t.equal(client.closed, undefined, 'the socket stays');
  client.send('{"type":"ping","id":"last","x":1}');
  t.match(await client.frame(({ id }) => id === 'last'), {
    error: { code: 'validation_failed', param: 'x' },
  });
  t.match(await client.closes(), { code: 4400 }, 'but not for ever');
});

t.test('fields of a request are checked', async (t) => {
  const client = await ground.ready();
  for (const [fields, code, param] of [
    [{}, 'missing_field', 'conversation_id'],
    [{ conversation_id: 1 }, 'invalid_format', 'conversation_id'],
    [{ conversation_id: direct, after_sequence: -1 }, 'validation_failed', 'after_sequence'],
    [{ conversation_id: direct, after_sequence: 1.5 }, 'invalid_format', 'after_sequence'],
    [{ conversation_id: 'a\u0000' }, 'invalid_format', 'conversation_id'],
    [{ conversation_id: '\ud800' }, 'invalid_format', 'conversation_id'],
  ] as const) {
    t.match(await client.request('subscribe', fields), { ok: false, error: { code, param } });
  }
  const ok = await client.request('subscribe', { conversation_id: direct, after_sequence: null });
  t.ok(ok.ok, 'null on an optional field counts as absent');
  client.close();
});

t.test('before ready only authenticate is taken', async (t) => {
  const client = await ground.open();
  for (const op of ['ping', 'subscribe', 'refresh']) {
    t.match(await client.request(op, { conversation_id: direct }), {
      error: { code: 'invalid_credentials' },
    });
  }
  client.send('{');
  t.match(await client.frame(({ id }) => id === null), { error: { code: 'invalid_format' } });
  client.close();
});

t.test('hostile frames end the socket that sent them', async (t) => {
  const headers = ground.headers(demo.users.grace.access_token);
  const bystander = await ground.ready(demo.users.grace.access_token);
  const open = () => RawSocket.open(ground.port, headers);
  const binary = await open();
  binary.frame(BINARY, 'x');
  await until(() => binary.ended, { what: 'the end' });
  t.equal(binary.closeCode, 4400, 'binary');

  const ping = '{"type":"ping","id":"p"}';
  const fragments = await open();
  fragments.frame(TEXT, ping.slice(0, 9), false);
  fragments.frame(CONTINUATION, ping.slice(9));
  await until(() => fragments.texts.length === 3, { what: 'a pong' });
  t.match(JSON.parse(fragments.texts[2] ?? ''), { type: 'pong', id: 'p' }, 'fragments are put together');
  fragments.socket.destroy();

  const largest = await open();
  largest.frame(TEXT, `{"type":"ping","id":"q","x":"${'x'.repeat(65_536 - 31)}"}`);
  await until(() => largest.texts.length === 3, { what: 'an answer' });
  t.match(JSON.parse(largest.texts[2] ?? ''), { id: 'q', error: { code: 'validation_failed' } });
  largest.socket.destroy();

  for (const [name, opcode, payload] of [
    ['no UTF-8', TEXT, Buffer.from([0x22, 0xff, 0x22])],
    ['a surrogate', TEXT, Buffer.from([0xed, 0xa0, 0x80])],
    ['too long', TEXT, Buffer.alloc(65_537, 97)],
    ['a stray continuation', CONTINUATION, Buffer.from('x')],
    ['an unknown opcode', 5, Buffer.from('x')],
  ] as const) {
    const raw = await open();
    raw.frame(opcode, payload);
    await until(() => raw.ended, { what: `the end after ${name}` });
    t.pass(name);
  }

  const deep = await open();
  deep.frame(TEXT, `{"type":"ping","id":"d","x":${'['.repeat(30_000)}${']'.repeat(30_000)}}`);
  await until(() => deep.texts.length === 3, { what: 'an answer' });
  t.match(JSON.parse(deep.texts[2] ?? ''), { ok: false, error: { code: 'invalid_format' } });
  deep.socket.destroy();

  t.match(await bystander.request('ping'), { type: 'pong' });
  bystander.close();
});

t.test('requests over the rate are refused, and a client that continues is closed', async (t) => {
  const client = await ground.open({ ...ground.headers(), 'Service-Version': '1.2.harbor' });
  await client.frame('ready');
  for (let i = 0; i < 40; i++) client.send({ type: 'ping', id: `p${i}` });
  await client.frame(({ id }) => id === 'p39');
  const pongs = client.frames.filter(({ type }) => type === 'pong').length;
  const refusals = client.frames.filter(({ error }) => error?.code === 'rate_limit_exceeded');
  t.equal(pongs + refusals.length, 40);
  t.match(refusals[0]?.error?.message, /^A socket may send 30 requests in a second\./, 'which limit it was');
  t.ok(
    refusals.every(({ retry_after_ms: ms }) => Number.isInteger(ms) && Number(ms) > 0),
    'and until when',
  );
  t.ok(pongs >= 30 && pongs < 40, `${pongs} answered at once`);
  for (let i = 0; i < 300; i++) client.send({ type: 'ping', id: 'more' });
  const { code, reason } = await client.closes();
  t.equal(code, 4100);
  t.ok(JSON.parse(reason).retry_after_ms > 0);
});

t.test('a socket of a version before 1.2.harbor is not sent retry_after_ms', async (t) => {
  const client = await ground.open({ ...ground.headers(), 'Service-Version': '1.1.harbor' });
  await client.frame('ready');
  for (let i = 0; i < 40; i++) client.send({ type: 'ping', id: `p${i}` });
  const refusal = await client.frame(({ error }) => error?.code === 'rate_limit_exceeded');
  t.notOk('retry_after_ms' in refusal);
  client.close();
});

t.test('replies come in the order of the requests', async (t) => {
  const client = await ground.ready();
  client.send({ type: 'subscribe', id: '1', conversation_id: direct, after_sequence: 0 });
  client.send({ type: 'nonsense', id: '2' });
  client.send({ type: 'unsubscribe', id: '3', conversation_id: direct });
  client.send({ type: 'subscribe', id: '4', conversation_id: direct });
  client.send({ type: 'subscribe', id: '5', conversation_id: 'cnv_x' });
  await client.frame(({ id }) => id === '5');
  t.strictSame(
    client.frames.filter(({ type }) => type === 'reply').map(({ id }) => id),
    ['1', '2', '3', '4', '5'],
  );
  client.close();
});

t.test(
  'a failure of the server is logged with its connection and frame, a mistake of the client is not',
  async (t) => {
    const lines: Record<string, unknown>[] = [];
    const log = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line)) });
    const node = await Ground.start(t, { beside: ground, redisUrl: await testRedisUrl(t), log });
    const client = await node.ready();
    const { connection_id } = client.frames[0]!;
    await client.request('subscribe', { conversation_id: 'cnv_unknown' });
    t.strictSame(lines, []);

    await node.engine.close();
    const { id, error } = await client.request('subscribe', { conversation_id: group });
    t.equal(error?.code, 'service_unavailable');
    const context = { connection_id, actor_id: demo.users.ada.id, op: 'subscribe', frame_id: id };
    t.match(lines, [{ level: 40, ...context, msg: 'answered service_unavailable', err: Object }]);
    client.close();
  },
);

t.test('a token is refreshed in-band, by its own subject alone', async (t) => {
  const { token } = await ground.tokens.issueAccess({
    accountId: demo.account_id,
    actorId: demo.users.ada.id,
    ttlS: 30,
  });
  const client = await ground.ready(token);
  t.match(await client.frame('auth_expiring'), { expires_at: /Z$/ }, 'a minute ahead');
  t.match(await client.request('refresh', { token: 'x' }), { error: { code: 'invalid_credentials' } });
  const { result } = await client.request('refresh', { token: demo.users.ada.access_token });
  t.ok(Date.parse(String(result?.expires_at)) > Date.now() + 3_600_000);
  t.match(await client.request('ping'), { type: 'pong' });
  client.send({ type: 'refresh', id: 'other', token: demo.users.grace.access_token });
  t.match(await client.closes(), { code: 4203 });
});

t.test('a socket that loses a conversation gets nothing more of it, at once', async (t) => {
  const grace = await ground.ready(demo.users.grace.access_token);
  const ada = await ground.ready();
  for (const client of [grace, ada]) {
    await client.request('subscribe', { conversation_id: direct });
    await client.frame('caught_up');
  }
  const graceId = demo.users.grace.id;
  await ground.setMember(direct, graceId, false);
  t.match(await grace.frame('resync'), { conversation_id: direct, reason: 'revoked' });
  await ground.publish(direct, { event: 'draft.created', team: { id: 'msg_after' } });
  await ada.frame(({ data }) => data?.id === 'msg_after');
  await grace.request('ping');
  t.notOk(grace.frames.some(({ data }) => data?.id === 'msg_after'));
  t.match(await grace.request('subscribe', { conversation_id: direct }), {
    error: { code: 'resource_not_found' },
  });
  await ground.setMember(direct, graceId, true);
  t.ok((await grace.request('subscribe', { conversation_id: direct })).ok);
  t.notOk(ada.frames.some(({ type }) => type === 'resync'));
  grace.close();
  ada.close();
});

t.test('sockets of a deactivated user are closed, the others stay', async (t) => {
  const vera = await ground.ready(demo.users.vera.access_token);
  const grace = await ground.ready(demo.users.grace.access_token);
  const deactivated = (value: string | null) =>
    database.kysely
      .updateTable('actors')
      .set({ deactivated_at: value })
      .where('id', '=', demo.users.vera.id)
      .execute();
  await deactivated(new Date().toISOString());
  await rights.announce(demo.users.vera.id);
  t.match(await vera.closes(), { code: 4202 });
  t.match(await grace.request('ping'), { type: 'pong' });
  await deactivated(null);
  await rights.announce(demo.users.vera.id);
  grace.close();
});

t.test(
  'a role without the permission to read loses conversations and feed, an account without a subscription everything',
  async (t) => {
    const vera = await ground.ready(demo.users.vera.access_token);
    await vera.request('subscribe', { conversation_id: group });
    const [role] = await database.kysely
      .selectFrom('actors')
      .innerJoin('roles', 'roles.id', 'actors.role_id')
      .select(['roles.id', 'roles.permissions'])
      .where('actors.id', '=', demo.users.vera.id)
      .execute();
    const permissions = (value: string[]) =>
      database.kysely.updateTable('roles').set({ permissions: value }).where('id', '=', role!.id).execute();
    await permissions(PERMISSIONS.filter((permission) => permission !== 'messaging:read'));
    await rights.announce(role!.id);
    t.match(await vera.frame('resync'), { conversation_id: group, reason: 'revoked' });
    t.match(await vera.request('subscribe', { conversation_id: group }), {
      error: { code: 'insufficient_permissions' },
    });
    await ground.publish(demo.users.vera.id, { event: 'notification.created', team: { id: 'ntf_secret' } });
    await vera.request('ping');
    t.notOk(vera.frames.some(({ data }) => data?.id === 'ntf_secret'));

    await permissions(role!.permissions);
    await rights.announce('*');
    await until(
      async () => {
        await ground.publish(demo.users.vera.id, {
          event: 'notification.created',
          team: { id: 'ntf_again' },
        });
        return vera.frames.some(({ data }) => data?.id === 'ntf_again');
      },
      { what: 'the feed again' },
    );

    const subscription = (value: 'active' | 'inactive') =>
      database.kysely
        .updateTable('accounts')
        .set({ subscription: value })
        .where('id', '=', demo.account_id)
        .execute();
    await subscription('inactive');
    await rights.announce(demo.account_id);
    t.match(await vera.closes(), { code: 4403 });
    await subscription('active');
    await rights.announce(demo.account_id);
  },
);

t.test('a right that ends while it is being read does not slip through', async (t) => {
  for (let round = 0; round < 5; round++) {
    const grace = await ground.ready(demo.users.grace.access_token);
    const graceId = demo.users.grace.id;
    // Clears the cache, so that the subscribe has to read.
    await rights.announce(direct);
    const answered = grace.request('subscribe', { conversation_id: direct });
    await ground.setMember(direct, graceId, false);
    const { ok } = await answered;
    if (ok === true) await grace.frame('resync');
    await ground.publish(direct, { event: 'draft.created', team: { id: 'msg_slipped' } });
    await grace.request('ping');
    t.notOk(grace.frames.some(({ data }) => data?.id === 'msg_slipped'));
    await ground.setMember(direct, graceId, true);
    grace.close();
  }
});

t.test('sockets that close in the middle of anything leave nothing behind', async (t) => {
  const clients: Client[] = [];
  for (let i = 0; i < 20; i++) clients.push(await ground.ready(demo.users.grace.access_token));
  for (const [index, client] of clients.entries()) {
    client.send({ type: 'subscribe', id: 's', conversation_id: group, after_sequence: 100 });
    client.send({ type: 'subscribe', id: 't', conversation_id: direct, after_sequence: 0 });
    if (index % 2 === 0) client.socket.terminate();
    else client.close();
  }
  await Promise.all(clients.map((client) => client.closes()));
  await until(async () => (await ground.gateway.streams.open()).length === 0, {
    what: 'streams to be closed',
  });
  await until(() => [...ground.gateway.streams.feeds()].length === 0, { what: 'feeds to be closed' });
  t.equal((await ground.metrics.socketsOpen.get()).values[0]?.value, 0);
});
