import { newId } from '@parley/protocol/ids.ts';
import { RUN_LIMITS } from '@parley/protocol/resources/agent-run.ts';
import { sql } from 'kysely';
import t from 'tap';
import { enqueueRightsChanged, RIGHTS_CHANGED } from '../../src/core/accounts/rights/rights-changed.ts';
import { readAgent } from '../../src/core/resources/agent.ts';
import type { RunRow } from '../../src/core/resources/run.ts';
import { continueIfDecided } from '../../src/features/agents/runs/state/approvals.ts';
import { startRun } from '../../src/features/agents/runs/state/start.ts';
import { startTestApp } from '../support/app.ts';
import { ModelServer } from '../support/model-server.ts';
import { until } from '../support/until.ts';

const models = await ModelServer.start(t);
const app = await startTestApp(t, models.env('first', 'second'));
const { database, demo } = app;
const { group } = demo.conversations;
let count = 0;

t.test('a run answers in its conversation, with one message that fills', async (t) => {
  models.reply('Seven bells and all is well.', 'first');
  const run = await ended(await chat('how is the watch?'));
  t.match(run, { status: 'completed', error_message: null, owner: null, lease_until: null });
  const message = await messageOf(run);
  t.match(message, {
    kind: 'agent',
    status: 'sent',
    visibility: 'internal',
    body: 'Seven bells and all is well.',
    streaming_state: 'complete',
    author_id: demo.agent.actor_id,
  });
  t.strictSame(run.output, { text: message?.body, message_id: message?.id });
  const { instructions, lastUserText } = models.requests.at(-1)!;
  t.match(instructions, /You are a helpful colleague/);
  t.match(lastUserText, /how is the watch\?/);
  t.match(await stepsOf(run), [
    { position: 1, status: 'completed', provider: 'openai-compatible', model: 'first', failovers: [] },
  ]);
});

t.test('a model that fails in the middle is followed by another, and nothing of it stays', async (t) => {
  models.reply({ text: 'Half a sen', breaks: { after: 2, how: 'error' } }, 'first');
  models.reply('A whole sentence.', 'second');
  const run = await ended(await chat('and now?'));
  t.equal((await messageOf(run))?.body, 'A whole sentence.');
  t.match(await stepsOf(run), [
    { model: 'second', text: 'A whole sentence.', failovers: [{ model: 'first', reason: /./ }] },
  ]);
});

t.test('if no model answers the run fails, with the text so far', async (t) => {
  models.reply({ text: 'I was about to', breaks: { after: 3, how: 'cut' } }, 'second');
  const run = await ended(await chat('are you there?'));
  t.match(run, { status: 'failed', output: null, error_message: /^No model answered/ });
  t.match(await messageOf(run), { streaming_state: 'complete', body: /^I was/ });
  t.match(await stepsOf(run), [{ status: 'failed', error_message: /^No model answered/ }]);
});

t.test('calls that need no review are made at once, and the model reads what they brought', async (t) => {
  const agent = await agentWith({ endpoint_tool_slugs: ['get-account'] });
  models.reply({ text: 'Let me look.', calls: [{ name: 'get-account', arguments: {} }] }, 'first');
  models.reply('It is the account Demo.', 'first');
  const run = await ended(await chat('which account?', agent));
  t.equal(run.status, 'completed');
  t.match(await actionsOf(run), [{ tool: 'get-account', status: 'completed', result: { status: 200 } }]);
  t.equal((await messageOf(run))?.body, 'Let me look.\n\nIt is the account Demo.');
  const told = models.requests.at(-1)?.body.messages.at(-1);
  t.equal(told?.role, 'tool');
  t.match(told?.content, /"name":"Demo"/);
});

t.test('a call that its role does not allow brings a refusal that the model reads', async (t) => {
  const agent = await agentWith({ endpoint_tool_slugs: ['create-entity'] }, 'viewer');
  const handle = newId('entity');
  models.reply(
    { calls: [{ name: 'create-entity', arguments: { body: { name: 'Hull', handle } } }] },
    'first',
  );
  models.reply('I may not.', 'first');
  const run = await ended(await chat('note the hull', agent));
  t.match(await actionsOf(run), [{ status: 'failed', error_message: /^insufficient_permissions/ }]);
  t.match(models.requests.at(-1)?.body.messages.at(-1)?.content, /insufficient_permissions/);
  t.strictSame(await entities(handle), []);
});

