/**
 * Metadata over HTTP and sockets (docs/contract.md#metadata), for each resource that has it: its
 * limits, its merging, its versions, its readers and its filters.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Attachment } from '@parley/protocol/resources/attachment.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Metadata } from '@parley/protocol/resources/metadata.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { User } from '@parley/protocol/resources/user.ts';
import { NEWEST_VERSION, STREAMS_SINCE } from '@parley/protocol/versions.ts';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { PATH } from '../conversations/fixture.ts';
import { Client } from '../gateway/fixture.ts';
import { Cases, user } from '../messages/cases.ts';
import { poll, StreamClient } from '../support/answer-clients.ts';
import { type CallOptions, callsAt, startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const cases = new Cases(app);
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const before = callsAt(app, '1.2.harbor');
const roles = await ok<List<{ id: string; type: string }>>('GET', '/v1/roles');
const roleId = roles.data.find(({ type }) => type !== 'admin')!.id;
const team = await cases.conversation('internal', user(vera.id, 'viewer'));
const supportCase = await cases.open();
const customerCaller = { token: supportCase.customerToken };

type Shown = { readonly id: string; readonly metadata?: Metadata };

/** A resource with metadata: how it is made, changed and read. */
interface Kind {
  readonly create: readonly [path: string, body: () => object];
  /** The path of the resource, and the body of a change of its metadata. */
  readonly place: (shown: Shown) => string;
  /** What the answer has of it. */
  readonly part: (body: object) => Shown;
  /** Wraps `metadata` as the bodies of the resource have it. */
  readonly wrap: (metadata: unknown, shown?: Shown) => object;
  readonly param: string;
}

const plain = (body: object) => body as Shown;
const wrapPlain = (metadata: unknown) => ({ metadata });
const messages = `${PATH}/${team}/messages?include[]=attachments`;
/** The message of each attachment. */
const owners = new Map<string, string>();

const KINDS: Readonly<Record<string, Kind>> = {
  user: {
    create: ['/v1/users', () => ({ name: 'Meta', email: `${randomUUID()}@example.net`, role_id: roleId })],
    place: ({ id }) => `/v1/users/${id}`,
    part: plain,
    wrap: wrapPlain,
    param: 'metadata',
  },
  customer: {
    create: ['/v1/customers/ext:', () => ({ name: 'Mara' })],
    place: ({ id }) => `/v1/customers/${id}`,
    part: plain,
    wrap: wrapPlain,
    param: 'metadata',
  },
  group: {
    create: [PATH, () => ({ type: 'group', participants: [] })],
    place: ({ id }) => `${PATH}/${id}`,
    part: plain,
    wrap: wrapPlain,
    param: 'metadata',
  },
  participant: {
    create: [`${PATH}/${supportCase.id}/participants`, () => ({ type: 'customer', name: 'Mara' })],
    place: ({ id }) => `${PATH}/${supportCase.id}/participants/${id}`,
    part: plain,
    wrap: wrapPlain,
    param: 'metadata',
  },
  message: {
    create: [messages, () => ({ body: 'ahoy', client_message_id: randomUUID() })],
    place: ({ id }) => `/v1/messaging/messages/${id}?include[]=attachments`,
    part: plain,
    wrap: wrapPlain,
    param: 'metadata',
  },
  attachment: {
    create: [messages, () => ({ client_message_id: randomUUID() })],
    place: ({ id }) => `/v1/messaging/messages/${owners.get(id)}?include[]=attachments`,
    part: (body) => {
      const { id, attachments } = body as ChatMessage;
      const [attachment] = attachments as [Attachment];
      owners.set(attachment.id, id);
      return attachment;
    },
    wrap: (metadata, shown) => ({
      attachments: [
        shown === undefined
          ? { kind: 'link', url: 'https://example.com/', metadata }
          : { id: shown.id, metadata },
      ],
    }),
    param: 'attachments[0].metadata',
  },
};

const FIFTY = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`key ${index}`, 'v']));

