/** Create Conversation (docs/contract.md#creating-a-conversation) over HTTP, on a whole server. */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import t from 'tap';
import { createCustomer } from '../../src/core/accounts/actors/actors.ts';
import { createGroup } from '../../src/core/accounts/groups/groups.ts';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { until } from '../support/until.ts';
import { actor, Conversations, PATH, shown } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const USER = { type: 'user', actor_id: grace.id };
const AGENT = { type: 'agent', actor_id: demo.agent.actor_id };
const ADA = actor(ada.id, 'user', 'Ada Lovelace', ada.email);
const GRACE = actor(grace.id, 'user', 'Grace Hopper', grace.email);
const ASSISTANT = actor(demo.agent.actor_id, 'agent', 'Assistant');

t.test('a group: its creator is its owner', async (t) => {
  const { status, body: created } = await conversations.answer<Conversation>('POST', PATH, {
    body: { type: 'group', title: 'Pier 4', participants: [USER] },
  });
  t.equal(status, 201);
  t.strictSame(created, shown({ id: created.id, title: 'Pier 4', created_at: created.created_at }));
  t.match(created.id, /^cnv_\w{24}$/);
  t.match(created.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  t.strictSame(await conversations.get(created.id), created);
  t.strictSame(
    (await conversations.members(created.id)).map(({ role, actor }) => [role, actor?.id]),
    [
      ['owner', ada.id],
      ['member', grace.id],
    ],
  );
});

t.test('include[]: what was made, with every sub-object and each of its fields', async (t) => {
  const roster = await newRoster([grace.id, demo.agent.actor_id]);
  const topic = { type: 'actor', id: vera.id };
  const { body: created } = await conversations.answer<Conversation>(
    'POST',
    `${PATH}?include[]=assignee&include[]=group&include[]=participants&include[]=topic&include[]=last_message`,
    {
      body: {
        type: 'group',
        audience: 'customer',
        title: 'Late parcel',
        group_id: roster.id,
        topic,
        participants: [
          {
            ...AGENT,
            role: 'viewer',
            agent_trigger_policy: 'keyword',
            agent_trigger_keywords: ['parcel', 'late'],
          },
          { type: 'customer', name: 'Cleo', email: 'cleo@example.net' },
        ],
      },
    },
  );
  const participants = created.participants ?? [];
  const customer = participants[2]?.actor;
  const common = { object: 'conversation_participant', membership: 'active', notifications: 'unmuted' };
  const plain = { agent_trigger_policy: null, agent_trigger_keywords: [] };
  t.strictSame(created, {
    ...shown({ id: created.id, created_at: created.created_at, title: 'Late parcel', audience: 'customer' }),
    workflow_status: 'new',
    group: {
      id: roster.id,
      object: 'messaging_group',
      name: roster.name,
      members: null,
      created_at: roster.created_at,
      updated_at: roster.updated_at,
    },
    participants: [
      { id: participants[0]?.id, ...common, type: 'user', role: 'owner', actor: ADA, ...plain },
      {
        id: participants[1]?.id,
        ...common,
        type: 'agent',
        role: 'viewer',
        actor: ASSISTANT,
        agent_trigger_policy: 'keyword',
        agent_trigger_keywords: ['parcel', 'late'],
      },
      {
        id: participants[2]?.id,
        ...common,
        type: 'customer',
        role: 'member',
        ...plain,
        actor: actor(customer!.id, 'user', 'Cleo', 'cleo@example.net'),
      },
      { id: participants[3]?.id, ...common, type: 'user', role: 'member', actor: GRACE, ...plain },
    ],
    topic: { ...topic, object: 'entity', name: 'Vera Rubin', handle: vera.email },
  });
  t.match(participants[0]?.id, /^prt_\w{24}$/);
  t.equal(
    new Set(participants.map(({ id }) => id)).size,
    4,
    'listed ones come once, whatever roster they are in',
  );
  const nothing = await conversations.create();
  const {
    assignee,
    group,
    participants: alone,
    topic: none,
    last_message,
  } = await conversations.get(
    nothing.id,
    'include[]=assignee&include[]=group&include[]=participants&include[]=topic&include[]=last_message',
  );
  t.strictSame([assignee, group, none, last_message, alone?.length], [null, null, null, null, 1]);
});

t.test('the customer of a case is one that is known, or a new one', async (t) => {
  const { id } = await createCustomer(database, { accountId: demo.account_id, name: 'Carla' });
  const known = await conversations.createCase({ participants: [{ type: 'customer', actor_id: id }] });
  t.strictSame(known.customer.actor, actor(id, 'user', 'Carla'));
  const { customer } = await conversations.createCase();
  t.not(customer.actor?.id, id);
  const { customer: unnamed } = await database.kysely
    .selectFrom('actors')
    .select('customer')
    .where('id', '=', customer.actor!.id)
    .executeTakeFirstOrThrow();
  t.equal(unnamed, true);
  const nobody = await conversations.create({ audience: 'customer' });
  t.equal(nobody.workflow_status, 'new', 'the customer may come later');
});

t.test('an API key is not in what it creates, an agent is', async (t) => {
  const byKey = await conversations.create({ participants: [USER] }, { token: demo.api_key });
  t.strictSame(
    (await conversations.members(byKey.id)).map(({ actor }) => actor?.id),
    [grace.id],
  );
  const token = await app.tokenOf(demo.agent.actor_id);
  const byAgent = await conversations.create({ participants: [USER] }, { token });
  t.strictSame(
    (await conversations.members(byAgent.id)).map(({ role, type, agent_trigger_policy, actor }) => [
      role,
      type,
      agent_trigger_policy,
      actor?.id,
    ]),
    [
      ['owner', 'agent', 'mention', demo.agent.actor_id],
      ['member', 'user', null, grace.id],
    ],
  );
});

t.test('a creator in the list of participants is still the owner', async (t) => {
  const { id } = await conversations.create({
    participants: [USER, { type: 'user', actor_id: ada.id, role: 'viewer' }],
  });
  t.strictSame(
    (await conversations.members(id)).map(({ role, actor }) => [role, actor?.id]),
    [
      ['owner', ada.id],
      ['member', grace.id],
    ],
  );
});

t.test('a direct message of two users exists once', async (t) => {
  const body = { type: 'direct_message', participants: [{ type: 'user', actor_id: vera.id }] };
  const first = await conversations.answer<Conversation>('POST', PATH, { body });
  t.equal(first.status, 201);
  t.strictSame(
    first.body,
    shown({ id: first.body.id, type: 'direct_message', created_at: first.body.created_at }),
  );
  const both = [vera.id, ada.id].map((actor_id) => ({ type: 'user', actor_id }));
  for (const [what, options] of [
    ['again', { body }],
    ['with both listed', { body: { ...body, participants: both } }],
    ['by a key', { body: { ...body, participants: both }, token: demo.api_key }],
  ] as const) {
    const answer = await conversations.answer<Conversation>('POST', PATH, options);
    t.equal(answer.status, 200, what);
    t.strictSame(answer.body, first.body, what);
  }
  const seeded = await conversations.answer<Conversation>('POST', PATH, {
    token: grace.access_token,
    body: { type: 'direct_message', participants: [{ type: 'user', actor_id: ada.id }] },
  });
  t.strictSame([seeded.status, seeded.body.id], [200, demo.conversations.direct]);
});

t.test('two at once make one direct message', async (t) => {
  const asked = await Promise.all(
    Array.from({ length: 8 }, () =>
      conversations.answer<Conversation>('POST', PATH, {
        token: grace.access_token,
        body: {
          type: 'direct_message',
          participants: [{ type: 'user', actor_id: vera.id }],
        },
      }),
    ),
  );
  t.equal(new Set(asked.map(({ body }) => body.id)).size, 1);
  t.strictSame(asked.map(({ status }) => status).sort(), [...Array(7).fill(200), 201]);
});

t.test('creating a conversation refuses invalid bodies', async (t) => {
  const group = { type: 'group', participants: [] };
  const direct = { type: 'direct_message', participants: [USER] };
  const aCase = { ...group, audience: 'customer' };
  const customer = { type: 'customer', name: 'Cleo' };
  const { id: carla } = await createCustomer(database, { accountId: demo.account_id, name: 'Carla' });
  const elsewhere = await actorOf(demo.other_account.account_id);
  const key = await actorOf(demo.account_id);
  const inGroup = (participant: object) => ({ ...group, participants: [participant] });
  const inCase = (participant: object) => ({ ...aCase, participants: [participant] });
  const refusals: [what: string, body: object, expected: string][] = [
    ['no type', { participants: [] }, '400 missing_field type'],
    ['type null', { ...group, type: null }, '400 missing_field type'],
    ['a type of its own', { ...group, type: 'channel' }, '422 validation_failed type'],
    ['the service’s type', { ...group, type: 'system' }, '422 validation_failed type'],
    ['type of another JSON type', { ...group, type: 1 }, '400 invalid_format type'],
    ['participants no array', { ...group, participants: {} }, '400 invalid_format participants'],
    [
      '101 participants',
      { ...group, participants: Array(101).fill(USER) },
      '422 validation_failed participants',
    ],
    ['a title of two lines', { ...group, title: 'a\nb' }, '422 validation_failed title'],
    ['an unknown field', { ...group, color: 'red' }, '422 validation_failed color'],
    ['an unknown audience', { ...group, audience: 'all' }, '422 validation_failed audience'],
    ['an empty title', { ...group, title: '' }, '422 validation_failed title'],
    ['a long title', { ...group, title: 'x'.repeat(201) }, '422 validation_failed title'],
    ['a title that is a number', { ...group, title: 7 }, '400 invalid_format title'],
    ['an unknown group', { ...group, group_id: newId('group') }, '404 resource_not_found group_id'],
    ['a topic without id', { ...group, topic: { type: 'entity' } }, '400 missing_field topic.id'],
    [
      'a topic of its own type',
      { ...group, topic: { type: 'x', id: 'y' } },
      '422 validation_failed topic.type',
    ],
    [
      'an unknown topic',
      { ...group, topic: { type: 'entity', id: newId('entity') } },
      '404 resource_not_found topic.id',
    ],
    [
      'another account as topic',
      { ...group, topic: { type: 'account', id: demo.other_account.account_id } },
      '404 resource_not_found topic.id',
    ],

    ['a participant without type', inGroup({ actor_id: grace.id }), '400 missing_field participants[0].type'],
    ['of an unknown type', inGroup({ ...USER, type: 'bot' }), '422 validation_failed participants[0].type'],
    [
      'of the type system',
      inGroup({ ...USER, type: 'system' }),
      '422 validation_failed participants[0].type',
    ],
    ['without actor_id', inGroup({ type: 'user' }), '400 missing_field participants[0].actor_id'],
    [
      'an unknown actor',
      inGroup({ ...USER, actor_id: newId('actor') }),
      '404 resource_not_found participants[0].actor_id',
    ],
    [
      'an actor of another account',
      inGroup({ ...USER, actor_id: elsewhere }),
      '404 resource_not_found participants[0].actor_id',
    ],
    [
      'a user as agent',
      inGroup({ ...AGENT, actor_id: grace.id }),
      '422 validation_failed participants[0].type',
    ],
    [
      'an agent as user',
      inGroup({ ...USER, actor_id: demo.agent.actor_id }),
      '422 validation_failed participants[0].type',
    ],
    ['a key as user', inGroup({ ...USER, actor_id: key }), '422 validation_failed participants[0].type'],
    [
      'a customer as user',
      inCase({ ...USER, actor_id: carla }),
      '422 validation_failed participants[0].type',
    ],
    [
      'a user as customer',
      inCase({ type: 'customer', actor_id: grace.id }),
      '422 validation_failed participants[0].type',
    ],
    ['an unknown role', inGroup({ ...USER, role: 'guest' }), '422 validation_failed participants[0].role'],
    [
      'the same one twice',
      { ...group, participants: [USER, AGENT, USER] },
      '422 validation_failed participants[2].actor_id',
    ],
    [
      'a policy for a user',
      inGroup({ ...USER, agent_trigger_policy: 'always' }),
      '422 validation_failed participants[0].agent_trigger_policy',
    ],
    [
      'keywords for a user',
      inGroup({ ...USER, agent_trigger_keywords: ['x'] }),
      '422 validation_failed participants[0].agent_trigger_keywords',
    ],
    [
      'an unknown policy',
      inGroup({ ...AGENT, agent_trigger_policy: 'never' }),
      '422 validation_failed participants[0].agent_trigger_policy',
    ],
    [
      'keyword without keywords',
      inGroup({ ...AGENT, agent_trigger_policy: 'keyword' }),
      '400 missing_field participants[0].agent_trigger_keywords',
    ],
    [
      'keyword with none',
      inGroup({ ...AGENT, agent_trigger_policy: 'keyword', agent_trigger_keywords: [] }),
      '400 missing_field participants[0].agent_trigger_keywords',
    ],
    [
      'always with keywords',
      inGroup({ ...AGENT, agent_trigger_policy: 'always', agent_trigger_keywords: ['x'] }),
      '422 validation_failed participants[0].agent_trigger_keywords',
    ],
    [
      'an empty keyword',
      inGroup({ ...AGENT, agent_trigger_keywords: [''] }),
      '422 validation_failed participants[0].agent_trigger_keywords[0]',
    ],
    [
      '51 keywords',
      inGroup({ ...AGENT, agent_trigger_keywords: Array(51).fill('x') }),
      '422 validation_failed participants[0].agent_trigger_keywords',
    ],

    ['a customer on a team conversation', inGroup(customer), '422 validation_failed participants[0].type'],
    [
      'a customer without name or actor',
      inCase({ type: 'customer' }),
      '400 missing_field participants[0].actor_id',
    ],
    [
      'a new customer with an address alone',
      inCase({ type: 'customer', email: 'c@example.net' }),
      '400 missing_field participants[0].name',
    ],
    [
      'a customer with both',
      inCase({ ...customer, actor_id: carla }),
      '422 validation_failed participants[0].name',
    ],
    [
      'a customer with a bad address',
      inCase({ ...customer, email: 'cleo' }),
      '400 invalid_format participants[0].email',
    ],
    [
      'a customer as owner',
      inCase({ ...customer, role: 'owner' }),
      '422 validation_failed participants[0].role',
    ],
    ['a name for a user', inGroup({ ...USER, name: 'Grace' }), '422 validation_failed participants[0].name'],

    [
      'a direct message with itself',
      { ...direct, participants: [{ ...USER, actor_id: ada.id }] },
      '422 validation_failed participants',
    ],
    ['with nobody', { ...direct, participants: [] }, '422 validation_failed participants'],
    [
      'of three',
      { ...direct, participants: [USER, { ...USER, actor_id: vera.id }] },
      '422 validation_failed participants',
    ],
    ['of four', { ...direct, participants: [USER, USER, USER] }, '422 validation_failed participants'],
    ['with an agent', { ...direct, participants: [AGENT] }, '422 validation_failed participants[0].type'],
    ['with a title', { ...direct, title: 'Us' }, '422 validation_failed title'],
    ['with a customer audience', { ...direct, audience: 'customer' }, '422 validation_failed audience'],
    ['with a group', { ...direct, group_id: newId('group') }, '422 validation_failed group_id'],
  ];
  const before = await count();
  for (const [what, body, expected] of refusals) {
    t.equal(refusalOf(await app.call('POST', PATH, { body, token: ada.access_token })), expected, what);
  }
  t.equal(await count(), before, 'and nothing is left of any');

  const asKey = await app.call('POST', PATH, { body: direct });
  t.equal(refusalOf(asKey), '422 validation_failed participants', 'a key names both');
  const agent = await app.call('POST', PATH, { body: direct, token: await app.tokenOf(demo.agent.actor_id) });
  t.equal(refusalOf(agent), '422 validation_failed type', 'an agent is no user');
  const include = await app.call('POST', `${PATH}?include[]=messages`, { body: group });
  t.equal(refusalOf(include), '400 parameter_invalid include[]');
});

t.test('creating a conversation requires its permission', async (t) => {
  const body = { type: 'group', participants: [] };
  const callers: [what: string, options: CallOptions, expected: string][] = [
    ['nobody', { headers: { Authorization: undefined } }, '401 invalid_credentials Authorization'],
    ['without messaging:create', { token: vera.access_token }, '403 insufficient_permissions null'],
    ['a customer', { token: demo.customer.access_token }, '403 insufficient_permissions null'],
    [
      'an older version',
      { headers: { 'Service-Version': '1.0.harbor' } },
      '400 api_version_too_old Service-Version',
    ],
  ];
  for (const [what, options, expected] of callers) {
    t.equal(refusalOf(await app.call('POST', PATH, { body, ...options })), expected, what);
  }
  t.equal((await app.call('POST', PATH, { body, token: grace.access_token })).status, 201);
});

t.test('an Idempotency-Key makes one conversation', async (t) => {
  const options = {
    body: { type: 'group', title: 'Once', participants: [USER] },
    headers: { 'Idempotency-Key': randomUUID() },
  };
  const first = await conversations.answer('POST', PATH, options);
  const again = await conversations.answer('POST', PATH, options);
  t.strictSame([again.status, again.text], [first.status, first.text]);
  t.equal(again.headers.get('Idempotent-Replayed'), 'true');
  const { data } = await conversations.ok<List<Conversation>>('GET', `${PATH}?q=Once`);
  t.equal(data.length, 1);
});

t.test('its members get the event, except its creator', async (t) => {
  const { id } = await conversations.create({
    title: 'Told',
    participants: [USER, AGENT, { type: 'user', actor_id: vera.id }],
  });
  const told = async ({ access_token }: { access_token: string }) => {
    const path = '/v1/messaging/notifications?category=chat.added&include[]=sender&include[]=resource';
    const { data } = await conversations.ok<List<Notification>>('GET', path, { token: access_token });
    return data.filter(({ resource }) => resource?.id === id);
  };
  for (const user of [grace, vera]) {
    await until(async () => (await told(user)).length > 0, { what: 'the notification' });
    const [notification, ...more] = await told(user);
    t.strictSame([notification?.sender, more.length], [ADA, 0]);
  }
  t.strictSame(await told(ada), []);
  const [event] = await auditOf(id);
  t.strictSame(event, {
    id: event?.id,
    object: 'audit_event',
    action: 'conversation.created',
    actor: ADA,
    details: {},
    created_at: event?.created_at,
  });
});

async function auditOf(id: string) {
  const { data } = await conversations.ok<List<{ id: string; created_at: string }>>(
    'GET',
    `${PATH}/${id}/audit`,
  );
  return data;
}

async function count(): Promise<number> {
  const counted = await database.kysely
    .selectFrom(['conversations', 'actors'])
    .select((select) => select.fn.countAll().as('rows'))
    .executeTakeFirstOrThrow();
  return Number(counted.rows);
}

/** The actor of some key of an account. */
async function actorOf(accountId: string): Promise<string> {
  const { actor_id } = await database.kysely
    .selectFrom('api_keys')
    .select('actor_id')
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow();
  return actor_id;
}

function newRoster(members: readonly string[]) {
  return database.transaction((tx) =>
    createGroup(tx, { accountId: demo.account_id, name: randomUUID(), members }),
  );
}
