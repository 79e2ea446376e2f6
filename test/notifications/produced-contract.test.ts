/**
 * Notifications of producers: alerts (docs/contract.md#alerts) and notifications
 * (docs/contract.md#producing-notifications).
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import { sql } from 'kysely';
import t from 'tap';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { findRole } from '../../src/core/accounts/rights/roles.ts';
import { MESSAGES_SENT } from '../../src/core/messages/outbox-topics.ts';
import { enqueue } from '../../src/platform/db/queue/outbox.ts';
import { personWith } from '../accounts/fixture.ts';
import { accepted, asNeighbour } from '../agents/bodies.ts';
import { Runs } from '../agents/runs.ts';
import { type CallOptions, type Refusal, refusalOf, startTestApp } from '../support/app.ts';
import { ModelServer } from '../support/model-server.ts';
import { until } from '../support/until.ts';
import { newReader } from './readers.ts';

const PREVIEW = { 'Service-Version': '1.2.harbor' };
const ALERTS = '/v1/messaging/alerts';
const NOTIFICATIONS = '/v1/messaging/notifications';

const models = await ModelServer.start(t);
models.otherwise(() => 'Done.');
const app = await startTestApp(t, models.env('only'));
const { database, demo } = app;
const { ada, grace, vera } = demo.users;

const post = <Body>(path: string, body: object, { headers, ...options }: CallOptions = {}) =>
  app.call<Body & Refusal>('POST', path, { body, headers: { ...PREVIEW, ...headers }, ...options });
const alert = (body: object, options?: CallOptions) =>
  post<ChatMessage>(`${ALERTS}?include[]=sender`, { title: 'Crane 4 is down', ...body }, options);
const notify = (body: object, options?: CallOptions) => {
  const given = { recipient_ids: [vera.id], category: 'order.updated', title: 'Your order left', ...body };
  return post<List<Notification>>(NOTIFICATIONS, given, options);
};
const feed = async ({ access_token: token }: { access_token: string }, query = '') =>
  accepted(
    await app.call<List<Notification>>(
      'GET',
      `${NOTIFICATIONS}?include[]=sender&include[]=resource&limit=100&${query}`,
      { token },
    ),
  ).data;
/** The notification with this text, once it is there. */
const noticed = (user: { access_token: string }, text: string) =>
  until(async () => (await feed(user)).find(({ title, body }) => `${title} ${body}`.includes(text)), {
    what: `a notification of ${text}`,
  });

t.test('an alert reaches the admins in the system conversation of the account', async (t) => {
  const text = randomUUID();
  const made = accepted(await alert({ body: `Since nine. ${text}`, priority: 'high' }), 201);
  t.match(made, {
    object: 'chat_message',
    kind: 'alert',
    status: 'sent',
    visibility: 'internal',
    subject: null,
    body: `Crane 4 is down\n\nSince nine. ${text}`,
    client_message_id: null,
    sender: { type: 'api_key' },
  });
  t.match(await noticed(ada, text), {
    category: 'system.broadcast',
    priority: 'high',
    sender: { type: 'api_key' },
    resource: { type: 'entity', name: 'Alerts' },
  });
  const { body: shown } = await app.call<ChatMessage>(
    'GET',
    `/v1/messaging/messages/${made.id}?include[]=conversation`,
  );
  t.match(shown.conversation, { type: 'system', title: 'Alerts' });
  const again = accepted(await alert({ priority: 'low' }), 201);
  t.equal(again.body, 'Crane 4 is down');
  t.equal(again.sequence, made.sequence! + 1, 'the same conversation');
  await until(async () => (await feed(ada)).some(({ priority }) => priority === 'low'), {
    what: 'a notification of the second alert',
  });
  t.notOk(
    (await feed(grace)).some(({ category }) => category === 'system.broadcast'),
    'admins alone',
  );

  // Its notifications are made behind the commit: another node may have to make them.
  await database.kysely.deleteFrom('notifications').where('message_id', '=', made.id).execute();
  await database.transaction((tx) =>
    enqueue(tx, MESSAGES_SENT, { messages: [{ conversation_id: shown.conversation!.id, id: made.id }] }),
  );
  t.match(await noticed(ada, text), { priority: 'high' });

  const key = { headers: { 'Idempotency-Key': randomUUID() } };
  const answers = [await alert({ body: 'once' }, key), await alert({ body: 'once' }, key)];
  t.equal(answers[1]!.headers.get('Idempotent-Replayed'), 'true');
  t.strictSame(answers[1]!.body, answers[0]!.body);
  t.equal(refusalOf(await alert({ body: 'twice' }, key)), '422 validation_failed Idempotency-Key');
  accepted(await alert({}, asNeighbour(app)), 201);
});