t.test('unknown tools and invalid arguments are reported to the model and never executed', async (t) => {
  const agent = await agentWith({ endpoint_tool_slugs: ['get-account'] });
  models.reply(
    {
      calls: [
        { name: 'launch-missiles', arguments: {} },
        { name: 'get-account', arguments: '{"path": ' },
      ],
    },
    'first',
  );
  models.reply('Never mind.', 'first');
  const run = await ended(await chat('do it', agent));
  t.equal(run.status, 'completed');
  t.strictSame(await actionsOf(run), []);
  const told = models.requests.at(-1)!.body.messages.filter(({ role }) => role === 'tool');
  t.match(told[0]?.content, /There is no tool launch-missiles/);
  t.match(told[1]?.content, /JSON/);
});

t.test('a call that needs review waits for a person, and is made once when it is approved', async (t) => {
  const agent = await agentWith({
    endpoint_tool_slugs: ['create-entity'],
    endpoint_tool_review: { 'create-entity': true },
  });
  const handle = newId('entity');
  models.reply(
    {
      text: 'I would like to.',
      calls: [{ name: 'create-entity', arguments: { body: { name: 'Hull', handle } } }],
    },
    'first',
  );
  const waiting = await inState(await chat('note the hull', agent), 'awaiting_approval');
  const [said] = await messagesOf(waiting);
  t.match(said, { body: 'I would like to.', streaming_state: 'complete' }, 'nobody waits for a sentence');
  const [action] = await actionsOf(waiting);
  t.match(action, { status: 'pending_review', expires_at: /./ });
  t.strictSame(await entities(handle), []);

  models.reply('Noted.', 'first');
  await decide(waiting, 'approved');
  const run = await ended(waiting);
  t.match(run, { status: 'completed' });
  t.equal((await entities(handle)).length, 1);
  t.strictSame(
    (await messagesOf(run)).map(({ body }) => body),
    ['I would like to.', 'Noted.'],
  );
});

t.test('a rejected or expired call is not executed, and the run continues', async (t) => {
  const review = { endpoint_tool_slugs: ['create-entity'], endpoint_tool_review: { 'create-entity': true } };
  const agent = await agentWith(review);
  const handle = newId('entity');
  const call = { name: 'create-entity', arguments: { body: { name: 'Keel', handle } } };
  models.reply({ calls: [call] }, 'first');
  const rejected = await inState(await chat('note the keel', agent), 'awaiting_approval');
  models.reply('As you wish.', 'first');
  await decide(rejected, 'rejected');
  t.equal((await ended(rejected)).status, 'completed');
  t.match(models.requests.at(-1)?.body.messages.at(-1)?.content, /rejected/);

  models.reply({ calls: [call] }, 'first');
  const late = await inState(await chat('note it after all', agent), 'awaiting_approval');
  models.reply('Too late.', 'first');
  await database.kysely
    .updateTable('agent_run_actions')
    .set({ expires_at: sql<string>`clock_timestamp() - interval '1 s'` })
    .where('run_id', '=', late.id)
    .execute();
  t.equal((await ended(late)).status, 'completed');
  t.match(await actionsOf(late), [{ status: 'expired' }]);
  t.strictSame(await entities(handle), []);
});

t.test('an agent without a role fails at once, one that was removed from the conversation too', async (t) => {
  const roleless = await agentWith({}, null);
  t.match(await ended(await chat('hello?', roleless)), { status: 'failed', error_message: /no role/ });

  const removed = await agentWith({});
  await becomes(removed, { membership: 'removed' });
  t.match(await ended(await chat('hello?', removed)), { status: 'failed', error_message: /not in the conv/ });

  const reader = await agentWith({});
  await becomes(reader, { role: 'viewer' });
  t.match(await ended(await chat('hello?', reader)), { status: 'failed', error_message: /only read/ });
});

t.test('an agent that is removed while it writes publishes nothing more', async (t) => {
  const { promise: never } = Promise.withResolvers<void>();
  const agent = await agentWith({});
  models.reply({ text: ['Here ', 'I ', 'stay'], hold: { at: 2, until: never } }, 'first');
  const run = await chat('go away', agent);
  await until(async () => (await messageOf(run))?.streaming_state === 'streaming', {
    what: 'its first text',
  });
  await becomes(agent, { membership: 'removed' });
  t.match(await ended(run), { status: 'failed', error_message: /not in the conv/ });
  t.match(await messageOf(run), { body: 'Here I ', streaming_state: 'complete' });
});

