/** The triggers of agents (docs/contract.md#triggers), on a whole server. */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import { RUN_LIMITS } from '@parley/protocol/resources/agent-run.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { sql } from 'kysely';
import t from 'tap';
import { Rights } from '../../src/api/access/rights.ts';
import { ConversationDirectory } from '../../src/core/conversations/directory/directory.ts';
import { readRosterVersions } from '../../src/core/conversations/rows/conversation-store.ts';
import { MESSAGES_SENT } from '../../src/core/messages/outbox-topics.ts';
import { readMessage } from '../../src/core/resources/message.ts';
import type { RunRow } from '../../src/core/resources/run.ts';
import { endRun } from '../../src/features/agents/runs/state/end-run.ts';
import { hasKeyword } from '../../src/features/agents/triggers/keywords.ts';
import { Triggers } from '../../src/features/agents/triggers/triggers.ts';
import { enqueue } from '../../src/platform/db/queue/outbox.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { inAnyOrder } from '../support/any-order.ts';
import { borrowTestApp, type CallOptions } from '../support/app.ts';
import { until } from '../support/until.ts';
import { AGENTS, accepted, createdAgent } from './bodies.ts';

/** An agent without a role, whose runs fail at once. */
interface Agent {
  readonly id: string;
  readonly actorId: string;
}

type Listening = { readonly policy?: string; readonly keywords?: readonly string[] };

const app = await borrowTestApp(t);
const { demo, database } = app;
const { ada, grace } = demo.users;

t.test('keywords are words, in any case and any script', async (t) => {
  const found = (text: string, ...keywords: string[]) => hasKeyword(text, keywords);
  for (const [text, keyword] of [
    ['please REFUND me', 'refund'],
    ['refund!', 'Refund'],
    ['(refund)', 'refund'],
    ['I write C++ and (sometimes) C', 'c++'],
    ['Größe: ÜBER', 'über'],
    ['the price is $5.00 now', '$5.00'],
    ['a-b', 'A-B'],
    ['order status, please', ' order status '],
    ['我要退款吗', '退款'],
    ['Cafe\u0301 au lait', 'café'],
  ] as const) {
    t.ok(found(text, keyword), `${keyword} in ${text}`);
  }
  for (const [text, keyword] of [
    ['refunds are slow', 'refund'],
    ['nonrefund', 'refund'],
    ['refund_id', 'refund'],
    ['überall', 'über'],
    ['the price is $5.001', '$5.00'],
    ['aXb', 'a.b'],
    ['anything', ' '],
    ['', 'refund'],
  ] as const) {
    t.notOk(found(text, keyword), `no ${keyword} in ${text}`);
  }
  t.ok(found('b', 'a', 'b'));
  t.notOk(hasKeyword('anything', []));
});

t.test(
  'a message starts the agents of the roster at its commit, also where the cache is behind',
  async (t) => {
    const [agent] = await agents(1);
    const id = await conversation([]);
    // No announcement of a changed right reaches it.
    const rights = await Rights.open(new MemoryEngine());
    t.teardown(() => rights.close());
    const directory = new ConversationDirectory(database, rights);
    t.strictSame((await directory.facts(id))!.agents, []);
    accepted(
      await app.call('POST', `${pathOf(id)}/participants`, {
        body: participant(agent, { policy: 'always' }),
      }),
      201,
    );
    const row = {
      ...(await readMessage(database, (await sendMessage(id, 'ahoy')).id))!,
      id: newId('message'),
    };
    const rosterVersion = (await readRosterVersions(database, [id])).get(id)!;
    await new Triggers({ database, directory, rights }).onMessages([{ row, rosterVersion }]);
    t.match(await runsOf({ trigger_message_id: row.id }), [{ agent_id: agent.id }]);
  },
);

