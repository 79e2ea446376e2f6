/** Webhooks and their deliveries (docs/contract.md#webhooks) over HTTP, on a whole server. */

import { randomUUID } from 'node:crypto';
import type { List } from '@parley/protocol/lists.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import type { NewWebhook, Webhook } from '@parley/protocol/resources/webhook.ts';
import type { WebhookDelivery, WebhookRequest } from '@parley/protocol/resources/webhook-delivery.ts';
import { NEWEST_VERSION, versionNamed } from '@parley/protocol/versions.ts';
import { Webhook as Verifier } from 'standardwebhooks';
import t from 'tap';
import { changeListeners } from '../../src/core/accounts/account/listeners.ts';
import { closed, type Guarded, gatesOf, TIME } from '../accounts/fixture.ts';
import { asNeighbour } from '../agents/bodies.ts';
import { type CallOptions, refusalOf, startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { demo } = app;
const PATH = '/v1/webhooks';
const VERSION = '1.2.harbor';

t.test('a webhook: the resource with its secret, once; every field and no other', async (t) => {
  const body = { url: 'https://hooks.example.com/in?a=b#part', event_types: ['message.*', 'order.created'] };
  const { secret, ...made } = await create(body);
  t.match(secret, /^whsec_[0-9A-Za-z+/]{43}=$/);
  t.strictSame(made, {
    id: made.id,
    object: 'webhook',
    url: 'https://hooks.example.com/in?a=b',
    event_types: body.event_types,
    include_direct: false,
    version: VERSION,
    status: 'enabled',
    disabled_at: null,
    disabled_reason: null,
    failing_since: null,
    last_success_at: null,
    previous_secret_until: null,
    created_by: made.created_by,
    created_at: made.created_at,
    updated_at: made.updated_at,
  });
  t.match([made.id, made.created_by, made.created_at], [/^whk_\w{24}$/, /^act_/, TIME]);
  t.strictSame((await call<Webhook>('GET', `${PATH}/${made.id}`)).body, made);
  t.strictSame(
    (await list<Webhook>(`${PATH}?q=hooks.example`)).data,
    [made],
    'the list never shows the secret',
  );
  t.strictSame(await audited(made.id), ['webhook.created {"event_types":["message.*","order.created"]}']);

  const direct = await create({ include_direct: true, event_types: ['*'] });
  t.equal(direct.include_direct, true);
  t.strictSame(await audited(direct.id), [
    'webhook.direct_included {}',
    'webhook.created {"event_types":["*"]}',
  ]);
  await remove(made.id, direct.id);
});

t.test('a webhook is sent the form of its version, by whatever name its row keeps it', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const { id } = await create({ url: receiver.url, event_types: ['message.created'] });
  t.equal(await kept(id), '1.2.harbor-preview.1', 'the name that nodes of the release before know');
  const rename = async (version: string) => {
    await app.database.transaction(async (tx) => {
      await tx.kysely.updateTable('webhooks').set({ version }).where('id', '=', id).execute();
      await changeListeners(tx);
    });
    // Announces the change to the node, as every request does that changes a webhook.
    await call('PATCH', `${PATH}/${id}`, { body: { event_types: ['message.created'] } });
  };
  for (const [name, version] of [
    ['1.2.harbor-preview.1', '1.2.harbor'],
    ['1.2.harbor', '1.2.harbor'],
    ['1.3.harbor-preview.1', '1.3.harbor'],
    ['1.4.harbor-preview.1', '1.4.harbor'],
    ['1.1.harbor', '1.1.harbor'],
    // Written by a node of a later release.
    ['9.0.harbor', NEWEST_VERSION],
  ] as const) {
    await rename(name);
    t.equal((await call<Webhook>('GET', `${PATH}/${id}`)).body.version, version, name);
    // The node hears of the change a moment after the answer.
    const isSent = async () => {
      const body = { body: 'ahoy', client_message_id: randomUUID() };
      const path = `/v1/messaging/conversations/${demo.conversations.group}/messages`;
      const message = (await call<{ id: string }>('POST', path, { body })).body;
      const received = await until(
        () => receiver.received.find(({ event }) => event.data.id === message.id),
        { what: 'the delivery' },
      );
      const hasSentAt = 'sent_at' in received.event.data;
      return received.headers['service-version'] === version && hasSentAt === (version !== '1.1.harbor');
    };
    await until(isSent, { what: `the form of ${version} for ${name}` });
  }
  await remove(id);
});

