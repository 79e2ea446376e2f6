/** Streams over HTTP (docs/realtime.md#without-websockets): a session like that of a socket. */

import { Agent, type IncomingMessage, request } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { type Principal, UNAUTHENTICATED } from '../../src/api/access/principal.ts';
import { createApiKey, revokeApiKey } from '../../src/core/accounts/keys/keys.ts';
import { readPresences } from '../../src/core/accounts/people/people.ts';
import { createRole, findRole } from '../../src/core/accounts/rights/roles.ts';
import { type AnswerFrame, StreamClient, whole } from '../support/answer-clients.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { Ground } from './fixture.ts';

// More than the kernel buffers on loopback before our queue begins to grow.
const KERNEL_BYTES = 8_000_000;

const ground = await Ground.start(t, { limits: { subscriptions: 2, heartbeatMs: 400, pongMs: 50 } });
const { demo, database } = ground;
const { group, direct, case: supportCase } = demo.conversations;
const { ada, grace } = demo.users;

t.test('hello at once, ready, the replies, the replay, then what is live', async (t) => {
  await ground.storeMessages(direct, 3);
  const client = await ground.stream({
    subscribe: [{ conversation_id: direct, after_sequence: 1 }, { conversation_id: group }],
  });
  await until(() => types(client).filter((type) => type === 'caught_up').length === 2, { what: 'live' });
  await ground.publish(direct, { event: 'draft.created', team: { id: 'msg_live' } });
  await client.frame(({ data }) => data?.id === 'msg_live');
  t.match(client.response?.headers, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    'request-id': /^req_/,
  });
  t.notOk(client.response?.headers['content-encoding']);
  t.ok(client.padding >= 2_048, 'what makes old proxies pass on the rest');
  t.match(client.frames[0], { type: 'hello', connection_id: /^con_/, heartbeat_ms: 400 });
  t.match(client.frames[1], { type: 'ready', actor: { id: ada.id }, account_id: demo.account_id });
  const ofDirect = client.frames.filter(
    ({ id, conversation_id: of, event }) => (id === direct || of === direct) && event !== 'presence',
  );
  t.strictSame(
    ofDirect.map(({ type, sequence }) => [type, sequence]),
    [
      ['reply', undefined],
      ['event', 2],
      ['event', 3],
      ['caught_up', 3],
      ['event', undefined],
    ],
  );
  t.match(ofDirect[0], { ok: true, result: { conversation_id: direct, head_sequence: 3 } });
  t.ok((await client.frame(({ id }) => id === group)).ok);
  client.close();
  await allClosed();
});

t.test('a client that asks for nothing has its feed', async (t) => {
  const client = await ground.stream();
  await ground.publish(ada.id, { event: 'notification.created', team: { id: 'ntf_1' } });
  t.match(await client.frame('event'), { event: 'notification.created', data: { id: 'ntf_1' } });
  client.close();
});

t.test('conversations without a cursor are subscriptions, with one a resume', async (t) => {
  const fresh = await ground.stream({ conversations: { [direct]: 2 } });
  t.match(await fresh.frame(({ id }) => id === direct), { ok: true, result: { head_sequence: 3 } });
  t.match(await fresh.frame('caught_up'), { conversation_id: direct, sequence: 3 });
  t.strictSame(sequences(fresh), [3]);
  const { cursor } = await fresh.frame('ready');
  fresh.close();

  const again = await ground.stream({
    cursor,
    conversations: { [direct]: 1 },
    subscribe: [{ conversation_id: group, after_sequence: 0 }],
  });
  t.match(await again.frame(({ id }) => id === 'resume'), { type: 'reply', ok: true, result: {} });
  t.match(await again.frame('resumed'), { cursor: String });
  t.match(await again.frame(({ id }) => id === group), { ok: true });
  t.strictSame(sequences(again), [2, 3]);
  again.close();

  // A socket resumes from the cursor of a stream, and a stream from that of a socket.
  const socket = await ground.ready();
  t.ok((await socket.request('resume', { cursor, conversations: { [direct]: 3 } })).ok);
  const { cursor: ofSocket } = await socket.frame('resumed');
  socket.close();
  const last = await ground.stream({ cursor: ofSocket, conversations: { [direct]: 2 } });
  await last.frame('resumed');
  t.strictSame(sequences(last), [3]);
  last.close();
});