for (const [name, kind] of Object.entries(KINDS)) {
  const { create, place, part, wrap, param } = kind;
  const [begin, bodyOf] = create;
  /** Customers are made by PUT, each with an id of its own. */
  const method = name === 'customer' ? 'PUT' : 'POST';
  const nextPath = () => (method === 'PUT' ? `${begin}${randomUUID()}` : begin);
  const make = async (metadata: unknown): Promise<Shown> =>
    part(await ok(method, nextPath(), { body: { ...bodyOf(), ...wrap(metadata) } }));
  const change = async (shown: Shown, metadata: unknown): Promise<Metadata | undefined> =>
    part(await ok('PATCH', place(shown), { body: wrap(metadata, shown) })).metadata;

  t.test(`${name}: what is given is shown, and PATCH merges it`, async (t) => {
    const shown = await make({ plan: 'pro', public_order: '4711', gone: 'soon', none: null });
    t.strictSame(shown.metadata, { plan: 'pro', public_order: '4711', gone: 'soon' });
    t.strictSame(part(await ok('GET', place(shown))).metadata, shown.metadata);
    t.strictSame(await change(shown, { plan: 'free', gone: null, added: '', absent: null }), {
      plan: 'free',
      public_order: '4711',
      added: '',
    });
    const at = await updatedAt(place(shown));
    t.strictSame(await change(shown, { plan: 'free', gone: null }), {
      plan: 'free',
      public_order: '4711',
      added: '',
    });
    t.equal(await updatedAt(place(shown)), at, 'nothing differs');
    t.strictSame(await change(shown, { plan: null, public_order: null, added: null }), {}, 'none is left');
    t.strictSame((await make(undefined)).metadata, {}, 'nothing was given');
    t.strictSame((await make({})).metadata, {});
  });

  t.test(`${name}: names of objects and long keys are keys like others`, async (t) => {
    const body = JSON.stringify({ ...bodyOf(), ...wrap('HERE') });
    const odd = `{"__proto__":"a","constructor":"b","${'ß'.repeat(40)}":"${'🎉'.repeat(500)}"}`;
    const answer = await call<object>(method, nextPath(), { rawBody: body.replace('"HERE"', odd) });
    t.equal(answer.status, 201, answer.text);
    const shown = part(answer.body);
    t.equal(JSON.stringify(shown.metadata), JSON.stringify(JSON.parse(odd)));
    const merged = await change(shown, { constructor: null });
    t.strictSame(Object.keys(merged!), ['__proto__', 'ß'.repeat(40)]);
  });

  t.test(`${name}: limits`, async (t) => {
    for (const [what, metadata, expected] of [
      ['51 keys', { ...FIFTY, more: 'v' }, `422 validation_failed ${param}`],
      ['a long key', { ['k'.repeat(41)]: 'v' }, `422 validation_failed ${param}`],
      ['an empty key', { '': 'v' }, `422 validation_failed ${param}`],
      ['a bracket', { 'a[b': 'v' }, `422 validation_failed ${param}`],
      ['a control character', { 'a\nb': 'v' }, `422 validation_failed ${param}`],
      ['a long value', { plan: 'v'.repeat(501) }, `422 validation_failed ${param}.plan`],
      ['a number', { plan: 1 }, `400 invalid_format ${param}.plan`],
      ['an object', { plan: {} }, `400 invalid_format ${param}.plan`],
      ['a list', ['plan'], `400 invalid_format ${param}`],
      ['U+0000', { plan: '\0' }, `400 invalid_format ${param}.plan`],
    ] as const) {
      t.equal(
        await refusal(method, nextPath(), { body: { ...bodyOf(), ...wrap(metadata) } }),
        expected,
        what,
      );
    }
    const shown = await make(FIFTY);
    const patch = (metadata: unknown) => refusal('PATCH', place(shown), { body: wrap(metadata, shown) });
    t.equal(await patch({ more: 'v' }), `422 validation_failed ${param}`, 'more than 50 after the merge');
    t.equal(await patch({ more: 1 }), `400 invalid_format ${param}.more`);
    t.equal(await patch({ more: 'v'.repeat(501) }), `422 validation_failed ${param}.more`);
    const others = Object.fromEntries(Object.keys(FIFTY).map((key) => [`${key} too`, 'w']));
    const none = Object.fromEntries(Object.keys(FIFTY).map((key) => [key, null]));
    t.strictSame(await change(shown, { ...none, ...others }), others, 'all of them at once');
  });

  t.test(`${name}: versions before do not have it`, async (t) => {
    const unknown =
      name === 'customer' ? '400 api_version_too_old Service-Version' : `422 validation_failed ${param}`;
    const stated = { body: { ...bodyOf(), ...wrap({ plan: 'pro' }) } };
    t.equal(await before.refusal(method, nextPath(), stated), unknown);
    const shown = await make({ plan: 'pro' });
    const { text, status } = await before.call('GET', place(shown));
    t.equal(status, name === 'customer' ? 400 : 200);
    t.notMatch(text, /metadata|"plan"/);
    const change = { body: wrap({ plan: 'free' }, shown) };
    t.equal(await before.refusal('PATCH', place(shown), change), unknown);
  });

  t.test(`${name}: a replay answers the same, another account finds nothing`, async (t) => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const body = { ...bodyOf(), ...wrap({ plan: 'pro' }) };
    const path = nextPath();
    const first = await call<object>(method, path, { body, headers });
    const again = await call<object>(method, path, { body, headers });
    t.equal(again.text, first.text);
    const shown = part(first.body);
    const { api_key: token, account_id } = demo.other_account;
    const elsewhere = { token, headers: { 'Service-Account': account_id } };
    t.match(
      await refusal('PATCH', place(shown), { body: wrap({ plan: null }, shown), ...elsewhere }),
      /^404 resource_not_found/,
    );
  });
}

