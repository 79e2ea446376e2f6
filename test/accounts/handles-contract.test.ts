/**
 * Who sees the addresses of people: each kind of reader, by both settings of the account, over REST
 * and sockets (docs/contract.md#who-sees-addresses).
 */

import { randomUUID } from 'node:crypto';
import type { List } from '@parley/protocol/lists.ts';
import type { Account } from '@parley/protocol/resources/account.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Person } from '@parley/protocol/resources/person.ts';
import { NEWEST_VERSION, VERSIONS, type Version } from '@parley/protocol/versions.ts';
import { sql } from 'kysely';
import t from 'tap';
import { WebSocket } from 'ws';
import { Client } from '../gateway/fixture.ts';
import { borrowTestApp, type CallOptions, callsAt } from '../support/app.ts';
import { until } from '../support/until.ts';
import { personWith } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace } = demo.users;
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const OLD = '1.3.harbor' satisfies Version;

const CONVERSATIONS = '/v1/messaging/conversations';
const MEMBER = ['messaging:read', 'messaging:create', 'messaging:update', 'notifications:create'] as const;
const member = await personWith(app, MEMBER);
const administrator = await personWith(app, [...MEMBER, 'users:read']);
const { case: ofCustomer } = demo.conversations;
for (const actor_id of [member.id, grace.id, administrator.id]) {
  await call('POST', `${CONVERSATIONS}/${ofCustomer}/participants`, { body: { type: 'user', actor_id } });
}
await call('POST', `${CONVERSATIONS}/${ofCustomer}/participants`, {
  body: { type: 'agent', actor_id: demo.agent.actor_id },
});
const { id: room } = (
  await change<Conversation>('POST', CONVERSATIONS, {
    body: {
      type: 'group',
      topic: { type: 'actor', id: grace.id },
      participants: [member.id, grace.id, administrator.id].map((actor_id, index) => ({
        type: 'user',
        actor_id,
        ...(index === 0 && { role: 'owner' }),
      })),
    },
  })
).body;
const { id: roster } = (
  await change<{ id: string }>('POST', '/v1/messaging/groups', {
    body: { name: 'Addresses', members: [grace.id, member.id] },
  })
).body;

/** The addresses of all people of the account, by actor. */
const ADDRESSES = new Map(
  (
    await database.kysely
      .selectFrom('actors')
      .select(['id', 'handle'])
      .where('account_id', '=', demo.account_id)
      .where('type', '=', 'user')
      .where('handle', 'is not', null)
      .execute()
  ).map(({ id, handle }) => [id, handle!] as const),
);

/** The readers; `sees` is whose address they see besides under `admins`. */
const READERS = {
  key: { token: demo.api_key, sees: null, isCustomer: false },
  admin: { token: ada.access_token, sees: null, isCustomer: false },
  administrator: { token: administrator.token, sees: null, isCustomer: false },
  member: { token: member.token, sees: member.id, isCustomer: false },
  agent: { token: await app.tokenOf(demo.agent.actor_id), sees: demo.agent.actor_id, isCustomer: false },
  customer: { token: demo.customer.access_token, sees: demo.customer.actor_id, isCustomer: true },
} as const;
type Reader = (typeof READERS)[keyof typeof READERS];

t.test('the setting: everyone unless it is set, for admins and keys', async (t) => {
  const get = (version: string) =>
    call<Account>('GET', '/v1/account', { headers: { 'Service-Version': version } });
  t.equal((await get(NEWEST_VERSION)).body.handles, 'everyone');
  t.notOk('handles' in (await get(OLD)).body);
  const refusals: [body: object, options: CallOptions, expected: string][] = [
    [{ handles: 'team' }, {}, '422 validation_failed handles'],
    [{ handles: null }, {}, '400 missing_field handles'],
    [{ handles: 'admins' }, { token: member.token }, '403 insufficient_permissions null'],
    [{ handles: 'admins' }, { token: demo.customer.access_token }, '403 insufficient_permissions null'],
    [
      { handles: 'admins' },
      { headers: { Authorization: undefined } },
      '401 invalid_credentials Authorization',
    ],
  ];
  for (const [body, options, expected] of refusals) {
    t.equal(await refusal('PATCH', '/v1/account', { body, ...options }), expected);
  }
  await set('admins');
  const audit = await call<List<object>>('GET', '/v1/account/audit?action=account.updated');
  t.match(audit.body.data[0], { details: { handles: 'admins' } });
});

