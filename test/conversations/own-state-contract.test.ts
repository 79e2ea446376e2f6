/**
 * Each member's own state, and the customer's token (docs/contract.md#own-state) over HTTP, on a
 * whole server.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import t from 'tap';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { until } from '../support/until.ts';
import { Conversations, PATH } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const USER = { type: 'user', actor_id: grace.id };
const BY_GRACE = { token: grace.access_token };
const { api_key, account_id } = demo.other_account;
const ELSEWHERE = { token: api_key, headers: { 'Service-Account': account_id } };

t.test('mark-read moves forward only', async (t) => {
  const created = await conversations.create({ participants: [USER] });
  const { id } = created;
  const sequences: number[] = [];
  for (let n = 0; n < 4; n++) sequences.push((await send(id)).sequence!);
  const [first, second, , last] = sequences as [number, number, number, number];
  const marked = await markRead(id, second, BY_GRACE);
  t.strictSame(marked, { ...created, unread: 2, last_message_at: marked.last_message_at });
  t.equal((await markRead(id, first, BY_GRACE)).unread, 2);
  t.equal((await markRead(id, 0, BY_GRACE)).unread, 2);
  t.equal((await markRead(id, last, BY_GRACE)).unread, 0);
  t.equal((await conversations.get(id, '', BY_GRACE)).unread, 0);
  t.equal((await conversations.get(id)).unread, 0, 'one’s own never count');
  await send(id);
  t.equal((await conversations.get(id, '', BY_GRACE)).unread, 1);
  const { id: quiet } = await conversations.create();
  t.equal((await markRead(quiet, 0)).unread, 0);
});

t.test('nothing is unread by one’s own act, unless something before it is', async (t) => {
  const { conversation } = await conversations.createCase({
    participants: [USER, { type: 'customer', name: 'Cleo', email: 'unread@example.net' }],
  });
  const { id } = conversation;
  const settled = (options: CallOptions, count: number, what: string) =>
    until(async () => (await conversations.get(id, '', options)).unread === count, { what });
  await conversations.update(id, { workflow_status: 'resolved' }, BY_GRACE);
  await settled({}, 1, 'what grace has done is unread for ada');
  await settled(BY_GRACE, 0, 'and not for grace');
  await conversations.update(id, { assignee_id: grace.id }, BY_GRACE);
  await settled({}, 2, 'an assignment too');
  await settled(BY_GRACE, 0, 'whatever it is');
  await send(id);
  await conversations.update(id, { workflow_status: 'open' }, BY_GRACE);
  await settled({}, 3, 'and so on');
  t.equal((await conversations.get(id, '', BY_GRACE)).unread, 2, 'what came before it stays unread');
});

t.test('a customer marks what it may see', async (t) => {
  const { conversation, customer } = await conversations.createCase();
  const { id } = conversation;
  const note = await send(id);
  const reply = await send(id, { audience: 'customer' });
  const beyond = await send(id);
  const options = { token: await app.tokenOf(customer.actor!.id) };
  t.equal((await conversations.get(id, '', options)).unread, 1);
  const refused = await app.call('POST', `${PATH}/${id}/actions/mark-read`, {
    ...options,
    body: { sequence: beyond.sequence },
  });
  t.equal(refusalOf(refused), '422 validation_failed sequence', 'a note behind the reply is not there');
  t.equal((await markRead(id, note.sequence!, options)).unread, 1);
  t.equal((await markRead(id, reply.sequence!, options)).unread, 0);
});

t.test('hiding is one’s own, and can be undone', async (t) => {
  const created = await conversations.create({ participants: [USER] });
  const { id } = created;
  const hidden = await act(id, 'hide');
  t.strictSame(hidden, { ...created, status: 'hidden' });
  t.strictSame(await act(id, 'hide'), hidden, 'twice is once');
  t.strictSame(await conversations.get(id), hidden);
  t.equal((await conversations.get(id, '', BY_GRACE)).status, 'active');
  t.match(
    (await conversations.members(id)).map(({ membership }) => membership),
    ['hidden', 'active'],
    'still a member',
  );
  t.equal((await send(id)).status, 'sent');
  t.equal((await act(id, 'unhide')).status, 'active');
  t.equal((await act(id, 'unhide')).status, 'active');
  const [member] = await conversations.members(id);
  t.equal(member?.membership, 'active');
  await conversations.update(id, { status: 'archived' });
  t.equal((await act(id, 'hide')).status, 'hidden');
  t.equal((await act(id, 'unhide')).status, 'archived', 'what it is for everybody');
});

t.test('the customer’s token opens its case', async (t) => {
  const { conversation, customer } = await conversations.createCase();
  const path = `${PATH}/${conversation.id}/actions/customer-token`;
  const body = { participant_id: customer.id };
  const issued = await conversations.answer<Record<string, string>>('POST', path, { body });
  t.equal(issued.status, 201);
  const { access_token, refresh_token, expires_at } = issued.body;
  t.strictSame(issued.body, { object: 'token', access_token, refresh_token, expires_at });
  const leftMs = Date.parse(expires_at!) - Date.now();
  t.ok(leftMs > 14 * 60_000 && leftMs <= 15 * 60_000 + 1_000, `${leftMs} ms, of 15 minutes`);
  const seen = await conversations.get(conversation.id, '', { token: access_token! });
  t.equal(seen.id, conversation.id);
  const { data } = await conversations.ok<{ data: { action: string }[] }>(
    'GET',
    `${PATH}/${conversation.id}/audit`,
  );
  t.equal(data[0]?.action, 'customer_token.issued');

  const options = { body, headers: { 'Idempotency-Key': randomUUID() } };
  const first = await conversations.answer('POST', path, options);
  const again = await conversations.answer('POST', path, options);
  t.strictSame([again.status, again.text], [201, first.text]);
  t.equal(again.headers.get('Idempotent-Replayed'), 'true');

  const [owner] = await conversations.members(conversation.id);
  const { customer: another } = await conversations.createCase();
  const refusals: [what: string, body: object, options: CallOptions, expected: string][] = [
    ['for nobody', {}, {}, '400 missing_field participant_id'],
    ['for a user', { participant_id: owner!.id }, {}, '404 resource_not_found participant_id'],
    [
      'for another case’s customer',
      { participant_id: another.id },
      {},
      '404 resource_not_found participant_id',
    ],
    [
      'for an unknown one',
      { participant_id: newId('participant') },
      {},
      '404 resource_not_found participant_id',
    ],
    ['by name', { name: 'Cleo' }, {}, '400 missing_field participant_id'],
    ['without tokens:create', body, BY_GRACE, '403 insufficient_permissions null'],
    [
      'by an agent',
      body,
      { token: await app.tokenOf(demo.agent.actor_id) },
      '403 insufficient_permissions null',
    ],
    ['by the customer', body, { token: access_token! }, '403 insufficient_permissions null'],
    ['another account', body, ELSEWHERE, '404 resource_not_found id'],
  ];
  for (const [what, body, options, expected] of refusals) {
    t.equal(refusalOf(await app.call('POST', path, { body, ...options })), expected, what);
  }
  await conversations.ok('DELETE', `${PATH}/${conversation.id}/participants/${customer.id}`);
  t.equal(
    refusalOf(await app.call('POST', path, { body })),
    '404 resource_not_found participant_id',
    'once removed',
  );
  const ended = await app.call('GET', `${PATH}/${conversation.id}`, { token: access_token! });
  t.equal(refusalOf(ended), '404 resource_not_found id', 'and the token reads nothing more');
});

t.test('own state refuses invalid requests', async (t) => {
  const { id } = await conversations.create({ participants: [USER] });
  const head = (await send(id)).sequence!;
  const strange = await conversations.create();
  const asCustomer = { token: demo.customer.access_token };
  const calls: [
    what: string,
    id: string,
    action: string,
    body: object,
    options: CallOptions,
    expected: string,
  ][] = [
    ['no sequence', id, 'mark-read', {}, {}, '400 missing_field sequence'],
    ['a text', id, 'mark-read', { sequence: '1' }, {}, '400 invalid_format sequence'],
    ['a fraction', id, 'mark-read', { sequence: 0.5 }, {}, '400 invalid_format sequence'],
    ['below zero', id, 'mark-read', { sequence: -1 }, {}, '422 validation_failed sequence'],
    ['beyond the head', id, 'mark-read', { sequence: head + 1 }, BY_GRACE, '422 validation_failed sequence'],
    ['an unknown field', id, 'mark-read', { sequence: 0, at: 'x' }, {}, '422 validation_failed at'],
    ...['hide', 'unhide'].map((action): [string, string, string, object, CallOptions, string] => [
      'a body',
      id,
      action,
      { for: 'ever' },
      {},
      '422 validation_failed for',
    ]),
    ...['mark-read', 'hide', 'unhide'].flatMap((action) => {
      const body = action === 'mark-read' ? { sequence: 0 } : {};
      return [
        [
          'nobody',
          id,
          action,
          body,
          { headers: { Authorization: undefined } },
          '401 invalid_credentials Authorization',
        ],
        ['a key', id, action, body, { token: demo.api_key }, '409 resource_conflict null'],
        ['not a member', strange.id, action, body, BY_GRACE, '404 resource_not_found id'],
        ['another account', id, action, body, ELSEWHERE, '404 resource_not_found id'],
        [
          'an older version',
          id,
          action,
          body,
          { headers: { 'Service-Version': '1.0.harbor' } },
          '400 api_version_too_old Service-Version',
        ],
      ] as [string, string, string, object, CallOptions, string][];
    }),
    [
      'a customer hides',
      demo.conversations.case,
      'hide',
      {},
      asCustomer,
      '403 insufficient_permissions null',
    ],
    [
      'a customer shows',
      demo.conversations.case,
      'unhide',
      {},
      asCustomer,
      '403 insufficient_permissions null',
    ],
    ['a customer, of the team', id, 'mark-read', { sequence: 0 }, asCustomer, '404 resource_not_found id'],
  ];
  for (const [what, id, action, body, options, expected] of calls) {
    const answer = await app.call('POST', `${PATH}/${id}/actions/${action}`, {
      token: ada.access_token,
      body,
      ...options,
    });
    t.equal(refusalOf(answer), expected, `${action}: ${what}`);
  }
  const withVera = await conversations.create({ participants: [{ type: 'user', actor_id: vera.id }] });
  const byVera = { token: vera.access_token };
  t.equal((await act(withVera.id, 'hide', byVera)).status, 'hidden', 'messaging:read is enough');
});

t.test('an Idempotency-Key makes a change of own state repeatable', async (t) => {
  const { id } = await conversations.create();
  const options = { headers: { 'Idempotency-Key': randomUUID() } };
  const first = await conversations.answer('POST', `${PATH}/${id}/actions/hide`, options);
  await act(id, 'unhide');
  const again = await conversations.answer('POST', `${PATH}/${id}/actions/hide`, options);
  t.strictSame([again.status, again.text], [200, first.text]);
  t.equal((await conversations.get(id)).status, 'active');
});

function send(id: string, fields: object = {}): Promise<ChatMessage> {
  const body = { body: 'ahoy', client_message_id: randomUUID(), ...fields };
  return conversations.ok<ChatMessage>('POST', `${PATH}/${id}/messages`, { body });
}

function markRead(id: string, sequence: number, options: CallOptions = {}) {
  return conversations.ok('POST', `${PATH}/${id}/actions/mark-read`, { body: { sequence }, ...options });
}

function act(id: string, action: 'hide' | 'unhide', options: CallOptions = {}) {
  return conversations.ok('POST', `${PATH}/${id}/actions/${action}`, options);
}
