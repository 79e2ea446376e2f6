/**
 * Web push (docs/contract.md#web-push): subscriptions over HTTP, and what browsers receive from a
 * push service that decrypts.
 */

import { createECDH, randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { runInNewContext } from 'node:vm';
import type { List } from '@parley/protocol/lists.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import {
  MAX_PUSH_SUBSCRIPTIONS,
  type PushKey,
  type PushSubscription,
} from '@parley/protocol/resources/push-subscription.ts';
import t from 'tap';
import { Rights } from '../../src/api/access/rights.ts';
import { updateAccount } from '../../src/core/accounts/account/accounts.ts';
import type { Feature } from '../../src/core/features/feature.ts';
import type { Frame } from '../../src/core/frames/frame.ts';
import { SettingsOfUsers } from '../../src/core/notifications/settings/settings.ts';
import { readNotifications } from '../../src/core/resources/notification.ts';
import { readSubscribers } from '../../src/features/push/deliveries/audience.ts';
import { Pushes } from '../../src/features/push/deliveries/pushes.ts';
import { RETRIES } from '../../src/features/push/deliveries/times.ts';
import { push } from '../../src/features/push/feature.ts';
import { pushMetrics } from '../../src/features/push/metrics.ts';
import { pushCheck } from '../../src/features/push/push-check.ts';
import { type BrowserPush, MAX_PAYLOAD_BYTES, payloadOf } from '../../src/features/push/web/payload.ts';
import { isRealContact, Vapid } from '../../src/features/push/web/vapid.ts';
import { webChannel } from '../../src/features/push/web/web-channel.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { createLog } from '../../src/platform/log.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { AddressGuard } from '../../src/platform/outbound/address-guard.ts';
import { GuardedPost } from '../../src/platform/outbound/guarded-post.ts';
import { Lanes } from '../../src/platform/outbound/lanes.ts';
import { Cases, user } from '../messages/cases.ts';
import { type CallOptions, type Refusal, refusalOf, startTestApp } from '../support/app.ts';
import { featuresWith } from '../support/features-with.ts';
import { type Browser, decryptPush, startPushService } from '../support/push-service.ts';
import type { Teardown } from '../support/teardown.ts';
import { NO_WATCH } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { insertRow, newReader, type Reader } from './readers.ts';

const service = await startPushService(t);
/** The node under test takes no retries of `otherNode`, whose delays are shorter. */
const withoutSweep: Feature = { ...push, open: (node) => push.open({ ...node, watch: NO_WATCH as never }) };
const app = await startTestApp(
  t,
  { PARLEY_FETCH_ALLOW: '127.0.0.1', PARLEY_VAPID_SUBJECT: 'mailto:ops@example.com' },
  createLog('silent'),
  { features: featuresWith(push, withoutSweep) },
);
const { demo, database } = app;
const cases = new Cases(app);
const PATH = '/v1/messaging/push-subscriptions';
const { ada } = demo.users;

t.test('the decryption of these tests reads the example of RFC 8291', async (t) => {
  const curve = createECDH('prime256v1');
  curve.setPrivateKey('q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94', 'base64url');
  const body =
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN';
  const auth = Buffer.from('BTBZMqHH6r4Tts7J_aSIgg', 'base64url');
  const read = decryptPush(Buffer.from(body, 'base64url'), { curve, auth });
  t.equal(read.toString(), 'When I grow up, I want to be a watermelon');
});