t.test('no agent runs for an account without a subscription', async (t) => {
  await subscribe('inactive');
  t.teardown(() => subscribe('active'));
  const trigger = { type: 'event', input: null, by: null, conversationId: null, messageId: null } as const;
  const run = await ended(await start(demo.agent.id, trigger));
  t.match(run, { status: 'failed', error_message: /subscription/ });
  t.strictSame(await stepsOf(run), [], 'no model was asked');
});

t.test('a run that is cancelled while it writes ends with the text so far', async (t) => {
  const { promise: never } = Promise.withResolvers<void>();
  models.reply({ text: ['One, ', 'two, ', 'three'], hold: { at: 2, until: never } }, 'first');
  const run = await chat('count');
  await until(async () => (await messageOf(run))?.streaming_state === 'streaming', {
    what: 'its first text',
  });
  await database.transaction(async (tx) => {
    await tx.kysely
      .updateTable('agent_runs')
      .set({ cancel_requested_at: sql<string>`clock_timestamp()` })
      .where('id', '=', run.id)
      .execute();
    await enqueueRightsChanged(tx, [run.id]);
  });
  t.match(await ended(run), { status: 'cancelled', output: null });
  t.match(await messageOf(run), { body: 'One, two, ', streaming_state: 'complete' });
  t.equal(await models.requests.at(-1)?.over, 'aborted', 'the model is not asked for more');
});

t.test('runs of a dead node are ended: text so far, complete, failed', async (t) => {
  const { promise: never } = Promise.withResolvers<void>();
  models.reply({ text: ['Once ', 'upon ', 'a time'], hold: { at: 2, until: never } }, 'first');
  const run = await chat('a story');
  await until(async () => (await messageOf(run))?.body === 'Once upon ', { what: 'a checkpoint' });
  await database.kysely
    .updateTable('agent_runs')
    .set({ owner: 'somebody-dead', lease_until: sql<string>`clock_timestamp() - interval '1 s'` })
    .where('id', '=', run.id)
    .execute();
  t.match(await ended(run), { status: 'failed', error_message: /died/ });
  t.match(await messageOf(run), { body: 'Once upon ', streaming_state: 'complete' });
  t.equal(await models.requests.at(-1)?.over, 'aborted', 'whoever lost it stops');
});

t.test('one that was to be cancelled is cancelled, though its node died', async (t) => {
  models.reply({ text: 'Never.', hold: { at: 0, until: new Promise(() => {}) } }, 'first');
  const run = await inState(await chat('stop it'), 'running');
  const cancel_requested_at = sql<string>`clock_timestamp()`;
  const lease_until = sql<string>`clock_timestamp() - interval '1 s'`;
  await database.kysely
    .updateTable('agent_runs')
    .set({ owner: 'somebody-dead', lease_until, cancel_requested_at })
    .where('id', '=', run.id)
    .execute();
  t.match(await ended(run), { status: 'cancelled', error_message: null });
});

t.test('a run that was not claimed is claimed by a sweep', async (t) => {
  models.reply('Here I am.', 'first');
  const run = await chat('anybody?', demo.agent.id, { silent: true });
  t.equal((await ended(run)).status, 'completed');
});

t.test('an agent that exceeds the limit of turns is ended', async (t) => {
  const agent = await agentWith({ endpoint_tool_slugs: ['get-account'] });
  models.otherwise({ calls: [{ name: 'get-account', arguments: {} }] });
  const run = await ended(await chat('go round', agent));
  models.otherwise({ status: 500 });
  t.match(run, { status: 'failed', error_message: /did not end/ });
  t.equal((await stepsOf(run)).length, RUN_LIMITS.steps);
});

t.test('without a conversation the text is in the output alone', async (t) => {
  models.reply('Forty-two.', 'first');
  const trigger = { type: 'manual', input: { question: 'life' }, by: demo.users.ada.id } as const;
  const run = await ended(await start(demo.agent.id, { ...trigger, conversationId: null, messageId: null }));
  t.strictSame(run.output, { text: 'Forty-two.' });
  t.match(models.requests.at(-1)?.lastUserText, /"question":"life"/);
  t.strictSame(await messagesOf(run), []);
});

/** A message in the group, and the agent's run that it starts. */
async function chat(
  body: string,
  agentId = demo.agent.id,
  options: { silent?: boolean } = {},
): Promise<RunRow> {
  const sent = await app.call<{ id: string }>('POST', `/v1/messaging/conversations/${group}/messages`, {
    body: { body, client_message_id: newId('message') },
  });
  const messageId = sent.body.id;
  const input = { conversation_id: group, message_id: messageId };
  const trigger = { type: 'chat', input, by: demo.users.ada.id, conversationId: group, messageId } as const;
  return start(agentId, trigger, options);
}

