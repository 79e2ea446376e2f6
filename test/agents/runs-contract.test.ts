/**
 * Runs of agents (docs/contract.md#runs): started by hand, listed, read, cancelled, and the events
 * for others.
 */

import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { AgentOccurrence, AgentRun } from '@parley/protocol/resources/agent-run.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { findAgent } from '../../src/core/resources/agent.ts';
import { startRun } from '../../src/features/agents/runs/state/start.ts';
import { Client } from '../gateway/fixture.ts';
import { refusalOf, startTestApp } from '../support/app.ts';
import { ModelServer } from '../support/model-server.ts';
import { newAddress } from '../support/new-address.ts';
import { until } from '../support/until.ts';
import { AGENTS, accepted, agentBody, asNeighbour, createdAgent, textOf } from './bodies.ts';
import { RUNS, Runs } from './runs.ts';

const models = await ModelServer.start(t);
models.otherwise('Sorted.');
const app = await startTestApp(t, models.env());
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const runs = new Runs(app);
const agent = await runs.agent();
const LISTS = 'include[]=actions&include[]=steps';
const NEWEST = { 'Service-Version': '1.2.harbor' };
const FAR_AWAY = '2100-01-01T00:00:00Z';

// Three seconds in which the test can do other work.
const withoutAnswer = runs
  .insert(agent.id, { status: 'running', owner: 'elsewhere', lease_until: FAR_AWAY })
  .then((id) => runs.act(id, 'cancel'));

t.test('an agent that creates or changes agents waits for approval, whatever its reviews are', async (t) => {
  const permissions = ['agents:create', 'agents:update'];
  const role = accepted(
    await app.call<{ id: string }>('POST', '/v1/roles', { body: { name: 'Maker', permissions } }),
    201,
  );
  const [other, slug] = [await runs.agent(), `twin-${newId('agent').slice(-8)}`.toLowerCase()];
  const review = { 'create-agent': false, 'update-agent': false };
  const maker = await runs.agent({
    role_id: role.id,
    config: { endpoint_tool_slugs: ['create-agent', 'update-agent'], endpoint_tool_review: review },
  });
  models.reply({
    calls: [
      { name: 'create-agent', arguments: { body: agentBody({ slug, role_id: role.id }) } },
      { name: 'update-agent', arguments: { path: { id: other.id }, body: { name: 'Changed' } } },
    ],
  });
  const { id } = await runs.trigger(maker.id);
  const paused = await runs.reached(id, 'awaiting_approval', LISTS);
  t.match(paused.actions, [
    { tool: 'create-agent', status: 'pending_review' },
    { tool: 'update-agent', status: 'pending_review' },
  ]);
  const made = () =>
    database.kysely.selectFrom('agent_definitions').select('id').where('slug', '=', slug).execute();
  t.strictSame(await made(), []);
  const decisions = paused.actions!.map((action) => ({ action_id: action.id, approve: true }));
  accepted(await runs.act(id, 'continue', { body: { decisions }, token: demo.api_key }));
  await runs.reached(id, 'completed');
  t.equal((await made()).length, 1, 'approved, it is made');
});

t.test('Trigger: a run that waits for a node, then what it came to', async (t) => {
  const input = { ships: ['tug', 'ferry'], 'a key': null };
  const made = await runs.trigger(agent.id, { input });
  t.match(made.id, /^run_/);
  t.strictSame(made, {
    id: made.id,
    object: 'agent_run',
    trigger_type: 'manual',
    status: 'pending',
    definition: null,
    input,
    output: null,
    error_message: null,
    triggered_by: null,
    started_at: null,
    completed_at: null,
    duration_ms: null,
    actions: null,
    steps: null,
    created_at: made.created_at,
    updated_at: made.updated_at,
  });

  const ended = await runs.reached(made.id, 'completed', LISTS);
  const [step] = ended.steps!;
  t.strictSame(ended, {
    ...made,
    status: 'completed',
    output: { text: 'Sorted.' },
    started_at: ended.started_at,
    completed_at: ended.completed_at,
    duration_ms: Date.parse(ended.completed_at!) - Date.parse(ended.started_at!),
    actions: [],
    steps: [
      {
        id: step?.id,
        object: 'agent_run_step',
        position: 1,
        status: 'completed',
        provider: step?.provider,
        model: 'test-model',
        failovers: [],
        text: 'Sorted.',
        input_tokens: step?.input_tokens,
        output_tokens: step?.output_tokens,
        cost_usd: step?.cost_usd,
        error_message: null,
        started_at: step?.started_at,
        completed_at: step?.completed_at,
        created_at: step?.created_at,
        updated_at: step?.updated_at,
      },
    ],
    updated_at: ended.updated_at,
  });
  t.ok(ended.updated_at > made.updated_at);
  t.strictSame(await runs.get(made.id), { ...ended, actions: null, steps: null });

  for (const value of ['text', 7, false, [1, 2], {}]) {
    t.strictSame((await runs.trigger(agent.id, { input: value })).input, value);
  }
  for (const body of [{}, { input: null }]) {
    const { input, steps, actions } = accepted(
      await app.call<AgentRun>('POST', `${AGENTS}/${agent.id}/runs?${LISTS}`, { body }),
      201,
    );
    t.strictSame({ input, steps, actions }, { input: null, steps: [], actions: [] });
  }
});