t.test('a PATCH does not take null for all of it', async (t) => {
  t.equal(
    await refusal('PATCH', `${PATH}/${team}`, { body: { metadata: null } }),
    '400 missing_field metadata',
  );
});

t.test('PUT sets the keys that it states, and the others stay', async (t) => {
  const participants = [{ type: 'user', actor_id: grace.id }];
  for (const [path, body] of [
    ['/v1/users/ext:', { name: 'Meta', email: `${randomUUID()}@example.net`, role_id: roleId }],
    ['/v1/customers/ext:', { name: 'Mara' }],
    [`${PATH}/ext:`, { type: 'group', participants }],
  ] as const) {
    const place = `${path}${randomUUID()}`;
    const put = (metadata?: object) => call<Shown>('PUT', place, { body: { ...body, metadata } });
    const made = await put({ a: '1', b: '2' });
    t.strictSame([made.status, made.body.metadata], [201, { a: '1', b: '2' }]);
    const changed = await put({ b: '3', c: '4' });
    t.strictSame([changed.status, changed.body.metadata], [200, { a: '1', b: '3', c: '4' }]);
    t.strictSame((await put()).body.metadata, { a: '1', b: '3', c: '4' });
  }
});

t.test('by whom it is changed', async (t) => {
  const body = { metadata: { by: 'x' } };
  const as = (token: string) => ({ body, token });
  const sent = await cases.sent(team);
  const path = `/v1/messaging/messages/${sent.id}`;
  t.equal(await refusal('PATCH', path, as(grace.access_token)), '200', 'the author');
  t.equal(await refusal('PATCH', path, as(ada.access_token)), '200', 'an owner of the conversation');
  t.equal(await refusal('PATCH', path, as(demo.api_key)), '200', 'a key of the account');
  t.equal(
    await refusal('PATCH', path, as(vera.access_token)),
    '403 insufficient_permissions null',
    'a viewer',
  );
  const ofAda = await cases.sent(team, {}, { token: ada.access_token });
  const place = `/v1/messaging/messages/${ofAda.id}`;
  t.equal(await refusal('PATCH', place, as(grace.access_token)), '403 insufficient_permissions null');
  const withText = { body: { ...body, body: 'mine' }, token: demo.api_key };
  t.equal(await refusal('PATCH', place, withText), '403 insufficient_permissions null', 'its text is not');
  t.equal(await refusal('PATCH', `${PATH}/${team}`, as(grace.access_token)), '200', 'a member');
  t.equal(
    await refusal('PATCH', `${PATH}/${team}`, as(vera.access_token)),
    '403 insufficient_permissions null',
    'a viewer',
  );
  const members = await ok<List<Participant>>('GET', `${PATH}/${team}/participants`);
  const of = (id: string) => members.data.find(({ actor_id }) => actor_id === id)!.id;
  const participant = (id: string) => `${PATH}/${team}/participants/${of(id)}`;
  t.equal(await refusal('PATCH', participant(grace.id), as(grace.access_token)), '200', 'itself');
  t.equal(await refusal('PATCH', participant(vera.id), as(ada.access_token)), '200', 'the owner');
  t.equal(
    await refusal('PATCH', participant(ada.id), as(grace.access_token)),
    '403 insufficient_permissions null',
  );
  t.equal(
    await refusal('PATCH', `/v1/users/${vera.id}`, as(vera.access_token)),
    '403 insufficient_permissions null',
  );
  const deleted = await cases.sent(team, { metadata: { a: 'b' } }, { headers: NEWEST });
  await ok('DELETE', `/v1/messaging/messages/${deleted.id}`);
  t.equal(await refusal('PATCH', `/v1/messaging/messages/${deleted.id}`, { body }), '410 resource_gone id');
});