t.test(
  'a webhook made by the former name of 1.3 is one of it; before 1.3 none is sent an external_id',
  async (t) => {
    const receiver = await WebhookReceiver.start(t);
    const ids = new Map<string, string>();
    for (const name of [VERSION, '1.3.harbor-preview.1', NEWEST_VERSION]) {
      const body = { url: `${receiver.url}?${name}`, event_types: ['conversation.updated'] };
      const made = await call<NewWebhook>('POST', PATH, { body, headers: { 'Service-Version': name } });
      t.equal(made.body.version, versionNamed(name));
      ids.set(made.body.version, made.body.id);
    }
    t.equal(await kept(ids.get('1.3.harbor')!), '1.3.harbor-preview.1');
    const path = `/v1/messaging/conversations/${demo.conversations.group}`;
    const headers = { 'Service-Version': NEWEST_VERSION };
    t.equal((await call('PATCH', path, { body: { external_id: 'order 7' }, headers })).status, 200);
    const sentTo = (version: string) =>
      receiver.received.find((request) => request.headers['service-version'] === version)?.event.data;
    await until(() => [...ids.keys()].every(sentTo), { what: 'the deliveries' });
    for (const version of ['1.3.harbor', NEWEST_VERSION]) t.equal(sentTo(version)!.external_id, 'order 7');
    t.notOk('external_id' in sentTo(VERSION)!);
    await remove(...ids.values());
  },
);

t.test('what a webhook cannot be', async (t) => {
  const urls: [url: string, message: RegExp][] = [
    ['', /^Must not be empty/],
    ['ftp://hooks.example.com/', /Only http and https/],
    ['http://hooks.example.com/', /https/],
    ['https://user:password@hooks.example.com/', /user name or password/],
    ['https://10.0.0.1/', /not public/],
    ['https://[::1]/', /not public/],
    ['https://2130706434/', /not public/],
    [`https://hooks.example.com/${'x'.repeat(2_000)}`, /2,?000/],
    [`https://hooks.example.com/${'ü'.repeat(1_900)}`, /2,?000/],
  ];
  for (const [url, message] of urls) {
    const refused = await call('POST', PATH, { body: { url, event_types: ['*'] } });
    t.match([refusalOf(refused), refused.body.error.message], ['422 validation_failed url', message], url);
  }
  const noUrl = await call('POST', PATH, { body: { url: 'hooks.example.com', event_types: ['*'] } });
  t.equal(refusalOf(noUrl), '400 invalid_format url');
  const types: [types: unknown, refusal: string][] = [
    [[], '422 validation_failed event_types'],
    [['message'], '422 validation_failed event_types[0]'],
    [['Message.created'], '422 validation_failed event_types[0]'],
    [['*', 'message.sent'], '422 validation_failed event_types[1]'],
    [['notification.*'], '422 validation_failed event_types[0]'],
    [['typing'], '422 validation_failed event_types[0]'],
    [['webhook.test'], '422 validation_failed event_types[0]'],
    [['*.created'], '422 validation_failed event_types[0]'],
    [['*', '*'], '422 validation_failed event_types'],
    [Array.from({ length: 51 }, (_, n) => `order.n${n}`), '422 validation_failed event_types'],
    ['*', '400 invalid_format event_types'],
    [undefined, '400 missing_field event_types'],
  ];
  for (const [event_types, refusal] of types) {
    const body = { url: 'https://a.example/', event_types };
    t.match(refusalOf(await call('POST', PATH, { body })), refusal, JSON.stringify(event_types));
  }
  const { id } = await create({
    event_types: ['order.item.added', 'agent_run.completed', 'messages.purged'],
  });
  t.equal(await refusalTo('PATCH', id, {}), '422 validation_failed null');
  t.equal(await refusalTo('PATCH', id, { url: 'http://a.example/' }), '422 validation_failed url');
  t.equal(await refusalTo('PATCH', id, { event_types: ['read'] }), '422 validation_failed event_types[0]');
  t.equal(await refusalTo('PATCH', id, { status: 'paused' }), '422 validation_failed status');
  t.equal(await refusalTo('PATCH', id, { secret: 'whsec_' }), '422 validation_failed secret');
  await remove(id);
});

