/**
 * How long a customer waits, what waits for a caller, and saved views (docs/contract.md#work), on a
 * whole server.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { ConversationView } from '@parley/protocol/resources/conversation-view.ts';
import type { InboxSummary } from '@parley/protocol/resources/inbox.ts';
import type { Work } from '@parley/protocol/resources/work.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { deriveWaiting } from '../../src/core/conversations/cases/waiting.ts';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { newAddress } from '../support/new-address.ts';
import { until } from '../support/until.ts';
import { Conversations, PATH } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const NEW = { headers: { 'Service-Version': NEWEST_VERSION } };
const BY_ADA = { ...NEW, token: ada.access_token };
const BY_GRACE = { ...NEW, token: grace.access_token };
const BY_VERA = { ...NEW, token: vera.access_token };
const NOBODY = { headers: { ...NEW.headers, Authorization: undefined } };
const VIEWS = '/v1/messaging/views';
const user = (actor: { readonly id: string }) => ({ type: 'user', actor_id: actor.id });

interface OpenCase {
  readonly id: string;
  readonly customerId: string;
  readonly byCustomer: CallOptions;
}

/** A case of ada and grace with a new customer. */
async function open(): Promise<OpenCase> {
  const { conversation, customer } = await conversations.createCase({
    participants: [{ type: 'customer', name: 'Cleo', email: newAddress('example.net') }, user(grace)],
  });
  const customerId = customer.actor!.id;
  return { id: conversation.id, customerId, byCustomer: { ...NEW, token: await app.tokenOf(customerId) } };
}

function send(id: string, options: CallOptions, fields: object = {}): Promise<ChatMessage> {
  const body = { body: 'ahoy', client_message_id: randomUUID(), ...fields };
  return conversations.ok<ChatMessage>('POST', `${PATH}/${id}/messages`, { body, ...options });
}

async function since(id: string, options: CallOptions = BY_GRACE) {
  return (await conversations.get(id, '', options)).waiting_since;
}

const reply = (id: string) => send(id, BY_ADA, { audience: 'customer' });

t.test('a customer waits from its first message behind the last reply', async (t) => {
  const { id, byCustomer } = await open();
  t.equal(await since(id), null, 'nothing was written');
  const first = await send(id, byCustomer);
  t.equal(await since(id), first.created_at);
  await send(id, byCustomer);
  await send(id, BY_GRACE);
  await conversations.update(id, { title: 'Parcel', assignee_id: grace.id }, BY_ADA);
  t.equal(await since(id), first.created_at, 'further messages, notes and changes of the case do not count');
  t.equal(await since(id, byCustomer), null, 'the customer is not shown it');
  await reply(id);
  t.equal(await since(id), null);
  const later = await send(id, byCustomer);
  t.equal(await since(id), later.created_at);
  await conversations.update(id, { workflow_status: 'waiting_external' }, BY_ADA);
  t.equal(await since(id), later.created_at, 'a lane answers nothing');
  await conversations.update(id, { workflow_status: 'resolved' }, BY_ADA);
  t.equal(await since(id), null, 'a resolved case');
  await conversations.update(id, { workflow_status: 'open' }, BY_ADA);
  t.equal(await since(id), later.created_at, 'reopened by hand it is as before');
  await conversations.update(id, { workflow_status: 'resolved' }, BY_ADA);
  const again = await send(id, byCustomer);
  t.equal(await since(id), again.created_at, 'a customer that reopens it begins to wait');

  const old = await conversations.get(id, '', {
    token: grace.access_token,
    headers: { 'Service-Version': '1.3.harbor' },
  });
  t.notOk('waiting_since' in old, 'callers of older versions do not know it');
  const group = await conversations.create({ participants: [user(grace)] });
  await send(group.id, BY_ADA);
  t.equal(await since(group.id), null, 'no case');
});