t.test('a refused trigger of a run states its reason', async (t) => {
  const path = `${AGENTS}/${agent.id}/runs`;
  const inactive = await runs.agent();
  accepted(await app.call('PATCH', `${AGENTS}/${inactive.id}`, { body: { status: 'inactive' } }));
  const trigger = async (options: Parameters<typeof app.call>[2], at = path) =>
    refusalOf(await app.call('POST', at, { body: {}, ...options }));

  t.equal(await trigger({ headers: { Authorization: undefined } }), '401 invalid_credentials Authorization');
  t.equal(await trigger({ token: vera.access_token }), '403 insufficient_permissions null');
  t.equal(await trigger({ token: demo.customer.access_token }), '403 insufficient_permissions null');
  t.equal(await trigger({}, `${AGENTS}/${inactive.id}/runs`), '409 resource_conflict null');
  t.equal(await trigger({ body: { input: 1, other: 2 } }), '422 validation_failed other');
  t.equal(await trigger({ body: { input: 'x'.repeat(65_535) } }), '422 validation_failed input');
  t.equal(
    await trigger({ body: { input: Array(210).fill(1e308) } }),
    '422 validation_failed input',
    'written out',
  );
  t.equal(await trigger({ body: { input: { 'a\u0000': 1 } } }), '400 invalid_format input');
  t.equal(await trigger({}, `${path}?include[]=messages`), '400 parameter_invalid include[]');
  t.equal(
    textOf(await app.call('POST', path, { body: {}, ...asNeighbour(app) })),
    textOf(await app.call('POST', `${AGENTS}/${newId('agent')}/runs`, { body: {} })),
  );
  t.equal(
    (await runs.trigger(agent.id, { input: 'x'.repeat(65_534) })).status,
    'pending',
    'the most there is',
  );

  const twice = { body: { input: 1 }, headers: { 'Idempotency-Key': newId('message') } };
  const [first, again] = [await app.call('POST', path, twice), await app.call('POST', path, twice)];
  t.equal(again.text, first.text);
  t.equal(again.headers.get('Idempotent-Replayed'), 'true');
});

t.test('an agent that starts runs does so at a depth that ends', async (t) => {
  const { actor_id: actorId } = await findAgent(database, demo.account_id, agent.id);
  const role = await createdRole(['agents:run']);
  accepted(await app.call('PATCH', `${AGENTS}/${agent.id}`, { body: { role_id: role } }));
  const token = await app.tokenOf(actorId);
  const busy = { status: 'running', owner: 'elsewhere', lease_until: FAR_AWAY } as const;
  const target = await runs.agent();
  const depthOf = async ({ id }: AgentRun) => {
    const { depth } = await database.kysely
      .selectFrom('agent_runs')
      .select('depth')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    return depth;
  };
  t.equal(await depthOf(await runs.trigger(target.id)), 0);
  await runs.insert(agent.id, { ...busy, depth: 4 });
  t.equal(await depthOf(await runs.trigger(target.id, {}, { token })), 5);
  const deepest = await runs.insert(agent.id, { ...busy, depth: 5 });
  const refused = await app.call('POST', `${AGENTS}/${target.id}/runs`, { token, body: {} });
  t.equal(refusalOf(refused), '409 resource_conflict null');
  await database.kysely.deleteFrom('agent_runs').where('id', '=', deepest).execute();
});

