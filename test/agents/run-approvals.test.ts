/** Calls that wait for a person: permissions to decide, repetition, arguments, and results. */

import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { findAgent } from '../../src/core/resources/agent.ts';
import { type CallOptions, refusalOf, startTestApp } from '../support/app.ts';
import { ModelServer } from '../support/model-server.ts';
import { until } from '../support/until.ts';
import { AGENTS, accepted, asNeighbour, textOf } from './bodies.ts';
import { RUNS, Runs } from './runs.ts';

const models = await ModelServer.start(t);
models.otherwise('As you wish.');
const app = await startTestApp(t, models.env());
const { demo, database } = app;
const { ada, vera } = demo.users;
const runs = new Runs(app);
const role = await app.call<{ id: string }>('POST', '/v1/roles', {
  body: { name: 'Grouper', permissions: ['messaging:read', 'messaging:update'] },
});
const agent = await runs.agent({
  role_id: role.body.id,
  config: { endpoint_tool_slugs: ['create-group'], endpoint_tool_review: { 'create-group': true } },
});
const LISTS = 'include[]=actions&include[]=steps';
const PAST = '2026-01-01T00:00:00Z';

t.test('an approved call is executed as approved, once; the model learns of a rejected one', async (t) => {
  const [yes, no] = [newId('group'), newId('group')];
  const call = (name: string) => ({ name: 'create-group', arguments: { body: { name } } });
  models.reply({ text: 'Two groups.', calls: [call(yes), call(no)] });
  const { id } = await runs.trigger(agent.id, { input: 'Make groups.' });
  const paused = await runs.reached(id, 'awaiting_approval', LISTS);
  const [first, second] = paused.actions!;
  t.strictSame(first, {
    id: first?.id,
    object: 'agent_run_action',
    step_id: paused.steps![0]!.id,
    tool: 'create-group',
    category: 'api_endpoint',
    status: 'pending_review',
    arguments: { body: { name: yes } },
    result: null,
    error_message: null,
    reviewed_by: null,
    reviewed_at: null,
    reason: null,
    expires_at: first?.expires_at,
    started_at: null,
    completed_at: null,
    created_at: first?.created_at,
    updated_at: first?.updated_at,
  });
  const leftMs = Date.parse(first!.expires_at!) - Date.parse(first!.created_at);
  t.ok(Math.abs(leftMs - 86_400_000) < 1_000, 'it waits for a day');
  t.strictSame([paused.completed_at, paused.output], [null, null]);
  await until(async () => (await notified(id)).includes('unseen'), {
    what: 'a notification of those that can',
  });

  const changed = { action_id: first!.id, approve: true, arguments: { body: { name: no } } };
  t.equal(await decide(id, [changed]), '422 validation_failed decisions[0].arguments');
  t.strictSame(await groups(yes), []);

  const partly = accepted(await approve(id, [{ action_id: first!.id, approve: true }], LISTS));
  t.match(partly, {
    status: 'awaiting_approval',
    actions: [{ status: 'approved' }, { status: 'pending_review' }],
  });
  t.strictSame(await groups(yes), [], 'nothing is done while something waits');
  const rejection = [{ action_id: second!.id, approve: false, reason: 'One will do.' }];
  const options = { body: { decisions: rejection }, headers: { 'Idempotency-Key': newId('message') } };
  const asked = models.requests.length;
  const [decided, again] = [await runs.act(id, 'continue', options), await runs.act(id, 'continue', options)];
  t.equal(accepted(decided).status, 'running');
  await until(async () => (await notified(id)).join() === 'dismissed', { what: 'its withdrawal' });
  t.equal(again.text, decided.text);
  t.equal(again.headers.get('Idempotent-Replayed'), 'true');

  const ended = await runs.reached(id, 'completed', LISTS);
  t.match(ended.actions, [
    {
      status: 'completed',
      arguments: { body: { name: yes } },
      result: { status: 201, body: { name: yes } },
      reviewed_by: demo.users.grace.id,
      reason: null,
    },
    {
      status: 'rejected',
      result: null,
      reviewed_by: demo.users.grace.id,
      reason: 'One will do.',
      started_at: null,
    },
  ]);
  t.ok(ended.actions!.every(({ reviewed_at }) => reviewed_at !== null));
  t.strictSame([await groups(yes), await groups(no)], [[yes], []]);
  const told = models.requests[asked]!.body.messages.filter(({ role }) => role === 'tool');
  t.match(told[0]?.content, new RegExp(yes));
  t.match(told[1]?.content, /rejected.*One will do\./);
  t.equal(await decide(id, rejection), '409 resource_conflict null', 'it is over');
});