t.test('drafts, schedules and deletions', async (t) => {
  const { id, byCustomer } = await open();
  const first = await send(id, byCustomer);
  const second = await send(id, byCustomer);
  const draft = await send(id, BY_GRACE, { mode: 'draft', channel: 'message' });
  t.equal(await since(id), first.created_at, 'a proposal answers nothing');
  await conversations.ok('POST', `/v1/messaging/messages/${draft.id}/actions/approve`, BY_ADA);
  t.equal(await since(id), null, 'it does once it is sent');
  const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
  const third = await send(id, byCustomer);
  const planned = await send(id, BY_ADA, { audience: 'customer', scheduled_at });
  t.equal(await since(id), third.created_at);
  await conversations.ok('POST', `/v1/messaging/messages/${planned.id}/actions/send-now`, BY_ADA);
  t.equal(await since(id), null);

  const becomes = (expected: string | null) =>
    until(async () => (await since(id)) === expected, { what: `waiting since ${expected}` });
  await conversations.ok('DELETE', `/v1/messaging/messages/${planned.id}`, BY_ADA);
  await becomes(third.created_at);
  await conversations.ok('DELETE', `/v1/messaging/messages/${draft.id}`, BY_ADA);
  await becomes(first.created_at);
  await conversations.ok('DELETE', `/v1/messaging/messages/${first.id}`, BY_ADA);
  await becomes(second.created_at);
  await conversations.ok('DELETE', `/v1/messaging/messages/${second.id}`, BY_ADA);
  await becomes(third.created_at);
  await conversations.ok('DELETE', `/v1/messaging/messages/${third.id}`, BY_ADA);
  await becomes(null);
});

t.test('imported messages neither begin nor end a wait', async (t) => {
  const { id, customerId, byCustomer } = await open();
  const bring = (author_id: string, created_at = '2019-03-04T05:06:07Z') => {
    const message = {
      client_message_id: randomUUID(),
      body: 'before',
      author_id,
      created_at,
      audience: 'customer',
    };
    const body = { messages: [message] };
    return conversations.ok('POST', `${PATH}/${id}/messages/import`, { ...NEW, token: demo.api_key, body });
  };
  await bring(customerId);
  t.equal(await since(id), null);
  const first = await send(id, byCustomer);
  await bring(ada.id);
  await bring(ada.id, new Date().toISOString());
  t.equal(await since(id), first.created_at);
  await bring(customerId);
  await conversations.ok('DELETE', `/v1/messaging/messages/${first.id}`, BY_ADA);
  await until(async () => (await since(id)) === null, { what: 'the end of the wait' });
});

t.test('cases of before the column get it in parts', async (t) => {
  const cases = [await open(), await open(), await open()];
  const [waits, answered, resolved] = cases as [OpenCase, OpenCase, OpenCase];
  for (const { id, byCustomer } of cases) await send(id, byCustomer);
  const expected = await since(waits.id);
  await reply(answered.id);
  await conversations.update(resolved.id, { workflow_status: 'resolved' }, BY_ADA);
  await database.kysely
    .updateTable('conversations')
    .set({ waiting_since: null })
    .where('id', '=', waits.id)
    .execute();
  for (let round = 0; round < 2; round++) {
    await deriveWaiting(database, { after: '' });
    t.strictSame(await Promise.all(cases.map(({ id }) => since(id))), [expected, null, null]);
  }
});