async function start(
  agentId: string,
  trigger: Omit<Parameters<typeof startRun>[2], 'key' | 'depth' | 'rootId'>,
  { silent = false }: { silent?: boolean } = {},
): Promise<RunRow> {
  return database.transaction(async (tx) => {
    const agent = (await readAgent(tx, agentId))!;
    const run = (await startRun(tx, agent, { ...trigger, key: newId('message'), depth: 0, rootId: null }))!;
    // As if the node that made it had died before it took it up.
    if (silent) await tx.kysely.deleteFrom('outbox').where('topic', '=', 'agent_runs.due').execute();
    return run;
  });
}

/** Another agent in the group, an admin's unless it has another role. */
async function agentWith(config: object, role: string | null = 'admin'): Promise<string> {
  const roles = await app.call<{ data: { id: string; name: string }[] }>('GET', '/v1/roles');
  const roleId = roles.body.data.find(({ name }) => name === role)?.id ?? null;
  const agent = await app.call<{ id: string }>('POST', '/v1/ai/agents', {
    body: {
      name: 'Mate',
      slug: `mate-${++count}`,
      category_code: 'general',
      trigger_type: 'chat',
      config,
      role_id: roleId,
    },
  });
  const { actor_id } = (await readAgent(database, agent.body.id))!;
  await app.call('POST', `/v1/messaging/conversations/${group}/participants`, {
    body: { type: 'agent', actor_id, agent_trigger_policy: 'mention' },
  });
  return agent.body.id;
}

/** Changes the agent's place in the group without any of the events that announce it. */
async function becomes(agentId: string, place: { role?: 'viewer'; membership?: 'removed' }): Promise<void> {
  await database.transaction(async (tx) => {
    const { actor_id } = (await readAgent(tx, agentId))!;
    await tx.kysely.updateTable('participants').set(place).where('actor_id', '=', actor_id).execute();
    await enqueueRightsChanged(tx, [group]);
  });
  await rightsChanged();
}

async function subscribe(subscription: 'active' | 'inactive'): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.kysely.updateTable('accounts').set({ subscription }).where('id', '=', demo.account_id).execute();
    await enqueueRightsChanged(tx, [demo.account_id]);
  });
  await rightsChanged();
}

/** Resolves when the change was announced: until then a node may use older rights. */
function rightsChanged(): Promise<unknown> {
  const waiting = database.kysely.selectFrom('outbox').select('id').where('topic', '=', RIGHTS_CHANGED.name);
  return until(async () => (await waiting.execute()).length === 0, {
    what: 'the rights that changed to be told',
  });
}

/** Decides every waiting call, as the endpoint does for a person. */
async function decide(run: RunRow, status: 'approved' | 'rejected'): Promise<void> {
  await database.transaction(async (tx) => {
    await tx.kysely.updateTable('agent_run_actions').set({ status }).where('run_id', '=', run.id).execute();
    await continueIfDecided(tx, run);
  });
}

async function inState(run: RunRow, ...states: RunRow['status'][]): Promise<RunRow> {
  return until(
    async () => {
      const row = await database.kysely
        .selectFrom('agent_runs')
        .selectAll()
        .where('id', '=', run.id)
        .executeTakeFirstOrThrow();
      return states.includes(row.status) ? row : undefined;
    },
    { what: `the run to be ${states}` },
  );
}

function ended(run: RunRow): Promise<RunRow> {
  return inState(run, 'completed', 'failed', 'cancelled');
}

function messagesOf(run: RunRow) {
  return database.kysely
    .selectFrom('messages')
    .selectAll()
    .where('agent_run_id', '=', run.id)
    .orderBy('sequence')
    .execute();
}

async function messageOf(run: RunRow) {
  return (await messagesOf(run)).at(-1);
}

function stepsOf(run: RunRow) {
  return database.kysely
    .selectFrom('agent_run_steps')
    .selectAll()
    .where('run_id', '=', run.id)
    .orderBy('position')
    .execute();
}

function actionsOf(run: RunRow) {
  return database.kysely.selectFrom('agent_run_actions').selectAll().where('run_id', '=', run.id).execute();
}

function entities(handle: string) {
  return database.kysely.selectFrom('entities').select('id').where('handle', '=', handle).execute();
}
