/**
 * Every event of packages/protocol/socket/events.ts, for the team and for a customer of the same
 * case (docs/architecture.md#delivery), from the code that produces it: a whole server, used over
 * REST and sockets, and the reply of an agent on another node. An event without an entry here fails
 * the test.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import { EVENTS, type EventName } from '@parley/protocol/socket/events.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { Rights } from '../../src/api/access/rights.ts';
import { ConversationDirectory } from '../../src/core/conversations/directory/directory.ts';
import { FRAME_CODEC as codec } from '../../src/core/frames/frame-codec.ts';
import { Replies } from '../../src/features/agents/replies/replies.ts';
import type { AgentReply } from '../../src/features/agents/replies/reply.ts';
import { purgePrefix } from '../../src/features/compliance/purge.ts';
import { RedisEngine } from '../../src/platform/engine/redis/redis-engine.ts';
import { Conversations, PATH } from '../conversations/fixture.ts';
import { startTestApp } from '../support/app.ts';
import { FrameContract } from '../support/frame-contract.ts';
import { testRedisUrl } from '../support/redis.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { Client, type ReceivedFrame } from './fixture.ts';

type Audience = 'team' | 'customer';

/** The code that causes the event, and the sockets that must receive it. */
interface Placed {
  readonly to: readonly Audience[];
  readonly make: () => Promise<unknown>;
}

const TEAM: readonly Audience[] = ['team'];
const CUSTOMER: readonly Audience[] = ['customer'];
const BOTH: readonly Audience[] = ['team', 'customer'];
/** In every body that a customer must not see. */
const SECRET = 'between ourselves';

/** Metadata that customers do not see. */
const NOTED = { note: SECRET };

const LAST = 'the last of it';

const redisUrl = await testRedisUrl(t);
const app = await startTestApp(t, { REDIS_URL: redisUrl });
const otherNode = await RedisEngine.connect({ codec, url: redisUrl, log });
t.teardown(() => otherNode.close());
const { ada, grace, vera } = app.demo.users;
const conversations = new Conversations(app);
const MEMBER = { type: 'user', actor_id: grace.id };
const { conversation, customer: participant } = await conversations.createCase();
const { id } = conversation;
await conversations.add(id, MEMBER);
const customerId = participant.actor!.id;
const customerToken = await app.tokenOf(customerId);
const sockets = { team: await open(grace.access_token), customer: await open(customerToken) };
const ofParticipant = `${PATH}/${id}/participants/${participant.id}`;
for (const path of [`${PATH}/${id}`, ofParticipant]) {
  const headers = { 'Service-Version': NEWEST_VERSION };
  await conversations.ok('PATCH', path, { body: { metadata: NOTED }, headers });
}
for (const socket of Object.values(sockets)) {
  await socket.request('subscribe', { conversation_id: id });
  await socket.frame('caught_up');
}

const reply = await openReply();

