/**
 * The own ids of actors: each kind of reader, by both settings of the account, over REST and
 * sockets (docs/contract.md#own-ids).
 */

import { randomUUID } from 'node:crypto';
import type { List } from '@parley/protocol/lists.ts';
import type { Account } from '@parley/protocol/resources/account.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Person } from '@parley/protocol/resources/person.ts';
import { NEWEST_VERSION, type Version } from '@parley/protocol/versions.ts';
import { type Kysely, sql } from 'kysely';
import t from 'tap';
import { WebSocket } from 'ws';
import { up } from '../../migrations/0063_own_ids.ts';
import { downloaded, exported } from '../compliance/export-fixture.ts';
import { Client } from '../gateway/fixture.ts';
import { freshDirectory } from '../start/parley.ts';
import { borrowTestApp, type CallOptions, callsAt } from '../support/app.ts';
import { until } from '../support/until.ts';
import { visitorsOf } from '../widgets/fixture.ts';
import { personWith } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace } = demo.users;
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const { case: ofCustomer } = demo.conversations;
const OLD = '1.3.harbor' satisfies Version;

const member = await personWith(app, ['messaging:read', 'messaging:create', 'messaging:update']);
const visitors = visitorsOf(app);
const visit = await visitors.visitor(await visitors.widget());
const { id: ofVisitor } = await visitors.openCase(visit.access_token);

/** The own ids of the actors here, by actor. */
const OWN = new Map<string, string>();
for (const [path, id, own] of [
  ['/v1/users', ada.id, 'user-ada'],
  ['/v1/users', grace.id, 'user "grace" ⚓'],
  ['/v1/users', member.id, 'user-member'],
  ['/v1/customers', demo.customer.actor_id, 'customer-1'],
  ['/v1/customers', visit.customer_id, 'customer-2'],
] as const) {
  await change('PATCH', `${path}/${id}`, { body: { external_id: own } });
  OWN.set(id, own);
}
const [group] = (await call<List<{ id: string; actor_id: string }>>('GET', '/v1/messaging/groups')).body.data;
for (const [path, id, own] of [
  [`/v1/messaging/groups/${group!.id}`, group!.actor_id, 'the-group'],
  [`/v1/ai/agents/${demo.agent.id}`, demo.agent.actor_id, 'the-bot'],
] as const) {
  await change('PATCH', path, { body: { external_id: own } });
  OWN.set(id, own);
}
for (const id of [ofCustomer, ofVisitor]) {
  for (const actor_id of [member.id, grace.id]) {
    await call('POST', `/v1/messaging/conversations/${id}/participants`, {
      body: { type: 'user', actor_id },
    });
  }
}

const { body: team } = await change<{ id: string }>('POST', '/v1/messaging/groups', {
  body: { name: 'Own ids', members: [grace.id, member.id] },
});
for (const [id, token] of [
  [ofCustomer, demo.customer.access_token],
  [ofVisitor, visit.access_token],
] as const) {
  await change('PATCH', `/v1/messaging/conversations/${id}`, { body: { assignee_id: grace.id } });
  await say(token, id, 'ahoy');
  await say(grace.access_token, id, 'Ahoy.', { audience: 'customer', mentions: [ada.id, member.id] });
}

/** The readers, each with the actors whose own ids it sees by the setting `keys`. */
const READERS = {
  key: { token: demo.api_key, sees: [...OWN.keys()], isCustomer: false, in: ofCustomer },
  admin: { token: ada.access_token, sees: [ada.id], isCustomer: false, in: ofCustomer },
  member: { token: member.token, sees: [member.id], isCustomer: false, in: ofCustomer },
  customer: {
    token: demo.customer.access_token,
    sees: [demo.customer.actor_id],
    isCustomer: true,
    in: ofCustomer,
  },
  visitor: { token: visit.access_token, sees: [visit.customer_id], isCustomer: true, in: ofVisitor },
} as const;

