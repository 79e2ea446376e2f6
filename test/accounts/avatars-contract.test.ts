/**
 * Avatars (docs/contract.md#avatars): set by an upload, shown in pages, removed with their
 * replacements.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Actor, MessagingGroup } from '@parley/protocol/resources/actor.ts';
import type { AgentDefinition } from '@parley/protocol/resources/agent-definition.ts';
import type { Me } from '@parley/protocol/resources/me.ts';
import type { Person } from '@parley/protocol/resources/person.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';
import type { User } from '@parley/protocol/resources/user.ts';
import { covers, SOCKETS_SINCE, VERSIONS } from '@parley/protocol/versions.ts';
import t from 'tap';
import { Avatars } from '../../src/core/accounts/avatars/avatars.ts';
import { purgeUploads } from '../../src/core/attachments/uploads.ts';
import { openSocket } from '../notifications/readers.ts';
import { borrowTestApp, type CallOptions, callsAt } from '../support/app.ts';
import { until } from '../support/until.ts';
import { personWith } from './fixture.ts';

const VERSION = '1.2.harbor';
const app = await borrowTestApp(t);
const { call, refusal } = callsAt(app, VERSION);
const { demo, database } = app;
const { ada, grace } = demo.users;
const CONVERSATIONS = '/v1/messaging/conversations';
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.from('the rest')]);
const GIF = Buffer.from('GIF89a and the rest');

t.test('a user’s own: in a page without a credential, and for everybody who sees the actor', async (t) => {
  const as = { token: ada.access_token };
  const key = await upload(PNG);
  const { body } = await call<Me>('PATCH', '/v1/me', { ...as, body: { avatar_s3_key: key } });
  const url = body.actor.avatar_url!;
  t.match(url, /^http:\/\/127\.0\.0\.1:\d+\/v1\/avatars\/ava_\w{24}$/);
  t.notOk(url.includes(key.slice(4)), 'the key of the file is not in it');
  t.equal(body.user?.avatar_url, url);

  const page = await fetch(url, { headers: { Origin: 'https://app.example' } });
  t.equal(page.status, 200);
  t.strictSame(Buffer.from(await page.arrayBuffer()), PNG);
  const headers = [
    'Content-Type',
    'X-Content-Type-Options',
    'Content-Security-Policy',
    'Cross-Origin-Resource-Policy',
    'Cache-Control',
  ];
  t.strictSame(
    headers.map((name) => page.headers.get(name)),
    [
      'image/png',
      'nosniff',
      "default-src 'none'; sandbox",
      'cross-origin',
      'private, max-age=86400, immutable',
    ],
  );
  t.equal((await fetch(url, { method: 'HEAD' })).status, 200);
  t.equal((await fetch(url, { method: 'POST' })).status, 405);

  t.equal((await call<User>('GET', `/v1/users/${ada.id}`)).body.avatar_url, url);
  const people = await call<List<Person>>('GET', '/v1/messaging/people?q=lovelace', {
    token: grace.access_token,
  });
  t.equal(people.body.data[0]?.avatar_url, url);
  await until(async () => (await senderOf(demo.conversations.group, ada.access_token)).avatar_url === url, {
    what: 'the image of the sender',
    timeoutMs: 60_000,
  });
  t.strictSame(
    (await call<Me>('PATCH', '/v1/me', { ...as, body: {} })).body.actor.avatar_url,
    url,
    'it stays',
  );
});

t.test('replaced and cleared: the address before shows nothing, and the file goes', async (t) => {
  const person = await personWith(app, ['messaging:read', 'messaging:create']);
  const set = async (avatar_s3_key: string | null) => {
    const { body } = await call<Me>('PATCH', '/v1/me', { token: person.token, body: { avatar_s3_key } });
    return body.actor.avatar_url;
  };
  const [first, second] = [await upload(PNG), await upload(GIF, { content_type: 'image/gif' })];
  const before = await set(first);
  const after = await set(second);
  t.not(after, before);
  t.equal((await fetch(before!)).status, 404);
  t.equal((await fetch(after!)).headers.get('Content-Type'), 'image/gif');
  t.ok(await isWithdrawn(first), 'the file before goes');
  t.notOk(await isWithdrawn(second));
  t.not(await set(second), after, 'the same image again has another address');
  t.notOk(await isWithdrawn(second), 'and keeps its file');
  t.equal(await set(null), null);
  t.ok(await isWithdrawn(second));
  t.equal(await set(null), null);
  const again = await refusal('PATCH', '/v1/me', { token: person.token, body: { avatar_s3_key: first } });
  t.equal(again, '404 resource_not_found avatar_s3_key', 'a file that goes cannot be taken');

  const both = await upload(PNG);
  const sent = await call('POST', `${CONVERSATIONS}/${demo.conversations.group}/messages`, {
    body: { body: 'me', client_message_id: randomUUID(), attachments: [{ kind: 'image', s3_key: both }] },
  });
  t.equal(sent.status, 201);
  await set(both);
  await set(null);

  const removed: string[] = [];
  await database.query({
    name: 'age',
    text: "UPDATE uploads SET withdrawn_at = withdrawn_at - interval '1 hour'",
  } as never);
  const store = {
    tidy: async () => {},
    remove: async (keys: readonly string[]) => void removed.push(...keys),
  };
  await purgeUploads(database, store as never);
  t.strictSame(
    [first, second, both].map((key) => removed.includes(key)),
    [true, true, false],
    'a file that a message has stays',
  );
});

t.test('a deleted message loses its link to a file that is an avatar too', async (t) => {
  const person = await personWith(app, []);
  const key = await upload(PNG);
  const { body: message } = await call<{ id: string }>(
    'POST',
    `${CONVERSATIONS}/${demo.conversations.group}/messages`,
    {
      body: { body: 'me', client_message_id: randomUUID(), attachments: [{ kind: 'image', s3_key: key }] },
    },
  );
  const { body } = await call<Me>('PATCH', '/v1/me', { token: person.token, body: { avatar_s3_key: key } });
  const { body: sent } = await call<{ id: string; attachments: { url: string }[] }>(
    'GET',
    `/v1/messaging/messages/${message.id}?include[]=attachments`,
  );
  t.equal((await fetch(sent.attachments[0]!.url)).status, 200);
  t.equal(await refusal('DELETE', `/v1/messaging/messages/${sent.id}`), '200');
  t.equal((await fetch(sent.attachments[0]!.url)).status, 410);
  t.equal((await fetch(body.actor.avatar_url!)).status, 200, 'which stays');
});

t.test('avatars of other users, agents and groups can be changed', async (t) => {
  const person = await personWith(app, []);
  const { body: user } = await call<User>('PATCH', `/v1/users/${person.id}`, {
    body: { avatar_s3_key: await upload(PNG) },
  });
  t.equal((await fetch(user.avatar_url!)).status, 200);
  const { body: agent } = await call<AgentDefinition>('PATCH', `/v1/ai/agents/${demo.agent.id}`, {
    body: { avatar_s3_key: await upload(PNG) },
  });
  t.equal(
    (await call<AgentDefinition>('GET', `/v1/ai/agents/${demo.agent.id}`)).body.avatar_url,
    agent.avatar_url,
  );
  const people = await call<List<Person>>('GET', '/v1/messaging/people?q=assistant');
  t.equal(people.body.data[0]?.avatar_url, agent.avatar_url);
  const old = await app.call<AgentDefinition>('GET', `/v1/ai/agents/${demo.agent.id}`);
  t.notOk('avatar_url' in old.body, 'not before 1.2');
  const wrong = { body: { avatar_s3_key: null }, headers: { 'Service-Version': '1.1.harbor' } };
  t.equal(
    await refusal('PATCH', `/v1/ai/agents/${demo.agent.id}`, wrong),
    '422 validation_failed avatar_s3_key',
  );

  const { data } = (await call<List<MessagingGroup>>('GET', '/v1/messaging/groups?q=customer')).body;
  const path = `/v1/messaging/groups/${data[0]!.id}`;
  const { body: persona } = await call<MessagingGroup>('PATCH', path, {
    body: { avatar_s3_key: await upload(PNG) },
  });
  t.ok(persona.avatar_url && persona.updated_at > data[0]!.updated_at);
  t.equal((await call<MessagingGroup>('GET', path)).body.avatar_url, persona.avatar_url);
  await call('POST', `${CONVERSATIONS}/${demo.conversations.case}/messages`, {
    body: { body: 'ahoy', client_message_id: randomUUID(), audience: 'customer' },
  });
  await until(
    async () =>
      (await senderOf(demo.conversations.case, demo.customer.access_token)).avatar_url === persona.avatar_url,
    { what: 'the image of the persona, for the customer', timeoutMs: 60_000 },
  );
});

t.test(
  'images of groups and agents are values of 1.2: null before, wherever an actor is shown',
  async (t) => {
    const { case: id, group } = demo.conversations;
    const image = async (path: string) =>
      (await call<MessagingGroup>('PATCH', path, { body: { avatar_s3_key: await upload(PNG) } })).body;
    const { body: persona } = await call<List<MessagingGroup>>('GET', '/v1/messaging/groups?q=customer');
    const { actor_id } = await image(`/v1/messaging/groups/${persona.data[0]!.id}`);
    await image(`/v1/ai/agents/${demo.agent.id}`);
    await call('PATCH', `${CONVERSATIONS}/${id}`, { body: { assignee_id: actor_id } });
    await call('POST', `${CONVERSATIONS}/${group}/messages`, {
      token: await app.tokenOf(demo.agent.actor_id),
      body: { body: 'ahoy', client_message_id: randomUUID(), mentions: [ada.id] },
    });
    const held = `${CONVERSATIONS}/${id}/actions/set-legal-hold?include[]=assignee`;
    const once = { body: { legal_hold: 'held' }, headers: { 'Idempotency-Key': randomUUID() } };
    t.match((await call('POST', held, once)).body, { assignee: { avatar_url: String } });
    const feed = '/v1/messaging/notifications?include[]=sender&limit=100';
    await until(
      async () => (await call<List<object>>('GET', feed, { token: ada.access_token })).body.data.length > 0,
      { what: 'the notification of the mention' },
    );
    for (const version of VERSIONS) {
      const expected = covers(version, '1.2.harbor') ? String : null;
      const headers = { 'Service-Version': version };
      const ask = async (method: string, path: string, options: CallOptions = {}) =>
        (await app.call<object>(method, path, { ...options, headers: { ...options.headers, ...headers } }))
          .body;
      t.match(await ask('POST', held, once), { assignee: { type: 'group', avatar_url: expected } }, version);
      const { data } = (await ask('GET', feed, { token: ada.access_token })) as List<{
        sender: Actor | null;
      }>;
      const ofAgent = data.filter(({ sender }) => sender?.type === 'agent');
      t.ok(ofAgent.length > 0);
      t.match(ofAgent, Array(ofAgent.length).fill({ sender: { avatar_url: expected } }), version);
      if (!covers(version, SOCKETS_SINCE)) continue;
      const socket = await openSocket(t, app, { token: ada.access_token }, version);
      await socket.request('subscribe', { conversation_id: id });
      const body = { body: 'ahoy', client_message_id: randomUUID(), audience: 'customer' };
      await call('POST', `${CONVERSATIONS}/${id}/messages`, { body });
      const created = await socket.frame(({ event }) => event === 'message.created');
      t.match(created.data, { sender: { type: 'group', avatar_url: expected } }, version);
    }
    await call('POST', held, { body: { legal_hold: 'released' } });
  },
);

t.test('what cannot be an avatar', async (t) => {
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
  const cases: [what: string, key: string | number, refusal: string][] = [
    ['SVG', await upload(svg, { content_type: 'image/svg+xml' }), '422 validation_failed avatar_s3_key'],
    ['SVG that is called PNG', await upload(svg), '422 validation_failed avatar_s3_key'],
    ['HTML', await upload(svg, { content_type: 'text/html' }), '422 validation_failed avatar_s3_key'],
    [
      'PNG that is called GIF',
      await upload(PNG, { content_type: 'image/gif' }),
      '422 validation_failed avatar_s3_key',
    ],
    [
      '3 MiB',
      await upload(Buffer.concat([PNG, Buffer.alloc(3 * 1024 * 1024)])),
      '422 validation_failed avatar_s3_key',
    ],
    ['a file without bytes', await upload(PNG, {}, { sends: false }), '409 resource_conflict avatar_s3_key'],
    ['nothing', newId('upload'), '404 resource_not_found avatar_s3_key'],
    ['a number', 7, '400 invalid_format avatar_s3_key'],
    ['a long text', 'u'.repeat(65), '422 validation_failed avatar_s3_key'],
    ["another account's", await theirUpload(), '404 resource_not_found avatar_s3_key'],
  ];
  for (const [what, avatar_s3_key, expected] of cases) {
    const options = { token: grace.access_token, body: { avatar_s3_key } };
    t.equal(await refusal('PATCH', '/v1/me', options), expected, what);
  }
  t.equal((await call<Me>('GET', '/v1/me', { token: grace.access_token })).body.actor.avatar_url, null);
  for (const id of ['', 'x', newId('avatar'), `${newId('avatar')}/x`]) {
    t.equal((await fetch(`${app.baseUrl}/v1/avatars/${id}`)).status, 404, `/v1/avatars/${id}`);
  }
});

t.test('two at once: one of them, and the file of the other goes', async (t) => {
  const person = await personWith(app, []);
  const keys = [await upload(PNG), await upload(PNG), await upload(PNG)];
  const statuses = await Promise.all(
    keys.map((avatar_s3_key) => refusal('PATCH', '/v1/me', { token: person.token, body: { avatar_s3_key } })),
  );
  t.strictSame(statuses, ['200', '200', '200']);
  const withdrawn = await Promise.all(keys.map(isWithdrawn));
  t.equal(withdrawn.filter((one) => one).length, 2);
});

t.test('an avatar is erased with its person', async (t) => {
  const person = await personWith(app, []);
  const key = await upload(PNG);
  const request = {
    token: person.token,
    body: { avatar_s3_key: key },
    headers: { 'Idempotency-Key': randomUUID() },
  };
  const { body } = await call<Me>('PATCH', '/v1/me', request);
  t.equal((await fetch(body.actor.avatar_url!)).status, 200);
  const erased = await call('POST', `/v1/users/${person.id}/actions/erase`, { body: { messages: 'keep' } });
  t.equal(erased.status, 201, erased.text);
  t.equal((await fetch(body.actor.avatar_url!)).status, 404);
  t.ok(await isWithdrawn(key));
  t.equal((await call<User>('GET', `/v1/users/${person.id}`)).body.avatar_url, null);
  t.equal(
    await refusal('PATCH', `/v1/users/${person.id}`, { body: { avatar_s3_key: null } }),
    '409 resource_conflict null',
  );
});

t.test('a server with another address shows avatars at it', async (t) => {
  const moved = new Avatars({ database, store: undefined as never, baseUrl: () => 'https://chat.example' });
  await moved.readdress();
  const { avatar_url: url } = (await call<User>('GET', `/v1/users/${ada.id}`)).body;
  t.match(url, /^https:\/\/chat\.example\/v1\/avatars\/ava_\w{24}$/);
  t.equal((await fetch(url!.replace('https://chat.example', app.baseUrl))).status, 200);
});

async function upload(
  bytes: Buffer,
  fields: { readonly content_type?: string } = {},
  { sends = true, ...options }: CallOptions & { readonly sends?: boolean } = {},
): Promise<string> {
  const { body } = await call<UploadUrl>('POST', '/v1/messaging/attachments/upload-url', {
    body: { filename: 'me.png', content_type: 'image/png', size_bytes: bytes.length, ...fields },
    ...options,
  });
  if (!sends) return body.s3_key;
  const put = await fetch(body.url, { method: 'PUT', headers: body.headers, body: new Uint8Array(bytes) });
  if (put.status !== 204) throw new Error(`the upload answered ${put.status}`);
  return body.s3_key;
}

function theirUpload(): Promise<string> {
  const { account_id, api_key: token } = demo.other_account;
  return upload(PNG, {}, { token, headers: { 'Service-Account': account_id } });
}

async function isWithdrawn(key: string): Promise<boolean> {
  const row = await database.kysely
    .selectFrom('uploads')
    .select('withdrawn_at')
    .where('s3_key', '=', key)
    .executeTakeFirst();
  return row === undefined || row.withdrawn_at !== null;
}

/** The sender of a new message, or of the newest one that a customer sees. */
async function senderOf(conversationId: string, token: string): Promise<Actor> {
  const path = `${CONVERSATIONS}/${conversationId}/messages?include[]=sender`;
  if (token !== demo.customer.access_token) {
    const body = { body: 'ahoy', client_message_id: randomUUID() };
    return (await call<{ sender: Actor }>('POST', path, { token, body })).body.sender;
  }
  return (await call<List<{ sender: Actor }>>('GET', path, { token })).body.data[0]!.sender;
}
