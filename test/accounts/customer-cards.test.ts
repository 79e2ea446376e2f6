/** Customer cards and their source (docs/contract.md#customer-cards), on a whole server. */

import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { List } from '@parley/protocol/lists.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type {
  CustomerCard,
  CustomerCardSource,
  NewCustomerCardSource,
  SetCustomerCardSource,
} from '@parley/protocol/resources/customer-card.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import { Webhook as Verifier } from 'standardwebhooks';
import t, { type Test } from 'tap';
import { Conversations } from '../conversations/fixture.ts';
import { type CallOptions, refusalOf, startTestApp } from '../support/app.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { closed, gatesOf, TIME } from './fixture.ts';

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { demo } = app;
const conversations = new Conversations(app);
const SOURCE = '/v1/account/customer-card-source';
const ROTATE = `${SOURCE}/actions/rotate-secret`;
const NEWEST = { 'Service-Version': NEWEST_VERSION };
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const CARD = { title: 'Gold', fields: [{ label: 'Orders', value: '3' }] };

t.test('the source: its secret once, another URL, a rotation, and none again', async (t) => {
  const none = { object: 'customer_card_source', url: null, previous_secret_until: null, updated_at: null };
  t.strictSame((await call<CustomerCardSource>('GET', SOURCE)).body, none);
  t.strictSame((await setTo(null)).secret, null, 'nothing to remove');
  t.equal(refusalOf(await call('POST', ROTATE, { body: {} })), '409 resource_conflict null');

  const url = 'https://shop.example.com/card?a=b';
  const { secret, ...first } = await setTo(url);
  t.match(secret, /^whsec_[0-9A-Za-z+/]{43}=$/);
  t.strictSame(first, { ...none, url, updated_at: first.updated_at });
  t.match(first.updated_at, TIME);
  t.strictSame((await call<CustomerCardSource>('GET', SOURCE)).body, first, 'the secret is not shown again');
  t.strictSame(await setTo(url), { ...first, secret: null }, 'what is so already changes nothing');
  const moved = await setTo('https://shop.example.com/other');
  t.strictSame([moved.secret, moved.url], [null, 'https://shop.example.com/other']);

  const key = randomUUID();
  const rotate = () =>
    call<NewCustomerCardSource>('POST', ROTATE, { body: {}, headers: { ...NEWEST, 'Idempotency-Key': key } });
  const rotated = await rotate();
  t.equal(rotated.status, 201);
  t.match(rotated.body, { secret: /^whsec_/, previous_secret_until: TIME });
  t.not(rotated.body.secret, secret);
  t.strictSame((await rotate()).body, rotated.body, 'a replay makes no other secret');

  t.strictSame(await setTo(null), { ...none, secret: null });
  t.not((await setTo(url)).secret, null, 'a source of its own has a secret of its own');
  await setTo(null);
  t.strictSame(await audited(), [
    'customer_card_source.updated {"url":null}',
    `customer_card_source.updated {"url":"${url}"}`,
    'customer_card_source.updated {"url":null}',
    'customer_card_source.secret_rotated {}',
    'customer_card_source.updated {"url":"https://shop.example.com/other"}',
    `customer_card_source.updated {"url":"${url}"}`,
  ]);
});

t.test('the source refuses what cannot be asked', async (t) => {
  for (const [body, refusal] of [
    [{}, '400 missing_field url'],
    [{ url: 7 }, '400 invalid_format url'],
    [{ url: '' }, '422 validation_failed url'],
    [{ url: 'shop' }, '400 invalid_format url'],
    [{ url: 'javascript:alert(1)' }, '422 validation_failed url'],
    [{ url: 'http://shop.example.com' }, '422 validation_failed url'],
    [{ url: 'https://user:password@shop.example.com' }, '422 validation_failed url'],
    [{ url: 'https://10.0.0.1/card' }, '422 validation_failed url'],
    [{ url: 'https://169.254.169.254/latest' }, '422 validation_failed url'],
    [{ url: `https://shop.example.com/${'a'.repeat(2_000)}` }, '422 validation_failed url'],
    [{ url: null, secret: 'x' }, '422 validation_failed secret'],
  ] as const) {
    t.equal(refusalOf(await call('PUT', SOURCE, { body })), refusal, JSON.stringify(body).slice(0, 80));
  }
});