t.test('the setting: new accounts show own ids to the team, and earlier ones to keys alone', async (t) => {
  const get = async () => (await call<Account>('GET', '/v1/account')).body.own_ids;
  t.equal(await get(), 'team');
  const old = await call<Account>('GET', '/v1/account', { headers: { 'Service-Version': OLD } });
  t.notOk('own_ids' in old.body);
  const changed = await call<Account>('PATCH', '/v1/account', { body: { own_ids: 'keys' } });
  t.match(changed, { status: 200, body: { own_ids: 'keys', picture_metadata: 'remove' } });
  const audit = await call<List<object>>('GET', '/v1/account/audit?action=account.updated');
  t.match(audit.body.data[0], { details: { own_ids: 'keys', picture_metadata: undefined } });
  await set('team');
  const refusals: [body: object, options: CallOptions, expected: string][] = [
    [{ own_ids: 'everyone' }, {}, '422 validation_failed own_ids'],
    [{ own_ids: null }, {}, '400 missing_field own_ids'],
    [{ own_ids: 'keys' }, { token: member.token }, '403 insufficient_permissions null'],
    [{ own_ids: 'keys' }, { token: demo.customer.access_token }, '403 insufficient_permissions null'],
    [{ own_ids: 'keys' }, { headers: { Authorization: undefined } }, '401 invalid_credentials Authorization'],
  ];
  for (const [body, options, expected] of refusals) {
    t.equal(await refusal('PATCH', '/v1/account', { body, ...options }), expected);
  }
  const undone = new Error('undone');
  const migrated = database.transaction(async (tx) => {
    await sql`ALTER TABLE accounts DROP COLUMN own_ids`.execute(tx.kysely);
    await up(tx.kysely as unknown as Kysely<unknown>);
    const before = await tx.kysely.selectFrom('accounts').select('own_ids').execute();
    t.ok(before.length > 0 && before.every(({ own_ids }) => own_ids === 'keys'));
    throw undone;
  });
  await t.rejects(migrated, undone);
});

for (const setting of ['team', 'keys'] as const) {
  t.test(`over REST, by the setting ${setting}`, async (t) => {
    await set(setting);
    for (const [name, reader] of Object.entries(READERS)) {
      const answers = await readAll(reader);
      for (const [what, body] of answers) {
        const shown = ownIdsIn(body);
        t.ok(shown.length > 0, `${name}: ${what} names actors`);
        t.strictSame(
          shown,
          shown.map(({ id }) => ({ id, own: seenBy(reader, setting, id) })),
          `${name}: ${what}`,
        );
      }
      const old = await readAll(reader, OLD);
      for (const [what, body] of old) t.strictSame(ownIdsIn(body), [], `${name}: ${what} of ${OLD}`);
    }
  });

  t.test(`over sockets, by the setting ${setting}`, async (t) => {
    await set(setting);
    for (const conversationId of [ofCustomer, ofVisitor]) {
      const readers = Object.entries(READERS).filter(
        ([, reader]) => !reader.isCustomer || reader.in === conversationId,
      );
      const sockets = await Promise.all(
        readers.flatMap(([name, reader]) =>
          ([NEWEST_VERSION, OLD] as const).map(async (version) => ({
            name: `${name} of ${version}`,
            reader,
            version,
            client: await follow(reader.token, version, conversationId),
          })),
        ),
      );
      const customer = conversationId === ofCustomer ? READERS.customer : READERS.visitor;
      const [writer, asked] = [await follow(grace.access_token, NEWEST_VERSION, conversationId), newBody()];
      await writer.request('presence', { status: 'online' });
      await writer.request('typing', { conversation_id: conversationId, state: 'start' });
      const { body: last } = await say(customer.token, conversationId, newBody());
      await writer.request('mark_read', { conversation_id: conversationId, sequence: last.sequence });
      await say(grace.access_token, conversationId, asked, { audience: 'customer' });
      for (const { name, reader, version, client } of sockets) {
        await client.frame(({ data }) => data?.body === asked);
        if (!reader.isCustomer) {
          for (const event of ['typing', 'presence', 'read']) {
            await client.frame((frame) => frame.event === event && frame.data?.actor_id === grace.id);
          }
        }
        const shown = ownIdsIn(client.frames.filter(({ type }) => type === 'event'));
        if (version === OLD) t.strictSame(shown, [], name);
        else {
          const isAll = !reader.isCustomer && (setting === 'team' || reader === READERS.key);
          t.ok(shown.length > 0, `${name} is shown actors`);
          t.strictSame(
            shown,
            shown.map(({ id }) => ({ id, own: isAll ? OWN.get(id) : null })),
            name,
          );
        }
        if (version !== OLD) {
          const [own] = ownIdsIn(client.frames.filter(({ type }) => type === 'ready'));
          t.equal(own?.own ?? null, OWN.get(own!.id) ?? null, `${name}: its own in ready`);
        }
        if (!reader.isCustomer) continue;
        const text = JSON.stringify(client.frames);
        for (const [id, own] of OWN) {
          if (id !== reader.sees[0])
            t.notOk(text.includes(JSON.stringify(own)), `${name}: nothing of ${own}`);
        }
      }
      for (const { client } of [...sockets, { client: writer }]) client.close();
    }
  });
}

