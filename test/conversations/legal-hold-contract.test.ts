/** Set Legal Hold (docs/contract.md#legal-hold) over HTTP, on a whole server. */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import t from 'tap';
import { createGroup } from '../../src/core/accounts/groups/groups.ts';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { actor, Conversations, PATH } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const USER = { type: 'user', actor_id: grace.id };
const ADA = actor(ada.id, 'user', 'Ada Lovelace', ada.email);

t.test('held and released: every field of the conversation', async (t) => {
  const created = await conversations.create({ title: 'Evidence', participants: [USER] });
  const held = await conversations.answer<Conversation>('POST', pathOf(created.id), { body: HELD });
  t.equal(held.status, 200);
  t.strictSame(held.body, { ...created, legal_hold: 'held', updated_at: held.body.updated_at });
  t.ok(held.body.updated_at > created.updated_at);
  const released = await set(created.id, { legal_hold: 'released' });
  t.strictSame(released, { ...created, updated_at: released.updated_at });
});

t.test('setting what is set changes nothing; each change is audited', async (t) => {
  const { id, updated_at } = await conversations.create();
  t.equal((await set(id, { legal_hold: 'released' })).updated_at, updated_at);
  const held = await set(id, HELD, { token: demo.api_key });
  t.strictSame(await set(id, HELD), held);
  await set(id, { legal_hold: 'released' });
  const { data } = await conversations.ok<List<AuditEvent>>('GET', `${PATH}/${id}/audit`);
  const [last, first] = data;
  t.strictSame(
    [last, first].map((event) => [event?.action, event?.actor?.type, event?.details]),
    [
      ['conversation.legal_hold_set', 'user', { from: 'held', to: 'released' }],
      ['conversation.legal_hold_set', 'api_key', { from: 'released', to: 'held' }],
    ],
  );
  t.strictSame(last?.actor, ADA);
  t.match(first?.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  t.equal(data.length, 3, 'and that it was created');
});

t.test('a reason is in the audit', async (t) => {
  const { id } = await conversations.create();
  const now = { headers: { 'Service-Version': '1.3.harbor' } };
  await set(id, { ...HELD, reason: 'Case 12/2026' }, now);
  await set(id, { legal_hold: 'released', reason: 'Settled' }, now);
  const { data } = await conversations.ok<List<AuditEvent>>('GET', `${PATH}/${id}/audit`);
  t.strictSame(
    data.slice(0, 2).map(({ details }) => details),
    [
      { from: 'held', to: 'released', reason: 'Settled' },
      { from: 'released', to: 'held', reason: 'Case 12/2026' },
    ],
  );
});

t.test('two concurrent legal holds are audited once', async (t) => {
  const { id } = await conversations.create();
  const answers = await Promise.all(Array.from({ length: 6 }, () => set(id, HELD)));
  t.equal(new Set(answers.map(({ updated_at }) => updated_at)).size, 1);
  const { data } = await conversations.ok<List<AuditEvent>>('GET', `${PATH}/${id}/audit`);
  t.equal(data.length, 2);
});

t.test('include[]: assignee, group and participants, whose actors are null', async (t) => {
  const roster = await database.transaction((tx) =>
    createGroup(tx, { accountId: demo.account_id, name: randomUUID() }),
  );
  const { id } = await conversations.create({
    participants: [{ type: 'agent', actor_id: demo.agent.actor_id }],
    group_id: roster.id,
    topic: { type: 'actor', id: vera.id },
  });
  await conversations.update(id, { assignee_id: ada.id });
  const members = (await conversations.members(id)).map((participant) => ({ ...participant, actor: null }));
  const expanded = {
    assignee: ADA,
    group: {
      id: roster.id,
      object: 'messaging_group',
      name: roster.name,
      members: null,
      created_at: roster.created_at,
      updated_at: roster.updated_at,
    },
    participants: members,
  };
  const names = ['assignee', 'group', 'participants'] as const;
  for (let chosen = 0; chosen < 2 ** names.length; chosen++) {
    const asked = names.filter((_, bit) => chosen & (1 << bit));
    const query = asked.map((name) => `include[]=${name}`).join('&');
    const conversation = await set(id, HELD, {}, query);
    for (const name of names) {
      t.strictSame(
        conversation[name],
        asked.includes(name) ? expanded[name] : null,
        `${name} with "${query}"`,
      );
    }
    t.match(conversation.topic, { object: 'entity', id: vera.id, type: 'actor', name: 'Vera Rubin' });
    t.equal(conversation.last_message, null);
  }
});

t.test('an invalid legal hold is refused', async (t) => {
  const { id } = await conversations.create();
  const bodies: [what: string, options: CallOptions, expected: string][] = [
    ['no body', {}, '400 missing_field legal_hold'],
    ['an empty one', { body: {} }, '400 missing_field legal_hold'],
    ['null', { body: { legal_hold: null } }, '400 missing_field legal_hold'],
    ['another value', { body: { legal_hold: 'frozen' } }, '422 validation_failed legal_hold'],
    ['another JSON type', { body: { legal_hold: true } }, '400 invalid_format legal_hold'],
    ['an unknown field', { body: { ...HELD, reason: 'x' } }, '422 validation_failed reason'],
    ['no JSON', { rawBody: 'held' }, '400 invalid_format null'],
  ];
  for (const [what, options, expected] of bodies) {
    t.equal(refusalOf(await app.call('POST', pathOf(id), options)), expected, what);
  }
  for (const name of ['topic', 'last_message', 'sender']) {
    const answer = await app.call('POST', `${pathOf(id)}?include[]=${name}`, { body: HELD });
    t.equal(refusalOf(answer), '400 parameter_invalid include[]', name);
  }
  t.equal((await conversations.get(id)).legal_hold, 'released');
});

t.test('a legal hold requires its permission', async (t) => {
  const { id } = await conversations.create({ participants: [USER, { type: 'user', actor_id: vera.id }] });
  const viewed = await conversations.create({ participants: [{ ...USER, role: 'viewer' }] });
  const strange = await conversations.create();
  const { api_key, account_id } = demo.other_account;
  const absent = await app.call('POST', pathOf(newId('conversation')), { body: HELD });
  t.equal(refusalOf(absent), '404 resource_not_found id');
  const calls: [what: string, id: string, options: CallOptions, expected: string][] = [
    ['nobody', id, { headers: { Authorization: undefined } }, '401 invalid_credentials Authorization'],
    ['without messaging:update', id, { token: vera.access_token }, '403 insufficient_permissions null'],
    [
      'a customer',
      demo.conversations.case,
      { token: demo.customer.access_token },
      '403 insufficient_permissions null',
    ],
    ['a viewer', viewed.id, { token: grace.access_token }, '403 insufficient_permissions null'],
    ['not a member', strange.id, { token: grace.access_token }, '404 resource_not_found id'],
    [
      'another account',
      id,
      { token: api_key, headers: { 'Service-Account': account_id } },
      '404 resource_not_found id',
    ],
  ];
  for (const [what, id, options, expected] of calls) {
    const answer = await app.call('POST', pathOf(id), { body: HELD, ...options });
    t.equal(refusalOf(answer), expected, what);
    if (answer.status === 404) t.equal(answer.text, absent.text, `${what}: as an absent one`);
  }
  t.equal((await set(id, HELD, { token: grace.access_token })).legal_hold, 'held', 'a member');
  const early = { headers: { 'Service-Version': '1.0.harbor' } };
  t.equal((await set(id, HELD, early)).legal_hold, 'held', 'since the first version');
});

t.test('an Idempotency-Key makes a legal hold repeatable', async (t) => {
  const { id } = await conversations.create();
  const options = { body: HELD, headers: { 'Idempotency-Key': randomUUID() } };
  const first = await conversations.answer('POST', pathOf(id), options);
  await set(id, { legal_hold: 'released' });
  const again = await conversations.answer('POST', pathOf(id), options);
  t.strictSame([again.status, again.text], [first.status, first.text]);
  t.equal(again.headers.get('Idempotent-Replayed'), 'true');
  t.equal((await conversations.get(id)).legal_hold, 'released');
  const changed = await app.call('POST', pathOf(id), {
    ...options,
    token: ada.access_token,
    body: { legal_hold: 'released' },
  });
  t.equal(refusalOf(changed), '422 validation_failed Idempotency-Key');
});

const HELD = { legal_hold: 'held' };

function pathOf(id: string): string {
  return `${PATH}/${id}/actions/set-legal-hold`;
}

function set(id: string, body: object, options: CallOptions = {}, query = ''): Promise<Conversation> {
  return conversations.ok('POST', `${pathOf(id)}?${query}`, { body, ...options });
}