t.test(
  'a review that is switched on counts for a run under way, and so does a tool that is gone',
  async (t) => {
    const { promise: changed, resolve: change } = Promise.withResolvers<void>();
    const { id: mate } = await runs.agent({
      role_id: role.body.id,
      config: { endpoint_tool_slugs: ['create-group'] },
    });
    const [waits, gone] = [newId('group'), newId('group')];
    const call = (name: string) => ({ name: 'create-group', arguments: { body: { name } } });
    const asked = models.requests.length;
    models.reply({ text: 'A group.', calls: [call(waits)], hold: { at: 0, until: changed } });
    const { id } = await runs.trigger(mate, { input: 'Make a group.' });
    await until(() => models.requests.length > asked, { what: 'the model to be asked' });
    await configure(mate, { endpoint_tool_review: { 'create-group': true } });
    change();
    const paused = await runs.reached(id, 'awaiting_approval', LISTS);
    t.match(paused.actions, [{ status: 'pending_review' }]);
    t.strictSame(await groups(waits), []);

    const { promise: taken, resolve: take } = Promise.withResolvers<void>();
    models.reply({ text: 'Another.', calls: [call(gone)], hold: { at: 0, until: taken } });
    accepted(await approve(id, [{ action_id: paused.actions![0]!.id, approve: true }]));
    await until(() => models.requests.length > asked + 1, { what: 'the model to be asked again' });
    t.strictSame(await groups(waits), [waits], 'what was approved is done');
    await configure(mate, { endpoint_tool_slugs: [], endpoint_tool_review: {} });
    take();
    const ended = await runs.reached(id, 'completed', LISTS);
    t.match(ended.actions, [{ status: 'completed' }]);
    t.equal(ended.actions!.length, 1);
    t.strictSame(await groups(gone), []);
    t.match(models.requests.at(-1)?.body.messages.at(-1)?.content, /There is no tool/);
  },
);

t.test(
  'a decision without the permission, or about a call that is not waiting, changes nothing',
  async (t) => {
    const [id, open, over, decided] = await runs.waiting(agent.id, [
      { tool: 'get-account' },
      { expires_at: PAST },
      { status: 'approved' },
    ]);
    const [other, foreign] = await runs.waiting(agent.id, [{}]);
    const yes = (action_id = open!) => ({ action_id, approve: true });
    const no = { action_id: open!, approve: false };
    const { actor_id } = await findAgent(database, demo.account_id, demo.agent.id);
    const agentToken = await app.tokenOf(actor_id);
    const before = await runs.get(id, LISTS);

    const cases: [what: string, decisions: unknown, refusal: string, options?: CallOptions][] = [
      ['a viewer', [no], '403 insufficient_permissions null', { token: vera.access_token }],
      ['a customer', [no], '403 insufficient_permissions null', { token: demo.customer.access_token }],
      ['an agent', [no], '403 insufficient_permissions null', { token: agentToken }],
      ['nobody', [no], '401 invalid_credentials Authorization', { headers: { Authorization: undefined } }],
      ['who may not do it', [yes()], '403 insufficient_permissions null'],
      ['none', [], '422 validation_failed decisions'],
      ['nothing said', undefined, '400 missing_field decisions'],
      ['neither', [{ action_id: open }], '400 missing_field decisions[0].approve'],
      [
        'too long a reason',
        [{ ...no, reason: 'x'.repeat(1_001) }],
        '422 validation_failed decisions[0].reason',
      ],
      ['twice', [no, yes()], '422 validation_failed decisions[1].action_id'],
      ['of another run', [no, yes(foreign)], '404 resource_not_found decisions[1].action_id'],
      ['absent', [yes(newId('agentAction'))], '404 resource_not_found decisions[0].action_id'],
      ['decided already', [no, yes(decided)], '409 resource_conflict decisions[1].action_id'],
      [
        'its time is over',
        [no, { action_id: over, approve: false }],
        '409 resource_conflict decisions[1].action_id',
      ],
    ];
    for (const [what, decisions, refusal, options] of cases) {
      t.equal(await decide(id, decisions, options), refusal, what);
    }
    const path = `${RUNS}/${id}/actions/continue`;
    t.equal(
      textOf(await app.call('POST', path, { body: { decisions: [no] }, ...asNeighbour(app) })),
      textOf(await app.call('POST', path.replace(id, newId('agentRun')), { body: { decisions: [no] } })),
    );
    // The sweep has expired what was overdue by now, or is about to.
    const { actions } = await runs.get(id, LISTS);
    t.strictSame(actions![0], before.actions![0], 'untouched');
    t.equal((await runs.get(other)).status, 'awaiting_approval');

    for (const status of ['pending', 'running', 'completed', 'failed', 'cancelled'] as const) {
      const run = await runs.insert(agent.id, {
        status,
        owner: 'elsewhere',
        updated_at: '2100-01-01T00:00:00Z',
      });
      t.equal(await decide(run, [no]), '409 resource_conflict null', status);
    }
    const own = accepted(await approve(id, [yes()], '', { token: ada.access_token }));
    t.ok(own.updated_at > before.updated_at, 'an admin may');
  },
);

