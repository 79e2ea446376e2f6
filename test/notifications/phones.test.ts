/**
 * Push to phones (docs/contract.md#phones): apps and devices over HTTP, and what servers receive
 * that speak the protocols of Google and Apple and verify the signatures.
 */

import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import type { List } from '@parley/protocol/lists.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import type { PushApp } from '@parley/protocol/resources/push-app.ts';
import { MAX_PUSH_DEVICES, type PushDevice } from '@parley/protocol/resources/push-device.ts';
import type { Token } from '@parley/protocol/resources/token.ts';
import t from 'tap';
import { createAccount } from '../../src/core/accounts/account/accounts.ts';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { Cases, user } from '../messages/cases.ts';
import { type CallOptions, type Refusal, refusalOf, startTestApp } from '../support/app.ts';
import { startApns, startFcm } from '../support/phone-services.ts';
import { until } from '../support/until.ts';
import { newReader, type Reader } from './readers.ts';

const [apns, fcm] = [await startApns(t), await startFcm(t)];
const app = await startTestApp(t, {
  PARLEY_FETCH_ALLOW: '127.0.0.1',
  PARLEY_APNS_URL: apns.origin,
  PARLEY_FCM_URL: fcm.origin,
});
const { database } = app;
const cases = new Cases(app);
const [APPS, DEVICES] = ['/v1/push-apps', '/v1/messaging/push-devices'];
const VERSION = '1.4.harbor';

const FCM_APP = { name: 'Android', platform: 'fcm', service_account: fcm.serviceAccount };
const APNS_APP = {
  name: 'iPhone',
  platform: 'apns',
  topic: apns.topic,
  team_id: apns.teamId,
  key_id: apns.keyId,
  private_key: apns.privateKey,
};
const [android, iphone] = [await made(FCM_APP), await made(APNS_APP)];

t.test('a push app: made, listed, changed, deleted; its credential is never shown', async (t) => {
  const created = await ask<PushApp>('POST', APPS, undefined, { body: APNS_APP });
  t.strictSame(created.body, {
    id: created.body.id,
    object: 'push_app',
    name: 'iPhone',
    platform: 'apns',
    identifier: apns.topic,
    environment: 'production',
    team_id: apns.teamId,
    key_id: apns.keyId,
    last_success_at: null,
    failing_since: null,
    last_error: null,
    created_by: created.body.created_by,
    created_at: created.body.created_at,
    updated_at: created.body.updated_at,
  });
  t.match(android, { platform: 'fcm', identifier: 'example-chat', environment: null, key_id: 'key-1' });
  const path = `${APPS}/${created.body.id}`;
  t.strictSame((await ask('GET', path)).body, created.body);
  const all = await ask<List<PushApp>>('GET', `${APPS}?search=iphone`);
  t.ok(all.body.data.some(({ id }) => id === created.body.id));
  t.notOk(all.body.data.some(({ id }) => id === android.id));
  const renamed = await ask<PushApp>('PATCH', path, undefined, { body: { name: 'iPad' } });
  t.match(renamed.body, { name: 'iPad', key_id: apns.keyId });
  const renewed = await ask<PushApp>('PATCH', path, undefined, {
    body: { key_id: 'ABCDEFGHIJ', private_key: apns.privateKey },
  });
  t.match(renewed.body, { name: 'iPad', key_id: 'ABCDEFGHIJ', team_id: apns.teamId });
  const { rows } = await stored(created.body.id);
  t.notMatch(rows, /PRIVATE KEY/, 'not in the database either');
  t.equal((await ask('DELETE', path)).status, 200);
  t.equal(refusalOf(await ask('GET', path)), '404 resource_not_found id');
  const audit = await ask<List<{ action: string; details: Record<string, unknown> }>>(
    'GET',
    '/v1/account/audit?limit=10',
  );
  const actions = audit.body.data.filter(({ details }) => details.push_app_id === created.body.id);
  t.strictSame(
    actions.map(({ action }) => action),
    ['push_app.deleted', 'push_app.updated', 'push_app.updated', 'push_app.created'],
  );
  t.notMatch(JSON.stringify(actions), /PRIVATE KEY/);
});