t.test('a change of metadata is no edit, and is published', async (t) => {
  const socket = await follow(t, team, grace.access_token);
  const older = await follow(t, team, grace.access_token, '1.2.harbor');
  const sent = await cases.sent(team, { metadata: { state: 'new' } }, { headers: NEWEST });
  const created = await socket.frame(({ data }) => data?.id === sent.id);
  t.strictSame(created.data!.metadata, { state: 'new' });
  const changed = await ok<ChatMessage>('PATCH', `/v1/messaging/messages/${sent.id}`, {
    body: { metadata: { state: 'done' } },
  });
  t.match(changed, { edited_at: null, edited_by: null, metadata: { state: 'done' }, body: 'ahoy' });
  t.ok(changed.updated_at > sent.updated_at);
  const updated = ({ event, data }: { event?: string; data?: Record<string, unknown> }) =>
    event === 'message.updated' && data?.id === sent.id;
  t.match(await socket.frame(updated), { data: { metadata: { state: 'done' }, edited_at: null } });
  t.notMatch(JSON.stringify((await older.frame(updated)).data), /metadata/);

  await ok('PATCH', `${PATH}/${team}`, { body: { metadata: { state: 'open' } } });
  const ofConversation = await socket.frame(({ event }) => event === 'conversation.updated');
  t.match(ofConversation, { data: { metadata: { state: 'open' } } });
  const members = await ok<List<Participant>>('GET', `${PATH}/${team}/participants`);
  const [member] = members.data;
  await ok('PATCH', `${PATH}/${team}/participants/${member!.id}`, { body: { metadata: { seat: '1' } } });
  const ofMember = await socket.frame(({ event }) => event === 'participant.updated');
  t.match(ofMember, { data: { id: member!.id, metadata: { seat: '1' } } });

  const both = await ok<ChatMessage>('PATCH', `/v1/messaging/messages/${sent.id}`, {
    body: { body: 'better', metadata: { state: 'edited' } },
    token: grace.access_token,
  });
  t.match(both, { edited_at: String, body: 'better', metadata: { state: 'edited' } });
});

