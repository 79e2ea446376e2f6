/**
 * Update Conversation and a conversation's audit (docs/contract.md#updating-a-conversation) over
 * HTTP, on a whole server.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { createCustomer } from '../../src/core/accounts/actors/actors.ts';
import { CUSTOMER_SERVICE } from '../../src/core/accounts/groups/groups.ts';
import { inAnyOrder } from '../support/any-order.ts';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { until } from '../support/until.ts';
import { actor, Conversations, PATH } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const NEWEST = { headers: { 'Service-Version': NEWEST_VERSION } };
const USER = { type: 'user', actor_id: grace.id };
const ADA = actor(ada.id, 'user', 'Ada Lovelace', ada.email);
const GRACE = actor(grace.id, 'user', 'Grace Hopper', grace.email);

t.test('each field, its audit and its system message', async (t) => {
  const { conversation } = await conversations.createCase({ title: 'Parcel' });
  const { id } = conversation;
  await conversations.add(id, USER);
  const topic = { type: 'actor', id: vera.id };
  const changes = { title: 'Parcel lost', workflow_status: 'waiting_internal', assignee_id: grace.id, topic };
  const updated = await conversations.ok('PATCH', `${PATH}/${id}?include[]=assignee&include[]=topic`, {
    body: changes,
  });
  t.strictSame(updated, {
    ...conversation,
    title: 'Parcel lost',
    workflow_status: 'waiting_internal',
    assignee: GRACE,
    topic: { ...topic, object: 'entity', name: 'Vera Rubin', handle: vera.email },
    last_message_at: updated.last_message_at,
    unread: updated.unread,
    updated_at: updated.updated_at,
  });
  t.ok(updated.updated_at > conversation.updated_at);

  const again = await conversations.ok('PATCH', `${PATH}/${id}?include[]=assignee&include[]=topic`, {
    body: changes,
  });
  t.equal(again.updated_at, updated.updated_at, 'what is so already changes nothing');
  const empty = await conversations.update(id, {});
  t.equal(empty.updated_at, updated.updated_at);
  for (const field of ['workflow_status', 'status']) {
    const refused = await app.call('PATCH', `${PATH}/${id}`, { body: { title: 'x', [field]: null } });
    t.equal(refusalOf(refused), `400 missing_field ${field}`, 'it cannot be cleared');
  }

  const cleared = await conversations.ok('PATCH', `${PATH}/${id}?include[]=assignee&include[]=topic`, {
    body: { title: null, assignee_id: null, topic: null, status: 'archived' },
  });
  t.strictSame(
    [cleared.title, cleared.assignee, cleared.topic, cleared.status],
    [null, null, null, 'archived'],
  );
  const back = await conversations.update(id, { status: 'active' });
  t.equal(back.status, 'active');

  const { data } = await audit(id);
  t.strictSame(
    data.map(({ id, created_at, ...event }) => event),
    [
      event('conversation.unarchived'),
      event('conversation.archived'),
      event('conversation.topic_changed', { to: null }),
      event('conversation.assigned', { from: grace.id, to: null }),
      event('conversation.renamed', { from: 'Parcel lost', to: null }),
      event('conversation.moved', { from: 'new', to: 'waiting_internal' }),
      event('conversation.topic_changed', { to: topic }),
      event('conversation.assigned', { from: null, to: grace.id }),
      event('conversation.renamed', { from: 'Parcel', to: 'Parcel lost' }),
      event('participant.added', {
        participant_id: data[9]?.details.participant_id,
        actor_id: grace.id,
        role: 'member',
      }),
      event('conversation.created'),
    ],
  );
  for (const { id } of data) t.match(id, /^aud_\w{24}$/);

  const says = [
    'Ada Lovelace added Grace Hopper.',
    'Ada Lovelace renamed the conversation to “Parcel lost”.',
    'Ada Lovelace assigned the conversation to Grace Hopper.',
    'Ada Lovelace removed the title of the conversation.',
    'Ada Lovelace unassigned the conversation.',
  ];
  const messages = await timeline(id, says.length);
  t.strictSame(inAnyOrder(messages.map(({ body }) => body)), inAnyOrder(says));
  for (const { kind, visibility, sender, author } of messages) {
    t.strictSame([kind, visibility, sender, author], ['system_event', 'internal', null, null]);
  }
});

t.test('the customer gets system messages of resolving and reopening, without a name', async (t) => {
  const { conversation, customer } = await conversations.createCase();
  const { id } = conversation;
  await conversations.update(id, { workflow_status: 'resolved' });
  await conversations.update(id, { workflow_status: 'open' });
  const token = await app.tokenOf(customer.actor!.id);
  const seen = await timeline(id, 2, { token, ...NEWEST });
  t.strictSame(
    seen.map(({ kind, visibility, body, event }) => [kind, visibility, body, event]),
    [
      ['system_event', 'system', 'The conversation was resolved.', { type: 'resolved', by: null }],
      ['system_event', 'system', 'The conversation was reopened.', { type: 'reopened', by: null }],
    ],
  );
  const ofTeam = await timeline(id, 2, NEWEST);
  const by = ada.id;
  t.strictSame(
    ofTeam.map(({ event }) => event),
    [
      { type: 'resolved', by },
      { type: 'reopened', by },
    ],
    'the team sees by whom',
  );
  for (const message of await timeline(id, 2, { headers: { 'Service-Version': '1.3.harbor' } }))
    t.notOk('event' in message);
});

t.test('a reply that reopens a case is all that its customer gets of it', async (t) => {
  const { conversation, customer } = await conversations.createCase();
  const { id } = conversation;
  await conversations.update(id, { workflow_status: 'resolved' });
  const token = await app.tokenOf(customer.actor!.id);
  const [resolved] = await timeline(id, 1, { token });
  await conversations.ok('POST', `${PATH}/${id}/actions/mark-read`, {
    token,
    body: { sequence: resolved!.sequence },
  });
  const { id: reply } = await conversations.ok<ChatMessage>('POST', `${PATH}/${id}/messages`, {
    body: { body: 'One more thing', audience: 'customer', client_message_id: randomUUID() },
  });
  const left = async () => {
    const query = "SELECT FROM outbox WHERE payload ->> 'conversation_id' = $1";
    return (await database.pool.query(query, [id])).rowCount;
  };
  await until(async () => (await left()) === 0, { what: 'all that follows from it' });
  const seen = await conversations.get(id, 'include[]=last_message', { token });
  t.match(seen, { unread: 1, last_message: { id: reply } });
  const { data } = await conversations.ok<List<AuditEvent>>('GET', `${PATH}/${id}/audit`);
  const moves = data.filter(({ action }) => action === 'conversation.moved');
  t.match(moves[0]!.details, { from: 'resolved', to: 'waiting_external' }, 'the audit has it');
});

t.test('the workflow status is changed by hand', async (t) => {
  const { conversation } = await conversations.createCase();
  const { id } = conversation;
  const move = async (workflow_status: string) =>
    app.call<Conversation & { error?: never }>('PATCH', `${PATH}/${id}`, { body: { workflow_status } });
  for (const lane of [
    'open',
    'waiting_internal',
    'waiting_external',
    'resolved',
    'waiting_internal',
    'resolved',
    'open',
  ]) {
    t.equal((await move(lane)).body.workflow_status, lane);
  }
  for (const lane of ['new', 'needs_approval']) {
    t.match(await move(lane), {
      status: 409,
      body: { error: { code: 'resource_conflict', param: 'workflow_status' } },
    });
  }
  await database.kysely
    .updateTable('conversations')
    .set({ workflow_status: 'needs_approval', lane_behind: 'open' })
    .where('id', '=', id)
    .execute();
  t.equal((await move('needs_approval')).status, 200, 'where it is already');
  for (const lane of ['open', 'resolved', 'waiting_external']) {
    t.match(
      await move(lane),
      { status: 409, body: { error: { code: 'resource_conflict' } } },
      'a draft is open',
    );
  }
});

t.test('updating a conversation refuses invalid requests', async (t) => {
  const group = await conversations.create({ participants: [USER] });
  const { conversation: aCase } = await conversations.createCase();
  const { direct } = demo.conversations;
  const { id: customer } = await createCustomer(database, {
    accountId: demo.account_id,
    name: 'Carl',
  });
  const elsewhere = await actorOf(demo.other_account.account_id);
  const before = await conversations.get(group.id);
  const refusals: [what: string, id: string, body: object, expected: string][] = [
    ['an unknown field', group.id, { audience: 'customer' }, '422 validation_failed audience'],
    ['an empty title', group.id, { title: '' }, '422 validation_failed title'],
    ['a long title', group.id, { title: 'x'.repeat(201) }, '422 validation_failed title'],
    ['a title that is no string', group.id, { title: {} }, '400 invalid_format title'],
    ['a title for a direct message', direct, { title: 'Us' }, '422 validation_failed title'],
    ['an owner of a direct message', direct, { assignee_id: ada.id }, '422 validation_failed assignee_id'],
    ['a lane for the team', group.id, { workflow_status: 'open' }, '422 validation_failed workflow_status'],
    ['an unknown lane', aCase.id, { workflow_status: 'stuck' }, '422 validation_failed workflow_status'],
    ['hidden, which is one’s own', group.id, { status: 'hidden' }, '422 validation_failed status'],
    ['an unknown assignee', group.id, { assignee_id: newId('actor') }, '404 resource_not_found assignee_id'],
    [
      'another account’s assignee',
      group.id,
      { assignee_id: elsewhere },
      '404 resource_not_found assignee_id',
    ],
    ['a user who cannot read it', group.id, { assignee_id: vera.id }, '422 validation_failed assignee_id'],
    ['an agent', group.id, { assignee_id: demo.agent.actor_id }, '422 validation_failed assignee_id'],
    ['a customer', aCase.id, { assignee_id: customer }, '422 validation_failed assignee_id'],
    [
      'an unknown topic',
      group.id,
      { topic: { type: 'entity', id: newId('entity') } },
      '404 resource_not_found topic.id',
    ],
    ['a topic without type', group.id, { topic: { id: 'x' } }, '400 missing_field topic.type'],
    [
      'one bad field among good ones',
      group.id,
      { title: 'Good', assignee_id: vera.id },
      '422 validation_failed assignee_id',
    ],
    ['an unknown conversation', newId('conversation'), { title: 'x' }, '404 resource_not_found id'],
  ];
  for (const [what, id, body, expected] of refusals) {
    t.equal(
      refusalOf(await app.call('PATCH', `${PATH}/${id}`, { body, token: ada.access_token })),
      expected,
      what,
    );
  }
  t.strictSame(await conversations.get(group.id), before);

  const persona = await conversations.ok('PATCH', `${PATH}/${aCase.id}?include[]=assignee`, {
    body: { assignee_id: await personaOf(demo.account_id) },
  });
  t.match(persona.assignee, { type: 'group', name: CUSTOMER_SERVICE }, 'a group may own a case');
  const admin = await conversations.create({}, { token: grace.access_token });
  await conversations.update(admin.id, { assignee_id: ada.id });
  t.pass('an admin of the account reads everything');

  const off = await app.call<{ id: string }>('POST', '/v1/users', {
    body: { name: 'Off', email: 'off@example.com', role_id: await roleOf(grace.id) },
  });
  const { status } = await app.call('POST', `/v1/users/${off.body.id}/actions/deactivate`, {
    headers: { 'Service-Version': '1.2.harbor' },
  });
  t.equal(status, 200);
  const answer = await app.call('PATCH', `${PATH}/${group.id}`, { body: { assignee_id: off.body.id } });
  t.equal(refusalOf(answer), '422 validation_failed assignee_id');
  t.match(answer.body.error.message, /^This actor is deactivated\./);
});

t.test('updating a conversation requires its permission', async (t) => {
  const { id } = await conversations.create({
    title: 'Ours',
    participants: [USER, { type: 'user', actor_id: vera.id }],
  });
  const admined = await conversations.create({ participants: [{ ...USER, role: 'admin' }] });
  const viewed = await conversations.create({ participants: [{ ...USER, role: 'viewer' }] });
  const strange = await conversations.create();
  const path = `${PATH}/${id}`;
  const { api_key, account_id } = demo.other_account;
  const by = { token: grace.access_token };
  const calls: [what: string, path: string, body: object, options: CallOptions, expected: string][] = [
    ['nobody', path, {}, { headers: { Authorization: undefined } }, '401 invalid_credentials Authorization'],
    ['without messaging:update', path, {}, { token: vera.access_token }, '403 insufficient_permissions null'],
    ['a customer', path, {}, { token: demo.customer.access_token }, '403 insufficient_permissions null'],
    [
      'an older version',
      path,
      {},
      { headers: { 'Service-Version': '1.0.harbor' } },
      '400 api_version_too_old Service-Version',
    ],
    ['a member renames', path, { title: 'Mine' }, by, '403 insufficient_permissions null'],
    ['a member archives', path, { status: 'archived' }, by, '403 insufficient_permissions null'],
    ['a viewer', `${PATH}/${viewed.id}`, { topic: null }, by, '403 insufficient_permissions null'],
    ['not a member', `${PATH}/${strange.id}`, {}, by, '404 resource_not_found id'],
    [
      'another account',
      path,
      {},
      { token: api_key, headers: { 'Service-Account': account_id } },
      '404 resource_not_found id',
    ],
  ];
  for (const [what, path, body, options, expected] of calls) {
    t.equal(refusalOf(await app.call('PATCH', path, { body, ...options })), expected, what);
  }
  t.equal((await conversations.update(admined.id, { title: 'Mine', status: 'archived' }, by)).title, 'Mine');
  t.equal((await conversations.update(id, { title: 'By key' }, { token: demo.api_key })).title, 'By key');
  const topic = { type: 'actor', id: ada.id };
  t.ok(await conversations.update(id, { assignee_id: grace.id, topic }, by), 'a member works on it');
  const { direct } = demo.conversations;
  t.equal((await conversations.update(direct, { status: 'archived' }, by)).status, 'archived');
  t.equal((await conversations.update(direct, { status: 'active' }, by)).status, 'active');

  const absent = await app.call('GET', `${PATH}/${newId('conversation')}/audit`);
  t.equal(refusalOf(absent), '404 resource_not_found id');
  for (const [what, options, expected] of [
    ['not a member', by, '404 resource_not_found id'],
    [
      'another account',
      { token: api_key, headers: { 'Service-Account': account_id } },
      '404 resource_not_found id',
    ],
    ['a customer', { token: demo.customer.access_token }, '403 insufficient_permissions null'],
  ] as const) {
    const answer = await app.call('GET', `${PATH}/${strange.id}/audit`, options);
    t.equal(refusalOf(answer), expected, `the audit: ${what}`);
    if (answer.status === 404) t.equal(answer.text, absent.text);
  }
  const ofVera = await audit(id, '', { token: vera.access_token });
  t.ok(ofVera.data.length > 0, 'a member with messaging:read reads the audit');
});

t.test('the audit of a conversation is read in pages', async (t) => {
  const { id } = await conversations.create();
  for (let n = 1; n <= 4; n++) await conversations.update(id, { title: `${n}` });
  const whole = await audit(id);
  t.equal(whole.data.length, 5);
  const first = await audit(id, 'limit=2');
  const second = await conversations.ok<Page>('GET', first.page_info.next_page_url!);
  const third = await conversations.ok<Page>('GET', second.page_info.next_page_url!);
  const limited = await conversations.ok<Page>('GET', third.page_info.previous_page_url!);
  t.strictSame([...first.data, ...second.data, ...third.data], whole.data);
  t.strictSame(limited.data, second.data);
  t.equal(third.page_info.next_page_url, null);
  const other = await conversations.create();
  const cursor = new URL(first.page_info.next_page_url!, app.baseUrl).searchParams.get('cursor');
  const answer = await app.call('GET', `${PATH}/${other.id}/audit?cursor=${cursor}`);
  t.equal(refusalOf(answer), '400 parameter_invalid cursor');
  t.equal(refusalOf(await app.call('GET', `${PATH}/${id}/audit?q=x`)), '400 parameter_unknown q');
});

type Page = List<AuditEvent>;

function audit(id: string, query = '', options: CallOptions = {}): Promise<Page> {
  return conversations.ok<Page>('GET', `${PATH}/${id}/audit?${query}`, options);
}

function event(action: string, details: object = {}) {
  return { object: 'audit_event', action, actor: ADA, details };
}

/** The messages of a conversation, once there are so many, oldest first. */
function timeline(id: string, count: number, options: CallOptions = {}): Promise<readonly ChatMessage[]> {
  return until(
    async () => {
      const path = `${PATH}/${id}/messages?after_sequence=0`;
      const { data } = await conversations.ok<List<ChatMessage>>('GET', path, options);
      return data.length >= count ? data : undefined;
    },
    { what: `${count} messages` },
  );
}

async function actorOf(accountId: string): Promise<string> {
  const { actor_id } = await database.kysely
    .selectFrom('api_keys')
    .select('actor_id')
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow();
  return actor_id;
}

async function personaOf(accountId: string): Promise<string> {
  const { actor_id } = await database.kysely
    .selectFrom('messaging_groups')
    .select('actor_id')
    .where('account_id', '=', accountId)
    .where('name', '=', CUSTOMER_SERVICE)
    .executeTakeFirstOrThrow();
  return actor_id;
}

async function roleOf(actorId: string): Promise<string> {
  const { role_id } = await database.kysely
    .selectFrom('actors')
    .select('role_id')
    .where('id', '=', actorId)
    .executeTakeFirstOrThrow();
  return role_id!;
}
