/** Ids of agents and groups in place of their actors' ids, over HTTP, on a whole server. */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Actor, Entity, MessagingGroup } from '@parley/protocol/resources/actor.ts';
import type { AgentDefinition } from '@parley/protocol/resources/agent-definition.ts';
import type { ApiKey } from '@parley/protocol/resources/api-key.ts';
import type { Attachment } from '@parley/protocol/resources/attachment.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { User } from '@parley/protocol/resources/user.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { CUSTOMER_SERVICE } from '../../src/core/accounts/groups/groups.ts';
import { insertAgent } from '../../src/features/agents/store.ts';
import { borrowTestApp, type CallOptions, refusalOf } from '../support/app.ts';
import { until } from '../support/until.ts';

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace } = demo.users;
const { agent } = demo;
const GROUPS = '/v1/messaging/groups';
const NEWEST = { 'Service-Version': NEWEST_VERSION };
const CONVERSATIONS = '/v1/messaging/conversations';

const desk = await ok<MessagingGroup>('POST', GROUPS, { body: { name: 'Desk', members: [grace.id] } });
const deskActor = await actorOf('messaging_groups', desk.id);
const theirs = await ofTheOtherAccount();

t.test('actor_id: of agents, groups and users, since 1.2.harbor', async (t) => {
  const definition = await ok<AgentDefinition>('GET', `/v1/ai/agents/${agent.id}`);
  t.equal(definition.actor_id, agent.actor_id);
  t.equal(desk.actor_id, deskActor);
  const [listed] = (await ok<List<MessagingGroup>>('GET', `${GROUPS}?q=Desk`)).data;
  t.equal(listed?.actor_id, deskActor);
  const users = (await ok<List<User>>('GET', '/v1/users')).data;
  t.ok(users.length > 0 && users.every(({ id, actor_id }) => actor_id === id), 'a user is its own actor');
  const keys = (await ok<List<ApiKey>>('GET', '/v1/api-keys')).data;
  t.ok(keys.length > 0 && keys.every(({ actor_id }) => actor_id.startsWith('act_')));

  const older = { headers: { 'Service-Version': '1.1.harbor' } };
  for (const path of [`/v1/ai/agents/${agent.id}`, `${GROUPS}?q=Desk`, '/v1/users']) {
    const { text } = await app.call('GET', path, older);
    t.notMatch(text, 'actor_id', `${path} of 1.1.harbor`);
  }
});

t.test('agents can be members of a group', async (t) => {
  const made = await ok<MessagingGroup>('POST', `${GROUPS}?include[]=members`, {
    body: { name: 'Mixed', members: [agent.id, ada.id] },
  });
  t.strictSame(idsOf(made.members), [agent.actor_id, ada.id], 'in the order of the body');
  const twice = await app.call('POST', GROUPS, {
    body: { name: 'Twice', members: [agent.id, agent.actor_id] },
  });
  t.equal(refusalOf(twice), '422 validation_failed members[1]', 'one agent by both of its ids');
  const nested = await app.call('POST', GROUPS, { body: { name: 'Nested', members: [desk.id] } });
  t.equal(refusalOf(nested), '422 validation_failed members[0]', 'groups are no members');
  const [key] = (await ok<List<ApiKey>>('GET', '/v1/api-keys')).data;
  const ofKey = await app.call('POST', GROUPS, { body: { name: 'Key', members: [key?.id] } });
  t.equal(refusalOf(ofKey), '404 resource_not_found members[0]', 'the id of a key stands for nothing');
});

t.test('a group that was made over the API owns a case', async (t) => {
  const { id } = await newCase();
  const path = `${CONVERSATIONS}/${id}?include[]=assignee`;
  const assigned = await ok<Conversation>('PATCH', path, { body: { assignee_id: desk.id } });
  t.match(assigned.assignee, { id: deskActor, type: 'group', name: 'Desk' });
  for (const given of [desk.id, deskActor]) {
    const again = await ok<Conversation>('PATCH', path, { body: { assignee_id: given } });
    t.equal(again.updated_at, assigned.updated_at, 'assigning again changes nothing');
    const { data } = await ok<List<Conversation>>('GET', `${CONVERSATIONS}?assignee_id=${given}`);
    t.strictSame(idsOf(data), [id], `?assignee_id=${given.slice(0, 4)}`);
  }
  const { data: audit } = await ok<List<AuditEvent>>('GET', `${CONVERSATIONS}/${id}/audit`);
  const events = audit.filter(({ action }) => action === 'conversation.assigned');
  t.strictSame(
    events.map(({ details }) => details),
    [{ from: null, to: deskActor }],
  );

  const { id: second } = await newCase();
  await ok('PATCH', `${CONVERSATIONS}/${second}`, { body: { assignee_id: desk.id } });
  const first = await ok<List<Conversation>>('GET', `${CONVERSATIONS}?assignee_id=${desk.id}&limit=1`);
  const next = new URL(first.page_info.next_page_url!, app.baseUrl);
  const rest = await ok<List<Conversation>>('GET', `${next.pathname}${next.search}`);
  t.strictSame([...idsOf(first.data), ...idsOf(rest.data)], [second, id], 'in pages');

  const toAgent = await app.call('PATCH', path, { body: { assignee_id: agent.id } });
  t.equal(refusalOf(toAgent), '422 validation_failed assignee_id', 'an agent owns nothing');
  const owned = await ok<List<Conversation>>('GET', `${CONVERSATIONS}?assignee_id=${agent.id}`);
  t.strictSame(owned.data, []);
});