t.test('a push app that cannot work is refused', async (t) => {
  const pem = (key: { export(options: { type: 'pkcs8'; format: 'pem' }): string | Buffer }) =>
    key.export({ type: 'pkcs8', format: 'pem' }).toString();
  const other = pem(generateKeyPairSync('ec', { namedCurve: 'secp384r1' }).privateKey);
  const account = fcm.serviceAccount;
  const refusals: [object, string][] = [
    [{ ...FCM_APP, name: undefined }, '400 missing_field name'],
    [{ ...FCM_APP, platform: undefined }, '400 missing_field platform'],
    [{ ...FCM_APP, platform: 'adm' }, '422 validation_failed platform'],
    [{ ...FCM_APP, service_account: undefined }, '400 missing_field service_account'],
    [{ ...FCM_APP, service_account: 'key' }, '400 invalid_format service_account'],
    [
      { ...FCM_APP, service_account: { ...account, private_key: undefined } },
      '400 missing_field service_account.private_key',
    ],
    [
      { ...FCM_APP, service_account: { ...account, private_key: 'key' } },
      '422 validation_failed service_account.private_key',
    ],
    [
      { ...FCM_APP, service_account: { ...account, private_key: apns.privateKey } },
      '422 validation_failed service_account.private_key',
    ],
    [
      { ...FCM_APP, service_account: { ...account, project_id: '../x' } },
      '422 validation_failed service_account.project_id',
    ],
    [{ ...FCM_APP, topic: 'com.example' }, '422 validation_failed topic'],
    [{ ...APNS_APP, topic: undefined }, '400 missing_field topic'],
    [{ ...APNS_APP, topic: 'com example' }, '422 validation_failed topic'],
    [{ ...APNS_APP, team_id: undefined }, '400 missing_field team_id'],
    [{ ...APNS_APP, team_id: 'team' }, '422 validation_failed team_id'],
    [{ ...APNS_APP, key_id: undefined }, '400 missing_field key_id'],
    [{ ...APNS_APP, private_key: undefined }, '400 missing_field private_key'],
    [{ ...APNS_APP, private_key: fcm.privateKey }, '422 validation_failed private_key'],
    [{ ...APNS_APP, private_key: other }, '422 validation_failed private_key'],
    [{ ...APNS_APP, environment: 'test' }, '422 validation_failed environment'],
    [{ ...APNS_APP, service_account: account }, '422 validation_failed service_account'],
    [{ ...APNS_APP, url: 'https://push.example' }, '422 validation_failed url'],
  ];
  for (const [body, refusal] of refusals) {
    t.equal(
      refusalOf(await ask('POST', APPS, undefined, { body })),
      refusal,
      JSON.stringify(body).slice(0, 90),
    );
  }
  const changes: [PushApp, object, string][] = [
    [iphone, { key_id: 'ABCDEFGHIJ' }, '400 missing_field private_key'],
    [iphone, { private_key: apns.privateKey }, '400 missing_field key_id'],
    [iphone, { service_account: account }, '422 validation_failed service_account'],
    [android, { key_id: 'ABCDEFGHIJ', private_key: apns.privateKey }, '422 validation_failed private_key'],
    [
      android,
      { service_account: { ...account, project_id: 'other' } },
      '422 validation_failed service_account.project_id',
    ],
  ];
  for (const [{ id }, body, refusal] of changes) {
    t.equal(refusalOf(await ask('PATCH', `${APPS}/${id}`, undefined, { body })), refusal);
  }
  const member = await newReader(app, 'member');
  for (const [method, path, options] of [
    ['POST', APPS, { body: FCM_APP }],
    ['GET', APPS, {}],
    ['GET', `${APPS}/${iphone.id}`, {}],
    ['PATCH', `${APPS}/${iphone.id}`, { body: { name: 'x' } }],
    ['DELETE', `${APPS}/${iphone.id}`, {}],
  ] as const) {
    t.equal(refusalOf(await ask(method, path, member, options)), '403 insufficient_permissions null', method);
  }
  t.equal(
    refusalOf(await ask('GET', APPS, undefined, { headers: { 'Service-Version': '1.3.harbor' } })),
    '400 api_version_too_old Service-Version',
  );
});