t.test('what cannot be subscribed is refused by its reply, and the rest goes on', async (t) => {
  const vera = demo.users.vera.access_token;
  const client = await ground.stream({ subscribe: [of(direct), of('cnv_nothere'), of(group)] }, vera);
  for (const id of [direct, 'cnv_nothere']) {
    const refused = await client.frame((frame) => frame.id === id);
    t.match(refused, {
      type: 'reply',
      ok: false,
      error: { code: 'resource_not_found', param: 'conversation_id' },
    });
  }
  t.ok((await client.frame(({ id }) => id === group)).ok);
  client.close();

  const { baseUrl, headers } = ground.answering(demo.other_account.api_key);
  const abroad = { baseUrl, headers: { ...headers, 'Service-Account': demo.other_account.account_id } };
  const stranger = new StreamClient(abroad, { subscribe: [of(group)] });
  t.match(await stranger.frame(({ id }) => id === group), { error: { code: 'resource_not_found' } });
  stranger.close();
});

t.test('no more subscriptions than on a socket', async (t) => {
  const client = await ground.stream({ subscribe: [of(direct), of(group), of(supportCase)] });
  t.match(await client.frame(({ id }) => id === supportCase), {
    ok: false,
    error: { code: 'limit_exceeded', quota: { limit: 2, used: 2 } },
  });
  client.close();
  const { cursor } = client.frames[1]!;
  const conversations = { [direct]: 0, [group]: 0, [supportCase]: 0 };
  const resumed = await ground.stream({ cursor, conversations });
  t.match(await resumed.frame(({ id }) => id === 'resume'), { ok: false, error: { code: 'limit_exceeded' } });
  resumed.close();
});

t.test('a cursor that no node issued ends the stream', async (t) => {
  const client = new StreamClient(ground.answering(), { cursor: 'x', conversations: {} });
  await client.ends();
  t.match(client.frames.at(-2), { type: 'reply', id: 'resume', ok: false, error: { param: 'cursor' } });
  t.strictSame(client.frames.at(-1), { type: 'close', code: 4300, reason: 'cursor_invalid' });
  t.ok(client.complete);
});

t.test('refused before it begins, in the form of REST', async (t) => {
  const { baseUrl, headers } = ground.answering();
  const without = (name: string) =>
    Object.fromEntries(Object.entries(headers).filter(([header]) => header !== name));
  const cases: [object, object, number, string, string?][] = [
    [without('Authorization'), {}, 401, 'invalid_credentials'],
    [{ ...headers, Authorization: 'Bearer parley_x' }, {}, 401, 'invalid_credentials'],
    [without('Service-Version'), {}, 400, 'api_version_required'],
    [{ ...headers, 'Service-Version': '1.2.harbor' }, {}, 400, 'api_version_too_old'],
    [without('Service-Account'), {}, 400, 'parameter_missing'],
    [
      { ...headers, 'Service-Account': demo.other_account.account_id },
      {},
      404,
      'resource_not_found',
      'Service-Account',
    ],
    [headers, { colour: 'red' }, 422, 'validation_failed', 'colour'],
    [headers, { subscribe: [{}] }, 400, 'missing_field', 'subscribe[0].conversation_id'],
    [headers, { conversations: { x: -1 } }, 422, 'validation_failed', 'conversations.x'],
    [headers, { wait_ms: 1 }, 422, 'validation_failed', 'wait_ms'],
  ];
  for (const [sent, body, status, code, param] of cases) {
    const client = new StreamClient({ baseUrl, headers: sent as Record<string, string> }, body);
    const refused = await client.refusal();
    t.match(refused, { status, error: { code, ...(param === undefined ? {} : { param }) } }, code);
    t.match(refused.headers['content-type'], 'application/json');
  }
});

t.test('a caller without the permission to read has no feed and no conversation', async (t) => {
  const role = await createRole(database, {
    accountId: demo.account_id,
    name: 'Writes only',
    permissions: ['messaging:create'],
  });
  const { key, actor } = await newKey(role.id);
  const client = await ground.stream({ subscribe: [of(group)] }, key);
  t.match(await client.frame(({ id }) => id === group), {
    ok: false,
    error: { code: 'insufficient_permissions' },
  });
  await ground.publish(actor.id, { event: 'notification.created', team: { id: 'ntf_hidden' } });
  await client.frame('ping');
  t.notOk(client.frames.some(({ type }) => type === 'event'));
  client.close();
});