t.test('callers without the right, and webhooks of others', async (t) => {
  const { id } = await create({});
  const delivery = `${PATH}/${id}/deliveries/whd_0`;
  const guarded: Pick<Guarded, 'method' | 'path' | 'body'>[] = [
    { method: 'POST', path: PATH, body: { url: 'https://a.example/', event_types: ['*'] } },
    { method: 'GET', path: PATH },
    { method: 'GET', path: `${PATH}/${id}` },
    { method: 'PATCH', path: `${PATH}/${id}`, body: { status: 'disabled' } },
    { method: 'DELETE', path: `${PATH}/${id}` },
    { method: 'POST', path: `${PATH}/${id}/actions/rotate-secret` },
    { method: 'POST', path: `${PATH}/${id}/actions/test` },
    { method: 'GET', path: `${PATH}/${id}/deliveries` },
    { method: 'GET', path: delivery },
    { method: 'POST', path: `${delivery}/actions/redeliver` },
    { method: 'GET', path: `${delivery}/request` },
  ];
  for (const one of guarded) {
    const version = one.path.endsWith('/request') ? NEWEST_VERSION : VERSION;
    const gates = await gatesOf(app, { ...one, permission: null, agents: false, version });
    t.match(gates, closed({ agents: false }), `${one.method} ${one.path}`);
    if (one.path === PATH) continue;
    const other = await app.call(one.method, one.path, {
      ...asNeighbour(app),
      headers: { ...asNeighbour(app).headers, 'Service-Version': version },
      body: one.body,
    });
    t.equal(refusalOf(other), '404 resource_not_found id', `${one.method} ${one.path}`);
  }
  t.strictSame((await call<Webhook>('GET', `${PATH}/${id}`)).body.status, 'enabled');
  t.equal(refusalOf(await call('GET', delivery)), '404 resource_not_found delivery_id');
  t.equal(
    refusalOf(await call('POST', `${delivery}/actions/redeliver`)),
    '404 resource_not_found delivery_id',
  );
  await remove(id);
});

t.test('a change, and what it records', async (t) => {
  const { secret: _, ...before } = await create({});
  const patch = async (body: object) => (await call<Webhook>('PATCH', `${PATH}/${before.id}`, { body })).body;
  const changed = await patch({ url: 'https://b.example/', event_types: ['order.*'], include_direct: true });
  t.strictSame(changed, {
    ...before,
    url: 'https://b.example/',
    event_types: ['order.*'],
    include_direct: true,
    updated_at: changed.updated_at,
  });
  t.ok(changed.updated_at > before.updated_at);
  t.strictSame(await patch({ status: 'enabled' }), changed, 'as it is');
  const disabled = await patch({ status: 'disabled' });
  t.match(disabled, { status: 'disabled', disabled_reason: 'requested', disabled_at: TIME });
  for (const action of ['test', 'redeliver']) {
    const place = action === 'test' ? '' : '/deliveries/whd_0';
    const refused = await call('POST', `${PATH}/${before.id}${place}/actions/${action}`);
    t.equal(refusalOf(refused), '409 resource_conflict null', action);
  }
  t.match(await patch({ status: 'enabled', include_direct: true }), {
    status: 'enabled',
    disabled_reason: null,
    disabled_at: null,
  });
  await remove(before.id);
  t.equal(refusalOf(await call('GET', `${PATH}/${before.id}`)), '404 resource_not_found id');
  t.equal(await refusalTo('DELETE', before.id), '404 resource_not_found id');
  t.strictSame(await audited(before.id), [
    'webhook.deleted {}',
    'webhook.enabled {}',
    'webhook.updated {"fields":["include_direct"]}',
    'webhook.disabled {}',
    'webhook.direct_included {}',
    'webhook.updated {"fields":["url","event_types","include_direct"]}',
    'webhook.created {"event_types":["*"]}',
  ]);
});