t.test('a phone: registered, again, by another user, deleted; its token is never shown', async (t) => {
  const [reader, other] = [await newReader(app), await newReader(app)];
  const token = apnsToken();
  const body = { app_id: iphone.id, token: token.toUpperCase() };
  const first = await ask<PushDevice>('POST', DEVICES, reader, { body });
  t.strictSame(
    [first.status, first.body],
    [
      201,
      {
        id: first.body.id,
        object: 'push_device',
        app_id: iphone.id,
        platform: 'apns',
        session_id: null,
        last_success_at: null,
        failing_since: null,
        created_at: first.body.created_at,
        updated_at: first.body.updated_at,
      },
    ],
  );
  const again = await ask<PushDevice>('POST', DEVICES, reader, { body: { ...body, token } });
  t.match(again, { status: 200, body: { id: first.body.id } });
  t.strictSame((await ask('GET', `${DEVICES}/${first.body.id}`, reader)).body, again.body);
  for (const method of ['GET', 'DELETE']) {
    t.equal(refusalOf(await ask(method, `${DEVICES}/${first.body.id}`, other)), '404 resource_not_found id');
  }
  const taken = await ask<PushDevice>('POST', DEVICES, other, { body });
  t.equal(taken.status, 201);
  t.strictSame(await devices(reader), [], 'the phone is in the hands of another user');
  const headers = { 'Idempotency-Key': randomUUID() };
  const deleted = await ask('DELETE', `${DEVICES}/${taken.body.id}`, other, { headers });
  t.strictSame(deleted.body, taken.body);
  t.equal((await ask('DELETE', `${DEVICES}/${taken.body.id}`, other, { headers })).text, deleted.text);
  t.strictSame(await devices(other), []);

  const foreign = await foreignApp();
  const refusals: [object, string][] = [
    [{ token }, '400 missing_field app_id'],
    [{ app_id: iphone.id }, '400 missing_field token'],
    [{ ...body, app_id: 'pap_x' }, '404 resource_not_found app_id'],
    [{ ...body, app_id: foreign }, '404 resource_not_found app_id'],
    [{ ...body, token: 'xyz' }, '422 validation_failed token'],
    [{ ...body, token: 'a b' }, '422 validation_failed token'],
    [{ ...body, token: '' }, '422 validation_failed token'],
    [{ ...body, token: 'a'.repeat(4_097) }, '422 validation_failed token'],
    [{ ...body, platform: 'apns' }, '422 validation_failed platform'],
  ];
  for (const [refused, refusal] of refusals) {
    t.equal(
      refusalOf(await ask('POST', DEVICES, reader, { body: refused })),
      refusal,
      JSON.stringify(refused).slice(0, 90),
    );
  }
  t.equal(
    refusalOf(await ask('POST', DEVICES, undefined, { body })),
    '403 insufficient_permissions null',
    'a key',
  );
  const many = await Promise.all(
    Array.from({ length: MAX_PUSH_DEVICES + 1 }, () =>
      ask<Refusal>('POST', DEVICES, reader, { body: { app_id: iphone.id, token: apnsToken() } }),
    ),
  );
  const late = many.filter(({ status }) => status !== 201);
  t.strictSame(late.map(refusalOf), ['403 limit_exceeded null']);
});