t.test('a message starts the agents that it addresses, by the policy of each', async (t) => {
  const [mention, word, keyword, always] = await agents(4);
  const id = await conversation([
    [mention, {}],
    [word, { policy: 'mention', keywords: ['help'] }],
    [keyword, { policy: 'keyword', keywords: ['Refund', 'order status'] }],
    [always, { policy: 'always' }],
  ]);
  const started = async (body: string, fields = {}) => {
    const message = await sendMessage(id, body, fields);
    const runs = await settledRuns({ trigger_message_id: message.id });
    return runs.map(({ agent_id }) =>
      [mention, word, keyword, always].findIndex((one) => one.id === agent_id),
    );
  };
  t.strictSame(await started('ahoy'), [3]);
  t.strictSame(await started('HELP!'), [1, 3], 'keywords of one that waits to be mentioned count');
  t.strictSame(await started('what is my order  status'), [3]);
  t.strictSame(await started('my refund?'), [2, 3]);
  t.strictSame(await started('you two', { mentions: [mention.actorId, always.actorId] }), [0, 3]);

  const prt = await database.kysely
    .selectFrom('participants')
    .select('id')
    .where('actor_id', '=', always.actorId)
    .executeTakeFirstOrThrow();
  const path = `/v1/messaging/conversations/${id}/participants/${prt.id}`;
  accepted(await app.call('PATCH', path, { body: { agent_trigger_policy: 'mention' } }));
  t.strictSame(await started('ahoy'), [], 'it listens no more');
  await patch(mention, { status: 'inactive' });
  t.strictSame(await started('there?', { mentions: [mention.actorId] }), [], 'an inactive one');
  await patch(mention, { status: 'active' });
  t.strictSame(await started('there?', { mentions: [mention.actorId] }), [0]);
  accepted(await app.call('DELETE', path));
  const [manual] = await agents(1, { trigger_type: 'manual' });
  await join(id, manual, { policy: 'always' });
  t.strictSame(await started('ahoy'), [], 'one that only a hand starts, and one that left');
});

t.test(
  'the run: its trigger, its conversation, the actor that triggered it; once for each message',
  async (t) => {
    const [agent] = await agents(1);
    const id = await conversation([[agent, { policy: 'always' }]]);
    const message = await sendMessage(id, 'ahoy');
    const [run] = await settledRuns({ trigger_message_id: message.id });
    t.match(run, {
      agent_id: agent.id,
      actor_id: agent.actorId,
      account_id: demo.account_id,
      depth: 0,
      trigger_type: 'chat',
      trigger_key: message.id,
      triggered_by: ada.id,
      conversation_id: id,
      input: { conversation_id: id, message_id: message.id },
    });
    const byKey = await sendMessage(id, 'from a machine', { token: demo.api_key });
    t.equal((await settledRuns({ trigger_message_id: byKey.id })).length, 1, 'a key speaks for people');

    // A node that died between the commit and the effects of a message, and one that died behind
    // them.
    const copy = newId('message');
    await database.transaction(async (tx) => {
      await sql`INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, channel,
        body, sender_id, author_id, has_attachments)
      SELECT ${copy}, account_id, conversation_id, 1000, kind, status, visibility, channel, body, sender_id,
        author_id, has_attachments FROM messages WHERE id = ${message.id}`.execute(tx.kysely);
      const messages = [copy, message.id].map((one) => ({ conversation_id: id, id: one }));
      await enqueue(tx, MESSAGES_SENT, { messages });
    });
    t.equal((await settledRuns({ trigger_message_id: copy })).length, 1);
    t.equal((await runsOf({ trigger_message_id: message.id })).length, 1);
  },
);

t.test('customers count as people, drafts once they are sent, system events never', async (t) => {
  const [agent] = await agents(1);
  const { case: id } = demo.conversations;
  await join(id, agent, { policy: 'always' });
  await settled();
  t.strictSame(await runsOf({ agent_id: agent.id }), [], 'the timeline said that it joined');
  const message = await sendMessage(id, 'where is my order?', { token: demo.customer.access_token });
  const [run] = await settledRuns({ agent_id: agent.id });
  t.match(run, { trigger_message_id: message.id, triggered_by: null, conversation_id: id });

  const draft = await sendMessage(id, 'on its way', {
    client_message_id: undefined,
    mode: 'draft',
    audience: 'customer',
    channel: 'message',
    source_thread_message_id: message.id,
  });
  t.equal((await settledRuns({ agent_id: agent.id })).length, 1);
  accepted(await app.call('POST', `/v1/messaging/messages/${draft.id}/actions/approve`, { body: {} }));
  t.equal((await settledRuns({ trigger_message_id: draft.id })).length, 1);
  await sql`DELETE FROM participants WHERE actor_id = ${agent.actorId}`.execute(database.kysely);
});