t.test('source and cards require their permissions', async (t) => {
  const version = NEWEST_VERSION;
  const source = { permission: null, agents: false, version } as const;
  for (const one of [
    { ...source, method: 'GET', path: SOURCE },
    { ...source, method: 'PUT', path: SOURCE, body: { url: null } },
    { ...source, method: 'POST', path: ROTATE, body: {} },
  ] as const) {
    t.strictSame(await gatesOf(app, one), closed(one), `${one.method} ${one.path}`);
  }
  const { path, conversation } = await caseOf();
  const card = { method: 'GET', path, permission: 'messaging:read', agents: false, version } as const;
  t.strictSame(await gatesOf(app, card), closed(card));
  t.equal(
    refusalOf(await call('GET', path, { token: demo.users.grace.access_token })),
    '404 resource_not_found id',
    'a user who is not in the case',
  );
  const others = demo.other_account;
  t.equal(
    refusalOf(
      await call('GET', path, {
        token: others.api_key,
        headers: { ...NEWEST, 'Service-Account': others.account_id },
      }),
    ),
    '404 resource_not_found id',
  );
  const members = await conversations.members(conversation.id);
  const ada = members.find(({ type }) => type === 'user')!;
  const at = (id: string) => `/v1/messaging/conversations/${conversation.id}/participants/${id}/card`;
  const unknown = '404 resource_not_found participant_id';
  t.equal(refusalOf(await call('GET', at(ada.id))), unknown, 'a colleague has no card');
  t.equal(refusalOf(await call('GET', at('prt_unknown'))), unknown);
  const other = await conversations.createCase();
  t.equal(refusalOf(await call('GET', at(other.customer.id))), unknown, 'a customer of another case');
});

t.test('a card is asked for with a right signature, once for a while', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  receiver.answer = () => answering({ ...CARD, more: 1 });
  const { secret } = await setTo(receiver.url);
  const { path, customer, email } = await caseOf({ external_id: randomUUID(), metadata: { plan: 'pro' } });
  const [one, other] = await Promise.all([read(path), read(path)]);
  t.strictSame(one, {
    object: 'customer_card',
    customer_id: customer.actor!.id,
    status: 'ready',
    title: 'Gold',
    fields: [{ label: 'Orders', value: '3', url: null }],
    error: null,
    detail: null,
    read_at: one.read_at,
  });
  t.match(one.read_at, TIME);
  t.strictSame([other, await read(path)], [one, one]);
  t.equal(receiver.received.length, 1, 'three readers, one request');

  const { headers, text, event } = receiver.received[0]!;
  const verified = (with_: string | null) => new Verifier(with_!).verify(text, headers as never);
  t.strictSame(verified(secret), event);
  t.throws(() => new Verifier(secret!).verify(text.replace('Cleo', 'Eve'), headers as never));
  t.match(event, { type: 'customer_card.requested', timestamp: /Z$/ });
  const { external_id } = event.data;
  t.strictSame(event.data, {
    customer_id: customer.actor!.id,
    external_id,
    name: 'Cleo',
    email,
    metadata: { plan: 'pro' },
  });
  t.notOk(headers.authorization ?? headers.cookie, 'no credential of a caller');

  const rotated = await call<NewCustomerCardSource>('POST', ROTATE, { body: {} });
  await read(path);
  const last = receiver.received.at(-1)!;
  t.equal(receiver.received.length, 2, 'a change of the source asks again');
  for (const known of [secret, rotated.body.secret]) {
    t.strictSame(new Verifier(known!).verify(last.text, last.headers as never), last.event);
  }
  await call('PATCH', `/v1/customers/${customer.actor!.id}`, { body: { name: 'Cleopatra' } });
  await read(path);
  t.equal(receiver.received.at(-1)!.event.data.name, 'Cleopatra', 'so does a change of the customer');
  await setTo(null);
  t.match(await read(path), { status: 'none', fields: [], read_at: null });
  t.equal(receiver.received.length, 3);
});