t.test('a repetition with an Idempotency-Key, and the quota', async (t) => {
  const headers = { 'Idempotency-Key': randomUUID() };
  const body = { url: 'https://again.example/', event_types: ['*'] };
  const first = await call<NewWebhook>('POST', PATH, { body, headers });
  const second = await call<NewWebhook>('POST', PATH, { body, headers });
  t.strictSame([second.status, second.body], [201, first.body], 'with the same secret');
  const rest = 20 - (await list(PATH)).data.length;
  const made = await Promise.all(
    Array.from({ length: rest + 2 }, () => call<NewWebhook>('POST', PATH, { body })),
  );
  const refused = made.filter(({ status }) => status !== 201);
  t.equal(refused.length, 2, 'also where many are made at once');
  t.match(refused[0], {
    status: 403,
    body: { error: { code: 'limit_exceeded', quota: { limit: 20, used: 20 } } },
  });
  const page = await list<Webhook>(`${PATH}?limit=15`);
  t.equal(page.data.length, 15);
  const { data } = await list<Webhook>(page.page_info.next_page_url!);
  await remove(...[...page.data, ...data].map(({ id }) => id));
  t.strictSame((await list(PATH)).data, []);
});

t.test('a test event: signed, and its delivery', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const { id, secret } = await create({ url: receiver.url, event_types: ['order.created'] });
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const { status, body: made } = await call<WebhookDelivery>('POST', `${PATH}/${id}/actions/test`, {
    headers: { traceparent },
  });
  t.equal(status, 201);
  t.strictSame(made, {
    id: made.id,
    object: 'webhook_delivery',
    webhook_id: id,
    event_id: made.event_id,
    event_type: 'webhook.test',
    conversation_id: null,
    sequence: null,
    resource_id: null,
    status: 'pending',
    attempts: 0,
    next_try_at: made.next_try_at,
    last_status_code: null,
    last_error: null,
    last_duration_ms: null,
    occurred_at: made.occurred_at,
    created_at: made.created_at,
    updated_at: made.updated_at,
  });
  t.match([made.id, made.event_id, made.occurred_at], [/^whd_\w{24}$/, /^evt_/, TIME]);
  const delivered = await awaitDelivery(made, 'delivered');
  t.match(delivered, { attempts: 1, next_try_at: null, last_status_code: 200, last_error: null });
  t.type(delivered.last_duration_ms, 'number');

  const [request] = receiver.received;
  t.match(request!.headers, {
    'content-type': 'application/json',
    'webhook-id': made.event_id,
    'service-version': VERSION,
    traceparent: /^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/,
  });
  t.strictSame(verified(secret, request!), {
    type: 'webhook.test',
    timestamp: made.occurred_at,
    data: { object: 'webhook_test', webhook_id: id },
  });
  t.throws(() => verified(`whsec_${Buffer.alloc(32).toString('base64')}`, request!));

  const again = await call<WebhookDelivery>('POST', `${PATH}/${id}/deliveries/${made.id}/actions/redeliver`);
  t.match(again.body, { id: made.id, event_id: made.event_id, status: 'pending', attempts: 0 });
  await awaitDelivery(made, 'delivered');
  t.equal(receiver.received.length, 2);
  t.equal(receiver.received[1]!.headers['webhook-id'], made.event_id);

  receiver.answer = () => 500;
  const failing = (await call<WebhookDelivery>('POST', `${PATH}/${id}/actions/test`)).body;
  const failed = await until(
    async () => {
      const { body } = await call<WebhookDelivery>('GET', `${PATH}/${id}/deliveries/${failing.id}`);
      return body.attempts > 0 ? body : undefined;
    },
    { what: 'the try to fail' },
  );
  t.match(failed, { status: 'pending', last_status_code: 500, last_error: 'status', next_try_at: TIME });
  const older = (error: string) =>
    app.database.pool.query('UPDATE webhook_deliveries SET last_error = $1 WHERE id = $2', [
      error,
      failing.id,
    ]);
  await older('address_not_public');
  const { body: shown } = await call<WebhookDelivery>('GET', `${PATH}/${id}/deliveries/${failing.id}`);
  t.equal(shown.last_error, 'connection_error', 'in rows of an earlier version too');
  await older('status');
  const listed = await list<WebhookDelivery>(`${PATH}/${id}/deliveries`);
  t.strictSame(
    listed.data.map(({ id }) => id),
    [failing.id, made.id],
  );
  const paged = await list<WebhookDelivery>(`${PATH}/${id}/deliveries?limit=1`);
  t.match((await list<WebhookDelivery>(paged.page_info.next_page_url!)).data, [{ id: made.id }]);
  for (const [status, ids] of [
    ['delivered', [made.id]],
    ['failed', []],
  ] as const) {
    const found = await list<WebhookDelivery>(`${PATH}/${id}/deliveries?status=${status}`);
    t.strictSame(
      found.data.map(({ id }) => id),
      ids,
      status,
    );
  }
  t.equal(
    refusalOf(await call('GET', `${PATH}/${id}/deliveries?status=done`)),
    '400 parameter_invalid status',
  );
  await until(async () => (await call<Webhook>('GET', `${PATH}/${id}`)).body.failing_since, {
    what: 'the failure to be noted',
  });
  await remove(id);
});