t.test('agents start each other by mentions alone, and not without end', async (t) => {
  const role_id = await roleOf(['messaging:create', 'messaging:read']);
  const [speaker] = await agents(1, { trigger_type: 'chat', role_id });
  const [listener] = await agents(1);
  const id = await conversation([
    [speaker, { policy: 'always' }],
    [listener, { policy: 'always' }],
  ]);
  const token = await app.tokenOf(speaker.actorId);
  const mentions = [listener.actorId];
  await sendMessage(id, 'to nobody', { token });
  await sendMessage(id, 'to myself', { token, mentions: [speaker.actorId] });
  t.strictSame(await settledRuns({ conversation_id: id }), [], 'neither itself nor the other');

  const free = await sendMessage(id, 'you', { token, mentions });
  t.match(await settledRuns({ conversation_id: id }), [
    { trigger_message_id: free.id, depth: 1, triggered_by: speaker.actorId },
  ]);
  for (const depth of [RUN_LIMITS.depth - 1, RUN_LIMITS.depth]) {
    const run = await openRun(speaker, { depth });
    const message = await sendMessage(id, 'you again', { token, mentions });
    const started = await settledRuns({ trigger_message_id: message.id });
    t.strictSame(
      started.map((one) => one.depth),
      depth < RUN_LIMITS.depth ? [RUN_LIMITS.depth] : [],
    );
    await complete(run);
  }
});

t.test(
  'events start the agents that subscribe to them: new messages and conversations, changes, ends of runs',
  async (t) => {
    const events = ['message.created', 'conversation.created', 'conversation.updated', 'agent_run.completed'];
    const [all] = await agents(1, listensTo(...events));
    const [none] = await agents(1, listensTo('email.received'));
    const [idle] = await agents(1, listensTo('message.created'));
    await patch(idle, { status: 'inactive' });
    const id = await conversation([]);
    const message = await sendMessage(id, 'ahoy');
    accepted(await app.call('PATCH', pathOf(id), { body: { title: 'Quay' }, token: ada.access_token }));
    const [chatting] = await agents(1);
    const run = await openRun(chatting, { conversation_id: id, depth: 2 });
    await complete(run);
    const failed = await openRun(chatting, {});
    await complete(failed, 'fail');
    const runs = await settledRuns({ agent_id: all.id });
    const { updated_at } = await database.kysely
      .selectFrom('conversations')
      .select('updated_at')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    const inputs = [
      { event: 'conversation.created', conversation_id: id },
      { event: 'message.created', conversation_id: id, message_id: message.id },
      { event: 'conversation.updated', conversation_id: id },
      { event: 'agent_run.completed', run_id: run.id, conversation_id: id },
    ];
    const keys = [id, message.id, `${id}:${updated_at}`, run.id];
    const started = new Map(runs.map(({ trigger_key, input, depth }) => [trigger_key, { input, depth }]));
    t.equal(runs.length, inputs.length);
    // Jobs of commits that follow closely may run side by side, so the runs are in no order.
    for (const [index, input] of inputs.entries()) {
      const depth = index === 3 ? 3 : 0;
      t.strictSame(started.get(`${input.event}:${keys[index]}`), { input, depth }, input.event);
    }
    t.ok(runs.every((one) => one.trigger_type === 'event' && one.triggered_by === null));
    t.ok(runs.every((one) => one.conversation_id === null));
    t.strictSame([...(await runsOf({ agent_id: none.id })), ...(await runsOf({ agent_id: idle.id }))], []);

    await complete(await openRun(all, {}));
    await complete(await openRun(chatting, { depth: RUN_LIMITS.depth }));
    const countStarted = async () => (await settledRuns({ agent_id: all.id, trigger_type: 'event' })).length;
    t.equal(await countStarted(), 4, 'neither by its own nor past the limit');

    const { id: root_id } = await openRun(chatting, { depth: 0 });
    for (let n = 0; n < RUN_LIMITS.chain; n++) await openRun(chatting, { root_id, status: 'cancelled' });
    await complete(await openRun(chatting, { depth: 1, root_id }));
    t.equal(await countStarted(), 4, 'nor where enough runs go back to one');

    await patch(all, { config: { trigger_config: { event_filters: ['conversation.created'] } } });
    await sendMessage(id, 'ahoy again');
    t.equal(await countStarted(), 4, 'it waits for something else now');
    for (const agent of [all, none]) accepted(await app.call('DELETE', `${AGENTS}/${agent.id}`));
    await conversation([]);
    t.equal(await countStarted(), 4, 'it is gone');
  },
);