t.test('a subscription: made, made again, renewed, listed, deleted', async (t) => {
  const reader = await newReader(app);
  const key = await ask<PushKey>('GET', `${PATH}/key`, reader);
  t.equal(Buffer.from(key.body.public_key, 'base64url').length, 65);
  const browser = service.browser();
  const once = { body: browser.toJSON(), headers: { 'Idempotency-Key': randomUUID() } };
  const made = await ask<PushSubscription>('POST', PATH, reader, once);
  t.equal(made.status, 201);
  const repeated = await ask<PushSubscription>('POST', PATH, reader, once);
  t.strictSame([repeated.status, repeated.text], [201, made.text]);
  t.strictSame(made.body, {
    id: made.body.id,
    object: 'push_subscription',
    endpoint: browser.endpoint,
    key_id: key.body.id,
    expires_at: null,
    last_success_at: null,
    failing_since: null,
    created_at: made.body.created_at,
    updated_at: made.body.updated_at,
  });
  const expirationTime = Date.parse('2100-01-01T00:00:00Z');
  const again = await ask<PushSubscription>('POST', PATH, reader, {
    body: { ...browser.toJSON(), expirationTime },
  });
  t.match(again, { status: 200, body: { id: made.body.id, expires_at: '2100-01-01T00:00:00.000000Z' } });
  browser.renew();
  const renewed = await ask<PushSubscription>('POST', PATH, reader, { body: browser.toJSON() });
  t.match(renewed, { status: 201, body: { endpoint: browser.endpoint, expires_at: null } });
  t.not(renewed.body.id, made.body.id, 'other keys are another subscription');
  t.strictSame(await listed(reader), [renewed.body], 'in the place of the one before');
  t.strictSame((await ask('GET', `${PATH}/${renewed.body.id}`, reader)).body, renewed.body, 'by its id');

  const late = await ask('DELETE', `${PATH}/${made.body.id}`, reader);
  t.equal(refusalOf(late), '404 resource_not_found id', 'a delete of the old keys leaves the renewal alone');
  const other = await newReader(app);
  for (const method of ['GET', 'DELETE']) {
    const refused = await ask(method, `${PATH}/${renewed.body.id}`, other);
    t.equal(refusalOf(refused), '404 resource_not_found id', method);
  }
  t.equal((await ask('POST', PATH, other, { body: browser.toJSON() })).status, 201, 'a browser of two users');
  const headers = { 'Idempotency-Key': randomUUID() };
  const deleted = await ask<PushSubscription>('DELETE', `${PATH}/${renewed.body.id}`, reader, { headers });
  t.strictSame(deleted.body, renewed.body);
  const replayed = await ask<PushSubscription>('DELETE', `${PATH}/${renewed.body.id}`, reader, { headers });
  t.strictSame([replayed.text, replayed.headers.get('Idempotent-Replayed')], [deleted.text, 'true']);
  t.strictSame(await listed(reader), []);
  t.equal((await listed(other)).length, 1);
  t.strictSame((await ask<List<unknown>>('GET', PATH)).body.data, [], 'a key has none');
  t.equal(
    refusalOf(await ask('POST', PATH, undefined, { body: browser.toJSON() })),
    '403 insufficient_permissions null',
  );
});

t.test('an invalid push subscription is refused', async (t) => {
  const reader = await newReader(app);
  const good = service.browser().toJSON();
  const { keys } = good;
  const offCurve = Buffer.alloc(65, 4).toString('base64url');
  const refusals: [object, string][] = [
    [{ ...good, endpoint: undefined }, '400 missing_field endpoint'],
    [{ ...good, endpoint: 'push' }, '400 invalid_format endpoint'],
    [{ ...good, endpoint: 'ftp://push.example.com/' }, '422 validation_failed endpoint'],
    [{ ...good, endpoint: 'http://push.example.com/' }, '422 validation_failed endpoint'],
    [{ ...good, endpoint: 'https://[::ffff:10.0.0.1]/' }, '422 validation_failed endpoint'],
    [{ ...good, endpoint: 'https://u:p@push.example.com/' }, '422 validation_failed endpoint'],
    [{ ...good, endpoint: `https://push.example.com/${'ä'.repeat(900)}` }, '422 validation_failed endpoint'],
    [
      { ...good, endpoint: `https://push.example.com/${'a'.repeat(2_000)}` },
      '422 validation_failed endpoint',
    ],
    [{ ...good, keys: undefined }, '400 missing_field keys'],
    [{ ...good, keys: { auth: keys.auth } }, '400 missing_field keys.p256dh'],
    [{ ...good, keys: { p256dh: keys.p256dh } }, '400 missing_field keys.auth'],
    [{ ...good, keys: { ...keys, p256dh: offCurve } }, '400 invalid_format keys.p256dh'],
    [{ ...good, keys: { ...keys, p256dh: keys.auth } }, '400 invalid_format keys.p256dh'],
    [{ ...good, keys: { ...keys, auth: `${keys.auth}!` } }, '400 invalid_format keys.auth'],
    [{ ...good, keys: { ...keys, auth: keys.p256dh } }, '400 invalid_format keys.auth'],
    [{ ...good, keys: { ...keys, other: 'a' } }, '422 validation_failed keys.other'],
    [{ ...good, expirationTime: -1 }, '422 validation_failed expirationTime'],
    [{ ...good, expirationTime: 1 }, '422 validation_failed expirationTime'],
    [{ ...good, expirationTime: '1' }, '400 invalid_format expirationTime'],
    [{ ...good, contentEncoding: 'aesgcm' }, '422 validation_failed contentEncoding'],
  ];
  for (const [body, refusal] of refusals) {
    t.equal(
      refusalOf(await ask('POST', PATH, reader, { body })),
      refusal,
      JSON.stringify(body).slice(0, 120),
    );
  }
  const padded = {
    p256dh: `${keys.p256dh}=`,
    auth: `${Buffer.from(keys.auth, 'base64url').toString('base64')}`,
  };
  const first = await ask<PushSubscription>('POST', PATH, reader, { body: { ...good, keys: padded } });
  const second = await ask<PushSubscription>('POST', PATH, reader, { body: good });
  t.strictSame(
    [first.status, second.status, second.body.id],
    [201, 200, first.body.id],
    'padded keys are the same',
  );
  const bodies = Array.from({ length: MAX_PUSH_SUBSCRIPTIONS }, () => service.browser().toJSON());
  const answers = await Promise.all(bodies.map((body) => ask<Refusal>('POST', PATH, reader, { body })));
  const refused = answers.filter(({ status }) => status !== 201);
  t.equal(refused.length, 1, 'also at the same time');
  const { limit, used } = refused[0]!.body.error.quota!;
  t.strictSame([refusalOf(refused[0]!), limit, used], ['403 limit_exceeded null', 20, 20]);
  const renewed = { ...good, keys: { ...keys, auth: randomBytes(16).toString('base64url') } };
  t.equal((await ask('POST', PATH, reader, { body: renewed })).status, 201, 'a renewal takes no more room');
});