t.test('List: newest first, filtered; runs in a conversation only for its readers', async (t) => {
  const { id } = await runs.agent();
  const path = `${AGENTS}/${id}/runs`;
  const direct = demo.conversations.direct;
  const ids = [
    await runs.insert(id, { status: 'failed', error_message: 'No.' }),
    await runs.insert(id, { trigger_type: 'chat', conversation_id: direct }),
    await runs.insert(id, { output: '{"text":"ahoy"}', started_at: '2026-01-02T00:00:01.5Z' }),
  ].reverse();
  const list = async (query: string, token = grace.access_token) =>
    accepted(await app.call<List<AgentRun>>('GET', `${path}?${query}`, { token })).data;
  const idsOf = async (query: string, token?: string) => (await list(query, token)).map((run) => run.id);

  t.strictSame(await idsOf(''), ids);
  t.strictSame(await idsOf('status=failed'), [ids[2]]);
  t.strictSame(await idsOf('status=completed&trigger_type=manual'), [ids[0]]);
  const [newest] = await list(`limit=1&${LISTS}`);
  t.strictSame(newest, await runs.get(ids[0]!, LISTS));

  const runner = await createdUser(['agents:run']);
  const token = await app.tokenOf(runner);
  t.strictSame(await idsOf('', token), [ids[0], ids[2]], 'the direct message is not hers');
  t.strictSame(await idsOf('', ada.access_token), ids);
  t.strictSame(await idsOf('', demo.api_key), ids);
  const absent = textOf(await app.call('GET', `${RUNS}/${newId('agentRun')}`, { token }));
  for (const [method, action] of [
    ['GET', ''],
    ['POST', '/actions/cancel'],
  ] as const) {
    t.equal(textOf(await app.call(method, `${RUNS}/${ids[1]}${action}`, { token })), absent);
    t.equal(textOf(await app.call(method, `${RUNS}/${ids[0]}${action}`, asNeighbour(app))), absent);
  }
  const refusal = async (query: string, token = grace.access_token) =>
    refusalOf(await app.call('GET', `${path}?${query}`, { token }));
  t.equal(await refusal('', vera.access_token), '403 insufficient_permissions null');
  t.equal(await refusal('', demo.customer.access_token), '403 insufficient_permissions null');
  t.equal(await refusal('status=ended'), '400 parameter_invalid status');
  t.equal(
    textOf(await app.call('GET', path, asNeighbour(app))),
    textOf(await app.call('GET', `${AGENTS}/${newId('agent')}/runs`)),
  );
});