t.test("an agent's actions start other agents with its depth, and never itself", async (t) => {
  const role_id = await roleOf(['messaging:create', 'messaging:read', 'messaging:update']);
  const waiting = listensTo('message.created', 'conversation.created', 'conversation.updated');
  const [watcher] = await agents(1, waiting);
  const [doing] = await agents(1, { ...waiting, role_id });
  const run = await openRun(doing, { depth: 1 });
  const token = await app.tokenOf(doing.actorId);
  const body = { type: 'group', title: 'Deck', participants: [{ type: 'user', actor_id: ada.id }] };
  const made = accepted(
    await app.call<Conversation>('POST', '/v1/messaging/conversations', { body, token }),
    201,
  );
  await sendMessage(made.id, 'done', { token });
  accepted(await app.call('PATCH', pathOf(made.id), { body: { title: 'Quarterdeck' }, token }));
  const runs = await settledRuns({ agent_id: watcher.id });
  // The events of a conversation and of its messages start runs in no order.
  t.strictSame(
    inAnyOrder(runs.map(({ input, depth, root_id }) => [(input as { event: string }).event, depth, root_id])),
    [
      ['conversation.created', 2, run.id],
      ['conversation.updated', 2, run.id],
      ['message.created', 2, run.id],
    ],
  );
  t.strictSame(await runsOf({ agent_id: doing.id, trigger_type: 'event' }), []);
  await complete(run);
  await patch(watcher, { status: 'inactive' });
  await patch(doing, { status: 'inactive' });
});

t.test('a deleted agent starts no runs, and is in no conversation', async (t) => {
  const [agent] = await agents(1);
  const ids = [await conversation([[agent, {}]]), await conversation([[agent, { policy: 'always' }]])];
  const waiting = await openRun(agent, { status: 'awaiting_approval', owner: null });
  const owned = await openRun(agent, { conversation_id: ids[0]!, triggered_by: grace.id });
  accepted(await app.call('DELETE', `${AGENTS}/${agent.id}`, { token: ada.access_token }));
  const byId = new Map((await runsOf({ agent_id: agent.id })).map((run) => [run.id, run]));
  t.match(byId.get(waiting.id), { status: 'cancelled', cancelled_by: ada.id, completed_at: String });
  t.match(byId.get(owned.id), { status: 'running', cancelled_by: ada.id, cancel_requested_at: String });
  for (const id of ids) {
    const path = `${pathOf(id)}?include[]=participants`;
    const { participants } = accepted(await app.call<Conversation>('GET', path));
    t.notOk(JSON.stringify(participants).includes(agent.actorId));
  }
  const memberships = await database.kysely
    .selectFrom('participants')
    .select('membership')
    .where('actor_id', '=', agent.actorId)
    .execute();
  t.strictSame(memberships, [{ membership: 'removed' }, { membership: 'removed' }]);
  await sendMessage(ids[1]!, 'anybody?');
  t.equal((await settledRuns({ agent_id: agent.id })).length, 2);
  const said = await database.kysely
    .selectFrom('messages')
    .select('body')
    .where('conversation_id', 'in', ids)
    .where('kind', '=', 'system_event')
    .execute();
  t.strictSame(said, [{ body: 'Ada Lovelace removed Sorter.' }, { body: 'Ada Lovelace removed Sorter.' }]);
});

t.test('a schedule that is due starts its agent on a running server', async (t) => {
  const schedule = { cron_schedule: '0 0 29 2 *', timezone: 'Europe/Berlin' };
  const [agent] = await agents(1, { trigger_type: 'scheduled', config: { trigger_config: schedule } });
  await database.kysely
    .updateTable('agent_definitions')
    .set({ next_due_at: sql<string>`clock_timestamp() - interval '1 second'` })
    .where('id', '=', agent.id)
    .execute();
  const run = await until(async () => (await runsOf({ agent_id: agent.id }))[0], { what: 'its run' });
  t.match(run, { trigger_type: 'scheduled', triggered_by: null });
});

function listensTo(...events: readonly string[]) {
  return { trigger_type: 'event', config: { trigger_config: { event_filters: events } } };
}