t.test('a message reaches every browser, encrypted, and its device once', async (t) => {
  const reader = await newReader(app);
  const [phone, desk] = [await subscribed(reader), await subscribed(reader)];
  const conversationId = await group('Pier 9', reader);
  // It is made behind the commit of the group, and the counts below include it.
  const isAdded = ({ received: [first] }: typeof phone) => first?.payload.category === 'chat.added';
  await until(() => isAdded(phone) && isAdded(desk), { what: 'a push of what is no message' });
  const { id } = await cases.sent(conversationId, { body: `ahoy ${'long '.repeat(100)}` });
  await until(() => received(phone, id) && received(desk, id), { what: 'both to receive it' });
  const push = received(phone, id)!;
  const [notification] = await feed(reader, 'category=chat.message');
  t.strictSame(push.payload, {
    notification_id: notification!.id,
    category: 'chat.message',
    title: notification!.title,
    body: notification!.body,
    priority: 'normal',
    conversation_id: conversationId,
    message_id: id,
    unseen: 2,
    unread: 2,
    created_at: notification!.created_at,
  });
  t.match(push.headers, { ttl: '86400', urgency: 'normal', 'content-encoding': 'aes128gcm' });
  const { aud, sub, exp } = push.token;
  t.strictSame({ aud, sub }, { aud: service.origin, sub: 'mailto:ops@example.com' });
  t.ok(exp * 1_000 > Date.now() && exp * 1_000 < Date.now() + 24 * 60 * 60 * 1_000);
  t.equal(push.key, (await ask<PushKey>('GET', `${PATH}/key`, reader)).body.public_key);
  const next = await cases.sent(conversationId, { body: `@Reader`, mentions: [reader.id] });
  await until(() => received(phone, next.id), { what: 'the mention' });
  t.equal(received(phone, next.id)!.payload.category, 'chat.mention');
  t.equal(
    received(phone, next.id)!.headers.topic,
    push.headers.topic,
    'an offline device gets the newest one',
  );
  t.match(push.headers.topic, /^[\w-]{32}$/);
  t.not(push.headers.topic, received(desk, id)!.headers.topic);
  await until(async () => (await listed(reader)).every((one) => one.last_success_at !== null), {
    what: 'the success to be written',
  });
  const produced = {
    recipient_ids: [reader.id],
    category: 'order.updated',
    title: 'Order 7',
    priority: 'high',
  };
  t.equal((await ask('POST', '/v1/messaging/notifications', undefined, { body: produced })).status, 201);
  const order = () => phone.received.find(({ payload }) => payload.category === 'order.updated');
  await until(order, { what: 'the notification of a producer' });
  t.match(order()!, {
    payload: { title: 'Order 7', body: null, conversation_id: null, message_id: null, priority: 'high' },
    headers: { urgency: 'high', topic: undefined },
  });
  t.strictSame(service.problems, []);
});

