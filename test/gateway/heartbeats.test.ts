/** Heartbeats, expiry, and `goaway` of a node that stops (docs/realtime.md#guarantees). */

import t from 'tap';
import { createApiKey } from '../../src/core/accounts/keys/keys.ts';
import { findRole } from '../../src/core/accounts/rights/roles.ts';
import { HeartbeatCursors } from '../../src/edge/gateway/session/heartbeat-cursor.ts';
import type { SocketSubscription } from '../../src/edge/gateway/session/session-state.ts';
import { readRequest } from '../../src/edge/gateway/socket/requests.ts';
import { WAITING_LOCKS } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { type Client, Ground, refusal } from './fixture.ts';

const ground = await Ground.start(t, {
  limits: { heartbeatMs: 100, pongMs: 3_000, expiryGraceMs: 300, cutMs: 300 },
});
const { demo, database } = ground;

t.test('a client that answers pings stays, one that does not is closed', async (t) => {
  const lively = await ground.ready();
  const dead = await ground.ready();
  dead.answersHeartbeats = false;
  const ping = await lively.frame('ping');
  t.match(ping, { type: 'ping', t: Number, cursor: String, heads: {} });
  t.strictSame(Object.keys(ping), ['type', 't', 'cursor', 'heads']);
  t.match(await dead.closes(), { code: 4002, reason: 'heartbeat_timeout' });
  await until(() => lively.frames.filter(({ type }) => type === 'ping').length > 5, { what: 'six pings' });
  t.equal(lively.closed, undefined);
  lively.close();
});

t.test('an unsolicited pong is no fault, a malformed one is', async (t) => {
  const client = await ground.ready();
  for (let i = 0; i < 15; i++) client.send({ type: 'pong', t: 1 });
  t.match(await client.request('ping'), { type: 'pong' });
  client.send({ type: 'pong', t: 1, x: 1 });
  t.match(await client.frame(({ id }) => id === null), { error: { code: 'validation_failed', param: 'x' } });
  client.close();
});

t.test('a pong is recognized in every valid form, and in no other', async (t) => {
  const read = (text: string) => readRequest(new TextEncoder().encode(text).buffer);
  for (const number of [
    '0',
    '7',
    '1750000000000',
    '999999999999999',
    '1e3',
    '1.5',
    '-1',
    '12345678901234567890',
  ]) {
    t.equal(read(`{"type":"pong","t":${number}}`), 'pong', number);
  }
  t.equal(read(' { "t": 1, "type": "pong" } '), 'pong', 'with white space, in another order');
  for (const number of ['', '01', '00', '+1', '1 2', '"1"', '0x1', 'null', '1}{']) {
    t.not(read(`{"type":"pong","t":${number}}`), 'pong', number || 'without a number');
  }
  for (const text of ['{"type":"pong","t":1', '{"type":"pong","t":1}}', '{"type":"ping","t":1}', '', '{']) {
    t.not(read(text), 'pong', text);
  }
});

t.test('until a socket has what it subscribed to, its heartbeats carry the cursor from before', async (t) => {
  let cursor = 'before';
  const node = await Ground.start(t, { limits: { heartbeatMs: 40 }, cursor: () => cursor });
  const { group } = node.demo.conversations;
  await node.storeMessages(group, 3);
  const [late, live] = [await node.ready(), await node.ready()];
  const told = (client: Client, text: string) =>
    client.frame(({ type, cursor }) => type === 'ping' && cursor === text);
  const blocker = await node.database.pool.connect();
  await blocker.query('BEGIN; LOCK TABLE messages IN ACCESS EXCLUSIVE MODE');
  try {
    late.send({ type: 'subscribe', id: 'late', conversation_id: group, after_sequence: 0 });
    const waiting = () => node.database.pool.query(WAITING_LOCKS);
    await until(async () => (await waiting()).rowCount! > 0, { what: 'the read of the messages' });
    cursor = 'meanwhile';
    await told(live, 'meanwhile');
    const { length } = late.frames;
    await until(() => late.frames.length > length + 3, { what: 'its pings' });
    t.ok(late.frames.slice(length).every(({ type, cursor }) => type === 'ping' && cursor === 'before'));
  } finally {
    await blocker.query('ROLLBACK');
    blocker.release();
  }
  await late.frame('caught_up');
  await told(late, 'meanwhile');
  for (const client of [late, live]) client.close();
});

t.test('the cursor stays where a resume began until the resume has ended', async (t) => {
  let current = 'old';
  const cursors = new HeartbeatCursors({ current: () => current });
  let state: 'replaying' | 'live' = 'replaying';
  const subscription = (): SocketSubscription => ({ headSequence: 1, fromSequence: 0, state });
  const session = { conversationIds: ['one'], subscription };
  t.equal(cursors.of(session), undefined);
  cursors.hold(session);
  current = 'newer';
  cursors.hold(session);
  t.equal(cursors.of(session), 'old');
  cursors.beginResume(session, 'from the client');
  state = 'live';
  t.equal(cursors.of(session), 'from the client', 'its feed is still on the way');
  cursors.endResume(session);
  t.equal(cursors.of(session), undefined);
  state = 'replaying';
  t.equal(cursors.of(session), undefined, 'it was let go');
});

t.test('a token ends its socket, after a warning and its grace', async (t) => {
  const { token, expiresAt } = await ground.tokens.issueAccess({
    accountId: demo.account_id,
    actorId: demo.users.ada.id,
    ttlS: 2,
  });
  const client = await ground.ready(token);
  t.equal((await client.frame('ready')).expires_at, expiresAt);
  t.match(await client.frame('auth_expiring'), { expires_at: expiresAt });
  t.match(await client.closes(), { code: 4200 });
  t.ok(Date.now() >= Date.parse(expiresAt) + 300);
  t.equal(client.frames.filter(({ type }) => type === 'auth_expiring').length, 1);
});

t.test('a key ends its socket without one', async (t) => {
  const key = await database.transaction(async (tx) => {
    const role = await findRole(tx, demo.account_id, 'admin');
    const expiresAt = new Date(Date.now() + 2_000).toISOString();
    const input = { accountId: demo.account_id, name: 'Short', roleId: role.id, expiresAt };
    return (await createApiKey(tx, input)).key;
  });
  const client = await ground.ready(key);
  t.match(await client.closes(), { code: 4200 });
  t.notOk(client.frames.some(({ type }) => type === 'auth_expiring'));
});

t.test('a node that stops closes all sockets', async (t) => {
  const clients: Client[] = [];
  for (let n = 0; n < 10; n++) clients.push(await ground.ready());
  const drained = ground.gateway.drain('deploy', 400);
  const goaways = await Promise.all(clients.map((client) => client.frame('goaway')));
  for (const goaway of goaways) {
    t.match(goaway, { reconnect_in_ms: Number, deadline_ms: 400, reason: 'deploy' });
  }
  const shares = goaways.map((goaway) => Number(goaway.reconnect_in_ms)).sort((a, b) => a - b);
  t.strictSame(
    shares.map((ms) => Math.floor(ms / 20)),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    'each in a stretch of its own',
  );
  t.match(await refusal(ground, ground.headers()), { status: 503, error: { code: 'service_unavailable' } });
  for (const client of clients.slice(1)) client.close();
  t.match(await clients[0]?.closes(), { code: 4000, reason: 'going_away' });
  await drained;
});
