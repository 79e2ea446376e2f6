/**
 * Get Conversation and List Conversations (docs/contract.md#conversations) over HTTP, on a whole
 * server.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import t from 'tap';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { actor, Conversations, PATH, shown } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const USER = { type: 'user', actor_id: grace.id };
const INCLUDE = ['assignee', 'group', 'participants', 'topic', 'last_message'].map(
  (name) => `include[]=${name}`,
);

t.test('unread and the last message are the reader’s own', async (t) => {
  const created = await conversations.create({ participants: [USER] });
  const note = await send(created.id, { body: 'one' });
  const reply = await send(created.id, { body: 'two' }, grace.access_token);
  await send(created.id, { body: 'three' }, grace.access_token);
  const last = await send(created.id, { body: 'four' });
  const ofAda = await conversations.get(created.id, INCLUDE.join('&'));
  t.strictSame(ofAda, {
    ...created,
    participants: ofAda.participants,
    unread: 2,
    last_message_at: last.created_at,
    last_message: last,
  });
  t.equal((await conversations.get(created.id, '', { token: grace.access_token })).unread, 2);
  t.equal((await conversations.get(created.id, '', { token: demo.api_key })).unread, 0, 'keys read nothing');
  t.ok(note.sequence! < reply.sequence!);
});

t.test('a customer sees its case, and nothing of how the team works on it', async (t) => {
  const topic = { type: 'actor', id: grace.id };
  const { conversation, customer } = await conversations.createCase({
    title: 'Parcel',
    topic,
    participants: [USER, { type: 'customer', name: 'Cleo', email: 'cleo@example.net' }],
  });
  const { id } = conversation;
  await conversations.update(id, { assignee_id: grace.id, workflow_status: 'waiting_internal' });
  await hold(id);
  const reply = await send(id, { body: 'a reply', audience: 'customer' });
  await send(id, { body: 'a note' });
  const token = await app.tokenOf(customer.actor!.id);
  const seen = await conversations.get(id, INCLUDE.join('&'), { token });
  t.strictSame(
    seen,
    shown({
      id,
      audience: 'customer',
      title: 'Parcel',
      created_at: conversation.created_at,
      updated_at: seen.updated_at,
      participants: [customer],
      unread: 1,
      last_message_at: reply.created_at,
      last_message: { ...reply, author: null, client_message_id: null },
    }),
  );
  const { data } = await list('', { token });
  t.strictSame(data, [{ ...seen, participants: null, last_message: null }], 'and no other conversation');
  for (const query of ['workflow_status=waiting_external', `assignee_id=${grace.id}`]) {
    t.strictSame((await list(query, { token })).data, [], `not to be found by ${query}`);
  }
  const team = await conversations.get(id, INCLUDE.join('&'));
  t.strictSame(team.assignee, actor(grace.id, 'user', 'Grace Hopper', grace.email));
  t.equal(team.legal_hold, 'held');
  t.equal(team.participants?.length, 3);
});

t.test('a conversation is shown to its readers alone', async (t) => {
  const { id } = await conversations.create({ participants: [USER] });
  for (const [what, token] of [
    ['its owner', ada.access_token],
    ['a member', grace.access_token],
    ['a key', demo.api_key],
  ] as const) {
    t.equal((await app.call('GET', `${PATH}/${id}`, { token })).status, 200, what);
  }
  const absent = await app.call('GET', `${PATH}/${newId('conversation')}`);
  t.equal(refusalOf(absent), '404 resource_not_found id');
  const { api_key, account_id } = demo.other_account;
  const strangers: [what: string, options: CallOptions][] = [
    ['not a member', { token: vera.access_token }],
    ['an agent that is not in it', { token: await app.tokenOf(demo.agent.actor_id) }],
    ['a customer', { token: demo.customer.access_token }],
    ['another account', { token: api_key, headers: { 'Service-Account': account_id } }],
  ];
  for (const [what, options] of strangers) {
    for (const path of [`${PATH}/${id}`, `${PATH}/${id}?include[]=participants`]) {
      t.strictSame((await app.call('GET', path, options)).text, absent.text, `${what}: as an absent one`);
    }
  }
  const nobody = await app.call('GET', `${PATH}/${id}`, { headers: { Authorization: undefined } });
  t.equal(refusalOf(nobody), '401 invalid_credentials Authorization');
  const early = await app.call('GET', `${PATH}/${id}`, { headers: { 'Service-Version': '1.0.harbor' } });
  t.equal(refusalOf(early), '400 api_version_too_old Service-Version');
  const query = await app.call('GET', `${PATH}/${id}?include[]=actors`);
  t.equal(refusalOf(query), '400 parameter_invalid include[]');
});

t.test('the list: those that the caller may read, newest first', async (t) => {
  const first = await conversations.create({ title: 'walk 1', participants: [USER] });
  const second = await conversations.create({ title: 'walk 2' });
  const third = await conversations.create({ title: 'walk 3', participants: [USER] });
  t.strictSame(await list('q=walk'), envelope([third, second, first]));
  t.strictSame(
    await list('q=WALK', { token: grace.access_token }),
    envelope([third, first]),
    'a member of two of them',
  );
  t.strictSame((await list('q=walk', { token: demo.api_key })).data.length, 3, 'a key reads the account');
  const { api_key, account_id } = demo.other_account;
  const elsewhere = { token: api_key, headers: { 'Service-Account': account_id } };
  t.strictSame(await list('', elsewhere), envelope([]));

  for (const options of [{}, { token: grace.access_token }]) {
    const all = (await list('q=walk', options)).data;
    const page = await list('q=walk&limit=1', options);
    t.strictSame(page.data, all.slice(0, 1));
    const next = await conversations.ok<Page>('GET', page.page_info.next_page_url!, options);
    t.strictSame(next.data, all.slice(1, 2));
    const back = await conversations.ok<Page>('GET', next.page_info.previous_page_url!, options);
    t.strictSame(back.data, page.data);
  }

  const included = await list(`q=walk&${INCLUDE.join('&')}`);
  for (const item of included.data) {
    t.strictSame(item, await conversations.get(item.id, INCLUDE.join('&')), 'as Get answers it');
  }
});

t.test('the list of conversations can be filtered', async (t) => {
  const mark = randomUUID();
  const plain = await conversations.create({ title: `${mark} plain` });
  const archived = await conversations.create({ title: `${mark} archived` });
  await conversations.update(archived.id, { status: 'archived' });
  const hidden = await conversations.create({ title: `${mark} hidden`, participants: [USER] });
  await conversations.ok('POST', `${PATH}/${hidden.id}/actions/hide`);
  const { conversation: open } = await conversations.createCase({ title: `${mark} case 100%` });
  await conversations.update(open.id, { workflow_status: 'open', assignee_id: ada.id });
  const { conversation: fresh } = await conversations.createCase({ title: `${mark} case 1000` });
  const searches: [query: string, expected: Conversation[]][] = [
    ['', [fresh, open, archived, plain]],
    ['status=active', [fresh, open, plain]],
    ['status=archived', [archived]],
    ['status=hidden', [hidden]],
    ['type=group', [fresh, open, archived, plain]],
    ['type=direct_message', []],
    ['audience=customer', [fresh, open]],
    ['audience=internal', [archived, plain]],
    ['workflow_status=open', [open]],
    ['workflow_status=new', [fresh]],
    [`assignee_id=${ada.id}`, [open]],
    [`assignee_id=${grace.id}`, []],
    ['workflow_status=open&status=archived', []],
  ];
  for (const [query, expected] of searches) {
    const { data } = await list(`${query}&q=${mark}`);
    t.strictSame(
      data.map(({ id }) => id),
      expected.map(({ id }) => id),
      query,
    );
  }
  const titles = async (q: string) => (await list(`q=${encodeURIComponent(q)}`)).data.map(({ id }) => id);
  t.strictSame(await titles(`${mark} case 100%`), [open.id], 'a percent sign is one');
  t.strictSame(await titles(`${mark}_case`), [], 'an underscore is one');
  const ofGrace = await list(`q=${mark}`, { token: grace.access_token });
  t.strictSame(
    ofGrace.data.map(({ id, status }) => [id, status]),
    [[hidden.id, 'active']],
    'hidden is whoever hid it alone',
  );
});

t.test('reading conversations refuses invalid parameters', async (t) => {
  await conversations.create();
  const next = (await list('limit=1')).page_info.next_page_url!;
  const cursor = new URL(next, app.baseUrl).searchParams.get('cursor');
  for (const [query, expected] of [
    ['status=gone', 'parameter_invalid status'],
    ['type=channel', 'parameter_invalid type'],
    ['audience=all', 'parameter_invalid audience'],
    ['workflow_status=stuck', 'parameter_invalid workflow_status'],
    [`assignee_id=${'x'.repeat(65)}`, 'parameter_invalid assignee_id'],
    ['include[]=actors', 'parameter_invalid include[]'],
    ['title=x', 'parameter_unknown title'],
    ['limit=0', 'parameter_invalid limit'],
    ['limit=101', 'parameter_invalid limit'],
    ['page=2', 'parameter_unknown page'],
    [`page=2&cursor=${cursor}`, 'parameters_exclusive page'],
    ['q=a&search=b', 'parameters_exclusive search'],
    [`cursor=${cursor}&status=active`, 'parameter_invalid cursor'],
    ['cursor=x', 'parameter_invalid cursor'],
  ] as const) {
    const answer = await app.call('GET', `${PATH}?${query}`, { token: ada.access_token });
    t.equal(refusalOf(answer), `400 ${expected}`, query);
  }
  const others = await app.call('GET', `${PATH}?cursor=${cursor}`, { token: grace.access_token });
  t.equal(refusalOf(others), '400 parameter_invalid cursor', 'somebody else’s list');
});

type Page = List<Conversation>;

function list(query = '', options: CallOptions = {}): Promise<Page> {
  return conversations.ok<Page>('GET', `${PATH}?${query}`, options);
}

function envelope(data: readonly Conversation[]): Page {
  const nothing = {
    next_page_url: null,
    previous_page_url: null,
    has_next_page: false,
    has_prev_page: false,
  };
  return { object: 'list', page_info: nothing, data };
}

function send(id: string, fields: object, token = ada.access_token): Promise<ChatMessage> {
  const body = { client_message_id: randomUUID(), ...fields };
  return conversations.ok<ChatMessage>('POST', `${PATH}/${id}/messages`, { body, token });
}

function hold(id: string): Promise<Conversation> {
  return conversations.ok('POST', `${PATH}/${id}/actions/set-legal-hold`, { body: { legal_hold: 'held' } });
}