t.test('in a named conversation the rules of sends hold', async (t) => {
  const { group, case: caseId } = demo.conversations;
  const producer = await personWith(app, ['alerts:create']);
  const text = randomUUID();
  accepted(await alert({ body: text, conversation_id: group }, { token: demo.api_key }), 201);
  t.match(await noticed(grace, text), { priority: 'normal', resource: { id: group } });
  const refused = async (body: object, options: CallOptions = {}) => refusalOf(await alert(body, options));
  const NOT_FOUND = '404 resource_not_found conversation_id';
  t.equal(await refused({ conversation_id: group }, producer), NOT_FOUND, 'no member');
  t.equal(await refused({ conversation_id: newId('conversation') }), NOT_FOUND);
  t.equal(await refused({ conversation_id: group }, asNeighbour(app)), NOT_FOUND);
  accepted(await alert({}, producer), 201);

  const note = accepted(await alert({ title: 'Only the team', conversation_id: caseId }), 201);
  const seen = await app.call<List<ChatMessage>>('GET', `/v1/messaging/conversations/${caseId}/messages`, {
    token: demo.customer.access_token,
  });
  t.notOk(
    seen.body.data.some(({ id }) => id === note.id),
    'the customer does not see it',
  );

  const members = [producer.id, vera.id].map((actor_id, n) => ({
    type: 'user',
    actor_id,
    role: n === 0 ? 'viewer' : 'member',
  }));
  const { id } = accepted(
    await post<Conversation>('/v1/messaging/conversations', { type: 'group', participants: members }),
    201,
  );
  t.equal(await refused({ conversation_id: id }, producer), '403 insufficient_permissions null', 'a viewer');
  accepted(await app.call('PATCH', `/v1/messaging/conversations/${id}`, { body: { status: 'archived' } }));
  t.equal(await refused({ conversation_id: id }), '409 resource_conflict null');
  accepted(await app.call('DELETE', `/v1/messaging/conversations/${id}`, { headers: PREVIEW }));
  t.equal(await refused({ conversation_id: id }), '410 resource_gone conversation_id');

  for (const [what, body, refusal] of [
    ['no title', { title: null }, '400 missing_field title'],
    ['a blank title', { title: ' \t' }, '422 validation_failed title'],
    ['two lines', { title: 'a\nb' }, '422 validation_failed title'],
    ['an escape', { title: 'a\u001b[2J' }, '422 validation_failed title'],
    ['a long title', { title: 'x'.repeat(201) }, '422 validation_failed title'],
    ['a long text', { body: 'x'.repeat(39_001) }, '422 validation_failed body'],
    ['an unknown priority', { priority: 'urgent' }, '422 validation_failed priority'],
    ['a subject', { subject: 'a' }, '422 validation_failed subject'],
    ['a number', { title: 1 }, '400 invalid_format title'],
  ] as const) {
    t.equal(await refused(body), refusal, what);
  }
  t.equal(
    accepted(await alert({ title: 'x'.repeat(200), body: 'y'.repeat(39_000) }), 201).body!.length,
    39_202,
  );
});

t.test('an alert of an agent is one of its own category, and starts no agent', async (t) => {
  const text = randomUUID();
  const { id: role_id } = accepted(
    await post<{ id: string }>('/v1/roles', { name: 'Raises alerts', permissions: ['alerts:create'] }),
    201,
  );
  const runs = new Runs(app);
  const agent = await runs.agent({ role_id, config: { endpoint_tool_slugs: ['create-alert'] } });
  const waiting = await runs.agent({
    trigger_type: 'event',
    config: { trigger_config: { event_filters: ['message.created'] } },
  });
  const calls = [
    { name: 'create-alert', arguments: { body: { title: 'Look', body: text, priority: 'high' } } },
  ];
  models.reply({ text: 'Raising.', calls });
  const { id } = await runs.trigger(agent.id, { input: 'Raise it.' });
  await runs.reached(id, 'completed');
  t.match(await noticed(ada, text), { category: 'agent.alert', priority: 'high', sender: { type: 'agent' } });
  await until(async () => (await open()) === 0, { what: 'nothing in the outbox' });
  const started = await database.kysely
    .selectFrom('agent_runs')
    .select('id')
    .where('agent_id', '=', waiting.id)
    .execute();
  t.strictSame(started, []);
  accepted(await app.call('DELETE', `/v1/ai/agents/${waiting.id}`));
});