t.test('under a hold there is no revision, and the audit names the keys alone', async (t) => {
  const id = await cases.conversation('internal');
  const { id: messageId } = await cases.sent(
    id,
    { metadata: { kept: 'x' }, attachments: [{ kind: 'link', url: 'https://example.com/' }] },
    { headers: NEWEST },
  );
  await cases.set(id, { legal_hold: 'held' });
  const path = `/v1/messaging/messages/${messageId}`;
  await ok('PATCH', path, { body: { metadata: { kept: null, note: 'topsecret' } } });
  const { attachments } = await ok<ChatMessage>('GET', `${path}?include[]=attachments`);
  const ofAttachment = { attachments: [{ id: attachments![0]!.id, metadata: { page: 'topsecret' } }] };
  await ok('PATCH', path, { body: ofAttachment, token: grace.access_token });
  t.match(await ok('GET', `${path}/revisions`), { data: [] });
  await ok('PATCH', `${PATH}/${id}`, { body: { metadata: { case: 'topsecret', plan: 'topsecret' } } });
  const { data } = await ok<List<AuditEvent>>('GET', `${PATH}/${id}/audit`);
  t.strictSame(
    data.slice(0, 3).map(({ action, details }) => [action, details]),
    [
      ['conversation.metadata_changed', { metadata_keys: ['case', 'plan'] }],
      ['message.edited', { message_id: messageId, metadata_keys: ['page'] }],
      ['message.edited', { message_id: messageId, metadata_keys: ['kept', 'note'] }],
    ],
  );
  const { id: userId } = await ok<User>('POST', '/v1/users', {
    body: { name: 'Meta', email: `${randomUUID()}@example.net`, role_id: roleId },
  });
  await ok('PATCH', `/v1/users/${userId}`, { body: { metadata: { b: 'topsecret', a: 'topsecret' } } });
  const audit = await ok<List<AuditEvent>>('GET', '/v1/account/audit?action=user.updated');
  const details = { user_id: userId, fields: ['metadata'], metadata_keys: ['a', 'b'] };
  t.strictSame(audit.data[0]!.details, details);
  t.notMatch(JSON.stringify([data, audit]), /topsecret/);
  t.equal(
    await before.refusal('GET', '/v1/account/audit?action=conversation.metadata_changed'),
    '400 parameter_invalid action',
  );
});

t.test('drafts and schedules keep it, resends change nothing, forwards begin without', async (t) => {
  const { id } = supportCase;
  const metadata = { ticket: '1', public_ticket: '2' };
  const draft = await cases.draft(id, { metadata }, { headers: NEWEST });
  t.strictSame(draft.metadata, metadata);
  const changed = await ok<ChatMessage>('PATCH', `/v1/messaging/messages/${draft.id}`, {
    body: { metadata: { ticket: '3' } },
  });
  t.match(changed, { metadata: { ticket: '3', public_ticket: '2' }, edited_at: null, status: 'draft' });
  const approved = await ok<ChatMessage>('POST', `/v1/messaging/messages/${draft.id}/actions/approve`);
  t.match(approved, { metadata: { ticket: '3', public_ticket: '2' }, status: 'sent' });

  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString();
  const scheduled = await cases.sent(team, { scheduled_at, metadata }, { headers: NEWEST });
  const ofSchedule = { body: { metadata: { ticket: null } }, token: grace.access_token };
  await ok('PATCH', `/v1/messaging/messages/${scheduled.id}`, ofSchedule);
  const now = await ok<ChatMessage>('POST', `/v1/messaging/messages/${scheduled.id}/actions/send-now`, {
    token: grace.access_token,
  });
  t.match(now, { status: 'sent', metadata: { public_ticket: '2' } });
  const audited = await cases.audited(team);
  t.strictSame(audited.find(({ action }) => action === 'scheduled.edited')?.details, {
    message_id: scheduled.id,
    fields: ['metadata'],
    metadata_keys: ['ticket'],
  });

  const client_message_id = randomUUID();
  const attachments = [{ kind: 'link', url: 'https://example.com/', metadata }];
  const first = await cases.sent(team, { client_message_id, metadata, attachments }, { headers: NEWEST });
  const again = await cases.sent(team, { client_message_id, metadata: { x: 'y' } }, { headers: NEWEST });
  t.match(again, { id: first.id, metadata });
  const forwarded = await ok<ChatMessage>(
    'POST',
    `/v1/messaging/messages/${first.id}/actions/forward?include[]=attachments`,
    {
      body: { conversation_id: team, client_message_id: randomUUID() },
      token: grace.access_token,
    },
  );
  t.match(forwarded, { metadata: {}, attachments: [{ url: 'https://example.com/', metadata: {} }] });
});