const EVERY: Readonly<Record<EventName, readonly Placed[]>> = {
  'message.created': [
    { to: TEAM, make: () => send() },
    { to: BOTH, make: () => send({ audience: 'customer', body: 'ahoy' }) },
    { to: BOTH, make: () => send({ body: 'help' }, customerToken) },
  ],
  'message.updated': [
    { to: TEAM, make: async () => edit(await send()) },
    { to: BOTH, make: async () => edit(await send({ audience: 'customer', body: 'ahoy' }), 'ahoy again') },
    { to: TEAM, make: async () => erase(await send()) },
    { to: BOTH, make: async () => erase(await send({ audience: 'customer', body: 'ahoy' })) },
  ],
  'message.reacted': [
    { to: TEAM, make: async () => react(await send()) },
    { to: BOTH, make: async () => react(await send({ audience: 'customer', body: 'ahoy' })) },
  ],
  'message.pinned': [
    {
      to: TEAM,
      make: async () => {
        const { id: sent } = await send({ audience: 'customer', body: 'ahoy' });
        await conversations.ok('POST', `/v1/messaging/messages/${sent}/actions/pin`, {
          token: ada.access_token,
          headers: { 'Service-Version': NEWEST_VERSION },
        });
      },
    },
  ],
  'messages.purged': [
    {
      to: BOTH,
      make: async () => {
        const { id: aside } = await conversations.create({ title: SECRET });
        await app.database.transaction((tx) => purgePrefix(tx, aside, 0));
        await app.database.transaction((tx) => purgePrefix(tx, id, 1));
      },
    },
  ],
  'draft.created': [{ to: TEAM, make: () => draft() }],
  'draft.updated': [{ to: TEAM, make: async () => act('messages', (await draft()).id, 'reject') }],
  'scheduled.updated': [
    { to: TEAM, make: () => send({ audience: 'customer', scheduled_at: inAnHour() }) },
    { to: BOTH, make: () => send({ body: 'help', scheduled_at: inAnHour() }, customerToken) },
    {
      to: TEAM,
      make: async () => act('messages', (await send({ scheduled_at: inAnHour() })).id, 'cancel'),
    },
  ],
  'conversation.updated': [
    {
      to: TEAM,
      make: () => conversations.update(id, { assignee_id: ada.id }),
    },
  ],
  'participant.added': [{ to: TEAM, make: addVera }],
  'participant.updated': [{ to: TEAM, make: () => changeVera('PATCH', { role: 'viewer' }) }],
  'participant.removed': [{ to: TEAM, make: () => changeVera('DELETE') }],
  'conversation.added': [
    { to: TEAM, make: () => conversations.create({ title: SECRET, participants: [MEMBER] }) },
    { to: CUSTOMER, make: () => anotherCase() },
  ],
  'conversation.removed': [
    {
      to: TEAM,
      make: async () => {
        const { id } = await conversations.create({ title: SECRET });
        await remove(id, (await conversations.add(id, MEMBER)).id);
      },
    },
    { to: CUSTOMER, make: async () => remove(...(await anotherCase())) },
    {
      to: TEAM,
      make: async () => {
        const { id: deleted } = await conversations.create({ title: SECRET, participants: [MEMBER] });
        await ask('team', 'subscribe', { conversation_id: deleted });
        await conversations.ok('DELETE', `${PATH}/${deleted}`, {
          headers: { 'Service-Version': NEWEST_VERSION },
        });
        await sockets.team.frame(
          (frame) => frame.conversation_id === deleted && frame.event === 'conversation.removed',
        );
      },
    },
  ],
  'notification.created': [{ to: TEAM, make: () => send() }],
  'notification.updated': [
    {
      to: TEAM,
      make: async () => {
        const list = await conversations.ok<{ data: { id: string }[] }>(
          'GET',
          '/v1/messaging/notifications?limit=1',
          { token: grace.access_token },
        );
        return act('notifications', list.data[0]!.id, 'read');
      },
    },
  ],
  'agent_run.updated': [
    {
      to: TEAM,
      make: () =>
        conversations.ok('POST', `/v1/ai/agents/${app.demo.agent.id}/runs`, {
          token: grace.access_token,
          body: { input: SECRET },
        }),
    },
  ],
  'message.delta': [{ to: TEAM, make: async () => reply.append(SECRET) }],
  'message.reset': [{ to: TEAM, make: async () => reply.reset(5, SECRET) }],
  'message.snapshot': [{ to: TEAM, make: comeBack }],
  'inbox.updated': [{ to: TEAM, make: () => send({ audience: 'customer', body: 'ahoy' }) }],
  'inbox.changed': [{ to: BOTH, make: () => send({ audience: 'customer', body: 'ahoy' }) }],
  typing: [
    { to: TEAM, make: () => ask('team', 'typing', { conversation_id: id, state: 'start' }) },
    { to: TEAM, make: () => ask('customer', 'typing', { conversation_id: id, state: 'start' }) },
  ],
  presence: [
    { to: TEAM, make: () => ask('team', 'presence', { status: 'online' }) },
    { to: TEAM, make: () => ask('customer', 'presence', { status: 'online' }) },
  ],
  read: [
    {
      to: TEAM,
      make: async () => ask('team', 'mark_read', { conversation_id: id, sequence: (await send()).sequence }),
    },
    {
      to: TEAM,
      make: async () => {
        const { sequence } = await send({ audience: 'customer', body: 'ahoy' });
        return ask('customer', 'mark_read', { conversation_id: id, sequence });
      },
    },
  ],
};

t.test('every event has its place, and where customers get it, one that they get', async (t) => {
  t.strictSame(Object.keys(EVERY).sort(), Object.keys(EVENTS).sort());
  for (const [event, placed] of Object.entries(EVERY)) {
    const reaches = placed.some(({ to }) => to.includes('customer'));
    t.equal(reaches, EVENTS[event as EventName].customers, event);
    t.ok(placed.length > 0, event);
  }
});

for (const [event, placed] of Object.entries(EVERY)) {
  t.test(event, async (t) => {
    for (const { to, make } of placed) {
      const before = { team: framesOf('team', event).length, customer: framesOf('customer', event).length };
      await make();
      await until(() => to.every((audience) => framesOf(audience, event).length > before[audience]), {
        what: `${event} for ${to}`,
      });
      await settled();
      for (const audience of BOTH) {
        const got = framesOf(audience, event).slice(before[audience]);
        t.equal(got.length > 0, to.includes(audience), `${audience}: ${JSON.stringify(got)}`);
      }
    }
  });
}

t.test('every frame is as the published document has it', async (t) => {
  const contract = new FrameContract();
  const problems = [...sockets.team.frames, ...sockets.customer.frames].flatMap(
    (frame) => contract.problemOf(frame) ?? [],
  );
  t.strictSame([...new Set(problems)], []);
});

t.test('frames for a customer reveal nothing of the team', async (t) => {
  const got = sockets.customer.frames.filter(({ type }) => type === 'event');
  for (const { event, data } of got) {
    if (event !== 'message.created' && event !== 'message.updated') continue;
    t.match(data, { author: null, agent_run: null, status: 'sent' });
    t.not(data?.visibility, 'internal');
  }
  const text = JSON.stringify(got);
  for (const secret of [
    SECRET,
    ada.id,
    grace.id,
    vera.id,
    'Lovelace',
    'Hopper',
    'Rubin',
    'waiting_internal',
  ]) {
    t.notOk(text.includes(secret), secret);
  }
  // The same words did reach the team: they are what would have leaked.
  const teams = JSON.stringify(sockets.team.frames);
  for (const secret of [SECRET, ada.id, grace.id, vera.id, 'Lovelace', 'needs_approval']) {
    t.ok(teams.includes(secret), secret);
  }
});

