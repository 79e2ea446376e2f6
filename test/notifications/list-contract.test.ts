/** List Notifications (docs/contract.md#notifications) over HTTP, on a whole server. */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import { VERSIONS } from '@parley/protocol/versions.ts';
import { sql } from 'kysely';
import t from 'tap';
import { CursorSeal } from '../../src/api/pipeline/cursor-seal.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import type { NewParticipant } from '../../src/core/conversations/rows/participant-store.ts';
import { FEED } from '../../src/core/notifications/feed/feed-store.ts';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { Random } from '../support/random.ts';
import { until } from '../support/until.ts';
import { insertRow, newReader, type Reader, type Row } from './readers.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const { group } = demo.conversations;
const PATH = '/v1/messaging/notifications';

type Page = List<Notification>;

t.test('a send notifies the other participants: exactly these fields of the resource', async (t) => {
  t.strictSame(await feed(vera.access_token), envelope([]), 'a feed that nothing has come to');
  const message = await send(group, { body: `ahoy ${'🚢'.repeat(200)}` });
  const { data } = await arrived(vera.access_token, [message.id]);
  const [shown] = data;
  t.strictSame(shown, {
    id: shown?.id,
    object: 'notification',
    category: 'chat.message',
    title: shown?.title,
    body: `ahoy ${'🚢'.repeat(135)}`,
    status: 'unseen',
    priority: 'normal',
    sender: null,
    resource: null,
    seen_at: null,
    read_at: null,
    dismissed_at: null,
    created_at: shown?.created_at,
    updated_at: shown?.created_at,
  });
  const { body: newest } = await app.call<Page>('GET', '/v1/messaging/notifications', {
    token: vera.access_token,
    headers: { 'Service-Version': '1.2.harbor' },
  });
  t.strictSame(
    newest.data,
    [
      {
        ...shown,
        message_id: message.id,
        agent_run_id: null,
        sender_id: ada.id,
        resource_type: 'entity',
        resource_id: group,
      },
    ],
    'since 1.2.harbor with what it is about',
  );
  t.match(shown?.id, /^ntf_\w{24}$/);
  t.match(shown?.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  t.match(shown?.title, /Ada Lovelace.*Demo group/, 'says who and where');

  const ofGrace = await arrived(grace.access_token, [message.id]);
  t.not(ofGrace.data[0]?.id, shown?.id, 'each recipient has its own');
  t.equal(await rowsOf(message.id), 2, 'not its author, not the agent');
  t.strictSame((await feed(ada.access_token)).data, []);
});

t.test('a deactivated member is not notified', async (t) => {
  const [inactive, active] = [await newReader(app), await newReader(app)];
  const conversation = await conversationWith(inactive, active);
  const headers = { 'Service-Version': '1.2.harbor' };
  const { status } = await app.call('POST', `/v1/users/${inactive.id}/actions/deactivate`, { headers });
  t.equal(status, 200);
  const message = await send(conversation, { body: 'ahoy' });
  await arrived(active.token, [message.id]);
  t.equal(await rowsOf(message.id), 1);
});

t.test('a message without a body has no preview', async (t) => {
  const reader = await newReader(app);
  const conversation = await conversationWith(reader);
  const message = await send(conversation, {
    body: undefined,
    attachments: [{ kind: 'link', url: 'https://example.com' }],
  });
  const { data } = await arrived(reader.token, [message.id]);
  t.equal(data[0]?.body, null);
});

t.test('most recent first, also among notifications of one statement', async (t) => {
  const reader = await newReader(app);
  const conversation = await conversationWith(reader);
  const sent = await Promise.all(Array.from({ length: 40 }, (_, n) => send(conversation, { body: `${n}` })));
  const { data } = await arrived(
    reader.token,
    sent.map(({ id }) => id),
    'limit=100',
  );
  t.strictSame(
    data.map(({ body }) => body),
    sent.toSorted((a, b) => b.sequence! - a.sequence!).map(({ body }) => body),
  );
});

t.test('a page that is read again is the same bytes', async (t) => {
  const reader = await newReader(app);
  const conversation = await conversationWith(reader);
  const body = ',"sender":null,"resource":null é🚢';
  const sent = await Promise.all([1, 2, 3].map(() => send(conversation, { body })));
  await arrived(
    reader.token,
    sent.map(({ id }) => id),
  );
  for (const version of VERSIONS) {
    for (const query of [
      '',
      'include[]=sender',
      'include[]=sender&include[]=resource',
      'status=unseen',
      'q=ahoy',
    ]) {
      const headers = { 'Service-Version': version };
      const read = () => app.call<Page>('GET', `${PATH}?${query}&limit=2`, { token: reader.token, headers });
      const first = await read();
      t.equal(first.status, 200);
      for (let n = 0; n < 3; n++) t.equal((await read()).text, first.text, `${version} ${query}`);
    }
  }
});

t.test('a plain page is read in the order of its index, also by a plan for any feed', async (t) => {
  const reader = await newReader(app);
  await insertMany(reader, new Random(7), 200);
  await sql`ANALYZE notifications`.execute(database.kysely);
  for (const list of [FEED.keys.plain, FEED.rows.plain]) {
    for (const { whole, behind } of [list.statements.next, list.statements.previous]) {
      for (const { name, text } of [whole, behind]) {
        const plan = await database.transaction(async ({ kysely }) => {
          await sql`SET LOCAL plan_cache_mode = force_generic_plan`.execute(kysely);
          await sql`PREPARE ${sql.ref(name)} AS ${sql.raw(text)}`.execute(kysely);
          const values = text.includes('$3') ? `('a', 21, 'z')` : `('a', 21)`;
          const explain = sql`EXPLAIN EXECUTE ${sql.ref(name)} ${sql.raw(values)}`;
          const { rows } = await explain.execute(kysely);
          await sql`DEALLOCATE ${sql.ref(name)}`.execute(kysely);
          return JSON.stringify(rows);
        });
        t.match(plan, /Index (Only )?Scan (Backward )?using notifications_pkey/, name);
        t.notMatch(plan, /Sort/, name);
      }
    }
  }
});

t.test('a mention has its own category, appears once, and overrides the mute', async (t) => {
  const [muted, loud] = [await newReader(app), await newReader(app)];
  const conversation = await conversationWith(muted, loud);
  await database.kysely
    .updateTable('participants')
    .set({ notifications: 'muted' })
    .where('conversation_id', '=', conversation)
    .where('actor_id', '=', muted.id)
    .execute();
  const plain = await send(conversation);
  const mention = await send(conversation, { mentions: [muted.id] });
  const ofLoud = await arrived(loud.token, [plain.id, mention.id]);
  t.strictSame(categories(ofLoud), ['chat.message', 'chat.message']);
  // Effects run in the order of the commits: what the plain message made would be here too.
  t.strictSame(categories(await arrived(muted.token, [mention.id])), ['chat.mention']);
});

t.test('include[]: each alone and both', async (t) => {
  const reader = await newReader(app);
  const conversation = await conversationWith(reader);
  await arrived(reader.token, [(await send(conversation)).id]);
  const sender = {
    id: ada.id,
    object: 'actor',
    type: 'user',
    name: 'Ada Lovelace',
    handle: ada.email,
    avatar_url: null,
    role: null,
  };
  const resource = { id: conversation, object: 'entity', type: 'entity', name: 'Pier', handle: null };
  const cases: [query: string, expected: unknown[]][] = [
    ['', [null, null]],
    ['include[]=sender', [sender, null]],
    ['include[]=resource', [null, resource]],
    ['include[]=sender&include[]=resource', [sender, resource]],
    ['include%5B%5D=resource&include%5B%5D=sender', [sender, resource]],
  ];
  for (const [query, expected] of cases) {
    const [shown] = (await feed(reader.token, query)).data;
    t.strictSame([shown?.sender, shown?.resource], expected, query);
  }

  // A conversation without a title, an entity, and what another account has.
  const entity = newId('entity');
  await database.kysely
    .insertInto('entities')
    .values({ id: entity, account_id: demo.account_id, name: 'SO-1001', handle: 'so' })
    .execute();
  const foreign = newId('entity');
  const other = demo.other_account.account_id;
  await database.kysely
    .insertInto('entities')
    .values({ id: foreign, account_id: other, name: 'X' })
    .execute();
  const linked = await newReader(app);
  for (const resource_id of [demo.conversations.direct, entity, foreign]) {
    await insert(linked, { resource_type: 'entity', resource_id });
  }
  const { data } = await feed(linked.token, 'include[]=resource');
  t.strictSame(
    data.map(({ resource }) => resource),
    [
      null,
      { id: entity, object: 'entity', type: 'entity', name: 'SO-1001', handle: 'so' },
      { id: demo.conversations.direct, object: 'entity', type: 'entity', name: null, handle: null },
    ],
  );
});

t.test('senders: people, personas, and the system for whatever else', async (t) => {
  const reader = await newReader(app);
  const customer: NewParticipant = { type: 'customer', actorId: await customerActor() };
  const agent: NewParticipant = { type: 'agent', actorId: demo.agent.actor_id };
  const conversation = await create([user(ada.id), user(reader.id), customer, agent], 'customer');
  const key = demo.api_key;
  const agentToken = await app.tokenOf(demo.agent.actor_id);
  const sends: [body: string, type: string, fields: object, token: string][] = [
    ['of ada', 'user', {}, ada.access_token],
    ['of the customer', 'user', {}, await app.tokenOf(customer.actorId!)],
    ['of the desk', 'group', { audience: 'customer' }, ada.access_token],
    ['of a key', 'system', {}, key],
    ['of the agent', 'system', {}, agentToken],
    // Its persona is shown, whichever actor is behind it.
    ['of a key as the desk', 'group', { audience: 'customer' }, key],
  ];
  const sent: string[] = [];
  for (const [body, , fields, token] of sends) {
    sent.push((await send(conversation, { body, ...fields }, token)).id);
  }
  const all = await arrived(reader.token, sent, 'include[]=sender');
  const bodiesOf = ({ data }: Page) => data.map(({ body }) => body).reverse();
  const ofTypes = (types: readonly string[]) =>
    sends.filter(([, type]) => types.includes(type)).map(([body]) => body);
  for (const types of [['user'], ['group'], ['system'], ['user', 'group'], ['user', 'group', 'system']]) {
    const query = types.map((type) => `sender_types[]=${type}`).join('&');
    t.strictSame(bodiesOf(await feed(reader.token, query)), ofTypes(types), query);
  }

  for (const { sender } of all.data) {
    const expected = all.data.filter((other) => other.sender?.id === sender?.id).map(({ body }) => body);
    const narrowed = await feed(reader.token, `sender_ids[]=${sender?.id}`);
    t.strictSame(bodiesOf(narrowed), expected.reverse(), `sender_ids[]=${sender?.name}`);
  }
  const people = await feed(reader.token, `sender_ids[]=${ada.id}&sender_ids[]=${customer.actorId}`);
  t.strictSame(bodiesOf(people), ofTypes(['user']), 'either of them');
  const both = await feed(reader.token, `sender_ids[]=${ada.id}&sender_types[]=group`);
  t.strictSame(both.data, [], 'filters add up');
});

t.test('q: in title and body, case ignored, every character for itself', async (t) => {
  const reader = await newReader(app);
  const rows: [title: string, body: string | null][] = [
    ['Ada in Pier', 'The 50% rule'],
    ['Grace', 'a_b and A\\B'],
    ['50 per cent', null],
    ['ÉTÉ', 'axb'],
    ['quote', `it's "so"; -- /* */`],
  ];
  for (const [title, body] of rows) await insert(reader, { title, body });
  const cases: [q: string, titles: string[]][] = [
    ['pier', ['Ada in Pier']],
    ['PIER', ['Ada in Pier']],
    ['rule', ['Ada in Pier']],
    ['été', ['ÉTÉ']],
    ['50', ['Ada in Pier', '50 per cent']],
    ['50%', ['Ada in Pier']],
    ['%', ['Ada in Pier']],
    ['a_b', ['Grace']],
    ['_', ['Grace']],
    ['a\\b', ['Grace']],
    ['\\', ['Grace']],
    ['\\%', []],
    ["it's", ['quote']],
    ['"so"; --', ['quote']],
    [' in ', ['Ada in Pier']],
    ['nowhere', []],
    ['', rows.map(([title]) => title)],
  ];
  for (const [q, titles] of cases) {
    for (const name of ['q', 'search']) {
      const { data } = await feed(reader.token, `${name}=${encodeURIComponent(q)}`);
      t.strictSame(data.map(({ title }) => title).reverse(), titles, `${name}=${q}`);
    }
  }
});

t.test('category and status; without one, all but what was dismissed', async (t) => {
  const reader = await newReader(app);
  const states = ['unseen', 'seen', 'read', 'dismissed'] as const;
  const kinds = ['chat.message', 'chat.mention', 'chat.added', 'order.updated'];
  for (const status of states) {
    for (const category of kinds) await insert(reader, { status, category, title: `${status} ${category}` });
  }
  const titles = async (query: string) =>
    (await feed(reader.token, query)).data.map(({ title }) => title).reverse();
  const having = (status: readonly string[], category: readonly string[]) =>
    status.flatMap((one) => category.map((other) => `${one} ${other}`));
  const visible = ['unseen', 'seen', 'read'];
  t.strictSame(await titles(''), having(visible, kinds), 'unknown kinds are shown too');
  for (const status of visible)
    t.strictSame(await titles(`status=${status}`), having([status], kinds), status);
  for (const category of kinds.slice(0, 3)) {
    t.strictSame(await titles(`category=${category}`), having(visible, [category]), category);
  }
  t.strictSame(await titles('status=read&category=chat.added&q=ADDED'), ['read chat.added']);
  const newest = (category: string) =>
    app.call<Page>('GET', `/v1/messaging/notifications?category=${category}`, {
      token: reader.token,
      headers: { 'Service-Version': '1.2.harbor' },
    });
  const { body: orders } = await newest('order.updated');
  t.strictSame(
    orders.data.map(({ title }) => title).reverse(),
    having(visible, ['order.updated']),
    'any category since 1.2.harbor',
  );
  t.strictSame((await newest('order.unheard_of')).body.data, []);
  t.match((await newest('chat')).body, { error: { code: 'parameter_invalid', param: 'category' } });
});

t.test('what was dismissed can be asked for, and each by its id, since 1.2.harbor', async (t) => {
  const [reader, other] = [await newReader(app), await newReader(app)];
  await insert(reader, { status: 'seen', title: 'seen' });
  for (const title of ['one', 'two']) await insert(reader, { status: 'dismissed', title });
  const get = (path: string, token = reader.token) =>
    app.call<Page>('GET', `${PATH}${path}`, { token, headers: { 'Service-Version': '1.2.harbor' } });
  const titles = async (query: string) => (await get(`?${query}`)).body.data.map(({ title }) => title);
  t.strictSame(await titles('status=dismissed'), ['two', 'one']);
  t.strictSame(await titles('status=dismissed&q=one'), ['one']);
  t.strictSame(await titles(''), ['seen']);

  const [dismissed] = (await get('?status=dismissed&include[]=sender&include[]=resource')).body.data;
  const byId = await get(`/${dismissed!.id}?include[]=sender&include[]=resource`);
  t.strictSame([byId.status, byId.body], [200, dismissed]);
  for (const answer of [
    await get(`/${dismissed!.id}`, other.token),
    await get(`/${newId('notification')}`),
  ]) {
    t.equal(refusalOf(answer as never), '404 resource_not_found id');
  }
});

t.test('25 a page, unless asked otherwise, and URLs that keep the filters', async (t) => {
  const reader = await newReader(app);
  for (let n = 1; n <= 30; n++) await insert(reader, { title: `${n}`, status: n % 2 ? 'seen' : 'read' });
  const titles = ({ data }: Page) => data.map(({ title }) => Number(title));
  const first = await feed(reader.token);
  t.strictSame(titles(first), downFrom(30, 25, 1));
  t.equal(first.page_info.previous_page_url, null);
  t.ok(first.page_info.next_page_url?.startsWith(`${PATH}?`));
  const last = await follow(first.page_info.next_page_url, reader.token);
  t.strictSame(titles(last), downFrom(5, 5, 1));
  t.equal(last.page_info.next_page_url, null);
  t.strictSame(await follow(last.page_info.previous_page_url, reader.token), first);
  t.strictSame(await feed(reader.token, 'limit=30'), envelope((await feed(reader.token, 'limit=100')).data));
  t.equal((await feed(reader.token, 'limit=007')).data.length, 7, 'leading zeros do not count');

  const seen = await feed(reader.token, 'status=seen&limit=10&include[]=resource');
  t.strictSame(titles(seen), downFrom(29, 10, 2));
  const more = await follow(seen.page_info.next_page_url, reader.token);
  t.strictSame(titles(more), downFrom(9, 5, 2));
});

t.test('every notification of the start once and in order, forth and back, while others come', async (t) => {
  for (let seed = 1; seed <= 12; seed++) {
    const random = new Random(seed);
    const reader = await newReader(app);
    const total = random.below(30);
    await insertMany(reader, random, total);
    const initial = (await feed(reader.token, 'limit=100')).data.map(({ id }) => id);
    t.equal(initial.length, total);
    const limit = 1 + random.below(8);
    // Rows that a filtered list leaves out disturb it as little as those that it shows.
    const query = random.pick([`limit=${limit}`, `limit=${limit}&status=unseen`, `limit=${limit}&q=row`]);
    const what = `seed ${seed}: ${total} rows, ${query}`;

    let page = await feed(reader.token, query);
    const forth = page.data.map(({ id }) => id);
    while (page.page_info.next_page_url !== null) {
      await insertMany(reader, random, random.below(3));
      page = await follow(page.page_info.next_page_url, reader.token);
      forth.push(...page.data.map(({ id }) => id));
    }
    t.strictSame(shared(forth, initial), initial, `${what}, forth`);
    t.equal(new Set(forth).size, forth.length, `${what}: none twice`);

    const back = page.data.map(({ id }) => id).reverse();
    while (page.page_info.previous_page_url !== null && back.length < 500) {
      await insertMany(reader, random, random.below(2));
      page = await follow(page.page_info.previous_page_url, reader.token);
      back.push(...page.data.map(({ id }) => id).reverse());
    }
    t.strictSame(shared(back, initial), initial.toReversed(), `${what}, and back`);
    t.equal(new Set(back).size, back.length, `${what}: none twice on the way back`);
  }
});

t.test('the list of notifications refuses invalid parameters', async (t) => {
  const reader = await newReader(app);
  for (let n = 0; n < 3; n++) await insert(reader, {});
  const cursorOf = async (token: string, query: string) => {
    const { page_info } = await feed(token, `limit=1&${query}`);
    return new URL(page_info.next_page_url!, app.baseUrl).searchParams.get('cursor')!;
  };
  const cursor = await cursorOf(reader.token, '');
  const second = await newReader(app);
  for (let n = 0; n < 3; n++) await insert(second, {});
  const queries: [query: string, expected: string][] = [
    ...['0', '-1', '101', '1.5', 'abc', '', '1e1', '99999999999999999999'].map((limit): [string, string] => [
      `limit=${limit}`,
      'parameter_invalid limit',
    ]),
    ...['dismissed', 'Seen', ''].map((status): [string, string] => [
      `status=${status}`,
      'parameter_invalid status',
    ]),
    ...['order.updated', 'chat', ''].map((category): [string, string] => [
      `category=${category}`,
      'parameter_invalid category',
    ]),
    ...['agent', 'api_key', ''].map((type): [string, string] => [
      `sender_types[]=user&sender_types[]=${type}`,
      'parameter_invalid sender_types[]',
    ]),
    ...['author', 'recipient', ''].map((name): [string, string] => [
      `include[]=${name}`,
      'parameter_invalid include[]',
    ]),
    ...['sender_ids', 'sender_types', 'include', 'what', 'statuses'].map((name): [string, string] => [
      `${name}=sender`,
      `parameter_unknown ${name}`,
    ]),
    ['status=seen&status=read', 'parameter_invalid status'],
    ['sender_ids[]=nobody', 'parameter_invalid sender_ids[]'],
    [`sender_ids[]=${'x'.repeat(65)}`, 'parameter_invalid sender_ids[]'],
    [Array(101).fill('sender_ids[]=x').join('&'), 'parameter_invalid sender_ids[]'],
    [Array(101).fill('sender_types[]=user').join('&'), 'parameter_invalid sender_types[]'],
    ['q=a&search=a', 'parameters_exclusive search'],
    ['q=%00', 'parameter_invalid q'],
    ['q=%ED%A0%80', 'parameter_invalid q'],
    ['page=1', 'parameter_unknown page'],
    [`page=1&cursor=${cursor}`, 'parameters_exclusive page'],
    ...['', 'x', `${cursor}A`, cursor.slice(1), 'bnVsbA', 'W10'].map((bad): [string, string] => [
      `cursor=${bad}`,
      'parameter_invalid cursor',
    ]),
    ...['status=seen', 'category=chat.added', 'q=x', 'sender_types[]=user', `sender_ids[]=${ada.id}`].map(
      (filter): [string, string] => [`${filter}&cursor=${cursor}`, 'parameter_invalid cursor'],
    ),
    [`cursor=${await cursorOf(reader.token, 'status=unseen')}`, 'parameter_invalid cursor'],
    [`cursor=${await cursorOf(second.token, '')}`, 'parameter_invalid cursor'],
    [`cursor=${await earlierForm(cursor)}`, 'parameter_invalid cursor'],
  ];
  for (const [query, expected] of queries) {
    const answer = await app.call('GET', `${PATH}?${query}`, { token: reader.token });
    t.equal(refusalOf(answer), `400 ${expected}`, query);
  }
  t.equal((await feed(reader.token, `limit=2&cursor=${cursor}`)).data.length, 2, 'the limit may change');
});

t.test('callers see only their own feed', async (t) => {
  const reader = await newReader(app);
  const conversation = await conversationWith(reader);
  await arrived(reader.token, [(await send(conversation)).id]);
  t.strictSame(await feed(demo.api_key), envelope([]), 'a key has none, though it sees the whole account');
  const byKey = await app.call('GET', `${PATH}?limit=0`);
  t.equal(refusalOf(byKey), '400 parameter_invalid limit', 'and is checked like any other');
  t.ok((await feed(vera.access_token)).data.length > 0, 'messaging:read is all it takes');
  t.strictSame(await feed(await app.tokenOf(demo.agent.actor_id)), envelope([]), 'agents have none');
  const customer = await app.call('GET', PATH, { token: demo.customer.access_token });
  t.equal(refusalOf(customer), '403 insufficient_permissions null');
  const { api_key, account_id } = demo.other_account;
  t.strictSame(await feed(api_key, '', { headers: { 'Service-Account': account_id } }), envelope([]));

  const { data } = await feed(ada.access_token, 'limit=100');
  const owners = await database.kysely
    .selectFrom('notifications')
    .select('recipient_id')
    .distinct()
    .where('id', 'in', ['', ...data.map(({ id }) => id)])
    .execute();
  t.ok(data.length > 0, 'there is something to look at');
  t.strictSame(owners, [{ recipient_id: ada.id }]);
});

t.test('it exists since 1.0, and takes no body and no other method', async (t) => {
  const oldest = { token: vera.access_token, headers: { 'Service-Version': '1.0.harbor' } };
  t.equal((await app.call('GET', PATH, oldest)).status, 200);
  const put = await app.call('PUT', PATH, { token: vera.access_token, body: {} });
  t.equal(refusalOf(put), '405 method_not_allowed null');
  const anonymous = await app.call('GET', PATH, { headers: { Authorization: undefined } });
  t.equal(refusalOf(anonymous), '401 invalid_credentials Authorization');
});

/** A sealed cursor as it was when feeds were ordered by time and id. */
async function earlierForm(cursor: string): Promise<string> {
  const { value: secret } = await database.kysely
    .selectFrom('settings')
    .select('value')
    .where('name', '=', 'cursor_secret')
    .executeTakeFirstOrThrow();
  const seal = new CursorSeal(secret);
  const [direction, filters, id] = JSON.parse(Buffer.from(seal.open(cursor), 'base64url').toString());
  const content = JSON.stringify([direction, filters, '2026-11-22T00:00:00.000000Z', id]);
  return seal.seal(Buffer.from(content).toString('base64url'));
}

function user(actorId: string): NewParticipant {
  return { type: 'user', actorId };
}

async function customerActor(): Promise<string> {
  const { actor_id } = await database.kysely
    .selectFrom('participants')
    .select('actor_id')
    .where('id', '=', demo.customer.participant_id)
    .executeTakeFirstOrThrow();
  return actor_id!;
}

function conversationWith(...members: readonly Reader[]): Promise<string> {
  return create([user(ada.id), ...members.map(({ id }) => user(id))], 'internal');
}

async function create(
  participants: readonly NewParticipant[],
  audience: 'internal' | 'customer',
): Promise<string> {
  const { conversation } = await database.transaction((tx) =>
    createConversation(tx, {
      accountId: demo.account_id,
      type: 'group',
      title: 'Pier',
      audience,
      participants,
    }),
  );
  return conversation.id;
}

async function send(
  conversation: string,
  fields: object = {},
  token = ada.access_token,
): Promise<ChatMessage> {
  const path = `/v1/messaging/conversations/${conversation}/messages`;
  const { status, text, body } = await app.call<ChatMessage>('POST', path, {
    token,
    body: { body: 'ahoy', client_message_id: randomUUID(), ...fields },
  });
  if (status !== 201) throw new Error(`${status} ${text}`);
  return body;
}

async function feed(token: string, query = '', options: CallOptions = {}): Promise<Page> {
  return follow(`${PATH}?${query}`, token, options);
}

async function follow(url: string | null, token: string, options: CallOptions = {}): Promise<Page> {
  if (url === null) throw new Error('there is no such page');
  const { status, text, body } = await app.call<Page>('GET', url, { token, ...options });
  if (status !== 200) throw new Error(`${url}: ${status} ${text}`);
  const { page_info: info } = body;
  const flags = [info.next_page_url !== null, info.previous_page_url !== null];
  if (info.has_next_page !== flags[0] || info.has_prev_page !== flags[1]) {
    throw new Error(`flags that contradict the URLs: ${text}`);
  }
  return body;
}

/**
 * The feed, as soon as it has as many rows as messages: they come behind the answer to the send, by
 * the outbox.
 */
function arrived(token: string, messageIds: readonly string[], query = ''): Promise<Page> {
  return until(
    async () => {
      const page = await feed(token, query);
      return page.data.length >= messageIds.length ? page : undefined;
    },
    { what: `${messageIds.length} notifications` },
  );
}

async function rowsOf(messageId: string): Promise<number> {
  const rows = await database.kysely
    .selectFrom('notifications')
    .select('id')
    .where('message_id', '=', messageId)
    .execute();
  return rows.length;
}

function insert(reader: Reader, row: Row): Promise<string> {
  return insertRow(app, reader, row);
}

/**
 * At times of the same few microseconds: many share one, and new rows come between the old ones.
 */
async function insertMany(reader: Reader, random: Random, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await insert(reader, { created_at: `2026-11-21T01:02:03.00000${random.below(6)}Z` });
  }
}

function categories({ data }: Page): string[] {
  return data.map(({ category }) => category);
}

function shared(shown: readonly string[], initial: readonly string[]): string[] {
  return shown.filter((id) => initial.includes(id));
}

/** The only page of a list. */
function envelope(data: readonly Notification[]): Page {
  return {
    object: 'list',
    page_info: { next_page_url: null, previous_page_url: null, has_next_page: false, has_prev_page: false },
    data,
  };
}

function downFrom(first: number, count: number, step: number): number[] {
  return Array.from({ length: count }, (_, n) => first - n * step);
}