t.test('nothing is sent of what is not wanted at the time of the try', async (t) => {
  const node = await otherNode(t);
  const reader = await newReader(app);
  const conversationId = await cases.conversation('internal', user(reader.id));
  const [edited, deleted] = [await cases.sent(conversationId), await cases.sent(conversationId)];
  await until(async () => (await feed(reader, 'category=chat.message')).length === 2, {
    what: 'notifications',
  });
  const ofMessages = await feed(reader, 'category=chat.message');
  const browser = await subscribed(reader);
  const hours = { from: '00:00', to: '00:00', timezone: 'UTC' };
  const ends: Readonly<Record<string, (reader: Reader, id: string) => Promise<unknown>>> = {
    seen: (reader, id) => mark(reader, id, 'see'),
    read: (reader, id) => mark(reader, id, 'read'),
    dismissed: (reader, id) => mark(reader, id, 'dismiss'),
    gone: (_, id) => database.kysely.deleteFrom('notifications').where('id', '=', id).execute(),
    'do-not-disturb': (reader) => settings(reader, { do_not_disturb: hours }),
    muted: (reader) => settings(reader, { mute_until: new Date(Date.now() + 86_400_000).toISOString() }),
    'a category without push': (reader) =>
      settings(reader, { categories: { 'chat.message': { push: false } } }),
    'older than a day': (_, id) =>
      database.kysely
        .updateTable('notifications')
        .set({ created_at: new Date(Date.now() - 25 * 60 * 60 * 1_000).toISOString() })
        .where('id', '=', id)
        .execute(),
  };
  const triesAfter = async (end: (reader: Reader, id: string) => Promise<unknown>) => {
    const reader = await newReader(app);
    const browser = await subscribed(reader);
    const id = await insertRow(app, reader);
    const rows = await readNotifications(database, [{ recipient_id: reader.id, id }]);
    await end(reader, id);
    await node.notified([rows]);
    await until(async () => (await waiting(reader)) === 0, { what: 'the end' });
    return browser.tries;
  };
  const tries = await Promise.all(
    Object.entries(ends).map(async ([what, end]) => [what, await triesAfter(end)] as const),
  );
  t.ok(
    tries.every(([, count]) => count === 0),
    JSON.stringify(tries),
  );
  t.equal(await triesAfter(() => subscription('inactive')), 0, 'an account that does not pay');
  await subscription('active');
  await database.kysely
    .updateTable('messages')
    .set({ deleted_at: new Date().toISOString() })
    .where('id', '=', deleted.id)
    .execute();
  await node.notified([
    await readNotifications(
      database,
      ofMessages.map(({ id }) => ({ recipient_id: reader.id, id })),
    ),
  ]);
  await until(async () => (await waiting(reader)) === 0, { what: 'both' });
  t.strictSame(
    browser.received.map(({ payload }) => payload.message_id),
    [edited.id],
    'the message that was not deleted',
  );
});

t.test('404 and 410 end a subscription, whatever waits for it, and not its renewal', async (t) => {
  const node = await otherNode(t);
  for (const status of [404, 410]) {
    const reader = await newReader(app);
    const [browser, other] = [await subscribed(reader), await subscribed(reader)];
    browser.answers = status;
    await pushed(node, reader);
    await until(async () => (await listed(reader)).length === 1, { what: 'the end' });
    t.equal((await listed(reader))[0]!.endpoint, other.endpoint);
    t.equal(browser.tries, 1);
  }
  const reader = await newReader(app);
  const browser = await subscribed(reader);
  browser.answers = 'silence';
  await pushed(node, reader);
  await until(() => browser.tries === 1, { what: 'a try that waits' });
  const [before] = await listed(reader);
  browser.renew();
  const { body } = await ask<PushSubscription>('POST', PATH, reader, { body: browser.toJSON() });
  await database.query(
    { name: 'test-end-by-id', text: 'DELETE FROM push_subscriptions WHERE id = $1' },
    before!.id,
  );
  t.strictSame(
    (await listed(reader)).map(({ id }) => id),
    [body.id],
    'the end of old keys',
  );
  browser.answers = 201;
  await database.query({ name: 'test-end-leases', text: 'UPDATE push_deliveries SET due_at = now()' });
  await until(() => browser.received.length === 1, { what: 'the push with the new keys' });
  t.strictSame(service.problems, []);
});