for (const setting of ['everyone', 'admins'] as const) {
  t.test(`over REST, by the setting ${setting}`, async (t) => {
    await set(setting);
    let hidden = 0;
    for (const version of VERSIONS.slice(1)) {
      for (const [name, reader] of Object.entries(READERS)) {
        for (const path of pathsOf(reader)) {
          const { status, body, text } = await call<object>('GET', path, {
            token: reader.token,
            headers: { 'Service-Version': version },
          });
          if (status === 400 && version !== NEWEST_VERSION) continue;
          t.equal(status, 200, `${name}: ${path} of ${version}: ${text.slice(0, 200)}`);
          const expected = handlesIn(body).map(({ id }) => ({ id, handle: shownTo(reader, setting, id) }));
          t.strictSame(handlesIn(body), expected, `${name}: ${path} of ${version}`);
          if (setting === 'everyone') continue;
          for (const [id, address] of ADDRESSES) {
            if (reader.sees === null || reader.sees === id) continue;
            t.notOk(text.includes(address), `${name}: ${path} of ${version} has nothing of ${address}`);
            hidden += 1;
          }
        }
      }
    }
    t.equal(hidden > 0, setting === 'admins');
  });

  t.test(`over sockets, by the setting ${setting}`, async (t) => {
    await set(setting);
    const sockets = await Promise.all(
      Object.entries(READERS).flatMap(([name, reader]) =>
        ([NEWEST_VERSION, OLD] as const).map(async (version) => ({
          name: `${name} of ${version}`,
          reader,
          client: await follow(reader.token, version, ofCustomer),
        })),
      ),
    );
    const [asked, told] = [newBody(), newBody()];
    await say(demo.customer.access_token, ofCustomer, asked);
    await say(grace.access_token, ofCustomer, told, { audience: 'customer', link: grace.id });
    for (const { name, reader, client } of sockets) {
      for (const body of [asked, told]) await client.frame(({ data }) => data?.body === body);
      const events = client.frames.filter(({ type }) => type === 'event');
      const seesAll = setting === 'everyone' || reader.sees === null;
      const shown = handlesIn(events);
      t.ok(shown.length > 0, `${name} is shown actors`);
      t.strictSame(
        shown,
        shown.map(({ id }) => ({ id, handle: seesAll ? (ADDRESSES.get(id) ?? null) : null })),
        name,
      );
      if (!seesAll) {
        for (const address of ADDRESSES.values()) t.notOk(JSON.stringify(events).includes(address), name);
      }
    }
    for (const { client } of sockets) client.close();
  });
}

t.test('streams and polls show what sockets do', async (t) => {
  const body = { subscribe: [{ conversation_id: ofCustomer, after_sequence: 0 }] };
  for (const setting of ['everyone', 'admins'] as const) {
    await set(setting);
    const told = newBody();
    await say(grace.access_token, ofCustomer, told, { audience: 'customer', link: grace.id });
    for (const [name, { token, sees, isCustomer }] of Object.entries(READERS)) {
      // Agents have none.
      if (name === 'agent') continue;
      // A customer is shown a persona.
      const seesAll = !isCustomer && (setting === 'everyone' || sees === null);
      const polled = await change('POST', '/v1/realtime/poll', { token, body: { ...body, wait_ms: 0 } });
      for (const [way, text] of [
        ['poll', polled.text],
        ['stream', await streamed(token, body, told)],
      ] as const) {
        t.ok(text.includes(told), `${name}: ${way}`);
        const shown = [...ADDRESSES].filter(([id, address]) => id !== sees && text.includes(address));
        t.equal(shown.length > 0, seesAll, `${name}: ${way} by ${setting}`);
      }
    }
  }
});