t.test('whatever a source does, the request succeeds', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  await setTo(receiver.url);
  const field = (fields: object) => ({ fields: [{ label: 'Link', value: 'here', ...fields }] });
  const failed = (error: string, detail: string | RegExp | null = null) => ({
    status: 'failed',
    title: null,
    fields: [],
    error,
    detail,
  });
  const invalid = (detail: RegExp) => failed('invalid_response', detail);
  const cases: [string, (response: ServerResponse) => void, object][] = [
    ['nothing known', (it) => it.writeHead(204).end(), { status: 'none', error: null }],
    ['not found', (it) => it.writeHead(404).end('{}'), { status: 'none', error: null }],
    ['an error', (it) => it.writeHead(500).end(), failed('status')],
    ['a redirect', (it) => it.writeHead(302, { location: receiver.url }).end(), failed('redirect')],
    ['closed', (it) => it.destroy(), failed('connection_error')],
    ['HTML', (it) => it.writeHead(200, { 'content-type': 'text/html' }).end('<p>'), invalid(/Content-Type/)],
    ['no JSON', answering('{"fields":'), invalid(/JSON/)],
    ['a list', answering([]), invalid(/object/)],
    ['no fields', answering({}), invalid(/^fields: /)],
    [
      'too many fields',
      answering({ fields: Array(31).fill({ label: 'a', value: '' }) }),
      invalid(/^fields: /),
    ],
    ['a long value', answering(field({ value: 'a'.repeat(501) })), invalid(/^fields\[0\]\.value: /)],
    ['an object for a value', answering(field({ value: {} })), invalid(/^fields\[0\]\.value: /)],
    ['two lines', answering(field({ label: 'a\nb' })), invalid(/^fields\[0\]\.label: /)],
    ['script', answering(field({ url: 'javascript:alert(1)' })), invalid(/^fields\[0\]\.url: .*https/)],
    ['data', answering(field({ url: 'data:text/html,<script>' })), invalid(/^fields\[0\]\.url: /)],
    ['http', answering(field({ url: 'http://shop.example' })), invalid(/^fields\[0\]\.url: /)],
    ['a password', answering(field({ url: 'https://a:b@shop.example' })), invalid(/^fields\[0\]\.url: /)],
    ['huge', answering({ fields: [], more: 'a'.repeat(70_000) }), failed('invalid_response')],
    ['packed', (it) => it.writeHead(200, { 'content-encoding': 'gzip' }).end(), failed('invalid_response')],
    [
      'hostile text, which stays text',
      answering(field({ value: '<script>alert(1)</script>', url: 'https://shop.example/?a=<b>' })),
      {
        status: 'ready',
        fields: [
          {
            label: 'Link',
            value: '<script>alert(1)</script>',
            url: 'https://shop.example/?a=%3Cb%3E',
          },
        ],
      },
    ],
  ];
  for (const [name, answer, expected] of cases) {
    receiver.answer = () => answer;
    t.match(await read((await caseOf()).path), expected, name);
  }

  // A request that is never answered, and one whose answer never ends.
  const slow = [() => undefined, () => (it: ServerResponse) => void it.writeHead(200, JSON_TYPE).write('{')];
  const [silent, endless] = await Promise.all(
    slow.map(async (answer) => {
      const { path } = await caseOf();
      receiver.answer = answer;
      return read(path);
    }),
  );
  t.match([silent, endless], [failed('timeout'), failed('timeout')]);
  await isRefusedAnswer(t);
});

/** Names may lead to addresses that are not public; the address that is connected to counts. */
async function isRefusedAnswer(t: Test): Promise<void> {
  await setTo('https://localhost:9/card');
  const { path } = await caseOf();
  t.match(await read(path), { status: 'failed', error: 'connection_error', detail: null });
  await setTo(null);
}

function answering(body: object | string) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (response: ServerResponse) => void response.writeHead(200, JSON_TYPE).end(text);
}

async function caseOf(fields: object = {}) {
  const email = `${randomUUID()}@example.net`;
  const { conversation, customer } = await conversations.createCase({
    participants: [{ type: 'customer', name: 'Cleo', email }],
  });
  if (Object.keys(fields).length > 0) {
    await call('PATCH', `/v1/customers/${customer.actor!.id}`, { body: fields });
  }
  const path = `/v1/messaging/conversations/${conversation.id}/participants/${customer.id}/card`;
  return { conversation, customer, email, path };
}

async function read(path: string): Promise<CustomerCard> {
  const { status, text, body } = await call<CustomerCard>('GET', path);
  if (status !== 200) throw new Error(text);
  return body;
}

async function setTo(url: string | null): Promise<SetCustomerCardSource> {
  const { status, text, body } = await call<SetCustomerCardSource>('PUT', SOURCE, { body: { url } });
  if (status !== 200) throw new Error(text);
  return body;
}

function call<Body>(method: string, path: string, options: CallOptions = {}) {
  return app.call<Body & { error?: never }>(method, path, { headers: NEWEST, ...options });
}

async function audited(): Promise<string[]> {
  const { body } = await call<List<AuditEvent>>('GET', '/v1/account/audit?limit=100');
  return body.data
    .filter(({ action }) => action.startsWith('customer_card_source'))
    .map(({ action, details }) => `${action} ${JSON.stringify(details)}`);
}
