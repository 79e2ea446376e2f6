/** Runs that ask people and wait for the answer (`ask_person`, docs/contract.md#tools). */

import { newId } from '@parley/protocol/ids.ts';
import type { AgentRun } from '@parley/protocol/resources/agent-run.ts';
import t from 'tap';
import { awaitAnswer, onQuestionEnded } from '../../src/features/agents/runs/state/answers.ts';
import { purgePrefix } from '../../src/features/compliance/purge.ts';
import { type Asking, BUTTONS, NEWEST, Questions } from '../questions/asked.ts';
import { refusalOf, startTestApp } from '../support/app.ts';
import { ModelServer } from '../support/model-server.ts';
import { until } from '../support/until.ts';
import { AGENTS } from './bodies.ts';
import { Runs } from './runs.ts';

const models = await ModelServer.start(t);
models.otherwise('As you wish.');
const app = await startTestApp(t, models.env());
const { demo, database } = app;
const { ada, grace } = demo.users;
const questions = new Questions(app);
const runs = new Runs(app);
const ASKS = { config: { tools: [{ tool: 'ask_person' }] } };
const agent = await runs.agent({ ...ASKS, trigger_type: 'chat' }, NEWEST);
const YES = { revision: 1, option: 'yes' };
const LISTS = 'include[]=actions';

t.test('a run waits for the answer without a node, and goes on with it', async (t) => {
  const { id, run, asked } = await asking();
  t.match(asked, { sender_id: agent.actor_id, question: { answerable_by: 'readers' } });
  const hours = (Date.parse(asked.question.expires_at) - Date.parse(asked.created_at)) / 3_600_000;
  t.ok(hours > 23.9 && hours < 24.1, 'for a day');
  t.match(await rowOf(run.id), { owner: null, lease_until: null });
  const [call] = run.actions!;
  t.match(call, { tool: 'ask_person', status: 'executing', result: null, expires_at: null });
  t.equal(refusalOf(await runs.refused(run.id, 'continue', decide(call!.id))), '409 resource_conflict null');

  const told = models.requests.length;
  await questions.answered(asked.id, YES);
  const ended = await runs.reached(run.id, 'completed', LISTS);
  const result = { message_id: asked.id, status: 'answered', by: ada.id, option: 'yes', values: null };
  t.strictSame(ended.actions![0]!.result, result);
  const [tool] = models.requests[told]!.body.messages.filter(({ role }) => role === 'tool');
  t.strictSame(JSON.parse(tool!.content!), result, 'the model reads it');
  t.equal((await questionsIn(id)).length, 1, 'it was asked once');
});

t.test('however the question ends, the run goes on', async (t) => {
  for (const status of ['withdrawn', 'expired', 'deleted', 'purged']) {
    const { id, run, asked } = await asking();
    if (status === 'withdrawn') await questions.act('withdraw', asked.id, undefined);
    if (status === 'deleted') await app.call('DELETE', `/v1/messaging/messages/${asked.id}`);
    if (status === 'purged') await database.transaction((tx) => purgePrefix(tx, id, asked.sequence!));
    if (status === 'expired') {
      await database.kysely
        .updateTable('questions')
        .set({ expires_at: '2020-01-01T00:00:00Z' })
        .where('message_id', '=', asked.id)
        .execute();
    }
    const { actions } = await runs.reached(run.id, 'completed', LISTS);
    if (status === 'purged') continue;
    const shown = status === 'deleted' ? 'withdrawn' : status;
    t.match(actions![0]!.result, { message_id: asked.id, status: shown, by: null, option: null }, status);
  }
});

t.test('a run that asked twice waits for both', async (t) => {
  const { run, asked, id } = await asking({}, 2);
  await questions.answered(asked.id, YES);
  await until(async () => (await statusesOf(run.id)).includes('completed'), { what: 'the first answer' });
  t.equal((await runs.get(run.id)).status, 'awaiting_input');
  const second = (await questionsIn(id)).find((one) => one.id !== asked.id)!;
  await questions.answered(second.id, { revision: 1, option: 'no' });
  const { actions } = await runs.reached(run.id, 'completed', LISTS);
  t.strictSame(actions!.map(({ result }) => (result as { option: string }).option).toSorted(), ['no', 'yes']);
});

t.test('a run that ends withdraws what it asked', async (t) => {
  const { run, asked } = await asking();
  t.equal((await runs.act(run.id, 'cancel')).body.status, 'cancelled');
  const isWithdrawn = async () => (await questions.read(asked.id)).question.status === 'withdrawn';
  await until(isWithdrawn, { what: 'the withdrawal' });
  t.match((await runs.get(run.id, LISTS)).actions, [{ status: 'failed' }]);
  t.equal((await rowOf(run.id))?.status, 'cancelled', 'the end changes nothing of it');
});

