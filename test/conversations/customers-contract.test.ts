/**
 * Customers by their addresses, owners of groups that API keys begin, and the texts of refusals,
 * over HTTP.
 */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { newAddress } from '../support/new-address.ts';
import { Conversations, PATH } from './fixture.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace, vera } = demo.users;
const conversations = new Conversations(app);
const GRACE = { type: 'user', actor_id: grace.id };
const VERA = { type: 'user', actor_id: vera.id };
const AGENT = { type: 'agent', actor_id: demo.agent.actor_id };
const BY_KEY = { token: demo.api_key };
const CASE = { type: 'group', audience: 'customer' };

t.test('a customer with a known address is that customer, under its own name', async (t) => {
  const email = newAddress('example.net');
  const first = await customerOf({ type: 'customer', name: 'Cleo', email });
  const again = await customerOf({ type: 'customer', name: 'Somebody else', email: email.toUpperCase() });
  t.strictSame(again.actor, first.actor);
  t.not(again.id, first.id, 'a participant of its own in each case');
  const { id } = await conversations.create({ ...CASE, participants: [] });
  const added = await conversations.add(id, { type: 'customer', email });
  t.strictSame(added.actor, first.actor, 'no name is needed');
  const twice = await app.call('POST', `${PATH}/${id}/participants`, {
    body: { type: 'customer', name: 'Cleo', email },
  });
  t.equal(refusalOf(twice), '409 resource_exists actor_id');

  const { api_key: token, account_id } = demo.other_account;
  const elsewhere = await customerOf(
    { type: 'customer', name: 'Carla', email },
    { token, headers: { 'Service-Account': account_id } },
  );
  t.not(elsewhere.actor!.id, first.actor!.id, 'accounts share nothing');
  t.equal(elsewhere.actor!.name, 'Carla');
  const nameless = await customerOf({ type: 'customer', name: 'Cleo' });
  t.not(nameless.actor!.id, first.actor!.id, 'a name alone is a new customer');
});

t.test('requests at once make one customer of an address', async (t) => {
  const email = newAddress('example.net');
  const made = await Promise.all(
    Array.from({ length: 6 }, () => customerOf({ type: 'customer', name: 'Cleo', email })),
  );
  t.equal(new Set(made.map(({ actor }) => actor!.id)).size, 1);
});

t.test('one address twice in a request', async (t) => {
  const participant = { type: 'customer', name: 'Cleo', email: newAddress('example.net') };
  const body = { ...CASE, participants: [participant, participant] };
  t.equal(refusalOf(await app.call('POST', PATH, { body })), '422 validation_failed participants[1].email');
});

t.test('a group that an API key begins is owned by its first user without a stated role', async (t) => {
  for (const [what, participants, expected] of [
    ['the first user', [AGENT, GRACE, VERA], ['member', 'owner', 'member']],
    ['not one whose role is stated', [{ ...GRACE, role: 'viewer' }, VERA], ['viewer', 'owner']],
    ['a stated owner', [GRACE, { ...VERA, role: 'owner' }], ['member', 'owner']],
    ['nobody, where all roles are stated', [{ ...GRACE, role: 'admin' }], ['admin']],
    ['nobody, without users', [AGENT], ['member']],
  ] as const) {
    const { id } = await conversations.create({ participants }, BY_KEY);
    t.strictSame(
      (await conversations.members(id)).map(({ role }) => role),
      expected,
      what,
    );
  }
  const { id } = await conversations.create({ participants: [GRACE] });
  t.strictSame(
    (await conversations.members(id)).map(({ role }) => role),
    ['owner', 'member'],
    'a user owns its own',
  );
});

t.test('since 1.4 a group that an API key begins has no owner but a stated one', async (t) => {
  const preview = { ...BY_KEY, headers: { 'Service-Version': NEWEST_VERSION } };
  const roles = async (id: string) => (await conversations.members(id)).map(({ role }) => role);
  for (const [what, participants, expected] of [
    ['members', [AGENT, GRACE, VERA], ['member', 'member', 'member']],
    ['stated roles', [GRACE, { ...VERA, role: 'owner' }], ['member', 'owner']],
    ['a viewer', [{ ...GRACE, role: 'viewer' }, VERA], ['viewer', 'member']],
  ] as const) {
    const { id } = await conversations.create({ participants }, preview);
    t.strictSame(await roles(id), expected, what);
    const put = await app.call<Conversation>('PUT', `${PATH}/ext:${newId('conversation')}`, {
      ...preview,
      body: { type: 'group', participants },
    });
    t.strictSame(await roles(put.body.id), expected, `${what}, by PUT`);
  }
  const headers = { 'Service-Version': NEWEST_VERSION };
  const own = await conversations.create({ participants: [GRACE] }, { headers });
  t.strictSame(await roles(own.id), ['owner', 'member'], 'a user owns its own');
  const ofTeam = await conversations.create({ ...CASE, participants: [] }, preview);
  t.ok((await roles(ofTeam.id)).includes('owner'), 'the team of a case has an owner');
});

t.test('a case may begin without a customer, and gets one later', async (t) => {
  const { id } = await conversations.create({ ...CASE, participants: [GRACE] }, BY_KEY);
  t.equal((await conversations.add(id, { type: 'customer', name: 'Cleo' })).type, 'customer');
});

