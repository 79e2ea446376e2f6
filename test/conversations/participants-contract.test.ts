/**
 * The participants of a conversation (docs/contract.md#participants) over HTTP, on a whole server.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import t from 'tap';
import { createCustomer } from '../../src/core/accounts/actors/actors.ts';
import { inAnyOrder } from '../support/any-order.ts';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { until } from '../support/until.ts';
import { actor, Conversations, PATH } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const USER = { type: 'user', actor_id: grace.id };
const VERA = { type: 'user', actor_id: vera.id };
const AGENT = { type: 'agent', actor_id: demo.agent.actor_id };
const BY_GRACE = { token: grace.access_token };

t.test('adding: the participant, every field', async (t) => {
  const { id } = await conversations.create();
  const added = await conversations.answer<Participant>('POST', `${PATH}/${id}/participants`, { body: USER });
  t.equal(added.status, 201);
  t.strictSame(added.body, {
    id: added.body.id,
    object: 'conversation_participant',
    type: 'user',
    role: 'member',
    membership: 'active',
    notifications: 'unmuted',
    actor: actor(grace.id, 'user', 'Grace Hopper', grace.email),
    agent_trigger_policy: null,
    agent_trigger_keywords: [],
  });
  const agent = await conversations.add(id, { ...AGENT, agent_trigger_policy: 'always', role: 'viewer' });
  t.strictSame(agent, {
    id: agent.id,
    object: 'conversation_participant',
    type: 'agent',
    role: 'viewer',
    membership: 'active',
    notifications: 'unmuted',
    actor: actor(demo.agent.actor_id, 'agent', 'Assistant'),
    agent_trigger_policy: 'always',
    agent_trigger_keywords: [],
  });
  t.strictSame((await conversations.members(id)).slice(1), [added.body, agent]);
  const byItsOwnId = await conversations.create({
    participants: [{ type: 'agent', actor_id: demo.agent.id }],
  });
  t.match((await conversations.members(byItsOwnId.id)).at(-1), { type: 'agent', actor: agent.actor });
  t.equal((await app.call('GET', `${PATH}/${id}`, BY_GRACE)).status, 200, 'reads it from now on');

  const { conversation } = await conversations.createCase();
  const customer = await conversations.add(conversation.id, { type: 'customer', name: 'Carla' });
  t.strictSame([customer.type, customer.actor?.name, customer.actor?.handle], ['customer', 'Carla', null]);
});

t.test('by its id: former participants too, and customers find themselves alone', async (t) => {
  const { conversation, customer } = await conversations.createCase();
  const token = await app.tokenOf(customer.actor!.id);
  const path = `${PATH}/${conversation.id}/participants`;
  const newest = { headers: { 'Service-Version': '1.2.harbor' } };
  const vera = await conversations.add(conversation.id, VERA);
  const get = (id: string, options: CallOptions = {}) =>
    app.call<Participant>('GET', `${path}/${id}`, { ...newest, ...options });
  const shown = await get(vera.id);
  const columns = { muted_until: null, last_read_sequence: 0, actor_id: VERA.actor_id };
  t.strictSame([shown.status, shown.body], [200, { ...vera, ...columns }]);
  await remove(conversation.id, vera.id);
  t.match((await get(vera.id)).body, { id: vera.id, membership: 'removed', last_read_sequence: null });

  t.match((await get(customer.id, { token })).body, { id: customer.id, actor_id: customer.actor?.id });
  const elsewhere = await conversations.create({ participants: [VERA] });
  const [, foreign] = await conversations.members(elsewhere.id);
  for (const refused of [
    await get(vera.id, { token }),
    await get(newId('participant')),
    await get(foreign!.id),
  ]) {
    t.equal(refusalOf(refused as never), '404 resource_not_found participant_id');
  }
  const stranger = { token: demo.users.vera.access_token };
  t.equal(refusalOf((await get(customer.id, stranger)) as never), '404 resource_not_found id');
});

t.test('a participant that returns is the same participant', async (t) => {
  const { id } = await conversations.create({ participants: [AGENT] });
  const first = await conversations.add(id, { ...USER, role: 'viewer' });
  const removed = await remove(id, first.id);
  t.strictSame(removed, { ...first, membership: 'removed' });
  t.equal((await app.call('GET', `${PATH}/${id}`, BY_GRACE)).status, 404, 'reads it no more');
  const back = await conversations.add(id, USER);
  t.strictSame(back, { ...first, role: 'member' });
  const left = await remove(id, first.id, BY_GRACE);
  t.strictSame(left, { ...back, membership: 'left' });
  t.equal((await conversations.members(id)).length, 2);

  const [, agent] = await conversations.members(id);
  await remove(id, agent!.id);
  const keyword = { agent_trigger_policy: 'keyword', agent_trigger_keywords: ['ahoy'] };
  t.match(await conversations.add(id, { ...AGENT, ...keyword }), { id: agent!.id, ...keyword });
});

t.test('two concurrent additions add one participant', async (t) => {
  const { id } = await conversations.create();
  const answers = await Promise.all(
    Array.from({ length: 6 }, () =>
      conversations.answer('POST', `${PATH}/${id}/participants`, { body: USER }),
    ),
  );
  t.strictSame(answers.map(({ status }) => status).sort(), [201, ...Array(5).fill(409)]);
  t.equal((await conversations.members(id)).length, 2);
});

t.test('system messages and events of joining and leaving, and their audiences', async (t) => {
  const { id } = await conversations.create({ title: 'Dock' });
  const { id: participant } = await conversations.add(id, USER);
  await remove(id, participant, BY_GRACE);
  await conversations.add(id, USER);
  await remove(id, participant);
  await conversations.add(id, VERA);
  const says = [
    'Ada Lovelace added Grace Hopper.',
    'Grace Hopper left.',
    'Ada Lovelace added Grace Hopper.',
    'Ada Lovelace removed Grace Hopper.',
    'Ada Lovelace added Vera Rubin.',
  ];
  const messages = await until(
    async () => {
      const { data } = await conversations.ok<List<ChatMessage>>(
        'GET',
        `${PATH}/${id}/messages?after_sequence=0`,
      );
      return data.length === says.length ? data : undefined;
    },
    { what: 'what the timeline says' },
  );
  t.strictSame(inAnyOrder(messages.map(({ body }) => body)), inAnyOrder(says));
  for (const { kind, visibility } of messages) t.strictSame([kind, visibility], ['system_event', 'internal']);
  const { data } = await conversations.ok<List<AuditEvent>>('GET', `${PATH}/${id}/audit`);
  t.strictSame(
    data.toReversed().map(({ action, actor, details }) => [action, actor?.id, details.actor_id]),
    [
      ['conversation.created', ada.id, undefined],
      ['participant.added', ada.id, grace.id],
      ['participant.left', grace.id, grace.id],
      ['participant.added', ada.id, grace.id],
      ['participant.removed', ada.id, grace.id],
      ['participant.added', ada.id, vera.id],
    ],
  );
  await until(
    async () => {
      const query = 'category=chat.added&include[]=resource';
      const { data } = await conversations.ok<List<Notification>>(
        'GET',
        `/v1/messaging/notifications?${query}`,
        { token: vera.access_token },
      );
      return data.some(({ resource }) => resource?.id === id);
    },
    { what: 'the notification of who was added' },
  );
});

t.test('an invalid addition of a participant is refused', async (t) => {
  const group = await conversations.create({ participants: [USER] });
  const { conversation: aCase } = await conversations.createCase();
  const { id: carl } = await createCustomer(database, { accountId: demo.account_id, name: 'Carl' });
  await conversations.ok('POST', `${PATH}/${group.id}/actions/hide`, BY_GRACE);
  const refusals: [what: string, id: string, body: object, expected: string][] = [
    ['nobody', group.id, {}, '400 missing_field type'],
    ['without actor', group.id, { type: 'user' }, '400 missing_field actor_id'],
    ['the service', group.id, { type: 'system' }, '422 validation_failed type'],
    ['an unknown field', group.id, { ...VERA, membership: 'active' }, '422 validation_failed membership'],
    ['an unknown role', group.id, { ...VERA, role: 'king' }, '422 validation_failed role'],
    ['an unknown actor', group.id, { ...USER, actor_id: newId('actor') }, '404 resource_not_found actor_id'],
    ['an agent as a user', group.id, { ...AGENT, type: 'user' }, '422 validation_failed type'],
    [
      'keyword without keywords',
      group.id,
      { ...AGENT, agent_trigger_policy: 'keyword' },
      '400 missing_field agent_trigger_keywords',
    ],
    ['a customer to the team', group.id, { type: 'customer', actor_id: carl }, '422 validation_failed type'],
    ['a new customer without a name', aCase.id, { type: 'customer' }, '400 missing_field actor_id'],
    ['who is in it, and hides it', group.id, USER, '409 resource_exists actor_id'],
    ['oneself', group.id, { type: 'user', actor_id: ada.id }, '409 resource_exists actor_id'],
    ['to a direct message', demo.conversations.direct, VERA, '409 resource_conflict null'],
    ['to an unknown conversation', newId('conversation'), VERA, '404 resource_not_found id'],
  ];
  for (const [what, id, body, expected] of refusals) {
    const answer = await app.call('POST', `${PATH}/${id}/participants`, { body, token: ada.access_token });
    t.equal(refusalOf(answer), expected, what);
  }
});

t.test('a participant can be changed', async (t) => {
  const { id } = await conversations.create({ participants: [USER, AGENT] });
  const [owner, member, agent] = (await conversations.members(id)) as [Participant, Participant, Participant];
  const muted = await change(id, member.id, { notifications: 'muted' }, BY_GRACE);
  t.strictSame(muted, { ...member, notifications: 'muted' });
  t.strictSame(await change(id, member.id, {}), muted, 'nothing asked for');
  t.strictSame(await change(id, member.id, { role: 'member' }), muted, 'as it is already');
  t.strictSame(await change(id, member.id, { role: 'admin' }), { ...muted, role: 'admin' });

  const keyword = { agent_trigger_policy: 'keyword', agent_trigger_keywords: ['ship', 'dock'] };
  t.strictSame(await change(id, agent.id, keyword, BY_GRACE), { ...agent, ...keyword }, 'by an admin of it');
  const fewer = await change(id, agent.id, { agent_trigger_keywords: ['ship'] });
  t.strictSame([fewer.agent_trigger_policy, fewer.agent_trigger_keywords], ['keyword', ['ship']]);
  const always = await change(id, agent.id, { agent_trigger_policy: 'always' });
  t.strictSame([always.agent_trigger_policy, always.agent_trigger_keywords], ['always', []]);

  await change(id, member.id, { role: 'owner' });
  const demoted = await change(id, owner.id, { role: 'viewer' }, BY_GRACE);
  t.equal(demoted.role, 'viewer', 'there is another owner');
  const { data } = await conversations.ok<List<AuditEvent>>('GET', `${PATH}/${id}/audit`, BY_GRACE);
  t.strictSame(
    data.map(({ action, details: { participant_id, actor_id, ...details } }) => [action, details]),
    [
      ['participant.changed', { role: 'viewer' }],
      ['participant.changed', { role: 'owner' }],
      ['participant.changed', { agent_trigger_policy: 'always', agent_trigger_keywords: [] }],
      ['participant.changed', { agent_trigger_policy: 'keyword', agent_trigger_keywords: ['ship'] }],
      ['participant.changed', keyword],
      ['participant.changed', { role: 'admin' }],
      ['conversation.created', {}],
    ],
    'muting is nobody’s business',
  );
});

t.test('invalid changes and removals of participants are refused', async (t) => {
  const { conversation, customer } = await conversations.createCase();
  const { id } = conversation;
  const agent = await conversations.add(id, AGENT);
  const member = await conversations.add(id, USER);
  const [owner] = await conversations.members(id);
  const gone = await conversations.add(id, VERA);
  await remove(id, gone.id);
  const elsewhere = (await conversations.members(demo.conversations.group))[0]!;
  const [first] = await conversations.members(demo.conversations.direct);
  const refusals: [what: string, participant: string, body: object, expected: string][] = [
    ['an unknown field', member.id, { membership: 'left' }, '422 validation_failed membership'],
    ['an unknown role', member.id, { role: 'king' }, '422 validation_failed role'],
    ['unknown notifications', member.id, { notifications: 'loud' }, '422 validation_failed notifications'],
    ['muting for somebody else', member.id, { notifications: 'muted' }, '403 insufficient_permissions null'],
    [
      'a policy for a user',
      member.id,
      { agent_trigger_policy: 'always' },
      '422 validation_failed agent_trigger_policy',
    ],
    [
      'keywords for a user',
      member.id,
      { agent_trigger_keywords: [] },
      '422 validation_failed agent_trigger_keywords',
    ],
    [
      'keyword without any',
      agent.id,
      { agent_trigger_policy: 'keyword' },
      '400 missing_field agent_trigger_keywords',
    ],
    [
      'always with some',
      agent.id,
      { agent_trigger_policy: 'always', agent_trigger_keywords: ['x'] },
      '422 validation_failed agent_trigger_keywords',
    ],
    ['a customer as owner', customer.id, { role: 'owner' }, '422 validation_failed role'],
    ['the last owner steps down', owner!.id, { role: 'member' }, '409 resource_conflict null'],
    ['who was removed', gone.id, { role: 'admin' }, '404 resource_not_found participant_id'],
    ['of another conversation', elsewhere.id, { role: 'admin' }, '404 resource_not_found participant_id'],
    ['an unknown one', newId('participant'), {}, '404 resource_not_found participant_id'],
  ];
  for (const [what, participant, body, expected] of refusals) {
    const path = `${PATH}/${id}/participants/${participant}`;
    t.equal(refusalOf(await app.call('PATCH', path, { body, token: ada.access_token })), expected, what);
  }
  for (const [what, conversation, participant, expected] of [
    ['the last owner leaves', id, owner!.id, '409 resource_conflict null'],
    ['who has gone', id, gone.id, '404 resource_not_found participant_id'],
    ['of another conversation', id, elsewhere.id, '404 resource_not_found participant_id'],
    ['one of a direct message', demo.conversations.direct, first!.id, '409 resource_conflict null'],
    ['in an unknown conversation', newId('conversation'), member.id, '404 resource_not_found id'],
  ] as const) {
    const path = `${PATH}/${conversation}/participants/${participant}`;
    t.equal(refusalOf(await app.call('DELETE', path, { token: ada.access_token })), expected, what);
  }
  t.equal((await remove(id, customer.id)).membership, 'removed', 'a customer can be');
  await remove(id, member.id);
  t.equal((await remove(id, owner!.id)).membership, 'left', 'the last person may leave');
});

t.test('managing participants requires its permissions', async (t) => {
  const { id } = await conversations.create({ participants: [{ ...USER, role: 'admin' }, AGENT] });
  const [owner, admin, agent] = (await conversations.members(id)) as [Participant, Participant, Participant];
  const plain = await conversations.create({ participants: [USER, VERA] });
  const [, own, other] = (await conversations.members(plain.id)) as [Participant, Participant, Participant];
  const strange = await conversations.create({ participants: [VERA] });
  const { api_key, account_id } = demo.other_account;
  const elsewhere = { token: api_key, headers: { 'Service-Account': account_id } };
  const of = (conversation: string, participant = '') => `${PATH}/${conversation}/participants${participant}`;
  const calls: [
    what: string,
    method: string,
    path: string,
    body: object,
    options: CallOptions,
    expected: string,
  ][] = [
    [
      'nobody adds',
      'POST',
      of(id),
      VERA,
      { headers: { Authorization: undefined } },
      '401 invalid_credentials Authorization',
    ],
    [
      'without messaging:update',
      'POST',
      of(plain.id),
      AGENT,
      { token: vera.access_token },
      '403 insufficient_permissions null',
    ],
    [
      'a customer',
      'POST',
      of(demo.conversations.case),
      VERA,
      { token: demo.customer.access_token },
      '403 insufficient_permissions null',
    ],
    ['a member adds', 'POST', of(plain.id), AGENT, BY_GRACE, '403 insufficient_permissions null'],
    [
      'an admin of it makes an owner',
      'POST',
      of(id),
      { ...VERA, role: 'owner' },
      BY_GRACE,
      '403 insufficient_permissions null',
    ],
    ['not a member', 'POST', of(strange.id), USER, BY_GRACE, '404 resource_not_found id'],
    ['another account', 'POST', of(id), VERA, elsewhere, '404 resource_not_found id'],
    [
      'an older version',
      'POST',
      of(id),
      VERA,
      { headers: { 'Service-Version': '1.0.harbor' } },
      '400 api_version_too_old Service-Version',
    ],
    [
      'an admin of it gives roles',
      'PATCH',
      of(id, `/${agent.id}`),
      { role: 'viewer' },
      BY_GRACE,
      '403 insufficient_permissions null',
    ],
    [
      'a member changes itself',
      'PATCH',
      of(plain.id, `/${own.id}`),
      { role: 'owner' },
      BY_GRACE,
      '403 insufficient_permissions null',
    ],
    ['another account changes', 'PATCH', of(id, `/${agent.id}`), {}, elsewhere, '404 resource_not_found id'],
    [
      'a member removes another',
      'DELETE',
      of(plain.id, `/${other.id}`),
      {},
      BY_GRACE,
      '403 insufficient_permissions null',
    ],
    [
      'an admin of it removes its owner',
      'DELETE',
      of(id, `/${owner.id}`),
      {},
      BY_GRACE,
      '403 insufficient_permissions null',
    ],
    ['another account removes', 'DELETE', of(id, `/${agent.id}`), {}, elsewhere, '404 resource_not_found id'],
  ];
  for (const [what, method, path, body, options, expected] of calls) {
    t.equal(refusalOf(await app.call(method, path, { ...options, body })), expected, what);
  }
  t.equal((await conversations.add(id, VERA, BY_GRACE)).membership, 'active', 'an admin of it adds');
  t.equal((await remove(id, agent.id, BY_GRACE)).membership, 'removed', 'and removes members');
  t.equal(
    (await change(id, admin.id, { role: 'owner' }, { token: demo.api_key })).role,
    'owner',
    'a key gives roles',
  );
  t.equal((await remove(plain.id, own.id, BY_GRACE)).membership, 'left', 'everybody leaves');
});

t.test('an Idempotency-Key adds once', async (t) => {
  const { id } = await conversations.create();
  const options = { body: USER, headers: { 'Idempotency-Key': randomUUID() } };
  const path = `${PATH}/${id}/participants`;
  const first = await conversations.answer<Participant>('POST', path, options);
  await remove(id, first.body.id);
  const again = await conversations.answer('POST', path, options);
  t.strictSame([again.status, again.text], [201, first.text]);
  t.equal(again.headers.get('Idempotent-Replayed'), 'true');
  t.equal((await conversations.members(id)).length, 1);
});

function change(
  id: string,
  participant: string,
  body: object,
  options: CallOptions = {},
): Promise<Participant> {
  return conversations.ok('PATCH', `${PATH}/${id}/participants/${participant}`, { body, ...options });
}

function remove(id: string, participant: string, options: CallOptions = {}): Promise<Participant> {
  return conversations.ok('DELETE', `${PATH}/${id}/participants/${participant}`, options);
}