t.test('customers see public keys alone, over REST, sockets, streams and polls', async (t) => {
  const { id, customerId, customerToken: token } = supportCase;
  const asCustomer = await follow(t, id, token);
  const node = {
    baseUrl: app.baseUrl,
    headers: {
      Authorization: `Bearer ${token}`,
      'Service-Version': STREAMS_SINCE,
      'Service-Account': demo.account_id,
    },
  };
  const stream = new StreamClient(node, { conversations: { [id]: 0 } });
  t.teardown(() => stream.close());
  const metadata = { margin: '40%', public_order: '4711' };
  const shown = { public_order: '4711' };
  const attachments = [{ kind: 'link', url: 'https://example.com/', metadata }];
  const reply = { audience: 'customer', metadata, attachments };
  const sent = await cases.sent(id, reply, { headers: NEWEST, query: 'include[]=attachments' });
  t.match(sent, { metadata, attachments: [{ metadata }] });
  const expected = { metadata: shown, attachments: [{ metadata: shown }] };
  const mine = (frame: { readonly data?: Readonly<Record<string, unknown>> }) => frame.data?.id === sent.id;
  t.match((await asCustomer.frame(mine)).data, expected);
  t.match((await stream.frame(mine)).data, expected);
  const polled = await poll(node, { conversations: { [id]: sent.sequence! - 1 } });
  t.match(polled.frames.find(mine)?.data, expected);
  const one = `/v1/messaging/messages/${sent.id}?include[]=attachments`;
  t.match(await ok('GET', one, { token }), expected);
  const list = `${PATH}/${id}/messages?include[]=attachments&limit=1`;
  for (const _ of ['read', 'kept', 'kept']) {
    t.match(await ok('GET', list, { token }), { data: [expected] });
    t.match(await ok('GET', list), { data: [{ metadata, attachments: [{ metadata }] }] });
  }

  await ok('PATCH', `${PATH}/${id}`, { body: { metadata } });
  const members = await ok<List<Participant>>('GET', `${PATH}/${id}/participants`);
  const own = members.data.find(({ actor_id }) => actor_id === customerId)!;
  await ok('PATCH', `${PATH}/${id}/participants/${own.id}`, { body: { metadata } });
  const ofCase = `${PATH}/${id}?include[]=participants&include[]=last_message`;
  const seen = await ok<Conversation>('GET', ofCase, { token });
  t.strictSame(seen.metadata, shown);
  t.strictSame(
    seen.participants!.map((one) => one.metadata),
    [shown],
  );
  t.strictSame(seen.last_message!.metadata, shown);
  const itself = await ok<List<Participant>>('GET', `${PATH}/${id}/participants`, { token });
  t.strictSame(
    itself.data.map((one) => one.metadata),
    [shown],
  );
  t.match(await ok('GET', `${PATH}/${id}/participants/${own.id}`, { token }), { metadata: shown });
  t.match(await ok('GET', PATH, { token }), { data: [{ metadata: shown }] });
  const frames = JSON.stringify([asCustomer.frames, stream.frames, polled.frames]);
  t.notMatch(frames, /margin|40%/);
  await ok('PATCH', one, { body: { metadata: { margin: '50%', public_order: null } } });
  const changed = await asCustomer.frame(
    ({ event, data }) => event === 'message.updated' && data?.id === sent.id,
  );
  t.strictSame(changed.data!.metadata, {});
});

t.test('customers set public keys alone', async (t) => {
  const { id } = supportCase;
  const send = (fields: object) =>
    refusal('POST', `${PATH}/${id}/messages`, {
      body: { body: 'help', client_message_id: randomUUID(), ...fields },
      ...customerCaller,
    });
  t.equal(await send({ metadata: { public_page: '/cart' } }), '201');
  t.equal(await send({ metadata: { public_page: '/', vip: 'yes' } }), '422 validation_failed metadata.vip');
  const link = { kind: 'link', url: 'https://example.com/' };
  const attachments = [link, { ...link, metadata: { vip: 'yes' } }];
  t.equal(await send({ attachments }), '422 validation_failed attachments[1].metadata.vip');
  t.equal(await send({ attachments: [{ ...link, metadata: { public_a: 'b' } }] }), '201');
});