t.test('List of all runs: of every agent, filtered, as the caller may read them', async (t) => {
  const [one, other] = [await runs.agent(), await runs.agent()];
  const direct = demo.conversations.direct;
  const at = (minute: number) => ({ completed_at: `2026-01-02T00:0${minute}:00Z` });
  const plain = await runs.insert(one.id, { status: 'failed', ...at(1) });
  const hidden = await runs.insert(other.id, { trigger_type: 'chat', conversation_id: direct, ...at(2) });
  const [waiting] = await runs.waiting(other.id, [{}], { triggered_by: grace.id });
  const shown = [waiting, hidden, plain];
  const get = (query: string, token = grace.access_token) =>
    app.call<List<AgentRun>>('GET', `${RUNS}?${query}`, { token, headers: NEWEST });
  const idsOf = async (query: string, token?: string) =>
    accepted(await get(`limit=100&${query}`, token))
      .data.map(({ id }) => id)
      .filter((id) => shown.includes(id));
  t.strictSame(await idsOf(''), shown);
  t.strictSame(await idsOf('status[]=awaiting_approval&status[]=running'), [waiting]);
  t.strictSame(await idsOf('status[]=awaiting_approval&status[]=failed'), [waiting, plain]);
  t.strictSame(await idsOf(`agent_id=${other.id}`), [waiting, hidden]);
  t.strictSame(await idsOf(`agent_id=${other.id}&trigger_type=chat`), [hidden]);
  t.strictSame(await idsOf(`conversation_id=${direct}`), [hidden]);
  t.strictSame(await idsOf(`conversation_id=${direct}&agent_id=${one.id}`), []);
  const byId = await app.call<AgentRun>('GET', `${RUNS}/${waiting}`, { headers: NEWEST });
  t.strictSame(accepted(await get('status[]=awaiting_approval&limit=1')).data, [byId.body]);

  const token = await app.tokenOf(await createdUser(['agents:run']));
  t.strictSame(await idsOf('', token), [waiting, plain], 'the direct message is not theirs');
  t.strictSame(await idsOf('', demo.api_key), shown);
  const neighbour = asNeighbour(app);
  const foreign = await app.call<List<AgentRun>>('GET', RUNS, {
    ...neighbour,
    headers: { ...neighbour.headers, ...NEWEST },
  });
  t.strictSame(accepted(foreign).data, []);
  const refusal = async (query: string, caller?: string) => refusalOf((await get(query, caller)) as never);
  t.equal(await refusal('', vera.access_token), '403 insufficient_permissions null');
  t.equal(await refusal(`agent_id=${newId('agent')}`), '400 parameter_invalid agent_id');
  t.equal(await refusal(`conversation_id=${newId('conversation')}`), '400 parameter_invalid conversation_id');
  t.equal(
    await refusal(`conversation_id=${direct}`, token),
    '400 parameter_invalid conversation_id',
    'a conversation that the caller cannot read is like one that is absent',
  );
  t.equal(await refusal('status[]=ended'), '400 parameter_invalid status[]');
  await app.call('POST', `${RUNS}/${waiting}/actions/cancel`);
});

t.test('a run says whose it is, since 1.2.harbor', async (t) => {
  const { id: agentId } = await runs.agent({ name: 'Sorter' });
  const { direct } = demo.conversations;
  const completed_at = '2026-01-02T00:00:00Z';
  const id = await runs.insert(agentId, { triggered_by: grace.id, conversation_id: direct, completed_at });
  const newest = { headers: NEWEST };
  const bare = await runs.get(id, '', newest);
  t.match(bare, {
    agent_id: agentId,
    triggered_by_id: grace.id,
    conversation_id: direct,
    definition: null,
    triggered_by: null,
  });
  const whole = await runs.get(id, 'include[]=definition&include[]=triggered_by', newest);
  t.match(whole, {
    agent_id: agentId,
    triggered_by_id: grace.id,
    definition: { id: agentId, object: 'agent_definition', name: 'Sorter', config: null, role: null },
    triggered_by: { id: grace.id, object: 'actor', name: 'Grace Hopper' },
  });
  const older = { headers: { 'Service-Version': '1.1.harbor' } };
  t.notOk('agent_id' in (await runs.get(id, '', older)));
  const refused = await app.call('GET', `${RUNS}/${id}?include[]=definition`, older);
  t.equal(refusalOf(refused), '400 parameter_invalid include[]');

  accepted(await app.call('DELETE', `${AGENTS}/${agentId}`));
  const left = await runs.get(id, 'include[]=definition', newest);
  t.strictSame([left.definition, left.agent_id], [null, agentId], 'the agent was deleted');

  const socket = await openSocket(grace.access_token, '1.2.harbor');
  const [waiting] = await runs.waiting(agent.id, [{}], { triggered_by: grace.id });
  accepted(await runs.act(waiting, 'cancel', { token: demo.api_key }));
  const { data } = await socket.frame(
    ({ event, data }) => event === 'agent_run.updated' && data?.id === waiting,
  );
  t.match(data, { agent_id: agent.id, triggered_by_id: grace.id, conversation_id: null });
});