t.test('open sockets follow the setting', async (t) => {
  await set('team');
  const [client, old] = [await follow(member.token), await follow(member.token, OLD)];
  await set('keys');
  await client.closes();
  const again = await follow(member.token);
  const body = newBody();
  await say(grace.access_token, ofCustomer, body);
  const { data } = await again.frame((frame) => frame.data?.body === body);
  t.equal((data as unknown as ChatMessage).sender!.external_id, null);
  await old.frame((frame) => frame.data?.body === body);
  await set('team');
  for (const one of [again, old]) one.close();
});

t.test('an answer is stored as its caller sees it, and repeated so', async (t) => {
  for (const setting of ['keys', 'team'] as const) {
    await set(setting);
    const options = { headers: { 'Idempotency-Key': randomUUID() }, token: member.token };
    const body = { client_message_id: randomUUID(), body: 'twice', mentions: [grace.id] };
    const path = `/v1/messaging/conversations/${ofCustomer}/participants`;
    const mine = (await call<List<{ id: string; actor_id: string }>>('GET', path)).body.data.find(
      ({ actor_id }) => actor_id === grace.id,
    )!;
    const key = { headers: options.headers };
    const changed = await call('PATCH', `${path}/${mine.id}`, { body: { role: 'member' }, ...key });
    t.strictSame(ownIdsIn(changed.body), [{ id: grace.id, own: OWN.get(grace.id) }], 'a key');
    t.equal(
      (await call('PATCH', `${path}/${mine.id}`, { body: { role: 'member' }, ...key })).text,
      changed.text,
    );
    const messages = `/v1/messaging/conversations/${ofCustomer}/messages`;
    const first = await call('POST', messages, { body, ...options });
    t.equal((await call('POST', messages, { body, ...options })).text, first.text);
  }
});

t.test('a change of an own id shows in what is sent from then on', async (t) => {
  await set('team');
  const client = await follow(member.token);
  for (const own of ['user-grace-2', null, OWN.get(grace.id)!]) {
    await change('PATCH', `/v1/users/${grace.id}`, { body: { external_id: own } });
    const body = newBody();
    await say(grace.access_token, ofCustomer, body);
    const { data } = await client.frame((frame) => frame.data?.body === body);
    t.equal((data as unknown as ChatMessage).sender!.external_id, own);
  }
  client.close();
});

t.test('a person by an own id', async (t) => {
  const PEOPLE = '/v1/messaging/people';
  const get = (id: string, options: CallOptions = {}) =>
    call<Person>('GET', `${PEOPLE}/${encodeURIComponent(id)}`, { token: member.token, ...options });
  const own = OWN.get(grace.id)!;
  const { body } = await get(`ext:${own}`);
  const { external_id, ...shown } = body;
  t.strictSame(shown, {
    id: grace.id,
    object: 'person',
    type: 'user',
    name: 'Grace Hopper',
    handle: grace.email,
    avatar_url: null,
    presence: body.presence,
    username: null,
  });
  t.equal(external_id, own);
  t.strictSame((await get(grace.id)).body.id, grace.id);
  t.equal((await get(`ext:${OWN.get(member.id)}`)).body.id, member.id, 'oneself');
  t.equal((await get('ext:the-bot')).body.id, demo.agent.actor_id);
  const at = (id: string) => `${PEOPLE}/${encodeURIComponent(id)}`;
  for (const id of ['ext:nobody', 'ext:customer-1', 'ext:the-group', demo.customer.actor_id, 'act_nothere']) {
    t.equal(await refusal('GET', at(id), { token: member.token }), '404 resource_not_found id', id);
  }
  const elsewhere = {
    headers: { 'Service-Account': demo.other_account.account_id },
    token: demo.other_account.api_key,
  };
  const refusals: [options: CallOptions, expected: string][] = [
    [elsewhere, '404 resource_not_found id'],
    [{ headers: { Authorization: undefined } }, '401 invalid_credentials Authorization'],
    [{ token: demo.customer.access_token }, '403 insufficient_permissions null'],
    [{ token: (await personWith(app, ['messaging:create'])).token }, '403 insufficient_permissions null'],
    [{ headers: { 'Service-Version': OLD } }, '400 api_version_too_old Service-Version'],
  ];
  for (const [options, expected] of refusals) {
    t.equal(await refusal('GET', at(grace.id), { token: member.token, ...options }), expected);
  }
});