t.test('a customer has its case, as on a socket', async (t) => {
  const client = await ground.stream({ subscribe: [of(supportCase), of(group)] }, demo.customer.access_token);
  t.ok((await client.frame(({ id }) => id === supportCase)).ok);
  t.match(await client.frame(({ id }) => id === group), { error: { code: 'resource_not_found' } });
  client.close();
});

t.test('heartbeats need no answer', async (t) => {
  const client = await ground.stream({ subscribe: [{ conversation_id: group }] });
  await until(() => types(client).filter((type) => type === 'ping').length >= 3, { what: 'three pings' });
  t.match(await client.frame('ping'), { t: Number, cursor: String, heads: {} });
  t.notOk(client.ended, 'although their time for an answer is over');
  client.close();
});

t.test('an Idempotency-Key means nothing, and the body may be empty', async (t) => {
  const { baseUrl, headers } = ground.answering();
  const keyed = { baseUrl, headers: { ...headers, 'Idempotency-Key': 'once' } };
  for (let n = 0; n < 2; n++) {
    const client = new StreamClient(keyed, {});
    await client.frame('ready');
    client.close();
  }
  const bare = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`${baseUrl}/v1/realtime/streams`, { method: 'POST', headers, agent: false })
      .on('response', resolve)
      .on('error', reject)
      .end();
  });
  t.equal(bare.statusCode, 200);
  bare.destroy();
});

t.test('a client that leaves is not there any more', async () => {
  const clients = [];
  for (let n = 0; n < 5; n++) clients.push(await ground.stream({ subscribe: [{ conversation_id: group }] }));
  for (const client of clients) client.close();
  await allClosed();
});

t.test('streams and sockets share the limit of an actor', async (t) => {
  const few = await Ground.start(t, { limits: { socketsPerActor: 3 } });
  const socket = await few.ready();
  const streams = [await few.stream(), await few.stream()];
  const refused = await new StreamClient(few.answering()).refusal();
  t.match(refused, { status: 403, error: { code: 'limit_exceeded', quota: { limit: 3, used: 3 } } });
  t.equal(refused.headers['retry-after'], '30');
  const others = await few.stream({}, few.demo.users.grace.access_token);
  others.close();
  socket.close();
  await until(async () => (await few.openSessions()) === 2, { what: 'room' });
  streams.push(await few.stream());
  for (const stream of streams) stream.close();
});

t.test('pages of allowed origins may read it', async (t) => {
  const origin = 'https://app.example';
  const open = await Ground.start(t, { allowedOrigins: [origin] });
  const { baseUrl, headers } = open.answering();
  const client = new StreamClient({ baseUrl, headers: { ...headers, Origin: origin } });
  await client.frame('ready');
  t.equal(client.response?.headers['access-control-allow-origin'], origin);
  client.close();
});

t.test('rights that end', async (t) => {
  await t.test('a membership: resync, and nothing more of the conversation', async (t) => {
    const client = await ground.stream({ subscribe: [{ conversation_id: group }] }, grace.access_token);
    await client.frame('caught_up');
    await ground.setMember(group, grace.id, false);
    t.match(await client.frame('resync'), { conversation_id: group, reason: 'revoked' });
    await ground.publish(group, { event: 'draft.created', team: { id: 'msg_secret' } });
    await ground.publish(grace.id, { event: 'notification.created', team: { id: 'ntf_last' } });
    await client.frame(({ data }) => data?.id === 'ntf_last');
    t.notOk(client.frames.some(({ data }) => data?.id === 'msg_secret'));
    client.close();
    await ground.setMember(group, grace.id, true);
  });

  await t.test('while frames leave: resync, and the stream goes on', async (t) => {
    const client = await ground.stream({ subscribe: [{ conversation_id: group }] }, grace.access_token);
    await client.frame('caught_up');
    let isOver = false;
    const publishing = (async () => {
      for (; !isOver; await nextTurn()) await ground.publish(group, { event: 'draft.created' });
    })();
    await ground.setMember(group, grace.id, false);
    const isThere = () => client.ended || client.frames.some(({ type }) => type === 'resync');
    await until(isThere, { what: 'resync' });
    isOver = true;
    await publishing;
    t.match(await client.frame('resync'), { conversation_id: group, reason: 'revoked' });
    t.notOk(client.ended);
    client.close();
    await ground.setMember(group, grace.id, true);
  });

  await t.test('a key: the stream ends with 4202', async (t) => {
    const { id } = await findRole(database, demo.account_id, 'admin');
    const { key, apiKey } = await newKey(id);
    const client = await ground.stream({}, key);
    await database.transaction((tx) => revokeApiKey(tx, apiKey.id));
    await ground.rights.announce(apiKey.id);
    await client.ends();
    t.match(client.closed, { code: 4202, reason: 'credentials_revoked' });
  });

  await t.test('while bytes are queued: they are not sent any more', async (t) => {
    const roomy = await Ground.start(t, { limits: { durableBytes: 64_000_000 } });
    const { group } = roomy.demo.conversations;
    const { grace } = roomy.demo.users;
    const client = await roomy.stream({ subscribe: [{ conversation_id: group }] }, grace.access_token);
    await client.frame('caught_up');
    client.pause();
    const total = await roomy.flood(group, 3 * KERNEL_BYTES, () => 16_000);
    await roomy.setMember(group, grace.id, false);
    await until(async () => (await roomy.openSessions()) === 0, { what: 'the cut' });
    client.resume();
    await client.ends();
    t.ok(numbersOf(client.frames).length < total);
    t.notOk(client.complete, 'the body did not end');
    t.equal(client.closed, undefined);
  });
});