async function agents(count: number, fields: object = { trigger_type: 'chat' }): Promise<Agent[] & Four> {
  const made: Agent[] = [];
  for (let n = 0; n < count; n++) {
    const { id } = await createdAgent(app, fields);
    const { actor_id: actorId } = await database.kysely
      .selectFrom('agent_definitions')
      .select('actor_id')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    made.push({ id, actorId });
  }
  return made as Agent[] & Four;
}

/** As many as were asked for. */
type Four = readonly [Agent, Agent, Agent, Agent];

async function roleOf(permissions: readonly string[]): Promise<string> {
  const body = { name: `Role ${newId('role')}`, permissions };
  return accepted(await app.call<{ id: string }>('POST', '/v1/roles', { body }), 201).id;
}

async function patch({ id }: Agent, body: object): Promise<void> {
  accepted(await app.call('PATCH', `${AGENTS}/${id}`, { body }));
}

function pathOf(conversationId: string): string {
  return `/v1/messaging/conversations/${conversationId}`;
}

/** A conversation of ada, grace and these agents. */
async function conversation(members: readonly (readonly [Agent, Listening])[]): Promise<string> {
  const body = {
    type: 'group',
    title: 'Pier',
    participants: [
      ...[ada.id, grace.id].map((actor_id) => ({ type: 'user', actor_id })),
      ...members.map(([agent, listening]) => participant(agent, listening)),
    ],
  };
  return accepted(await app.call<Conversation>('POST', '/v1/messaging/conversations', { body }), 201).id;
}

function participant({ actorId: actor_id }: Agent, { policy, keywords }: Listening): object {
  return { type: 'agent', actor_id, agent_trigger_policy: policy, agent_trigger_keywords: keywords };
}

async function join(conversationId: string, agent: Agent, listening: Listening): Promise<void> {
  const body = participant(agent, listening);
  accepted(await app.call('POST', `${pathOf(conversationId)}/participants`, { body }), 201);
}

/**
 * Sends a message, as ada unless another token is given; the other fields are those of the body.
 */
async function sendMessage(
  conversationId: string,
  body: string,
  { token = ada.access_token, ...fields }: CallOptions & Record<string, unknown> = {},
): Promise<ChatMessage> {
  const sent = { client_message_id: randomUUID(), body, ...fields };
  return accepted(
    await app.call<ChatMessage>('POST', `${pathOf(conversationId)}/messages`, { body: sent, token }),
    201,
  );
}

/** A run that a distant node owns, or none. */
function openRun({ id, actorId }: Agent, fields: object): Promise<RunRow> {
  return database.kysely
    .insertInto('agent_runs')
    .values({
      id: newId('agentRun'),
      account_id: demo.account_id,
      agent_id: id,
      actor_id: actorId,
      trigger_type: 'manual',
      trigger_key: newId('agentRun'),
      status: 'running',
      owner: 'far away',
      fence: 1,
      lease_until: '2100-01-01T00:00:00Z',
      ...fields,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

async function complete(run: RunRow, move: 'complete' | 'fail' = 'complete'): Promise<void> {
  const ending = move === 'fail' ? { move, error: 'it broke' } : { move, output: { text: 'done' } };
  await database.transaction((tx) => endRun(tx, run, ending));
}

async function settledRuns(where: Partial<RunRow>): Promise<RunRow[]> {
  await settled();
  return runsOf(where);
}

/** In the order in which they began. */
function runsOf(where: Partial<RunRow>): Promise<RunRow[]> {
  const columns = Object.entries(where).map(([column, value]) => sql<boolean>`${sql.ref(column)} = ${value}`);
  return database.kysely
    .selectFrom('agent_runs')
    .selectAll()
    .where((by) => by.and(columns))
    .orderBy('created_at')
    .execute();
}

/** Everything that was done has had its effects, and what these started has ended. */
async function settled(): Promise<void> {
  await until(
    async () => {
      const { rows } = await sql<{ open: number }>`
        SELECT (SELECT count(*) FROM outbox WHERE due_at < 'infinity')
          + (SELECT count(*) FROM agent_runs WHERE status IN ('pending', 'running') AND owner IS DISTINCT FROM 'far away')
          AS open`.execute(database.kysely);
      return rows[0]?.open === 0;
    },
    { what: 'nothing in the outbox' },
  );
}