t.test('filters', async (t) => {
  const tag = randomUUID();
  const of = async (plan: string, name = 'Meta') => {
    const metadata = { tag, plan };
    const email = `${randomUUID()}@example.net`;
    const { id } = await ok<User>('POST', '/v1/users', { body: { name, email, role_id: roleId, metadata } });
    const participants = [{ type: 'user', actor_id: id, metadata }];
    const made = await ok<Conversation>('POST', PATH, {
      body: { type: 'group', title: name, participants, metadata },
    });
    return [id, made.id] as const;
  };
  const [pro, free, second] = [await of('pro'), await of('free'), await of('pro', 'Second')];
  const ids = async (path: string, options?: CallOptions) =>
    (await ok<List<Shown>>('GET', path, options)).data.map(({ id }) => id);
  const customer = await ok<Shown>('PUT', `/v1/customers/ext:${tag}`, {
    body: { name: 'Mara', metadata: { tag, plan: 'pro' } },
  });
  t.strictSame(await ids(`/v1/customers?metadata[tag]=${tag}&metadata[plan]=pro`), [customer.id]);
  t.strictSame(await ids(`/v1/customers?metadata[tag]=${tag}&metadata[plan]=free`), []);
  t.strictSame(await ids(`/v1/customers?metadata[tag]=${tag}&external_id=${tag}`), [customer.id]);
  for (const [place, path] of [
    [0, '/v1/users'],
    [1, PATH],
  ] as const) {
    const filter = (...pairs: string[]) => ids(`${path}?${pairs.join('&')}`);
    t.strictSame(await filter(`metadata[tag]=${tag}`), [second[place], free[place], pro[place]]);
    t.strictSame(await filter(`metadata[tag]=${tag}`, 'metadata[plan]=pro'), [second[place], pro[place]]);
    t.strictSame(await filter(`metadata%5Btag%5D=${tag}`, 'metadata%5Bplan%5D=free'), [free[place]]);
    t.strictSame(await filter(`metadata[tag]=${tag}`, 'metadata[plan]=none'), []);
    t.strictSame(await filter(`metadata[tag]=${tag}`, 'q=second'), [second[place]]);
    const page = await ok<List<Shown>>('GET', `${path}?metadata[tag]=${tag}&limit=2`);
    t.strictSame(await ids(page.page_info.next_page_url!), [pro[place]], 'the next page');
    const cursor = new URL(page.page_info.next_page_url!, app.baseUrl).searchParams.get('cursor');
    t.equal(
      await refusal('GET', `${path}?metadata[tag]=other&limit=2&cursor=${cursor}`),
      '400 parameter_invalid cursor',
    );
    for (const [query, expected] of [
      ['metadata=pro', '400 parameter_invalid metadata'],
      ['metadata[]=pro', '400 parameter_unknown metadata[]'],
      ['metadata[a]=1&metadata[a]=2', '400 parameter_invalid metadata[a]'],
      [`metadata[a]=${'v'.repeat(501)}`, '400 parameter_invalid metadata[a]'],
      [`metadata[${'k'.repeat(41)}]=v`, '400 parameter_invalid metadata'],
      ['metadata[a][b]=v', '400 parameter_invalid metadata'],
      ['meta[a]=v', '400 parameter_unknown meta[a]'],
    ] as const) {
      t.equal(await refusal('GET', `${path}?${query}`), expected, query);
    }
    t.equal(await before.refusal('GET', `${path}?metadata[a]=1`), '400 parameter_unknown metadata[a]');
    const { api_key: token, account_id } = demo.other_account;
    const elsewhere = { token, headers: { 'Service-Account': account_id } };
    t.strictSame(await ids(`${path}?metadata[tag]=${tag}`, elsewhere), []);
  }
  t.strictSame(await ids(`${PATH}?metadata[tag]=${tag}&order=activity`), [second[1], free[1], pro[1]]);
  t.strictSame(await ids(`${PATH}?metadata[tag]=${tag}&conversation_ids[]=${free[1]}`), [free[1]]);
  t.strictSame(
    await ids(`${PATH}?metadata[tag]=${tag}`, { token: grace.access_token }),
    [],
    'a member of none of them',
  );
  const participants = `${PATH}/${pro[1]}/participants`;
  const [member] = await ids(`${participants}?metadata[plan]=pro`);
  t.strictSame((await ok<Participant>('GET', `${participants}/${member}`)).actor_id, pro[0]);
  t.strictSame(await ids(`${participants}?metadata[plan]=free`), []);

  await ok('PATCH', `${PATH}/${supportCase.id}`, { body: { metadata: { tag, public_tag: tag } } });
  t.strictSame(await ids(`${PATH}?metadata[public_tag]=${tag}`, customerCaller), [supportCase.id]);
  t.strictSame(await ids(`${PATH}?metadata[tag]=${tag}`, customerCaller), [], 'not by what it cannot see');
  const own = `${PATH}/${supportCase.id}/participants`;
  t.strictSame(await ids(`${own}?metadata[seat]=1`, customerCaller), []);
});