t.test('an answer that comes before the pause, or before the note of it', async (t) => {
  const id = await questions.cases.conversation('internal');
  const asked = await questions.asked(id);
  const call = { tool: 'ask_person', category: 'built_in', status: 'executing' } as const;
  const insert = async (fields: object = {}) => {
    const [runId, actionId] = await runs.waiting(agent.id, [{ ...call, ...fields }], {
      status: 'running',
      owner: 'node_1',
      lease_until: '2100-01-01T00:00:00Z',
    });
    const read = () => actionOf(actionId!);
    return { runId, action: await read(), read };
  };
  const early = await insert({ awaits: asked.id });
  await questions.answered(asked.id, YES);
  await until(async () => (await early.read()).status === 'completed', { what: 'the outcome' });
  t.match(await rowOf(early.runId), { status: 'running', owner: 'node_1' }, 'its node goes on with it');
  const late = await insert();
  const row = await database.transaction((tx) => awaitAnswer(tx, late.action, asked.id));
  t.match(row, { status: 'completed', awaits: null, result: { status: 'answered', option: 'yes' } });
  const gone = await insert();
  const missing = await database.transaction((tx) => awaitAnswer(tx, gone.action, newId('message')));
  t.match(missing, { status: 'completed', result: { status: 'withdrawn' } });
  await onQuestionEnded(database, asked.id);
  t.strictSame(await late.read(), row, 'a second time');
  for (const { runId } of [early, late, gone]) await runs.act(runId, 'cancel');
});

t.test('what cannot be asked is an error for the model', async (t) => {
  const { id } = await runs.trigger(agent.id, { input: call({}) }, NEWEST);
  const ended = await runs.reached(id, 'completed', LISTS);
  t.match(ended.actions, [{ status: 'failed', error_message: /^missing_field: conversation_id/ }]);
  const { run } = await started({ actor_ids: [newId('actor')] });
  t.match((await runs.reached(run.id, 'completed', LISTS)).actions, [
    { status: 'failed', error_message: /^validation_failed: question\.actor_ids\[0\]/ },
  ]);
});

t.test('a stable version does not have the tool', async (t) => {
  const list = async (version: object) =>
    (await app.call<{ data: { slug: string }[] }>('GET', '/v1/ai/tools?category=built_in', version)).body
      .data;
  t.ok((await list(NEWEST)).some(({ slug }) => slug === 'ask_person'));
  t.notOk((await list({})).some(({ slug }) => slug === 'ask_person'));
  const body = { name: 'Asker', slug: 'asker', category_code: 'ops', trigger_type: 'manual', ...ASKS };
  t.equal(refusalOf(await app.call('POST', AGENTS, { body })), '422 validation_failed config.tools[0].tool');
});

function call(fields: object, times = 1): string {
  const { text, type, options } = BUTTONS;
  const calls = Array.from({ length: times }, () => ({
    name: 'ask_person',
    arguments: { text, type, options, ...fields },
  }));
  models.reply({ calls });
  return 'Ask.';
}

/** Starts a run that asks. */
async function started(fields: object = {}, times = 1): Promise<{ id: string; run: AgentRun }> {
  const { id } = (
    await app.call<{ id: string }>('POST', '/v1/messaging/conversations', {
      token: ada.access_token,
      body: {
        type: 'group',
        participants: [
          { type: 'user', actor_id: grace.id },
          { type: 'agent', actor_id: agent.actor_id, agent_trigger_policy: 'always' },
        ],
      },
    })
  ).body;
  await questions.cases.sent(id, { body: call(fields, times) });
  const run = await until(
    async () => {
      const path = `/v1/ai/runs?conversation_id=${id}`;
      const { body } = await app.call<{ data: AgentRun[] }>('GET', path, {
        token: ada.access_token,
        ...NEWEST,
      });
      return body.data[0];
    },
    { what: 'the run' },
  );
  return { id, run };
}

/** Starts a run that asks, and returns it once it waits. */
async function asking(fields: object = {}, times = 1) {
  const { id, run } = await started(fields, times);
  const waiting = await runs.reached(run.id, 'awaiting_input', LISTS);
  return { id, run: waiting, asked: (await questionsIn(id))[0]! };
}

async function questionsIn(conversationId: string): Promise<Asking[]> {
  const path = `/v1/messaging/conversations/${conversationId}/messages`;
  const { body } = await app.call<{ data: Asking[] }>('GET', path, { token: ada.access_token, ...NEWEST });
  return body.data.filter(({ question }) => question !== null);
}

async function statusesOf(runId: string): Promise<string[]> {
  return (await runs.get(runId, LISTS)).actions!.map(({ status }) => status);
}

function rowOf(runId: string) {
  return database.kysely
    .selectFrom('agent_runs')
    .select(['status', 'owner', 'lease_until'])
    .where('id', '=', runId)
    .executeTakeFirst();
}

function actionOf(id: string) {
  return database.kysely
    .selectFrom('agent_run_actions')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
}

function decide(action_id: string) {
  return { body: { decisions: [{ action_id, approve: true }] } };
}