t.test('open sockets follow the setting', async (t) => {
  await set('everyone');
  const [client, old, admin] = await Promise.all([
    follow(member.token),
    follow(member.token, OLD),
    follow(ada.access_token),
  ]);
  await set('admins');
  await Promise.all([client.closes(), old.closes()]);
  const body = newBody();
  await say(grace.access_token, ofCustomer, body);
  const { data } = await admin.frame((frame) => frame.data?.body === body);
  t.equal((data as unknown as ChatMessage).sender!.handle, grace.email, 'what changes nothing goes on');
  admin.close();
});

t.test('a search finds nobody by an address', async (t) => {
  const people = async (q: string, token: string) =>
    (await call<List<Person>>('GET', `/v1/messaging/people?q=${encodeURIComponent(q)}`, { token })).text;
  const conversations = async (q: string, token: string) =>
    (await call('GET', `/v1/messaging/search?type=conversations&q=${encodeURIComponent(q)}`, { token })).text;
  const absent = `nobody-${randomUUID()}@example.com`;
  for (const ask of [people, conversations]) {
    for (const found of [grace.email, grace.email.slice(0, -3), ADDRESSES.get(demo.customer.actor_id)!]) {
      await set('admins');
      const same = (text: string) => text.replaceAll(/"url":"[^"]*"/g, '');
      t.equal(same(await ask(found, member.token)), same(await ask(absent, member.token)), found);
    }
    const isFound = async (token: string) => (await ask(grace.email, token)).includes(grace.id);
    t.ok(await isFound(ada.access_token), 'an admin');
    await set('everyone');
    t.ok(await isFound(member.token));
    await set('admins');
  }
  t.match(await people('Grace', member.token), /Grace Hopper/, 'a name is found');
  await database.kysely.updateTable('actors').set({ folded: sql`NULL` }).where('id', '=', grace.id).execute();
  t.notMatch(await people(grace.email, member.token), /Grace/, 'before it is folded');
});

t.test('a text mentions nobody by an address', async (t) => {
  const local = grace.email.split('@')[0]!;
  const mentions = async (token: string) =>
    (await say(token, room, `Ahoy, @${local} @${randomUUID()}`)).body.mentions;
  await set('everyone');
  await until(async () => (await mentions(member.token))?.[0] === grace.id, { what: 'a mention' });
  await set('admins');
  await until(async () => (await mentions(member.token))?.length === 0, { what: 'no mention' });
  t.strictSame(await mentions(ada.access_token), [], 'nor does the text of an admin, which others read');
});

t.test('an answer is stored as its caller sees it, and repeated so', async (t) => {
  await set('admins');
  for (const [token, handle] of [
    [member.token, null],
    [demo.api_key, grace.email],
  ] as const) {
    const path = `${CONVERSATIONS}/${room}/participants`;
    const mine = (await call<List<{ id: string; actor_id: string }>>('GET', path)).body.data.find(
      ({ actor_id }) => actor_id === grace.id,
    )!;
    const options = { body: { role: 'member' }, headers: { 'Idempotency-Key': randomUUID() }, token };
    const changed = await change('PATCH', `${path}/${mine.id}`, options);
    t.strictSame(handlesIn(changed.body), [{ id: grace.id, handle }]);
    t.equal((await call('PATCH', `${path}/${mine.id}`, options)).text, changed.text);
  }
});