t.test('the export of a person has the own id of no other', async (t) => {
  await set('team');
  for (const id of [demo.customer.actor_id, grace.id]) {
    const { files } = await downloaded(await exported(app, `/v1/users/${id}/exports`), freshDirectory(t));
    const text = [...files.values()].join();
    for (const [other, own] of OWN)
      t.equal(text.includes(JSON.stringify(own)), other === id, `${own} of ${id}`);
  }
});

type Reader = (typeof READERS)[keyof typeof READERS];

/** What answers show to the reader of an actor's own id. */
function seenBy({ isCustomer, sees }: Reader, setting: Account['own_ids'], id: string): string | null {
  const isShown = (sees as readonly string[]).includes(id) || (setting === 'team' && !isCustomer);
  return (isShown ? OWN.get(id) : undefined) ?? null;
}

/** Every read of the reader that names actors. */
async function readAll(
  { token, isCustomer, in: id }: Reader,
  version: Version = NEWEST_VERSION,
): Promise<[what: string, body: object][]> {
  const at = `/v1/messaging/conversations/${id}`;
  const { body: messages } = await call<List<ChatMessage>>('GET', `${at}/messages?limit=1`);
  const message = `/v1/messaging/messages/${messages.data[0]!.id}`;
  await change('PUT', `${message}/reactions/%F0%9F%91%8D`, {
    token: isCustomer ? token : grace.access_token,
  });
  const isPerson = !isCustomer && token !== demo.api_key;
  const ofTeam = [
    `${at}?include[]=assignee`,
    '/v1/messaging/people',
    `/v1/messaging/presence?actor_ids[]=${ada.id}&actor_ids[]=${grace.id}`,
    `/v1/messaging/actors?${[...OWN.keys()].map((one) => `actor_ids[]=${one}`).join('&')}`,
    `/v1/messaging/groups/${team.id}?include[]=members`,
    '/v1/me',
    ...(version === NEWEST_VERSION ? [`/v1/messaging/people/${grace.id}`] : []),
  ];
  const paths = [
    `${at}/messages?include[]=sender&include[]=author`,
    `${message}?include[]=sender`,
    `${message}/reactions`,
    `${at}/participants`,
    `${at}?include[]=participants`,
    ...(isCustomer ? [] : ofTeam),
    ...(isPerson ? ['/v1/messaging/notifications?include[]=sender'] : []),
  ];
  const answers: [string, object][] = [];
  for (const path of paths) {
    const { status, body, text } = await call<object>('GET', path, {
      token,
      headers: { 'Service-Version': version },
    });
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    answers.push([path, body]);
  }
  return answers;
}

/** The own ids of actors in a value, in their order. */
function ownIdsIn(value: unknown): { readonly id: string; readonly own: unknown }[] {
  if (Array.isArray(value)) return value.flatMap(ownIdsIn);
  if (typeof value !== 'object' || value === null) return [];
  const { external_id: own, ...fields } = value as Readonly<Record<string, unknown>>;
  const isActor = fields.object === 'actor' || fields.object === 'person';
  const id = isActor ? fields.id : fields.actor_id;
  const inside = Object.values(fields).flatMap(ownIdsIn);
  const isResource = fields.object === 'messaging_group' || fields.object === 'user';
  const isNamed = own !== undefined && !isResource && typeof id === 'string';
  return isNamed ? [{ id, own }, ...inside] : inside;
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

function say(token: string, conversationId: string, body: string, more: object = {}) {
  return change<ChatMessage>('POST', `/v1/messaging/conversations/${conversationId}/messages`, {
    token,
    body: { client_message_id: randomUUID(), body, ...more },
  });
}

async function change<Body = object>(method: string, path: string, options: CallOptions) {
  const answer = await call<Body>(method, path, options);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer;
}

/** Sets the setting; readers see it at once. */
async function set(own_ids: Account['own_ids']): Promise<void> {
  await change('PATCH', '/v1/account', { body: { own_ids } });
  const isThere = async () => {
    const { body } = await call<List<Person>>('GET', '/v1/messaging/people', { token: member.token });
    const shown = body.data.find(({ id }) => id === ada.id)!.external_id;
    return (shown !== null) === (own_ids === 'team');
  };
  await until(isThere, { what: `the setting ${own_ids}` });
}

function newBody(): string {
  return `said ${randomUUID()}`;
}