t.test('a push says who and how many, and with `text` what; never what is held or a note', async (t) => {
  const reader = await newReader(app);
  const [a, b] = [await registered(reader, android), await registered(reader, iphone)];
  const conversationId = await cases.conversation('internal', user(reader.id));
  const { id } = await cases.sent(conversationId, { body: 'the secret plan' });
  await until(() => fcm.of(a).length > 0 && apns.of(b).length > 0, { what: 'both pushes' });
  const [notification] = await feed(reader);
  const data = {
    type: 'notification',
    notification_id: notification!.id,
    category: 'chat.message',
    conversation_id: conversationId,
    message_id: id,
    unseen: '1',
    unread: '1',
  };
  const texts = { title: 'Grace Hopper', body: '1 unread notification' };
  const [onAndroid, onIphone] = [fcm.of(a)[0]!, apns.of(b)[0]!];
  t.match(onAndroid.body, {
    data,
    notification: texts,
    android: { priority: 'HIGH', collapse_key: conversationId },
  });
  t.match(onIphone.body, { ...data, aps: { alert: texts, badge: 1, 'thread-id': conversationId } });
  t.match(onIphone.headers, {
    'apns-collapse-id': conversationId,
    'apns-topic': apns.topic,
    'apns-priority': '10',
  });
  t.notMatch(JSON.stringify([onAndroid, onIphone]), /secret plan/);

  t.equal((await ask('PATCH', '/v1/account', undefined, { body: { push_content: 'text' } })).status, 200);
  await cases.sent(conversationId, { body: 'plain words' });
  await until(() => fcm.of(a).length > 1 && apns.of(b).length > 1, { what: 'with the text' });
  t.match(fcm.of(a)[1]!.body.notification, { body: 'plain words' });
  t.match(apns.of(b)[1]!.body.aps, { alert: { body: 'plain words' }, badge: 2 });

  const held = await cases.conversation('internal', user(reader.id));
  t.equal(
    (
      await ask('POST', `/v1/messaging/conversations/${held}/actions/set-legal-hold`, undefined, {
        body: HOLD,
      })
    ).status,
    200,
  );
  await cases.sent(held, { body: 'evidence' });
  const open = await cases.open(user(reader.id));
  await cases.sent(open.id, { body: 'a note', audience: 'internal' });
  await until(() => fcm.of(a).length > 3 && apns.of(b).length > 3, { what: 'both kept back' });
  t.notMatch(JSON.stringify([fcm.of(a).slice(2), apns.of(b).slice(2)]), /evidence|a note/);
  t.equal((await ask('PATCH', '/v1/account', undefined, { body: { push_content: 'none' } })).status, 200);
  t.strictSame([apns.problems, fcm.problems], [[], []]);
  t.equal(apns.connections, 1, 'one connection for all pushes of an app');
  t.equal(fcm.trades, 1, 'one access token');
});

t.test('a push does not name a sender whom its reader does not know', async (t) => {
  const reader = await newReader(app);
  const phone = await registered(reader, android);
  const { ada } = app.demo.users;
  for (const [people, title, count] of [
    ['everyone', 'Ada Lovelace', 1],
    ['shared', 'New notification', 2],
  ] as const) {
    t.equal((await ask('PATCH', '/v1/account', undefined, { body: { people } })).status, 200);
    await notify(reader, ada.access_token);
    await until(() => fcm.of(phone).length === count, { what: 'the push' });
    t.equal(fcm.of(phone)[count - 1]!.body.notification?.title, title);
  }
  await ask('PATCH', '/v1/account', undefined, { body: { people: 'everyone' } });
});

t.test('a notification that was read elsewhere leaves the phone, without a sound', async (t) => {
  const reader = await newReader(app);
  const [a, b] = [await registered(reader, android), await registered(reader, iphone)];
  const conversationId = await cases.conversation('internal', user(reader.id));
  for (let n = 0; n < 3; n++) await cases.sent(conversationId);
  const last = await cases.sent(conversationId);
  await until(() => fcm.of(a).length === 4 && apns.of(b).length === 4, { what: 'four pushes' });
  await until(async () => (await shown(reader)) === 8, { what: 'that they are noted' });
  await ask('POST', `/v1/messaging/conversations/${conversationId}/actions/mark-read`, reader, {
    body: { sequence: last.sequence },
  });
  await until(() => fcm.of(a).length === 5 && apns.of(b).length === 5, { what: 'one removal each' });
  const ids = (await feed(reader)).map(({ id }) => id).sort();
  const [onAndroid, onIphone] = [fcm.of(a)[4]!.body, apns.of(b)[4]!];
  t.match(onAndroid.data, { type: 'removed', unread: '0' });
  t.strictSame(onAndroid.data!.notification_ids!.split(',').sort(), ids);
  t.equal(onAndroid.notification, undefined);
  t.strictSame(onIphone.body.aps, { 'content-available': 1, badge: 0 });
  t.strictSame(onIphone.body.notification_ids!.split(',').sort(), ids);
  t.equal(onIphone.headers['apns-push-type'], 'background');
  await until(async () => (await shown(reader)) === 0, { what: 'that they are gone' });
  t.strictSame([apns.problems, fcm.problems], [[], []]);
});