/** Every read of the reader that names people. */
function pathsOf({ token, isCustomer, sees }: Reader): string[] {
  const at = `${CONVERSATIONS}/${ofCustomer}`;
  const isPerson = !isCustomer && token !== demo.api_key && sees !== demo.agent.actor_id;
  return [
    `${at}/messages?include[]=sender&include[]=author`,
    `${at}/participants`,
    `${at}?include[]=participants`,
    ...(isCustomer
      ? []
      : [
          '/v1/messaging/people',
          `/v1/messaging/people/${grace.id}`,
          `/v1/messaging/actors?${[...ADDRESSES.keys()]
            .slice(0, 90)
            .map((one) => `actor_ids[]=${one}`)
            .join('&')}`,
          `/v1/messaging/groups/${roster}?include[]=members`,
          `${CONVERSATIONS}?include[]=participants&include[]=topic`,
          '/v1/me',
        ]),
    ...(isPerson
      ? [
          `${CONVERSATIONS}/${room}?include[]=topic&include[]=participants`,
          `${CONVERSATIONS}/${room}/messages?include[]=resource`,
          '/v1/messaging/notifications?include[]=sender',
        ]
      : []),
  ];
}

function shownTo({ sees }: Reader, setting: Account['handles'], id: string): string | null {
  const isShown = setting === 'everyone' || sees === null || sees === id;
  return (isShown ? ADDRESSES.get(id) : undefined) ?? null;
}

/** The handles of users in a value, in their order. */
function handlesIn(value: unknown): { readonly id: string; readonly handle: unknown }[] {
  if (Array.isArray(value)) return value.flatMap(handlesIn);
  if (typeof value !== 'object' || value === null) return [];
  const { handle, ...fields } = value as Readonly<Record<string, unknown>>;
  const inside = Object.values(fields).flatMap(handlesIn);
  const isUser = fields.type === 'user' || fields.type === 'actor';
  return handle !== undefined && isUser ? [{ id: String(fields.id), handle }, ...inside] : inside;
}

async function follow(
  token: string,
  version: Version = NEWEST_VERSION,
  conversationId: string = ofCustomer,
): Promise<Client> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Service-Version': version,
    'Service-Account': demo.account_id,
  };
  const client = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  t.teardown(() => client.close());
  await client.frame('ready');
  const { ok, error } = await client.request('subscribe', { conversation_id: conversationId });
  if (ok !== true) throw new Error(JSON.stringify(error));
  await client.frame('caught_up');
  return client;
}

/** Returns what a stream sends until it has this text. */
async function streamed(token: string, body: object, until: string): Promise<string> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Service-Version': NEWEST_VERSION,
    'Service-Account': demo.account_id,
  };
  const ending = new AbortController();
  const { body: bytes } = await fetch(`${app.baseUrl}/v1/realtime/streams`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    signal: ending.signal,
  });
  let text = '';
  for await (const piece of bytes!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (text.includes(until) && text.endsWith('\n\n')) break;
  }
  ending.abort();
  return text;
}

function say(
  token: string,
  conversationId: string,
  body: string,
  { link, ...rest }: { readonly link?: string; readonly audience?: 'customer' } = {},
) {
  const linked = link && { link_resource_type: 'actor', link_resource_id: link };
  return change<ChatMessage>('POST', `${CONVERSATIONS}/${conversationId}/messages`, {
    token,
    body: { client_message_id: randomUUID(), body, ...rest, ...linked },
  });
}

async function change<Body = object>(method: string, path: string, options: CallOptions) {
  const answer = await call<Body>(method, path, options);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer;
}

/** Sets the setting; readers see it at once. */
async function set(handles: Account['handles']): Promise<void> {
  await change('PATCH', '/v1/account', { body: { handles } });
  const isThere = async () => {
    const { body } = await call<Person>('GET', `/v1/messaging/people/${grace.id}`, { token: member.token });
    return (body.handle !== null) === (handles === 'everyone');
  };
  await until(isThere, { what: `the setting ${handles}` });
}

function newBody(): string {
  return `said ${randomUUID()}`;
}