t.test('a token expires: auth_expiring, then 4200', async (t) => {
  const short = await Ground.start(t, { limits: { expiryNoticeMs: 1_500, expiryGraceMs: 300 } });
  const { token, expiresAt } = await short.tokens.issueAccess({
    accountId: short.demo.account_id,
    actorId: short.demo.users.ada.id,
    ttlS: 2,
  });
  const client = await short.stream({}, token);
  t.match(await client.frame('auth_expiring'), { expires_at: expiresAt });
  await client.ends();
  t.match(client.closed, { code: 4200, reason: 'token_expired' });
});

t.test('a client that stops reading gets the queued frames without a gap, then 4001', async (t) => {
  const roomy = await Ground.start(t, { limits: { cutMs: PATIENCE_MS } });
  const { group } = roomy.demo.conversations;
  const body = { subscribe: [{ conversation_id: group }] };
  const [slow, fast] = [await roomy.stream(body), await roomy.stream(body)];
  await Promise.all([slow.frame('caught_up'), fast.frame('caught_up')]);
  slow.pause();
  const total = await roomy.flood(group, 3 * KERNEL_BYTES, (n) => (n % 7 === 0 ? 60_000 : 16_000));
  // Now, since the library cuts a client that takes nothing for ten seconds.
  slow.resume();
  await until(() => numbersOf(fast.frames).length === total, { what: 'everything, for the one that reads' });
  t.strictSame(numbersOf(fast.frames), upTo(total), 'in order');
  await slow.ends();
  const got = numbersOf(slow.frames);
  t.ok(got.length > 0 && got.length < total, `${got.length} of ${total} came through`);
  t.strictSame(got, upTo(got.length), 'and nothing behind a gap');
  t.strictSame(slow.frames.at(-1), { type: 'close', code: 4001, reason: 'slow_consumer' });
  fast.close();
});

t.test('clients that never read again are cut, and cost no memory meanwhile', async (t) => {
  const strict = await Ground.start(t, { limits: { durableBytes: 256 * 1024, cutMs: 300 } });
  const { group } = strict.demo.conversations;
  const stalled: StreamClient[] = [];
  for (let n = 0; n < 20; n++) stalled.push(await strict.stream({ subscribe: [{ conversation_id: group }] }));
  for (const client of stalled) {
    await client.frame('caught_up');
    client.pause();
  }
  const before = process.memoryUsage().rss;
  let most = 0;
  await strict.flood(
    group,
    8 * KERNEL_BYTES,
    () => 16_000,
    () => {
      most = Math.max(most, process.memoryUsage().rss - before);
    },
  );
  // Unbounded it would be 20 × 64 MB.
  t.ok(most < 150_000_000, `${Math.round(most / 1e6)} MB more at most`);
  await until(async () => (await strict.openSessions()) === 0, { what: 'the stalled to be cut' });
  for (const client of stalled) client.close();
});