t.test('a filter that most conversations match pages through them in order', async (t) => {
  const tag = randomUUID();
  const made: string[] = [];
  for (let count = 0; count < 102; count++) made.push(await cases.conversation('internal'));
  await database.kysely
    .updateTable('conversations')
    .set({ metadata: JSON.stringify({ tag }) })
    .where('id', 'in', made)
    .execute();
  for (const order of ['created', 'activity']) {
    const found: string[] = [];
    let next: string | null = `${PATH}?metadata[tag]=${tag}&order=${order}&limit=60`;
    while (next !== null) {
      const page: List<Shown> = await ok('GET', next, { token: grace.access_token });
      const { data, page_info } = page;
      found.push(...data.map(({ id }) => id));
      next = page_info.next_page_url;
    }
    t.strictSame(found, made.toReversed(), order);
  }
});

t.test('a filter that many users match pages through them in order', async (t) => {
  const tag = randomUUID();
  const metadata = JSON.stringify({ tag });
  const made = Array.from({ length: 1_002 }, () => newId('actor')).sort();
  const of = { account_id: demo.account_id };
  await database.kysely
    .insertInto('actors')
    .values(made.map((id) => ({ id, ...of, type: 'user', name: 'Many', metadata })))
    .execute();
  await database.kysely
    .insertInto('users')
    .values(made.map((id) => ({ id, ...of, email: `${id.toLowerCase()}@example.net` })))
    .execute();
  const first = await ok<List<User>>('GET', `/v1/users?metadata[tag]=${tag}&limit=3`);
  const second = await ok<List<User>>('GET', first.page_info.next_page_url!);
  const ids = [...first.data, ...second.data].map(({ id }) => id);
  t.strictSame(ids, made.toReversed().slice(0, 6));
});

t.test('webhooks have it', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const { id } = await ok<{ id: string }>('POST', '/v1/webhooks', {
    body: { url: receiver.url, event_types: ['message.created', 'conversation.updated'] },
  });
  t.teardown(() => ok('DELETE', `/v1/webhooks/${id}`));
  await ok('PATCH', `${PATH}/${team}`, { body: { metadata: { hooked: 'yes' } } });
  const sent = await cases.sent(team, { metadata: { hooked: 'too' } }, { headers: NEWEST });
  await until(
    () => receiver.received.some(({ event }) => event.data.id === sent.id) && receiver.received.length > 1,
    {
      what: 'both events',
    },
  );
  const ofId = (id: string) => receiver.received.find(({ event }) => event.data.id === id)?.event.data;
  t.match(ofId(sent.id), { metadata: { hooked: 'too' } });
  t.match(ofId(team), { metadata: { hooked: 'yes' } });
});

const NEWEST = { 'Service-Version': NEWEST_VERSION };

async function ok<Body = Record<string, unknown>>(
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Body> {
  const { status, text, body } = await callsAt(app, NEWEST_VERSION).call<Body>(method, path, options);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
  return body;
}

async function updatedAt(path: string): Promise<unknown> {
  return (await ok('GET', path)).updated_at;
}

/** Returns a socket that follows the conversation. */
async function follow(t: Test, id: string, token: string, version: string = NEWEST_VERSION): Promise<Client> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Service-Version': version,
    'Service-Account': demo.account_id,
  };
  const client = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  t.teardown(() => client.close());
  await client.frame('ready');
  await client.request('subscribe', { conversation_id: id });
  await client.frame('caught_up');
  return client;
}