t.test('a token that its service does not know any more ends; other refusals do not end it', async () => {
  const gone = [
    [android, { status: 404, body: { error: { details: [{ errorCode: 'UNREGISTERED' }] } } }],
    [android, { status: 400, body: { error: { details: [{ errorCode: 'UNREGISTERED' }] } } }],
    [iphone, { status: 410, body: { reason: 'Unregistered' } }],
    [iphone, { status: 404 }],
  ] as const;
  for (const [pushApp, refusal] of gone) {
    const reader = await newReader(app);
    const service = pushApp === android ? fcm : apns;
    const token = await registered(reader, pushApp);
    service.refusals.set(token, refusal);
    await notify(reader);
    await until(async () => (await devices(reader)).length === 0, { what: 'the end' });
  }
  const kept = [
    [android, { status: 403, body: { error: { details: [{ errorCode: 'SENDER_ID_MISMATCH' }] } } }],
    [iphone, { status: 400, body: { reason: 'BadDeviceToken' } }],
    [iphone, { status: 503, retryAfter: '1' }],
  ] as const;
  for (const [pushApp, refusal] of kept) {
    const reader = await newReader(app);
    const service = pushApp === android ? fcm : apns;
    const token = await registered(reader, pushApp);
    service.refusals.set(token, refusal);
    await notify(reader);
    await until(async () => (await devices(reader))[0]?.failing_since !== null, { what: 'the failure' });
    service.refusals.delete(token);
    await notify(reader);
    await until(async () => (await devices(reader))[0]?.failing_since === null, { what: 'the success' });
  }
});

t.test('a credential that is refused ends no phone, and is named', async (t) => {
  const reader = await newReader(app);
  const own = await made({ ...APNS_APP, name: 'renewed' });
  const token = await registered(reader, own);
  const key = apns.renew();
  await notify(reader);
  await until(async () => (await appNow(own)).last_error !== null, { what: 'the error' });
  t.match(await appNow(own), { last_error: /403 .*InvalidProviderToken/, failing_since: /Z$/ });
  t.equal((await devices(reader))[0]!.failing_since, null, 'the phone is not to blame');
  const body = { key_id: apns.keyId, private_key: key };
  for (const { id } of [own, iphone]) await ask('PATCH', `${APPS}/${id}`, undefined, { body });
  await notify(reader);
  await until(() => apns.of(token).length > 0, { what: 'a push with the new key' });
  await until(async () => (await appNow(own)).last_error === null, { what: 'the success' });

  const phone = await registered(reader, android);
  fcm.expireTokens();
  await notify(reader);
  await until(() => fcm.of(phone).length > 0, { what: 'another access token, at once' });
  fcm.expireTokens();
  fcm.isKeyKnown = false;
  await notify(reader);
  await until(async () => (await appNow(android)).last_error !== null, { what: 'the refused key' });
  t.match((await appNow(android)).last_error, /400 .*invalid_grant/);
  t.equal((await devices(reader)).length, 2);
  fcm.isKeyKnown = true;
});

t.test('a phone ends with the session that registered it, and with its user', async (t) => {
  const reader = await newReader(app);
  const { body: pair } = await ask<Token>('POST', '/v1/auth/tokens', undefined, {
    body: { user_id: reader.id },
  });
  const phone = { ...reader, token: pair.access_token };
  const token = await registered(phone, iphone);
  const [device] = await devices(reader);
  t.match(device!.session_id, /^ses_/);
  const other = await registered(reader, iphone);
  await ask('DELETE', `/v1/me/sessions/${device!.session_id}`, phone);
  await until(async () => (await devices(reader)).length === 1, { what: 'the end of the phone' });
  await notify(reader);
  await until(() => apns.of(other).length > 0, { what: 'a push to the other phone' });
  t.strictSame(apns.of(token), []);
  const ended = await ask('POST', `/v1/users/${reader.id}/actions/end-sessions`);
  t.equal(ended.status, 200);
  await until(async () => (await stored(reader.id, 'push_devices')).count === 0, {
    what: 'tokens without sessions',
  });
  const leaving = await newReader(app);
  await registered(leaving, iphone);
  await ask('POST', `/v1/users/${leaving.id}/actions/deactivate`);
  await until(async () => (await stored(leaving.id, 'push_devices')).count === 0, { what: 'the user' });
});