t.test('Occurrences: what came of the times of a schedule', async (t) => {
  const trigger_config = { cron_schedule: '0 0 29 2 *', timezone: 'UTC' };
  const leapling = await runs.agent({
    trigger_type: 'scheduled',
    slug: 'leapling',
    config: { trigger_config },
  });
  const occurrences = async (query = '') => {
    const path = `${AGENTS}/${leapling.id}/occurrences?${query}`;
    return accepted(await app.call<List<AgentOccurrence>>('GET', path, { token: grace.access_token })).data;
  };
  t.strictSame(await occurrences(), []);
  const yesterday = new Date(Date.now() - 90_000_000).toISOString();
  const missed = { outcome: 'skipped', reason: 'missed', run_id: null } as const;
  await database.kysely
    .insertInto('agent_occurrences')
    .values({ agent_id: leapling.id, due_at: yesterday, ...missed })
    .execute();
  await database.kysely
    .updateTable('agent_definitions')
    .set({ next_due_at: new Date(Date.now() - 1_000).toISOString() })
    .where('id', '=', leapling.id)
    .execute();
  await until(async () => (await occurrences()).length === 2, { what: 'an occurrence' });
  const [ran, skipped] = await occurrences();
  const run = await runs.reached(ran!.run_id!, 'completed');
  t.match(run, { trigger_type: 'scheduled', input: { due_at: String } });
  t.strictSame(ran, {
    object: 'agent_occurrence',
    agent_id: leapling.id,
    due_at: ran!.due_at,
    outcome: 'ran',
    reason: null,
    run_id: run.id,
    created_at: ran!.created_at,
  });
  t.match(skipped, missed);
  t.strictSame(await occurrences('outcome=skipped'), [skipped]);
  const wrong = await app.call('GET', `${AGENTS}/${leapling.id}/occurrences?outcome=never`);
  t.equal(refusalOf(wrong), '400 parameter_invalid outcome');
});

t.test('Cancel: before it has started, while it waits, while it runs, and when it is over', async (t) => {
  const pending = await runs.insert(agent.id, { status: 'pending', updated_at: FAR_AWAY });
  const cancelled = accepted(await runs.act(pending, 'cancel'));
  t.match(cancelled, { status: 'cancelled', started_at: null, duration_ms: null, output: null });
  t.ok(cancelled.completed_at);

  const [waiting] = await runs.waiting(agent.id, [{}]);
  const ended = accepted(await runs.act(waiting, 'cancel', { query: LISTS }));
  t.match(ended, { status: 'cancelled', actions: [{ status: 'cancelled', arguments: {} }] });
  const again = accepted(await runs.act(waiting, 'cancel', { query: LISTS, token: ada.access_token }));
  t.strictSame(again, ended, 'once more changes nothing');

  const { promise, resolve: release } = Promise.withResolvers<void>();
  models.reply({ text: ['Half ', 'of it'], hold: { at: 1, until: promise } });
  const asked = models.requests.length;
  const { id } = await runs.trigger(agent.id);
  await runs.reached(id, 'running');
  await untilAsked(asked);
  const stopped = accepted(await runs.act(id, 'cancel', { query: LISTS }));
  t.match(stopped, { status: 'cancelled', output: null, error_message: null, steps: [{ status: 'failed' }] });
  t.equal(await models.requests[asked]!.over, 'aborted', 'nothing more is asked of the model');
  release();

  const done = await runs.insert(agent.id, { output: '{"text":"ahoy"}' });
  t.equal(refusalOf(await runs.refused(done, 'cancel')), '409 resource_conflict null', 'it has completed');
  t.equal(
    refusalOf(await runs.refused(done, 'cancel', { token: vera.access_token })),
    '403 insufficient_permissions null',
  );
});