/** Resolves when whatever was on its way to either socket has arrived: both are one queue. */
async function settled(): Promise<void> {
  const { id } = await send({ audience: 'customer', body: LAST });
  for (const socket of Object.values(sockets)) await socket.frame(({ data }) => data?.id === id);
}

/** Returns the frames of an event that `settled` did not cause. */
function framesOf(audience: Audience, event: string): readonly ReceivedFrame[] {
  return sockets[audience].frames.filter(
    (frame) => frame.event === event && !(event === 'message.created' && frame.data?.body === LAST),
  );
}

async function open(token: string): Promise<Client> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Service-Version': NEWEST_VERSION,
    'Service-Account': app.demo.account_id,
  };
  const socket = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  t.teardown(() => socket.close());
  await socket.frame('ready');
  return socket;
}

async function ask(by: Audience, op: string, fields: object): Promise<void> {
  const reply = await sockets[by].request(op, fields);
  if (reply.ok !== true) throw new Error(JSON.stringify(reply));
}

/** Sends as ada unless another token is given; internal unless `fields` state otherwise. */
function send(fields: object = {}, token = ada.access_token) {
  const metadata = token === customerToken ? { public_page: '/cart' } : NOTED;
  const body = { body: SECRET, client_message_id: randomUUID(), metadata, ...fields };
  return conversations.ok<{ id: string; sequence: number }>('POST', `${PATH}/${id}/messages`, {
    body,
    token,
    headers: { 'Service-Version': NEWEST_VERSION },
  });
}

function draft() {
  return send({ mode: 'draft', channel: 'message' });
}

function edit({ id }: { readonly id: string }, body = `${SECRET}, edited`): Promise<unknown> {
  return conversations.ok('PATCH', `/v1/messaging/messages/${id}`, { body: { body } });
}

function react({ id }: { readonly id: string }): Promise<unknown> {
  return conversations.ok('PUT', `/v1/messaging/messages/${id}/reactions/%F0%9F%91%8D`, {
    token: ada.access_token,
    headers: { 'Service-Version': NEWEST_VERSION },
  });
}

function erase({ id }: { readonly id: string }): Promise<unknown> {
  return conversations.ok('DELETE', `/v1/messaging/messages/${id}`);
}

function act(noun: string, id: string, action: string): Promise<unknown> {
  const token = noun === 'messages' ? ada.access_token : grace.access_token;
  return conversations.ok('POST', `/v1/messaging/${noun}/${id}/actions/${action}`, { token });
}

function inAnHour(): string {
  return new Date(Date.now() + 3_600_000).toISOString();
}

async function addVera(): Promise<void> {
  await conversations.add(id, { type: 'user', actor_id: vera.id });
}

async function changeVera(method: string, body?: object): Promise<void> {
  const members = await conversations.members(id);
  const own = members.find((member) => member.actor?.id === vera.id)!;
  const options = body === undefined ? {} : { body };
  await conversations.ok(method, `${PATH}/${id}/participants/${own.id}`, options);
}

function remove(conversationId: string, participantId: string): Promise<unknown> {
  return conversations.ok('DELETE', `${PATH}/${conversationId}/participants/${participantId}`);
}

/** Another case of the same customer; with its participant there. */
async function anotherCase(): Promise<[conversationId: string, participantId: string]> {
  const { conversation, customer } = await conversations.createCase({
    participants: [{ type: 'customer', actor_id: customerId }],
  });
  return [conversation.id, customer.id];
}

/** Both sockets join in the middle of the reply. */
async function comeBack(): Promise<void> {
  for (const socket of Object.values(sockets)) {
    await socket.request('unsubscribe', { conversation_id: id });
    await socket.request('subscribe', { conversation_id: id });
  }
}

/** The reply of an agent to the customer, which another node writes. */
async function openReply(): Promise<AgentReply> {
  const { database, demo } = app;
  const rights = await Rights.open(otherNode);
  t.teardown(() => rights.close());
  const facts = (await new ConversationDirectory(database, rights).facts(id))!;
  const run = await database.kysely
    .insertInto('agent_runs')
    .values({
      id: newId('agentRun'),
      account_id: demo.account_id,
      agent_id: demo.agent.id,
      actor_id: demo.agent.actor_id,
      trigger_type: 'chat',
      trigger_key: newId('message'),
      status: 'running',
      conversation_id: id,
      owner: otherNode.nodeId,
      fence: 1,
      started_at: new Date().toISOString(),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const unused = undefined as never;
  const replies = new Replies({ database, engine: otherNode, writePath: unused, lockedWrites: unused, log });
  t.teardown(() => replies.close());
  return replies.open(run, { actor_id: run.actor_id, name: 'Agent' }, facts);
}