const HOLD = { legal_hold: 'held' };

function ask<Body = Refusal>(method: string, path: string, reader?: Reader, options: CallOptions = {}) {
  return app.call<Body>(method, path, {
    ...options,
    ...(reader !== undefined && { token: reader.token }),
    headers: { 'Service-Version': VERSION, ...options.headers },
  });
}

async function made(body: object): Promise<PushApp> {
  const answer = await ask<PushApp>('POST', APPS, undefined, { body });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body;
}

async function appNow({ id }: PushApp): Promise<PushApp> {
  return (await ask<PushApp>('GET', `${APPS}/${id}`)).body;
}

function apnsToken(): string {
  return randomBytes(32).toString('hex');
}

/** Registers a phone, and returns its token. */
async function registered(reader: Reader, { id, platform }: PushApp): Promise<string> {
  const token =
    platform === 'apns'
      ? apnsToken()
      : `${randomBytes(8).toString('hex')}:APA91b-${randomBytes(60).toString('base64url')}`;
  const { status, text } = await ask('POST', DEVICES, reader, { body: { app_id: id, token } });
  if (status !== 201) throw new Error(text);
  return token;
}

async function devices(reader: Reader): Promise<readonly PushDevice[]> {
  return (await ask<List<PushDevice>>('GET', `${DEVICES}?limit=100`, reader)).body.data;
}

async function feed(reader: Reader): Promise<readonly Notification[]> {
  const path = '/v1/messaging/notifications?category=chat.message';
  return (await ask<List<Notification>>('GET', path, reader)).body.data;
}

async function notify({ id }: Reader, token?: string): Promise<void> {
  const body = { recipient_ids: [id], category: 'order.updated', title: 'Order 7' };
  const { status, text } = await ask('POST', '/v1/messaging/notifications', undefined, {
    body,
    ...(token !== undefined && { token }),
  });
  if (status !== 201) throw new Error(text);
}

/** The number of notifications that the phones of a user show. */
async function shown({ id }: Reader): Promise<number> {
  const rows = await database.kysely
    .selectFrom('device_deliveries as d')
    .innerJoin('push_devices as s', 's.id', 'd.subscription_id')
    .select('d.notification_id')
    .where('s.actor_id', '=', id)
    .where('d.shown', '=', true)
    .execute();
  return rows.length;
}

/** What the database has of an app, or of the phones of a user. */
async function stored(id: string, table: 'push_apps' | 'push_devices' = 'push_apps') {
  const rows = await database.kysely
    .selectFrom(table)
    .selectAll()
    .where(table === 'push_apps' ? 'id' : 'actor_id', '=', id)
    .execute();
  const bytes = rows.map((row) => ('credential' in row ? row.credential.toString('latin1') : ''));
  return { rows: JSON.stringify([rows, bytes]), count: rows.length };
}

/** Returns the id of a push app of another account. */
async function foreignApp(): Promise<string> {
  const { account, user } = await database.transaction(async (tx) => {
    const { account, roles } = await createAccount(tx, { name: 'Elsewhere' });
    const { user } = await createUser(tx, {
      accountId: account.id,
      name: 'Eve',
      email: 'eve@example.com',
      roleId: roles.admin.id,
    });
    return { account, user };
  });
  const token = await app.tokenOf(user.id, { accountId: account.id });
  const answer = await app.call<PushApp>('POST', APPS, {
    token,
    body: FCM_APP,
    headers: { 'Service-Version': VERSION, 'Service-Account': account.id },
  });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body.id;
}