t.test('the request of a delivery, and the beginning of each answer', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const { id } = await create({ url: receiver.url, event_types: ['message.created'] });
  receiver.answer = () => (response) => {
    response.writeHead(503, { 'Content-Type': 'text/plain' }).end(`\0${'ü'.repeat(600)}`);
  };
  const path = `/v1/messaging/conversations/${demo.conversations.group}/messages`;
  const body = { body: 'what is sent', client_message_id: randomUUID() };
  await call('POST', path, { body });
  const newest = { headers: { 'Service-Version': NEWEST_VERSION } };
  const [tried] = await until(
    async () => {
      const all = (await call<List<WebhookDelivery>>('GET', `${PATH}/${id}/deliveries`, newest)).body.data;
      return all[0] !== undefined && all[0].tries!.length > 1 ? all : undefined;
    },
    { what: 'two tries' },
  );
  const [first] = tried!.tries!;
  t.strictSame(first, {
    object: 'webhook_try',
    tried_at: first!.tried_at,
    duration_ms: first!.duration_ms,
    status_code: 503,
    error: 'status',
    content_type: 'text/plain',
    answer: 'ü'.repeat(511),
  });
  t.match(first!.tried_at, TIME);
  const of = `${PATH}/${id}/deliveries/${tried!.id}`;
  t.notOk('tries' in (await call<WebhookDelivery>('GET', of)).body, 'not before its version');
  const request = await call<WebhookRequest>('GET', `${of}/request`, newest);
  t.equal(request.status, 200, request.text);
  t.strictSame(request.body.headers, {
    'Content-Type': 'application/json',
    'webhook-id': tried!.event_id,
    'Service-Version': VERSION,
  });
  t.equal(request.body.body, receiver.received[0]!.text, 'what the receiver got');
  receiver.answer = () => 200;
  await call('POST', `${of}/actions/redeliver`);
  await awaitDelivery(tried!, 'delivered');
  const done = (await call<WebhookDelivery>('GET', of, newest)).body.tries!;
  t.match(done.at(-1), { status_code: 200, error: null, answer: '' }, 'also of a try that was asked for');
  t.strictSame(done[0], first);
  await app.database.pool.query('UPDATE webhook_deliveries SET resource_id = $1 WHERE id = $2', [
    'msg_gone',
    tried!.id,
  ]);
  t.equal(refusalOf(await call('GET', `${of}/request`, newest)), '409 resource_conflict null');
  await remove(id);
});