t.test('the filter’s words are the caller and no assignee', async (t) => {
  const { id: mine } = await newCase();
  const { id: unowned } = await newCase();
  await ok('PATCH', `${CONVERSATIONS}/${mine}`, { body: { assignee_id: ada.id } });
  const by = { token: ada.access_token };
  const listOf = async (given: string) =>
    idsOf((await ok<List<Conversation>>('GET', `${CONVERSATIONS}?limit=100&assignee_id=${given}`, by)).data);
  t.strictSame(await listOf('me'), [mine]);
  const without = await listOf('none');
  t.ok(without.includes(unowned));
  t.notOk(without.includes(mine));
});

t.test('participants: an agent by either id, no group', async (t) => {
  for (const actor_id of [agent.id, agent.actor_id]) {
    const { id } = await newCase();
    const added = await ok<Participant>('POST', `${CONVERSATIONS}/${id}/participants`, {
      body: { type: 'agent', actor_id },
    });
    t.equal(added.actor?.id, agent.actor_id);
    const again = await app.call('POST', `${CONVERSATIONS}/${id}/participants`, {
      body: { type: 'agent', actor_id: agent.id },
    });
    t.equal(refusalOf(again), '409 resource_exists actor_id');
    const asUser = await app.call('POST', `${CONVERSATIONS}/${id}/participants`, {
      body: { type: 'user', actor_id: desk.id },
    });
    t.equal(refusalOf(asUser), '422 validation_failed type');
  }
});

t.test('mentions: an agent of the conversation by either id, once', async (t) => {
  const { group } = demo.conversations;
  const sent = await ok<{ id: string }>('POST', `${CONVERSATIONS}/${group}/messages`, {
    token: ada.access_token,
    body: { client_message_id: randomUUID(), body: 'look', mentions: [grace.id, agent.id, agent.actor_id] },
  });
  const { mentions } = await database.kysely
    .selectFrom('messages')
    .select('mentions')
    .where('id', '=', sent.id)
    .executeTakeFirstOrThrow();
  t.strictSame(mentions, [grace.id, agent.actor_id]);
});

t.test('senders of notifications: agents and groups by their own ids', async (t) => {
  const { id } = await newCase({ participants: [{ type: 'user', actor_id: grace.id }] });
  await ok('POST', `${CONVERSATIONS}/${id}/participants`, { body: { type: 'agent', actor_id: agent.id } });
  const messages = `${CONVERSATIONS}/${id}/messages`;
  const token = await app.tokenOf(agent.actor_id);
  const body = { client_message_id: randomUUID(), body: 'By the agent' };
  await ok('POST', messages, { body, token });
  await ok('POST', messages, {
    body: { client_message_id: randomUUID(), audience: 'customer', body: 'By the persona' },
    token: ada.access_token,
  });
  const [persona] = (await ok<List<MessagingGroup>>('GET', `${GROUPS}?q=${encodeURI(CUSTOMER_SERVICE)}`))
    .data;
  const bodiesBy = async (...ids: string[]) => {
    // The agent also answers the message that mentioned it, at any time.
    const query = ['q=By+the', ...ids.map((one) => `sender_ids[]=${one}`)].join('&');
    const { data } = await ok<List<Notification>>('GET', `/v1/messaging/notifications?${query}`, {
      token: grace.access_token,
    });
    return data.map((notification) => notification.body);
  };
  const bySender = () => bodiesBy(persona!.actor_id!, agent.actor_id);
  await until(async () => (await bySender()).length === 2, { what: 'both notifications' });
  t.strictSame(await bodiesBy(agent.id), ['By the agent']);
  t.strictSame(await bodiesBy(persona!.id), ['By the persona']);
  t.strictSame(await bodiesBy(persona!.id, agent.actor_id), ['By the persona', 'By the agent']);
  const nobody = [newId('agent'), newId('group'), theirs.agent, theirs.group];
  for (const id of nobody) {
    const path = `/v1/messaging/notifications?sender_ids[]=${agent.id}&sender_ids[]=${id}`;
    const refused = await app.call('GET', path, { token: grace.access_token });
    t.equal(
      refusalOf(refused),
      '400 parameter_invalid sender_ids[]',
      'an id that names no actor of the account',
    );
  }
});