t.test('tries: what is repeated, and what is not', async (t) => {
  const node = await otherNode(t);
  const tries = async (answers: Browser['answers'], retryAfter?: string) => {
    const reader = await newReader(app);
    const browser = await subscribed(reader);
    Object.assign(browser, { answers, retryAfter });
    await pushed(node, reader);
    await until(async () => (await waiting(reader)) === 0 || (await isLater(reader)), { what: 'the end' });
    const [{ failing_since } = { failing_since: undefined }] = await listed(reader);
    return [answers, browser.tries, await isLater(reader), failing_since !== null];
  };
  const statuses = [500, 503, 408, 429, 400, 403, 302] as const;
  t.strictSame(await Promise.all([...statuses.map((status) => tries(status)), tries(503, '1800')]), [
    [500, 5, false, true],
    [503, 5, false, true],
    [408, 5, false, true],
    // Too much at once is no failure of the subscription.
    [429, 5, false, false],
    [400, 1, false, true],
    [403, 1, false, true],
    [302, 1, false, true],
    [503, 1, true, true],
  ]);
});

t.test('a push service that refuses: the log has its reason, and operators see it', async (t) => {
  const refusing = await startPushService(t);
  const browsers = [refusing.browser(), refusing.browser()];
  const reader = await newReader(app);
  for (const browser of browsers) {
    browser.answers = 403;
    t.equal((await ask('POST', PATH, reader, { body: browser.toJSON() })).status, 201);
  }
  const lines: string[] = [];
  const node = await otherNode(t, createLog('warn', { write: (line: string) => void lines.push(line) }));
  const check = pushCheck(database);
  await pushedAndWaited(node, reader, 2);
  t.equal(lines.length, 1, 'once an hour');
  t.match(JSON.parse(lines[0]!), { push_service: refusing.origin, reason: '403 some text' });
  t.equal((await check.look([])).state, 'ok', 'a moment is nothing');
  await failedForDays(reader);
  t.match(await check.look([]), { state: 'attention', message: refusing.origin });
  browsers[0]!.answers = 201;
  await pushedAndWaited(node, reader);
  t.equal((await check.look([])).state, 'ok', 'it takes pushes of others');
});

t.test('a contact that Apple refuses is named at the start', async (t) => {
  const real = ['mailto:ops@example.com', 'https://chat.example.org/contact', 'mailto:"a@b"@x.example.net'];
  for (const subject of real) t.ok(isRealContact(subject), subject);
  const refused = [
    'mailto:postmaster@localhost',
    'mailto:ops@chat.local',
    'mailto:ops@10.0.0.1',
    'mailto:ops@CHAT.TEST',
    'https://localhost:8443',
    'https://chat',
    'https://[::1]/',
    'https://127.0.0.1/',
    'https://chat.internal',
  ];
  for (const subject of refused) t.notOk(isRealContact(subject), subject);
});

t.test('ten failures in a row over a day end a subscription', async (t) => {
  const node = await otherNode(t);
  const reader = await newReader(app);
  const browser = await subscribed(reader);
  const fail = async (times: number) => {
    browser.answers = 400;
    await pushedAndWaited(node, reader, times);
  };
  await fail(10);
  t.match(await listed(reader), [{ last_success_at: null }], 'an hour without push services ends nothing');
  await failedForDays(reader);
  browser.answers = 201;
  await pushedAndWaited(node, reader);
  t.match(await listed(reader), [{ failing_since: null }], 'a success begins anew');
  await fail(1);
  await failedForDays(reader);
  await fail(8);
  t.equal((await listed(reader)).length, 1, 'nine failures do not end it');
  await pushed(node, reader);
  await until(async () => (await listed(reader)).length === 0, { what: 'the end' });
});