t.test(
  'an agent without a role fails at once: the actor that started it and the account are notified',
  async (t) => {
    const { id: agentId } = await createdAgent(app, { name: 'Idler' });
    const { id } = await runs.trigger(agentId, {}, { token: ada.access_token });
    const failed = await runs.reached(id, 'failed', LISTS);
    t.match(failed, { output: null, actions: [], steps: [], error_message: /role/ });

    const told = await until(async () => (await notifications(ada.access_token)).length >= 2, {
      what: 'the notifications',
    }).then(() => notifications(ada.access_token));
    const { actor_id: sender } = await findAgent(database, demo.account_id, agentId);
    const [alerted, notified] = told;
    t.match(notified, {
      category: 'agent.run_completed',
      title: 'Idler could not finish',
      body: failed.error_message,
      priority: 'normal',
      status: 'unseen',
      sender: { id: sender, type: 'agent', name: 'Idler' },
      resource: null,
    });
    const system = accepted(
      await app.call<List<Conversation>>('GET', '/v1/messaging/conversations?type=system', {
        token: ada.access_token,
      }),
    ).data;
    t.match(system, [{ type: 'system', audience: 'internal', title: 'Alerts', unread: 1 }]);
    t.match(alerted, { category: 'agent.alert', resource: { id: system[0]!.id } });
    const alerts = await messages(system[0]!.id, ada.access_token);
    t.match(alerts, [
      {
        kind: 'alert',
        visibility: 'internal',
        body: `Idler could not finish: ${failed.error_message}`,
        sender: { id: sender },
        author: { id: sender },
        agent_run: { id },
      },
    ]);
    t.equal(alerts.length, 1);

    // Another failure of the same minute, and a second announcement of the first one's end.
    const fields = { status: 'failed', error_message: 'Again.', completed_at: failed.completed_at! } as const;
    const second = await runs.insert(agentId, { ...fields, triggered_by: grace.id });
    await handledAgain(id, second);
    t.equal((await messages(system[0]!.id, ada.access_token)).length, 1, 'one alert a minute');
    t.match(await notifications(ada.access_token), { length: told.length }, 'nothing twice');
    t.match(await notifications(grace.access_token), [{ title: 'Idler could not finish', body: 'Again.' }]);
    const later = await runs.insert(agentId, { ...fields, completed_at: FAR_AWAY });
    await handledAgain(later);
    t.equal((await messages(system[0]!.id, ada.access_token)).length, 2, 'one more in another minute');
    const { data } = accepted(
      await app.call<List<Conversation>>('GET', '/v1/messaging/conversations?type=system'),
    );
    t.equal(data.length, 1, 'one system conversation');
  },
);

t.test('a user who cancels a run is not notified; the user who started it is', async (t) => {
  const own = await runs.waiting(agent.id, [{}], { triggered_by: vera.id });
  const others = await runs.waiting(agent.id, [{}], { triggered_by: ada.id });
  const before = (await notifications(ada.access_token)).length;
  await database.kysely
    .updateTable('agent_runs')
    .set({ status: 'cancelled', cancelled_by: vera.id, completed_at: FAR_AWAY })
    .where('id', '=', own[0])
    .execute();
  await handledAgain(own[0]);
  t.strictSame(await notifications(vera.access_token), []);
  accepted(await runs.act(others[0], 'cancel'));
  await until(async () => (await notifications(ada.access_token)).length > before, {
    what: 'a notification',
  });
  t.match((await notifications(ada.access_token))[0], { title: 'Sorter was cancelled', body: null });
});

t.test(
  'in a conversation: its message shows the run, and the actor that started it gets its events',
  async (t) => {
    const { group } = demo.conversations;
    const socket = await openSocket();
    const row = await findAgent(database, demo.account_id, demo.agent.id);
    const run = await database.transaction((tx) =>
      startRun(tx, row, {
        type: 'chat',
        key: newId('message'),
        by: grace.id,
        conversationId: group,
        messageId: null,
        depth: 0,
        rootId: null,
        input: { conversation_id: group, message_id: null },
      }),
    );
    const ended = await runs.reached(run!.id, 'completed');
    const isLast = ({ event, data }: { event?: string; data?: Record<string, unknown> }) =>
      event === 'agent_run.updated' && data?.id === run!.id && data.status === 'completed';
    t.strictSame((await socket.frame(isLast)).data, ended);

    const [reply] = (await messages(group, grace.access_token)).filter(({ agent_run }) => agent_run !== null);
    t.strictSame(reply?.agent_run, ended);
    t.match(ended.output, { text: 'Sorted.', message_id: reply?.id });
    await handledAgain(run!.id);
    const feed = '/v1/messaging/notifications';
    const { data: told } = accepted(
      await app.call<List<Notification>>('GET', feed, { token: grace.access_token, headers: NEWEST }),
    );
    t.match(
      told.filter((one) => one.message_id === reply?.id || one.agent_run_id === run!.id),
      [{ category: 'chat.message', body: 'Sorted.' }],
      'the answer alone notifies, not the end of the run as well',
    );
    const path = `/v1/messaging/messages/${reply?.id}`;
    t.equal(accepted(await app.call<ChatMessage>('GET', path)).agent_run, null, 'not asked for');

    const { cursor } = await socket.frame('ready');
    socket.close();
    const back = await openSocket();
    await back.request('resume', { cursor, conversations: {} });
    t.strictSame((await back.frame(isLast)).data, ended, 'missed and told again');

    const shown = '/v1/messaging/messages';
    const sent = accepted(
      await app.call<ChatMessage>('POST', `/v1/messaging/conversations/${demo.conversations.case}/messages`, {
        body: { body: 'ahoy', audience: 'customer', client_message_id: newId('message') },
      }),
      201,
    );
    await database.kysely
      .updateTable('messages')
      .set({ agent_run_id: run!.id })
      .where('id', '=', sent.id)
      .execute();
    const showTo = async (token: string) =>
      accepted(await app.call<ChatMessage>('GET', `${shown}/${sent.id}?include[]=agent_run`, { token }))
        .agent_run;
    t.equal((await showTo(ada.access_token))?.id, run!.id);
    t.equal(await showTo(demo.customer.access_token), null);
  },
);