t.test('users are notified, each once and in their order', async (t) => {
  const order = accepted(await post<{ id: string }>('/v1/entities', { name: 'SO-1042' }), 201);
  const key = { headers: { 'Idempotency-Key': randomUUID() } };
  const about = { resource_type: 'entity', resource_id: order.id };
  const body = { recipient_ids: [vera.id, ada.id, grace.id], title: ' It left ', body: 'At nine.', ...about };
  const made = accepted(await notify(body, key), 201);
  t.match(made, { object: 'list', page_info: { has_next_page: false, next_page_url: null } });
  t.equal(made.data.length, 3);
  for (const [index, user] of [vera, ada, grace].entries()) {
    const [newest] = await feed(user);
    t.equal(newest!.id, made.data[index]!.id);
    t.match(newest, {
      category: 'order.updated',
      title: 'It left',
      body: 'At nine.',
      status: 'unseen',
      priority: 'normal',
      sender: { type: 'api_key' },
      resource: { type: 'entity', id: order.id, name: 'SO-1042' },
    });
  }
  t.equal((await notify(body, key)).headers.get('Idempotent-Replayed'), 'true');
  t.equal((await feed(vera)).filter(({ title }) => title === 'It left').length, 1);
  const bare = accepted(await notify({ category: 'system.broadcast', priority: 'low', body: ' ' }), 201);
  t.match(bare.data, [{ category: 'system.broadcast', priority: 'low', body: null }]);
  const byUser = await personWith(app, ['notifications:create']);
  accepted(await notify({ recipient_ids: [byUser.id, vera.id] }, byUser), 201);
  t.match((await feed(vera))[0], { sender: { type: 'user', id: byUser.id } });
  const readers = await Promise.all(Array.from({ length: 100 }, () => newReader(app)));
  const ids = readers.map(({ id }) => id);
  t.equal(accepted(await notify({ recipient_ids: ids }), 201).data.length, 100);
  t.equal(
    refusalOf(await notify({ recipient_ids: [...ids, vera.id] })),
    '422 validation_failed recipient_ids',
    'more than 100',
  );
});

t.test('what cannot be notified of, and to whom', async (t) => {
  const gone = await database.transaction(async (tx) => {
    const { id: roleId } = await findRole(tx, demo.account_id, 'viewer');
    return createUser(tx, { accountId: demo.account_id, name: 'Gone', email: 'gone@example.com', roleId });
  });
  accepted(await app.call('POST', `/v1/users/${gone.user.id}/actions/deactivate`, { headers: PREVIEW }));
  const before = (await feed(vera)).length;
  const customer = await database.kysely
    .selectFrom('actors')
    .select('id')
    .where('customer', '=', true)
    .executeTakeFirstOrThrow();
  const to = (...ids: string[]) => ({ recipient_ids: [vera.id, ...ids] });
  const NOBODY = '404 resource_not_found recipient_ids[1]';
  for (const [what, body, refusal] of [
    ['an absent user', to(newId('actor')), NOBODY],
    ['an agent', to(demo.agent.actor_id), NOBODY],
    ['an agent by its own id', to(demo.agent.id), NOBODY],
    ['a customer', to(customer.id), NOBODY],
    ['a deactivated user', to(gone.user.id), '422 validation_failed recipient_ids[1]'],
    ['the same user twice', to(vera.id), '422 validation_failed recipient_ids[1]'],
    ['no recipient', { recipient_ids: [] }, '422 validation_failed recipient_ids'],
    ['no list', { recipient_ids: vera.id }, '400 invalid_format recipient_ids'],
    ['a category of chats', { category: 'chat.message' }, '422 validation_failed category'],
    ['an alert', { category: 'agent.alert' }, '422 validation_failed category'],
    ['an approval', { category: 'approval.requested' }, '422 validation_failed category'],
    ['another broadcast', { category: 'system.update' }, '422 validation_failed category'],
    ['a word', { category: 'order' }, '422 validation_failed category'],
    ['no category', { category: null }, '400 missing_field category'],
    ['no title', { title: '' }, '422 validation_failed title'],
    ['two lines', { title: 'a\u2028b' }, '422 validation_failed title'],
    ['a long text', { body: 'x'.repeat(2_001) }, '422 validation_failed body'],
    ['half a resource', { resource_type: 'entity' }, '400 missing_field resource_id'],
    ['the other half', { resource_id: 'ent_1' }, '400 missing_field resource_type'],
    [
      'an absent resource',
      { resource_type: 'entity', resource_id: newId('entity') },
      '404 resource_not_found resource_id',
    ],
    [
      'a kind of its own',
      { resource_type: 'order', resource_id: '1' },
      '422 validation_failed resource_type',
    ],
  ] as const) {
    t.equal(refusalOf(await notify(body)), refusal, what);
  }
  t.equal(
    refusalOf(await notify({}, asNeighbour(app))),
    '404 resource_not_found recipient_ids[0]',
    'a foreign user',
  );
  t.equal((await feed(vera)).length, before, 'nobody was notified');
});

async function open(): Promise<number> {
  const { rows } = await sql<{ open: number }>`
    SELECT (SELECT count(*) FROM outbox WHERE due_at < 'infinity') + (SELECT count(*) FROM agent_runs
      WHERE status IN ('pending', 'running')) AS open`.execute(database.kysely);
  return rows[0]!.open;
}