t.test('a push service that does not answer holds up no other, and no send', async (t) => {
  const [slow, reader] = [await newReader(app), await newReader(app)];
  const deaf = (await startPushService(t)).browser();
  deaf.answers = 'silence';
  await ask('POST', PATH, slow, { body: deaf.toJSON() });
  const browser = await subscribed(reader);
  const conversationId = await group('Slow', slow, reader);
  for (let i = 1; i <= 40; i++) await cases.sent(conversationId, { body: `number ${i}` });
  const messages = () => browser.received.filter(({ payload }) => payload.category === 'chat.message');
  await until(() => messages().length >= 40, { what: 'all of them' });
  t.ok((await waiting(slow)) > 0);

  const begun: string[] = [];
  const ends: (() => void)[] = [];
  let drained = 0;
  const lanes = new Lanes<{ readonly name: string }>({
    laneOf: ({ name }) => name,
    sideBySide: 4,
    room: 10,
    maxLanes: 2,
    onDrained: () => (drained += 1),
    run({ name }) {
      begun.push(name);
      return new Promise((resolve) => ends.push(resolve));
    },
  });
  const added = Array.from({ length: 12 }, () => lanes.add({ name: 'slow' }));
  t.strictSame(added, [...Array(10).fill(true), false, false], 'no more than there is room for');
  t.equal(lanes.add({ name: 'fast' }), true);
  t.equal(lanes.add({ name: 'third' }), false);
  t.strictSame(begun, ['slow', 'slow', 'slow', 'slow', 'fast']);
  t.strictSame(
    [...lanes.rooms()],
    [
      ['slow', 0],
      ['fast', 9],
    ],
  );
  ends[0]!();
  await until(() => begun.length === 6, { what: 'the next one' });
  t.equal(lanes.abandonQueued().length, 5);
  for (const end of ends) end();
  await lanes.idle(60_000);
  t.strictSame([drained, lanes.underWay.length], [1, 0]);
});

t.test('an endpoint of this machine is not connected to', async (t) => {
  let reached = 0;
  const canary = createServer(() => {
    reached += 1;
  });
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.2', resolve));
  t.teardown(() => void canary.close());
  const { port } = canary.address() as AddressInfo;
  const node = await otherNode(t);
  for (const host of ['127.0.0.2', '0x7f000002', '[::ffff:127.0.0.2]']) {
    const reader = await newReader(app);
    const body = service.browser().toJSON();
    t.equal((await ask('POST', PATH, reader, { body })).status, 201);
    // As after a change of what the operator allows: such an endpoint is refused when it is
    // registered.
    await app.database.kysely
      .updateTable('push_subscriptions')
      .set({ endpoint: `https://${host}:${port}/push`, origin: `https://${host}:${port}` })
      .where('id', '=', (await listed(reader))[0]!.id)
      .execute();
    await pushedAndWaited(node, reader);
    t.type((await listed(reader))[0]!.failing_since, 'string', host);
  }
  t.equal(reached, 0);
});

t.test('the worker shows one notification for each push, without sound above a page in use', async (t) => {
  const SCOPE = 'https://chat.example.com/console/';
  const code = await (await fetch(`${app.baseUrl}/v1/push-worker.js`)).text();
  const listeners = new Map<string, (event: object) => void>();
  const done: unknown[] = [];
  const pages = [
    {
      url: `${SCOPE}c/1`,
      focused: true,
      focus: () => done.push('focus'),
      postMessage: (data: object) => done.push(data),
    },
    { url: 'https://chat.example.com/docs', focused: true },
  ];
  const self = {
    addEventListener: (name: string, listener: (event: object) => void) => listeners.set(name, listener),
    clients: { matchAll: async () => pages, openWindow: async (url: string) => done.push(url) },
    navigator: { setAppBadge: async (count: number) => done.push(count) },
    registration: { scope: SCOPE, showNotification: async (...shown: unknown[]) => done.push(shown) },
  };
  runInNewContext(code, { self, URL });
  const raise = async (name: string, event: object) => {
    done.length = 0;
    let work: Promise<void> | undefined;
    listeners.get(name)!({ ...event, waitUntil: (given: Promise<void>) => (work = given) });
    await work;
    return structuredClone(done);
  };
  const payload = {
    notification_id: 'ntf_1',
    title: 'Ada',
    body: null,
    unseen: 3,
    conversation_id: 'cnv_1',
    message_id: 'msg_1',
    created_at: '2026-03-02T12:00:00.000000Z',
  };
  const push = { data: { json: () => payload } };
  for (const focused of [true, false]) {
    pages[0]!.focused = focused;
    const shown = { body: '', tag: 'ntf_1', timestamp: Date.parse(payload.created_at), data: payload };
    const told = [['Ada', { ...shown, silent: focused }], { type: 'parley-push', payload }, 3];
    t.strictSame(await raise('push', push), told);
    for (const text of [null, '', 'no JSON', 'null', '0', '"x"', '[]', '{}', '{"another":"form"}']) {
      const data = text === null ? null : { json: () => JSON.parse(text) };
      const unread = await raise('push', { data });
      t.match(unread, [['New notification', { tag: 'parley', silent: focused }]], `${text}`);
      t.equal(unread.length, 1, 'pages learn nothing of it');
    }
  }
  const click = { notification: { data: payload, close: () => done.push('close') } };
  t.strictSame(await raise('notificationclick', click), ['close', 'focus', { type: 'parley-open', payload }]);
  pages.length = 0;
  const opened = `${SCOPE}?conversation=cnv_1&message=msg_1`;
  t.strictSame(await raise('notificationclick', click), ['close', opened]);
});