t.test('a webhook has the version that was asked for, and takes another one', async (t) => {
  const newest = { 'Service-Version': NEWEST_VERSION };
  const body = { url: 'https://a.example/', event_types: ['*'], version: '1.3.harbor' };
  const made = await call<NewWebhook>('POST', PATH, { body, headers: newest });
  t.equal(made.body.version, '1.3.harbor');
  const at = `${PATH}/${made.body.id}`;
  const patch = (version: string) => ({ body: { version }, headers: newest });
  const changed = await call<Webhook>('PATCH', at, patch(NEWEST_VERSION));
  t.equal(changed.body.version, NEWEST_VERSION);
  t.equal(refusalOf(await call('PATCH', at, patch('9.9.harbor'))), '422 validation_failed version');
  t.equal(refusalOf(await call('POST', PATH, { body })), '422 validation_failed version', 'since 1.4');
  await remove(made.body.id);
});

t.test('both secrets sign while a webhook secret is rotated', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const { id, secret } = await create({ url: receiver.url });
  const rotated = (await call<NewWebhook>('POST', `${PATH}/${id}/actions/rotate-secret`)).body;
  t.not(rotated.secret, secret);
  const leftMs = Date.parse(rotated.previous_secret_until!) - Date.now();
  t.ok(leftMs > 23 * 3_600_000 && leftMs < 25 * 3_600_000);
  await awaitDelivery((await call<WebhookDelivery>('POST', `${PATH}/${id}/actions/test`)).body, 'delivered');
  const [request] = receiver.received;
  t.match(request!.headers['webhook-signature'], /^v1,[^ ]{44} v1,[^ ]{44}$/);
  for (const one of [secret, rotated.secret]) t.match(verified(one, request!), { type: 'webhook.test' });

  const third = (await call<NewWebhook>('POST', `${PATH}/${id}/actions/rotate-secret`)).body;
  await awaitDelivery((await call<WebhookDelivery>('POST', `${PATH}/${id}/actions/test`)).body, 'delivered');
  t.throws(() => verified(secret, receiver.received[1]!), 'only the last one before');
  for (const one of [rotated.secret, third.secret]) verified(one, receiver.received[1]!);
  t.ok((await audited(id)).includes('webhook.secret_rotated {}'));
  await remove(id);
});

t.test('a new URL holds for the next try, and so does the end', async (t) => {
  const [before, after] = [await WebhookReceiver.start(t), await WebhookReceiver.start(t)];
  // Nothing else happens of this type.
  const event_types = ['messages.purged'];
  const { id } = await create({ url: before.url, event_types });
  const tryOut = async () => (await call<WebhookDelivery>('POST', `${PATH}/${id}/actions/test`)).body;
  await awaitDelivery(await tryOut(), 'delivered');
  await call('PATCH', `${PATH}/${id}`, { body: { url: after.url } });
  await awaitDelivery(await tryOut(), 'delivered');
  t.strictSame([before.received.length, after.received.length], [1, 1]);
  before.answer = () => 500;
  await call('PATCH', `${PATH}/${id}`, { body: { url: before.url } });
  const waiting = await tryOut();
  await until(() => before.received.length === 2, { what: 'the try' });
  await call('PATCH', `${PATH}/${id}`, { body: { status: 'disabled' } });
  await app.database.pool.query('UPDATE webhook_deliveries SET next_try_at = now() WHERE webhook_id = $1', [
    id,
  ]);
  const other = await create({ url: after.url, event_types });
  await awaitDelivery(
    (await call<WebhookDelivery>('POST', `${PATH}/${other.id}/actions/test`)).body,
    'delivered',
  );
  t.equal(before.received.length, 2, 'a disabled one is not tried');
  before.answer = () => 200;
  await call('PATCH', `${PATH}/${id}`, { body: { status: 'enabled' } });
  await awaitDelivery(waiting, 'delivered');
  await remove(id, other.id);
});