t.test('an actor that lost the conversation gets no further events of its runs there', async (t) => {
  const role = await createdRole(['agents:run', 'messaging:read']);
  const user = await createdUser(['agents:run'], role);
  const socket = await openSocket(await app.tokenOf(user));
  const waiting = async (conversation_id: string | null) => {
    const [id] = await runs.waiting(agent.id, [{}], { conversation_id, triggered_by: user });
    accepted(await runs.act(id, 'cancel', { token: demo.api_key }));
    return id;
  };
  const [hidden, told] = [await waiting(demo.conversations.direct), await waiting(null)];
  await socket.frame(({ event, data }) => event === 'agent_run.updated' && data?.id === told);
  await socket.frame(({ event }) => event === 'notification.created');
  t.notOk(socket.frames.some(({ data }) => data?.id === hidden));
  t.equal((await notifications(await app.tokenOf(user))).length, 1);
});

t.test('Cancel: the wait is bounded', async (t) => {
  t.match(accepted(await withoutAnswer), { status: 'running', completed_at: null });
});

/** Resolves when the model was asked once more than `before`. */
function untilAsked(before: number): Promise<unknown> {
  return until(() => models.requests.length > before, { what: 'the model is asked' });
}

/** Makes a sweep handle the end of these runs again; resolves when it was handled. */
async function handledAgain(...ids: readonly string[]): Promise<void> {
  await database.kysely
    .insertInto('outbox')
    .values(
      ids.map((run_id) => ({
        topic: 'agent_runs.ended',
        payload: JSON.stringify({ run_id }),
        due_at: '2026-01-01T00:00:00Z',
      })),
    )
    .execute();
  const left = () =>
    database.kysely.selectFrom('outbox').select('id').where('topic', '=', 'agent_runs.ended').execute();
  await until(async () => (await left()).length === 0, { what: 'the sweep' });
}

/** Those about agents, newest first. */
async function notifications(token: string): Promise<readonly Notification[]> {
  const path = '/v1/messaging/notifications?include[]=sender&include[]=resource';
  const { data } = accepted(await app.call<List<Notification>>('GET', path, { token }));
  return data.filter(({ category }) => category.startsWith('agent.'));
}

/** Newest first. */
async function messages(conversationId: string, token: string): Promise<readonly ChatMessage[]> {
  const include = 'include[]=sender&include[]=author&include[]=agent_run';
  const path = `/v1/messaging/conversations/${conversationId}/messages?${include}`;
  return accepted(await app.call<List<ChatMessage>>('GET', path, { token })).data;
}

async function createdRole(permissions: readonly string[]): Promise<string> {
  const body = { name: newId('role'), permissions };
  return accepted(await app.call<{ id: string }>('POST', '/v1/roles', { body }), 201).id;
}

async function createdUser(permissions: readonly string[], roleId?: string): Promise<string> {
  const role_id = roleId ?? (await createdRole(permissions));
  const body = { name: 'Rosa', email: newAddress(), role_id };
  return accepted(await app.call<{ id: string }>('POST', '/v1/users', { body }), 201).id;
}

async function openSocket(
  token = grace.access_token,
  version: string = demo.service_version,
): Promise<Client> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Service-Version': version,
    'Service-Account': demo.account_id,
  };
  const socket = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  t.teardown(() => socket.close());
  await socket.frame('ready');
  return socket;
}