t.test('a node that dies loses no push, and two nodes make one of it', async (t) => {
  const reader = await newReader(app);
  const browser = await subscribed(reader);
  browser.answers = 'silence';
  const dying = await otherNode(t);
  const id = await pushed(dying, reader);
  const rows = await readNotifications(database, [{ recipient_id: reader.id, id }]);
  await Promise.all([dying.notified([rows]), (await otherNode(t)).notified([rows])]);
  t.equal(await waiting(reader), 1);
  await until(() => browser.tries === 1, { what: 'the try' });
  // As after its lease.
  browser.answers = 201;
  await database.query({ name: 'test-end-leases', text: 'UPDATE push_deliveries SET due_at = now()' });
  await until(() => browser.received.some(({ payload }) => payload.notification_id === id), {
    what: 'the push',
  });
  await until(async () => (await waiting(reader)) === 0, { what: 'the outcome' });
});

t.test('users that are deactivated, and keys that change, end subscriptions', async (t) => {
  const [reader, other] = [await newReader(app), await newReader(app)];
  const browser = await subscribed(reader);
  await subscribed(other);
  await setInactive(reader);
  await until(async () => (await count(reader)) === 0, { what: 'the end' });
  t.equal(await count(other), 1);
  t.equal(browser.tries, 0);

  const { keyId } = await Vapid.open({ database, subject: 'mailto:a@example.com' });
  const twins = await Promise.all(
    [1, 2, 3].map(() => Vapid.open({ database, subject: 'mailto:a@example.com' })),
  );
  t.ok(
    twins.every((twin) => twin.keyId === keyId),
    'nodes share one key',
  );
  const secret = await database.kysely
    .selectFrom('settings')
    .select('value')
    .where('name', '=', 'vapid_key')
    .executeTakeFirstOrThrow();
  await database.kysely.deleteFrom('settings').where('name', '=', 'vapid_key').execute();
  const node = await otherNode(t);
  await pushed(node, other);
  await until(async () => (await count(other)) === 0, { what: 'the end of what another key was for' });
  await database.kysely.updateTable('settings').set(secret).where('name', '=', 'vapid_key').execute();
});

t.test('a payload keeps below what push services take', async (t) => {
  const row = {
    id: 'ntf_1',
    title: 'T',
    body: 'B',
    category: 'order.updated',
    priority: 'high',
  } as BrowserPush;
  t.match(JSON.parse(payloadOf(row).toString()), { title: 'T', body: 'B' });
  for (const text of ['x', 'ä', '😀', '\u0001', '"']) {
    for (const length of [3_000, 3_900, 4_000, 40_000]) {
      const body = text.repeat(length);
      const both = payloadOf({ ...row, title: body, body });
      const long = payloadOf({ ...row, body });
      for (const bytes of [both, long]) t.ok(bytes.length <= MAX_PAYLOAD_BYTES, `${bytes.length}`);
      const cut: string = JSON.parse(long.toString()).body;
      t.ok(
        cut === body || (cut.endsWith('…') && body.startsWith(cut.slice(0, -1))),
        'cut between characters',
      );
      t.ok(cut === body || long.length > MAX_PAYLOAD_BYTES - 10, 'as much as fits');
    }
  }
});

/** Another node of the same database, which looks for what is due all the time. */
async function otherNode(t: Teardown, log = createLog('silent')): Promise<Pushes<BrowserPush>> {
  const engine = new MemoryEngine<Frame>();
  const rights = await Rights.open(engine);
  const post = new GuardedPost(new AddressGuard({ allow: ['127.0.0.1'] }));
  const vapid = await Vapid.open({ database, subject: 'mailto:ops@example.com' });
  const pushes = new Pushes({
    database,
    channel: webChannel({ database, post, vapid }),
    log,
    metrics: pushMetrics(createMetrics()),
    sweepEveryMs: 5,
    retries: { ...RETRIES, delaysMs: [0, 1, 1, 1, 1] },
    watch: NO_WATCH,
    // Its engine is not connected: announcements of the node under test do not reach it.
    audience: {
      get: async (accountId) => new Set(await readSubscribers(database, 'push_subscriptions', accountId)),
    },
    settings: { of: (id) => new SettingsOfUsers(database, rights).of(id) },
  });
  t.teardown(async () => {
    post.close();
    await pushes.close();
    await rights.close();
    await engine.close();
  });
  return pushes;
}