t.test('refusals name the missing and the accepted fields', async (t) => {
  const group = { type: 'group', participants: [] };
  const inCase = (participant: object) => ({ ...CASE, participants: [participant] });
  for (const [body, param, message] of [
    [{}, 'type', 'This field is required. It must be one of: direct_message, group.'],
    [{ ...group, type: 'channel' }, 'type', 'Must be one of: direct_message, group.'],
    [
      { ...group, participants: [{ actor_id: ada.id }] },
      'participants[0].type',
      'This field is required. It must be one of: user, agent, customer.',
    ],
    [
      { ...group, participants: [{ type: 'bot' }] },
      'participants[0].type',
      'Must be one of: user, agent, customer.',
    ],
    [{ type: 'direct_message', participants: [AGENT] }, 'participants[0].type', 'Must be user.'],
    [{ ...group, title: ' ' }, 'title', 'Must not be blank.'],
    [
      inCase({ type: 'customer' }),
      'participants[0].actor_id',
      'Name a customer by actor_id, by name and email, or by external_id.',
    ],
    [
      inCase({ type: 'customer', email: newAddress('example.net') }),
      'participants[0].name',
      'No customer of the account has this address yet. Send a name to create one.',
    ],
  ] as const) {
    const { error } = (await app.call('POST', PATH, { body })).body;
    t.strictSame([error.param, error.message], [param, message]);
  }
});

t.test('cases can be filtered by assignee', async (t) => {
  const { conversation: mine } = await conversations.createCase({ title: 'filter' });
  const { conversation: free } = await conversations.createCase({ title: 'filter' });
  const { conversation: theirs } = await conversations.createCase({ title: 'filter', participants: [GRACE] });
  await conversations.update(mine.id, { assignee_id: ada.id });
  await conversations.update(theirs.id, { assignee_id: grace.id });
  const found = async (assignee: string, token = ada.access_token) => {
    const path = `${PATH}?q=filter&assignee_id=${assignee}`;
    return (await conversations.ok<List<Conversation>>('GET', path, { token })).data.map(({ id }) => id);
  };
  t.strictSame(await found('me'), [mine.id]);
  t.strictSame(await found('me', grace.access_token), [theirs.id]);
  t.strictSame(await found('me', demo.api_key), [], 'a key is assigned nothing');
  t.strictSame(await found('none'), [free.id]);
  t.strictSame(await found(grace.id), [theirs.id]);
  t.strictSame(await found(vera.id), [], 'an actor without any');
  t.strictSame(await found(newId('actor'), demo.customer.access_token), [], 'customers learn nothing');
  for (const text of ['', newId('actor'), 'nobody', demo.other_account.account_id]) {
    const answer = await app.call('GET', `${PATH}?assignee_id=${text}`);
    t.equal(refusalOf(answer), '400 parameter_invalid assignee_id', text);
  }
});

t.test('the participants of a conversation, in pages', async (t) => {
  const { conversation, customer } = await conversations.createCase();
  const { id } = conversation;
  for (const body of [GRACE, AGENT, VERA]) await conversations.add(id, body);
  const all = await conversations.members(id);
  await conversations.ok('POST', `${PATH}/${id}/actions/hide`, { token: grace.access_token });
  const gone = all.at(-1)!;
  await conversations.ok('DELETE', `${PATH}/${id}/participants/${gone.id}`);
  const active = await conversations.members(id, { headers: PREVIEW });
  t.strictSame(
    active.map(({ membership }) => membership),
    ['active', 'active', 'hidden', 'active'],
  );

  const list = (query = '', options: CallOptions = {}) =>
    app.call<List<Participant>>('GET', `${PATH}/${id}/participants${query}`, {
      headers: PREVIEW,
      ...options,
    });
  t.strictSame((await list()).body.data, active, 'with their actors, as include[]=participants shows them');
  const first = (await list('?limit=3')).body;
  t.strictSame(first.data, active.slice(0, 3));
  const next = await app.call<List<Participant>>('GET', first.page_info.next_page_url!, { headers: PREVIEW });
  t.strictSame(next.body.data, active.slice(3));
  t.equal(next.body.page_info.next_page_url, null);
  const back = await app.call<List<Participant>>('GET', next.body.page_info.previous_page_url!, {
    headers: PREVIEW,
  });
  t.strictSame(back.body.data, active.slice(0, 3));
  t.strictSame((await list('', { token: vera.access_token })).status, 404, 'not to a former member');

  const body = { participant_id: customer.id };
  const { access_token } = await conversations.ok<{ access_token: string }>(
    'POST',
    `${PATH}/${id}/actions/customer-token`,
    { body },
  );
  t.strictSame(
    (await list('', { token: access_token })).body.data,
    active.slice(1, 2),
    'customers see themselves',
  );
  for (const [query, options, expected] of [
    ['', { headers: { ...PREVIEW, Authorization: undefined } }, '401 invalid_credentials Authorization'],
    ['', { headers: {} }, '400 api_version_too_old Service-Version'],
    ['?limit=0', {}, '400 parameter_invalid limit'],
    ['?cursor=x', {}, '400 parameter_invalid cursor'],
    ['?role=owner', {}, '400 parameter_unknown role'],
  ] as const) {
    t.equal(refusalOf((await list(query, options)) as never), expected, query);
  }
});

const PREVIEW = { 'Service-Version': '1.2.harbor' };

/** The participant as which a new case shows the customer. */
async function customerOf(participant: object, options: CallOptions = {}): Promise<Participant> {
  const body = { ...CASE, participants: [participant] };
  const path = `${PATH}?include[]=participants`;
  const { participants } = await conversations.ok<Conversation>('POST', path, { ...options, body });
  return participants!.find(({ type }) => type === 'customer')!;
}