t.test('lists by waiting, and combined filters', async (t) => {
  const [a, b, c, d] = [await open(), await open(), await open(), await open()] as const;
  for (const { id, byCustomer } of [b, a, d]) await send(id, byCustomer);
  await conversations.update(a.id, { assignee_id: grace.id }, BY_ADA);
  const mine = [a, b, c, d].map(({ id }) => `conversation_ids[]=${id}`).join('&');
  const ids = async (query: string, options = BY_GRACE) => {
    const { data } = await conversations.ok<List<Conversation>>('GET', `${PATH}?${query}`, options);
    return data.map(({ id }) => id).filter((id) => [a, b, c, d].some((one) => one.id === id));
  };
  for (const options of [BY_GRACE, BY_ADA]) {
    t.strictSame(await ids('order=waiting&limit=100', options), [b.id, a.id, d.id], 'longest first');
    t.strictSame(await ids(`order=waiting&${mine}`, options), [b.id, a.id, d.id], 'of those named');
  }
  t.strictSame(await ids('order=waiting&limit=100', BY_VERA), [], 'another team');
  t.strictSame(await ids('order=waiting&filter[]=unassigned'), [b.id, d.id]);
  t.strictSame(await ids('order=waiting&filter[]=unread&filter[]=unassigned'), [b.id, d.id]);
  t.strictSame(await ids('order=waiting&filter[]=unread&filter[]=mine&workflow_status=open'), [a.id]);
  t.strictSame(await ids('order=waiting&filter[]=mine&filter[]=unassigned'), [], 'all of the states hold');
  t.strictSame(await ids('order=activity&filter[]=mine&filter[]=unread'), [a.id]);

  // Pages: every case once, forwards and back.
  const walked: string[] = [];
  let path: string | null = `${PATH}?order=waiting&limit=1&${mine}`;
  let last: List<Conversation> | undefined;
  while (path !== null) {
    last = await conversations.ok<List<Conversation>>('GET', path, BY_GRACE);
    walked.push(...last.data.map(({ id }) => id));
    path = last.page_info.next_page_url;
  }
  t.strictSame(walked, [b.id, a.id, d.id]);
  const back = await conversations.ok<List<Conversation>>(
    'GET',
    last!.page_info.previous_page_url!,
    BY_GRACE,
  );
  t.strictSame(
    back.data.map(({ id }) => id),
    [a.id],
  );

  await conversations.ok('POST', `${PATH}/${b.id}/actions/snooze`, { ...BY_GRACE, body: {} });
  t.strictSame(await ids('order=waiting'), [a.id, d.id], 'snoozed ones are left out');

  const refused: [query: string, expected: string][] = [
    ['filter=mine&filter[]=unread', '400 parameters_exclusive filter[]'],
    ['filter[]=all', '400 parameter_invalid filter[]'],
    [`group_id=${newId('group')}`, '400 parameter_invalid group_id'],
    [`inbox_id=${newId('inbox')}`, '400 parameter_invalid inbox_id'],
  ];
  for (const [query, expected] of refused) {
    t.match(refusalOf(await app.call('GET', `${PATH}?${query}`, BY_GRACE)), expected, query);
  }
  const old = { token: grace.access_token, headers: { 'Service-Version': '1.3.harbor' } };
  t.equal(refusalOf(await app.call('GET', `${PATH}?order=waiting`, old)), '400 parameter_invalid order');
  t.equal(refusalOf(await app.call('GET', `${PATH}?filter[]=mine`, old)), '400 parameter_unknown filter[]');
});

t.test('the work of a caller is what the lists and the summary say', async (t) => {
  const before = await work(BY_GRACE);
  const [a, b] = [await open(), await open()];
  const { id: answered, byCustomer } = await open();
  for (const one of [a, b]) await send(one.id, one.byCustomer);
  await send(answered, byCustomer);
  await reply(answered);
  await conversations.update(b.id, { assignee_id: grace.id }, BY_ADA);
  const draft = await send(answered, BY_ADA, { mode: 'draft', channel: 'message' });
  const grown = { unassigned: 1, mine: 1, drafts: 1, approvals: 0, count: 3 };
  const now = await until(
    async () => {
      const found = await work(BY_GRACE);
      return found.counts.drafts > before.counts.drafts ? found : undefined;
    },
    { what: 'the proposed draft' },
  );
  for (const [name, more] of Object.entries(grown) as [keyof typeof grown, number][]) {
    t.equal(now.counts[name], before.counts[name] + more, name);
  }
  const has = (list: readonly Conversation[], id: string) => list.some((one) => one.id === id);
  t.ok(has(now.unassigned, a.id) && !has(now.unassigned, b.id) && !has(now.unassigned, answered));
  t.ok(has(now.mine, b.id));
  t.match(now.drafts.at(-1), { message_id: draft.id, conversation_id: answered });
  const sorted = now.unassigned.map((one) => one.waiting_since!);
  t.strictSame(sorted, sorted.toSorted());
  const summary = await conversations.ok<InboxSummary>('GET', `${PATH}/summary`, BY_GRACE);
  t.strictSame(summary.work, now.counts, 'one count');
  const listed = await conversations.ok<List<Conversation>>(
    'GET',
    `${PATH}?order=waiting&filter=unassigned&status=active&limit=100`,
    BY_GRACE,
  );
  t.equal(listed.data.length, now.counts.unassigned);

  await conversations.update(a.id, { assignee_id: grace.id }, BY_ADA);
  const taken = await work(BY_GRACE);
  t.strictSame(
    [taken.counts.unassigned, taken.counts.mine, taken.counts.count],
    [now.counts.unassigned - 1, now.counts.mine + 1, now.counts.count],
    'what is taken moves',
  );
  await conversations.update(a.id, { status: 'archived' }, BY_ADA);
  t.equal((await work(BY_GRACE)).counts.mine, now.counts.mine, 'archived cases do not wait');
  t.notOk(has((await work(BY_VERA)).unassigned, a.id), 'another team');
  t.equal(
    refusalOf(await app.call('GET', '/v1/messaging/work', NOBODY)),
    '401 invalid_credentials Authorization',
  );
  const customer = await app.call('GET', '/v1/messaging/work', byCustomer);
  t.equal(refusalOf(customer), '403 insufficient_permissions null');
});