t.test('pointers to an actor: topics, links and attachments', async (t) => {
  const asActor = { type: 'actor', id: agent.actor_id, name: 'Assistant' };
  const { id, topic } = await newCase({ topic: { type: 'actor', id: agent.id } }, 'include[]=topic');
  t.match(topic, asActor);
  const moved = await ok<Conversation>('PATCH', `${CONVERSATIONS}/${id}?include[]=topic`, {
    body: { topic: { type: 'actor', id: desk.id } },
  });
  t.match(moved.topic, { type: 'actor', id: deskActor, name: 'Desk' });
  const sent = await ok<{ id: string; resource: Entity }>(
    'POST',
    `${CONVERSATIONS}/${id}/messages?include[]=resource`,
    {
      body: {
        client_message_id: randomUUID(),
        link_resource_type: 'actor',
        link_resource_id: agent.id,
        attachments: [{ kind: 'resource', resource_type: 'actor', resource_id: desk.id }],
      },
    },
  );
  t.match(sent.resource, asActor);
  const read = await ok<{ attachments: Attachment[] }>(
    'GET',
    `/v1/messaging/messages/${sent.id}?include[]=attachments`,
  );
  t.match(read.attachments, [{ resource: { type: 'actor', id: deskActor } }]);
});

t.test('ids of another account answer like absent ones, byte for byte', async (t) => {
  const { id } = await newCase();
  const conversation = `${CONVERSATIONS}/${id}`;
  const message = { client_message_id: 'once', body: 'x' };
  const group = { type: 'group', participants: [] };
  const places: [refusal: string, ask: (id: string) => [method: string, path: string, body?: object]][] = [
    ['404 resource_not_found members[0]', (id) => ['POST', GROUPS, { name: 'G', members: [id] }]],
    ['404 resource_not_found assignee_id', (id) => ['PATCH', conversation, { assignee_id: id }]],
    ['400 parameter_invalid assignee_id', (id) => ['GET', `${CONVERSATIONS}?assignee_id=${id}`]],
    [
      '404 resource_not_found actor_id',
      (id) => ['POST', `${conversation}/participants`, { type: 'agent', actor_id: id }],
    ],
    [
      '404 resource_not_found participants[0].actor_id',
      (id) => ['POST', CONVERSATIONS, { ...group, participants: [{ type: 'agent', actor_id: id }] }],
    ],
    [
      '422 validation_failed mentions[0]',
      (id) => ['POST', `${conversation}/messages`, { ...message, mentions: [id] }],
    ],
    ['404 resource_not_found topic.id', (id) => ['PATCH', conversation, { topic: { type: 'actor', id } }]],
    [
      '404 resource_not_found link_resource_id',
      (id) => [
        'POST',
        `${conversation}/messages`,
        { ...message, link_resource_type: 'actor', link_resource_id: id },
      ],
    ],
  ];
  for (const [refusal, ask] of places) {
    const answers = [];
    for (const given of [newId('agent'), newId('group'), newId('actor'), ...Object.values(theirs)]) {
      const [method, path, body] = ask(given);
      const answer = await app.call(method, path, { body });
      t.equal(refusalOf(answer), refusal, `${method} ${path.split('?')[0]} ${given.slice(0, 4)}`);
      answers.push(answer.text);
    }
    t.equal(new Set(answers).size, 1, refusal);
  }
});

/** Sends a request in the newest version; throws the answer unless it is a success. */
async function ok<Body>(method: string, path: string, options: CallOptions = {}): Promise<Body> {
  const { status, text, body } = await app.call<Body>(method, path, { ...options, headers: NEWEST });
  if (status !== 200 && status !== 201) throw new Error(`${method} ${path}: ${status} ${text}`);
  return body;
}

function newCase(body: object = {}, query = ''): Promise<Conversation> {
  return ok('POST', `${CONVERSATIONS}?${query}`, {
    token: ada.access_token,
    body: { type: 'group', audience: 'customer', participants: [], ...body },
  });
}

function idsOf(resources: readonly (Actor | Conversation)[] | null): string[] {
  return (resources ?? []).map(({ id }) => id);
}

async function actorOf(table: 'messaging_groups' | 'agent_definitions', id: string): Promise<string> {
  const row = await database.kysely
    .selectFrom(table)
    .select('actor_id')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return row.actor_id;
}

/** The ids of an agent and a group that exist elsewhere. */
async function ofTheOtherAccount(): Promise<{ readonly agent: string; readonly group: string }> {
  const accountId = demo.other_account.account_id;
  const { id } = await database.transaction((tx) =>
    insertAgent(tx, {
      account_id: accountId,
      name: 'Spy',
      slug: 'spy',
      category_code: 'c',
      trigger_type: 'manual',
    }),
  );
  const group = await database.kysely
    .selectFrom('messaging_groups')
    .select('id')
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow();
  return { agent: id, group: group.id };
}