t.test('a replay waits for its reader, and goes on', async (t) => {
  await ground.storeMessages(group, 1_000, 'x'.repeat(20_000));
  const client = new StreamClient(ground.answering(), { conversations: { [group]: 0 } });
  await client.frame('hello');
  client.pause();
  const bystander = await ground.ready();
  for (let n = 0; n < 20; n++) await bystander.request('ping');
  bystander.close();
  client.resume();
  await client.frame('caught_up');
  t.strictSame(sequences(client), upTo(1_000), 'each message, in order');
  client.close();
});

t.test('present while it is open, and a while after', async (t) => {
  const HOLD_MS = 600;
  const harbour = await Ground.start(t, { limits: { presenceMs: HOLD_MS } });
  const { group } = harbour.demo.conversations;
  const { ada, grace } = harbour.demo.users;
  const watcher = await harbour.ready();
  await watcher.request('subscribe', { conversation_id: group });
  await watcher.frame('caught_up');
  const seen = (status: string) => (frame: AnswerFrame) =>
    frame.event === 'presence' && frame.data?.status === status && frame.data.actor_id === grace.id;
  const body = { subscribe: [{ conversation_id: group }], presence: 'away' };
  const away = await harbour.stream(body, grace.access_token);
  await watcher.frame(seen('away'));
  const { presence: _, ...plain } = body;
  const online = await harbour.stream(plain, grace.access_token);
  await watcher.frame(seen('online'));
  const viewer: Principal = { ...UNAUTHENTICATED, accountId: harbour.demo.account_id };
  const overRest = async () => {
    const [shown] = await readPresences(harbour.database, viewer, [grace.id]);
    return shown?.status === 'online';
  };
  await until(overRest, { what: 'presence over REST' });
  away.close();
  online.close();
  await watcher.frame(seen('offline'));
  t.notOk(
    watcher.frames.some((frame) => frame.data?.actor_id === ada.id),
    'a socket says so itself',
  );
  watcher.close();
});

t.test('a node that stops sends goaway, ends every stream with 4000, and opens none', async (t) => {
  const leaving = await Ground.start(t);
  const clients = [await leaving.stream(), await leaving.stream(), await leaving.stream()];
  const drained = leaving.gateway.drain('deploy', 400);
  for (const client of clients) {
    t.match(await client.frame('goaway'), { reconnect_in_ms: Number, deadline_ms: 400, reason: 'deploy' });
  }
  const refused = await new StreamClient(leaving.answering()).refusal();
  t.match(refused, { status: 503, error: { code: 'service_unavailable' }, headers: { 'retry-after': '1' } });
  clients[0]!.close();
  for (const client of clients.slice(1)) {
    await client.ends();
    t.match(client.closed, { code: 4000, reason: 'going_away' });
    t.ok(client.complete);
  }
  await drained;
});

t.test('the connection serves the next request when a stream has ended', async (t) => {
  const leaving = await Ground.start(t);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const { baseUrl, headers } = leaving.answering();
  const ask = (path: string, body: object) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const text = JSON.stringify(body);
      const sent = request(`${baseUrl}${path}`, {
        method: 'POST',
        agent,
        headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': text.length },
      });
      sent.on('error', reject);
      sent.on('response', async (response) =>
        resolve({ status: response.statusCode!, text: await whole(response) }),
      );
      sent.end(text);
    });
  const ended = await ask('/v1/realtime/streams', { cursor: 'x' });
  t.match(ended.text, /"code":4300/);
  t.equal((await ask('/v1/realtime/poll', { wait_ms: 0 })).status, 200);
  t.equal((await ask('/v1/realtime/tickets', {})).status, 201);
});

function of(conversationId: string): object {
  return { conversation_id: conversationId };
}

function newKey(roleId: string) {
  return database.transaction((tx) =>
    createApiKey(tx, { accountId: demo.account_id, name: 'Stream', roleId }),
  );
}

function types({ frames }: StreamClient): string[] {
  return frames.map(({ type }) => type);
}

function sequences(client: StreamClient): (number | undefined)[] {
  return client.events('message.created').map(({ sequence }) => sequence);
}

function numbersOf(frames: readonly AnswerFrame[]): unknown[] {
  return frames.flatMap(({ data }) => data?.number ?? []);
}

function upTo(length: number): number[] {
  return Array.from({ length }, (_, index) => index + 1);
}

async function allClosed(): Promise<void> {
  await until(async () => (await ground.openSessions()) === 0, { what: 'the end of all sessions' });
}