t.test(
  'a webhook that includes direct messages no more is sent none, also of those from before',
  async (t) => {
    const receiver = await WebhookReceiver.start(t);
    const { id } = await create({ url: receiver.url, include_direct: true });
    await call('POST', `/v1/messaging/conversations/${demo.conversations.direct}/messages`, {
      token: demo.users.ada.access_token,
      body: { body: 'between us', client_message_id: randomUUID() },
    });
    const path = `${PATH}/${id}/deliveries`;
    const sent = await until(
      async () => {
        const { data } = (await call<List<WebhookDelivery>>('GET', `${path}?status=delivered`)).body;
        return data.find(({ event_type }) => event_type === 'message.created');
      },
      { what: 'the direct message' },
    );
    // The webhook listens for every type: only the requests of this delivery are counted.
    const requests = () =>
      receiver.received.filter(({ headers }) => headers['webhook-id'] === sent.event_id).length;
    t.equal(requests(), 1);
    await call('PATCH', `${PATH}/${id}`, { body: { include_direct: false } });
    await call('POST', `${path}/${sent.id}/actions/redeliver`);
    await awaitDelivery(sent, 'withdrawn');
    t.equal(requests(), 1);
    await call('PATCH', `${PATH}/${id}`, { body: { include_direct: true } });
    await call('POST', `${path}/${sent.id}/actions/redeliver`);
    await awaitDelivery(sent, 'delivered');
    t.equal(requests(), 2);
    await remove(id);
  },
);

t.test('a receiver that is gone', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const { id } = await create({ url: receiver.url });
  receiver.answer = () => 410;
  await call('POST', `${PATH}/${id}/actions/test`);
  const disabled = await until(
    async () => {
      const { body } = await call<Webhook>('GET', `${PATH}/${id}`);
      return body.status === 'disabled' ? body : undefined;
    },
    { what: 'the webhook to be disabled' },
  );
  t.equal(disabled.disabled_reason, 'gone');
  t.equal((await audited(id))[0], 'webhook.disabled {"reason":"gone"}');
  const noticesOf = async (user: keyof typeof demo.users) => {
    const path = '/v1/messaging/notifications';
    const { body } = await call<List<Notification>>('GET', path, { token: demo.users[user].access_token });
    return body.data.filter(({ category }) => category === 'webhook.disabled');
  };
  t.match(await noticesOf('ada'), [{ priority: 'high', title: /127\.0\.0\.1/ }]);
  t.strictSame(await noticesOf('vera'), [], 'admins alone');
  await remove(id);
});

function call<Body = Parameters<typeof refusalOf>[0]['body']>(
  method: string,
  path: string,
  { headers, ...options }: CallOptions = {},
) {
  return app.call<Body>(method, path, { ...options, headers: { 'Service-Version': VERSION, ...headers } });
}

async function kept(id: string): Promise<string | undefined> {
  const row = app.database.kysely.selectFrom('webhooks').select('version').where('id', '=', id);
  return (await row.executeTakeFirst())?.version;
}

async function create(body: object): Promise<NewWebhook> {
  const answer = await call<NewWebhook>('POST', PATH, {
    body: { url: 'https://a.example/', event_types: ['*'], ...body },
  });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body;
}

async function remove(...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const { status, text } = await call('DELETE', `${PATH}/${id}`);
    if (status !== 200) throw new Error(text);
  }
}

async function list<Item>(path: string): Promise<List<Item>> {
  const { status, text, body } = await call<List<Item>>('GET', path);
  if (status !== 200) throw new Error(text);
  return body;
}

async function refusalTo(method: string, id: string, body?: object): Promise<string> {
  return refusalOf(await call(method, `${PATH}/${id}`, { body }));
}

function awaitDelivery(
  delivery: WebhookDelivery,
  status: WebhookDelivery['status'],
): Promise<WebhookDelivery> {
  return until(
    async () => {
      const path = `${PATH}/${delivery.webhook_id}/deliveries/${delivery.id}`;
      const { body } = await call<WebhookDelivery>('GET', path);
      return body.status === status ? body : undefined;
    },
    { what: `the delivery to be ${status}` },
  );
}

function verified(secret: string, { text, headers }: WebhookReceiver['received'][number]): unknown {
  return new Verifier(secret).verify(text, headers as Record<string, string>);
}

/** The actions on a webhook with their details, newest first. */
async function audited(id: string): Promise<string[]> {
  const { data } = await list<AuditEvent>('/v1/account/audit?limit=100');
  return data
    .filter(({ details }) => details.webhook_id === id)
    .map(({ action, details: { webhook_id: _, ...details } }) => `${action} ${JSON.stringify(details)}`);
}
