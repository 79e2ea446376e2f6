/**
 * Runs as tasks, over two nodes of which any answers any request: started, followed, decided and
 * cancelled.
 */

import { newId } from '@parley/protocol/ids.ts';
import type { AgentRun } from '@parley/protocol/resources/agent-run.ts';
import t from 'tap';
import { accepted } from '../agents/bodies.ts';
import { Runs } from '../agents/runs.ts';
import { startTestApp } from '../support/app.ts';
import { ModelServer } from '../support/model-server.ts';
import { startNode } from '../support/node.ts';
import { startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { CLIENTS, modern, refusalIn } from './clients.ts';

const models = await ModelServer.start(t);
models.otherwise('As you wish.');
const redis = await startRedis(t);
const app = await startTestApp(t, { ...models.env(), REDIS_URL: redis.url });
const other = await startNode(t, { databaseUrl: app.databaseUrl, redisUrl: redis.url, env: models.env() });
const places = [`${app.baseUrl}/mcp`, `${other.baseUrl}/mcp`];
const { demo } = app;
const { grace } = demo.users;
const runs = new Runs(app);
const role = accepted(
  await app.call<{ id: string }>('POST', '/v1/roles', {
    body: { name: 'Grouper', permissions: ['messaging:read', 'messaging:update'] },
  }),
  201,
);
const agent = await runs.agent({
  role_id: role.id,
  config: { endpoint_tool_slugs: ['create-group'], endpoint_tool_review: { 'create-group': true } },
});
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const ASKS = { ...TASKS, elicitation: { form: {} } };
let asked = 0;

t.test('clients of both generations need no certain node', async (t) => {
  for (const [title, open] of Object.entries(CLIENTS)) {
    const used = new Set<string>();
    const anyNode: typeof fetch = (_, init) => {
      const url = nextPlace();
      used.add(url);
      return fetch(url, init);
    };
    const client = await open(t, { url: places[0]!, token: grace.access_token, fetch: anyNode });
    for (let n = 0; n < 4; n += 1) {
      t.ok((await client.listTools()).tools.length > 10, title);
      t.notMatch(await client.callTool({ name: 'list-conversations', arguments: {} }), { isError: true });
    }
    t.equal(used.size, 2);
  }
});

t.test('a run is a task that any node has, from its start to its result', async (t) => {
  const held = Promise.withResolvers<void>();
  models.reply({ text: 'Sorted at last.', hold: { at: 1, until: held.promise } });
  const task = await start({ input: 'Sort.' });
  t.match(task, {
    resultType: 'task',
    taskId: /^run_/,
    status: 'working',
    ttlMs: null,
    pollIntervalMs: 1_000,
  });
  for (const place of places) {
    const { result } = await ask(place, 'tasks/get', { taskId: task.taskId });
    t.match(result, { resultType: 'complete', taskId: task.taskId, status: 'working' });
    t.notOk('result' in result);
  }
  held.resolve();
  const done = await reached(task.taskId, 'completed');
  t.match(done.result, { isError: false, structuredContent: { id: task.taskId, status: 'completed' } });
  t.match(done.result.content[0].text, /Sorted at last/);
});

t.test('without the extension, the tool answers with the run, and there are no tasks', async (t) => {
  const { result } = await ask(nextPlace(), 'tools/call', startOf({}), {});
  t.match(result, { resultType: 'complete', structuredContent: { object: 'agent_run' } });
  const { error } = await ask(nextPlace(), 'tasks/get', { taskId: result.structuredContent.id }, {});
  await runs.reached(result.structuredContent.id, 'completed');
  t.match(error, { code: -32_021, data: { requiredCapabilities: TASKS } });
  for (const [title, open] of Object.entries(CLIENTS)) {
    const client = await open(t, { url: nextPlace(), token: grace.access_token });
    const run = await client.callTool(startOf({}));
    const { id, object } = run.structuredContent as AgentRun;
    t.equal(object, 'agent_run', title);
    await runs.reached(id, 'completed');
  }
});

t.test('a refused start is a result, not a task', async (t) => {
  const { result } = await ask(nextPlace(), 'tools/call', startOf({}, 'agt_0000'));
  t.equal(result.resultType, 'complete');
  t.match(refusalIn(result), /resource_not_found/);
});

t.test('calls that wait are decided by the form, once, and as they were shown', async (t) => {
  const [yes, no] = [newId('group'), newId('group')];
  const call = (name: string) => ({ name: 'create-group', arguments: { body: { name } } });
  models.reply({ text: 'Two groups.', calls: [call(yes), call(no)] });
  const { taskId } = await start({ input: 'Make groups.' });
  const paused = await reached(taskId, 'input_required');
  const [first, second] = Object.entries<{ params: { message: string } }>(paused.inputRequests);
  t.match(first![1], { method: 'elicitation/create', params: { mode: 'form' } });
  t.match(first![1].params.message, new RegExp(`create-group .*${yes}`));
  t.match(second![1].params.message, new RegExp(no));
  const silent = await ask(nextPlace(), 'tasks/get', { taskId }, TASKS);
  t.strictSame(silent.result.inputRequests, {}, 'a client without forms is asked nothing');

  const [firstId, secondId] = [first![0], second![0]];
  const undecided = { [firstId]: { action: 'cancel' }, act_other: { action: 'decline' } };
  t.strictSame(withoutMeta(await update(taskId, undecided)), { resultType: 'complete' });
  t.equal((await reached(taskId, 'input_required')).status, 'input_required');

  const decided = await update(taskId, {
    [firstId]: { action: 'accept', content: { decision: 'approve' } },
    [secondId]: { action: 'decline' },
  });
  t.strictSame(withoutMeta(decided), { resultType: 'complete' });
  t.strictSame(withoutMeta(await update(taskId, { [firstId]: { action: 'decline' } })), {
    resultType: 'complete',
  });
  await reached(taskId, 'completed');
  const run = await runs.get(taskId, 'include[]=actions');
  t.match(run.actions, [{ status: 'completed', reviewed_by: grace.id }, { status: 'rejected' }]);
});

t.test('a task is cancelled from another node', async (t) => {
  const never = Promise.withResolvers<void>();
  t.teardown(() => never.resolve());
  models.reply({ text: 'Never.', hold: { at: 0, until: never.promise } });
  const { taskId } = await start({ input: 'Wait.' });
  await runs.reached(taskId, 'running');
  t.strictSame(withoutMeta((await ask(places[1]!, 'tasks/cancel', { taskId })).result), {
    resultType: 'complete',
  });
  t.equal((await reached(taskId, 'cancelled')).status, 'cancelled');
});

t.test('tasks of others do not exist', async (t) => {
  const { taskId } = await start({ input: 'Mine.' });
  const key = demo.other_account.api_key;
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
    const params = { taskId, ...(method === 'tasks/update' && { inputResponses: {} }) };
    const { text } = await modern(nextPlace(), key, method, params, ASKS);
    t.match(JSON.parse(text).error, { code: -32_602, data: { code: 'resource_not_found' } }, method);
  }
  t.match((await ask(nextPlace(), 'tasks/get', {})).error, { code: -32_602 });
});

function nextPlace(): string {
  asked += 1;
  return places[asked % 2]!;
}

async function ask(
  place: string,
  method: string,
  params: Record<string, unknown>,
  capabilities: object = ASKS,
) {
  return JSON.parse((await modern(place, grace.access_token, method, params, capabilities)).text);
}

function startOf(body: object, id = agent.id) {
  return { name: 'trigger-agent-run', arguments: { path: { id }, body } };
}

async function start(body: object) {
  return (await ask(nextPlace(), 'tools/call', startOf(body))).result;
}

async function update(taskId: string, inputResponses: object) {
  const { error, result } = await ask(nextPlace(), 'tasks/update', { taskId, inputResponses });
  if (error !== undefined) throw new Error(JSON.stringify(error));
  return result;
}

function reached(taskId: string, status: string) {
  return until(
    async () => {
      const { result } = await ask(nextPlace(), 'tasks/get', { taskId });
      return result.status === status ? result : undefined;
    },
    { what: `the task is ${status}` },
  );
}

function withoutMeta({ _meta, ...rest }: Record<string, unknown>) {
  return rest;
}