t.test('views that a person has saved', async (t) => {
  const filters = { order: 'waiting', filter: ['unassigned'], workflow_status: ['new', 'open'] } as const;
  const created = await app.call<ConversationView>('POST', VIEWS, {
    ...BY_GRACE,
    body: { name: ' Queue ', filters },
  });
  t.equal(created.status, 201);
  const view = created.body;
  t.match(view, { object: 'conversation_view', name: 'Queue', filters });
  const of = `${VIEWS}/${view.id}`;
  t.strictSame((await app.call('GET', of, BY_GRACE)).body, view);
  const renamed = await conversations.ok<ConversationView>('PATCH', of, {
    ...BY_GRACE,
    body: { name: 'Mine' },
  });
  t.match(renamed, { id: view.id, name: 'Mine', filters });
  const other = { assignee_id: 'me' };
  const changed = await conversations.ok<ConversationView>('PATCH', of, {
    ...BY_GRACE,
    body: { filters: other },
  });
  t.strictSame(changed.filters, other, 'filters are replaced as a whole');
  const list = async (options: CallOptions) =>
    (await conversations.ok<List<ConversationView>>('GET', VIEWS, options)).data.map(({ id }) => id);
  t.strictSame(await list(BY_GRACE), [view.id]);
  t.strictSame(await list(BY_ADA), [], 'others do not see it');
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    const options = { ...BY_ADA, ...(method === 'PATCH' && { body: { name: 'x' } }) };
    t.equal(refusalOf(await app.call(method, of, options)), '404 resource_not_found null', method);
  }
  const body = { name: 'x', filters };
  const refused: [body: object, expected: string][] = [
    [{ filters }, '400 missing_field name'],
    [{ name: 'x' }, '400 missing_field filters'],
    [{ ...body, name: ' ' }, '422 validation_failed name'],
    [{ ...body, name: 'x'.repeat(61) }, '422 validation_failed name'],
    [{ ...body, filters: {} }, '422 validation_failed filters'],
    [{ ...body, filters: { order: 'oldest' } }, '422 validation_failed filters.order'],
    [{ ...body, filters: { filter: [] } }, '422 validation_failed filters.filter'],
    [{ ...body, filters: { colour: 'red' } }, '422 validation_failed filters.colour'],
    [{ ...body, filters: { assignee_id: newId('actor') } }, '404 resource_not_found filters.assignee_id'],
    [{ ...body, filters: { group_id: newId('group') } }, '404 resource_not_found filters.group_id'],
    [{ ...body, filters: { inbox_id: newId('inbox') } }, '404 resource_not_found filters.inbox_id'],
  ];
  for (const [given, expected] of refused) {
    t.equal(refusalOf(await app.call('POST', VIEWS, { ...BY_GRACE, body: given })), expected, expected);
  }
  t.equal(
    refusalOf(await app.call('POST', VIEWS, { ...NOBODY, body })),
    '401 invalid_credentials Authorization',
  );
  const byKey = await app.call('POST', VIEWS, { ...NEW, token: demo.api_key, body });
  t.equal(refusalOf(byKey), '403 insufficient_permissions null');
  const replayed = { ...BY_VERA, body, headers: { ...NEW.headers, 'Idempotency-Key': randomUUID() } };
  const [one, two] = [await app.call('POST', VIEWS, replayed), await app.call('POST', VIEWS, replayed)];
  t.strictSame([two.status, two.body], [201, one.body]);
  for (let n = 1; n < 50; n++) await conversations.ok('POST', VIEWS, { ...BY_VERA, body });
  t.match(refusalOf(await app.call('POST', VIEWS, { ...BY_VERA, body })), /limit_exceeded/);
  t.strictSame(await conversations.ok('DELETE', of, BY_GRACE), changed);
  t.strictSame(await list(BY_GRACE), []);
});

function work(options: CallOptions): Promise<Work> {
  return conversations.ok<Work>('GET', '/v1/messaging/work', options);
}