/** Returns the id of a notification that a node has pushed. */
async function pushed(node: Pushes<BrowserPush>, reader: Reader): Promise<string> {
  const id = await insertRow(app, reader, { title: 'Pushed', body: randomBytes(4).toString('hex') });
  await node.notified([await readNotifications(database, [{ recipient_id: reader.id, id }])]);
  return id;
}

async function pushedAndWaited(node: Pushes<BrowserPush>, reader: Reader, times = 1): Promise<void> {
  for (let n = 1; n <= times; n++) await pushed(node, reader);
  await until(async () => (await waiting(reader)) === 0, { what: 'the outcome' });
}

async function subscribed(reader: Reader): Promise<Browser> {
  const browser = service.browser();
  const { status } = await ask('POST', PATH, reader, { body: browser.toJSON() });
  if (status !== 201) throw new Error(`subscribing answered ${status}`);
  return browser;
}

function received(browser: Browser, messageId: string) {
  return browser.received.find(({ payload }) => payload.message_id === messageId);
}

function ask<Body = Refusal>(method: string, path: string, reader?: Reader, options: CallOptions = {}) {
  return app.call<Body>(method, path, {
    ...options,
    ...(reader !== undefined && { token: reader.token }),
    headers: { 'Service-Version': '1.2.harbor', ...options.headers },
  });
}

async function listed(reader: Reader): Promise<readonly PushSubscription[]> {
  return (await ask<List<PushSubscription>>('GET', `${PATH}?limit=100`, reader)).body.data;
}

async function feed(reader: Reader, query: string): Promise<readonly Notification[]> {
  return (await ask<List<Notification>>('GET', `/v1/messaging/notifications?${query}`, reader)).body.data;
}

function mark(reader: Reader, id: string, move: string) {
  return ask('POST', `/v1/messaging/notifications/${id}/actions/${move}`, reader);
}

async function settings(reader: Reader, body: object): Promise<void> {
  const { status, text } = await ask('PUT', '/v1/messaging/notification-settings', reader, { body });
  if (status !== 200) throw new Error(text);
}

async function subscription(state: 'active' | 'inactive'): Promise<void> {
  await database.transaction((tx) => updateAccount(tx, demo.account_id, { subscription: state }));
}

async function setInactive({ id }: Reader): Promise<void> {
  const { status, text } = await app.call('POST', `/v1/users/${id}/actions/deactivate`, {
    headers: { 'Service-Version': '1.2.harbor' },
  });
  if (status !== 200) throw new Error(text);
}

/** Returns a group of ada, grace and readers, who are notified of being added. */
async function group(title: string, ...readers: readonly Reader[]): Promise<string> {
  const others = [{ id: demo.users.grace.id }, ...readers];
  const { body } = await app.call<{ id: string }>('POST', '/v1/messaging/conversations', {
    token: ada.access_token,
    body: { type: 'group', title, participants: others.map(({ id }) => ({ type: 'user', actor_id: id })) },
  });
  return body.id;
}

async function waiting({ id }: Reader): Promise<number> {
  const rows = await database.kysely
    .selectFrom('push_deliveries as d')
    .innerJoin('push_subscriptions as s', 's.id', 'd.subscription_id')
    .select('d.notification_id')
    .where('s.actor_id', '=', id)
    .execute();
  return rows.length;
}

/** Whether a push is put off for longer than a lease. */
async function isLater({ id }: Reader): Promise<boolean> {
  const row = await database.kysely
    .selectFrom('push_deliveries as d')
    .innerJoin('push_subscriptions as s', 's.id', 'd.subscription_id')
    .select('d.due_at')
    .where('s.actor_id', '=', id)
    .executeTakeFirst();
  return row !== undefined && Date.parse(row.due_at) > Date.now() + 10 * 60_000;
}

async function failedForDays({ id }: Reader): Promise<void> {
  await database.kysely
    .updateTable('push_subscriptions')
    .set({ failing_since: '2026-01-01T00:00:00Z' })
    .where('actor_id', '=', id)
    .execute();
}

async function count({ id }: Reader): Promise<number> {
  const rows = await database.kysely
    .selectFrom('push_subscriptions')
    .select('id')
    .where('actor_id', '=', id)
    .execute();
  return rows.length;
}