t.test("viewers of a run's conversation can neither decide about the run nor cancel it", async (t) => {
  const { group } = demo.conversations;
  const [id, action_id] = await runs.waiting(agent.id, [{}], { conversation_id: group });
  const { body } = await app.call<{ participants: { id: string; actor: { id: string } }[] }>(
    'GET',
    `/v1/messaging/conversations/${group}?include[]=participants`,
  );
  const own = body.participants.find(({ actor }) => actor.id === demo.users.grace.id)!;
  const path = `/v1/messaging/conversations/${group}/participants/${own.id}`;
  accepted(await app.call('PATCH', path, { body: { role: 'viewer' } }));
  t.equal(await decide(id, [{ action_id, approve: true }]), '403 insufficient_permissions null');
  t.equal(refusalOf(await runs.refused(id, 'cancel')), '403 insufficient_permissions null');
  accepted(await app.call('PATCH', path, { body: { role: 'member' } }));
  accepted(await approve(id, [{ action_id, approve: false }]));
});

t.test('of two concurrent decisions on an action one counts', async (t) => {
  for (let round = 0; round < 5; round++) {
    const [id, action_id] = await runs.waiting(agent.id, [{}]);
    const answers = await Promise.all(
      [true, false].map((one) =>
        runs.act(id, 'continue', { body: { decisions: [{ action_id, approve: one }] } }),
      ),
    );
    t.strictSame(answers.map(({ status }) => status).sort(), [200, 409]);
    const won = answers[0]!.status === 200;
    const ended = await runs.reached(id, 'completed', LISTS);
    // The agent does not have that tool: approved, it was tried.
    t.equal(ended.actions![0]!.status, won ? 'failed' : 'rejected');
  }
});

t.test('a call that is not decided in time is not executed, and the run continues without it', async (t) => {
  const [id] = await runs.waiting(agent.id, [{ expires_at: PAST }]);
  const ended = await runs.reached(id, 'completed', LISTS);
  t.match(ended.actions, [{ status: 'expired', reviewed_by: null, started_at: null }]);
});

t.test('a role that is taken away ends the run, whatever it is doing', async (t) => {
  const other = await runs.agent({ role_id: role.body.id, slug: 'short-lived' });
  models.reply({ text: ['One ', 'two'], hold: { at: 1, until: new Promise(() => {}) } });
  const { id } = await runs.trigger(other.id, { input: 'Count.' });
  await runs.reached(id, 'running');
  accepted(await app.call('PATCH', `${AGENTS}/${other.id}`, { body: { role_id: null } }));
  t.match(await runs.reached(id, 'failed'), { error_message: /no role/ });
});

async function decide(id: string, decisions: unknown, options: CallOptions = {}): Promise<string> {
  return refusalOf(await runs.refused(id, 'continue', { body: { decisions }, ...options }));
}

function approve(id: string, decisions: unknown, query = '', options: CallOptions = {}) {
  return runs.act(id, 'continue', { query, body: { decisions }, ...options });
}

async function configure(agentId: string, config: object): Promise<void> {
  accepted(await app.call('PATCH', `${AGENTS}/${agentId}`, { body: { config } }));
}

/** Names of the groups that are called so. */
async function groups(name: string): Promise<string[]> {
  const path = `/v1/messaging/groups?q=${name}`;
  const { data } = accepted(await app.call<{ data: { name: string }[] }>('GET', path));
  return data.map((group) => group.name);
}

/** The states of the notifications that a run waits for approval. */
async function notified(runId: string): Promise<string[]> {
  const rows = await database.kysely
    .selectFrom('notifications')
    .select('status')
    .distinct()
    .where('agent_run_id', '=', runId)
    .where('category', '=', 'approval.requested')
    .execute();
  return rows.map(({ status }) => status);
}
