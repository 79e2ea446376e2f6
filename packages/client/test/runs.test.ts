/** Runs of agents in the SDK, against the real server and a model that is scripted. */

import t from 'tap';
import { Runs } from '../../../test/agents/runs.ts';
import { Conversations } from '../../../test/conversations/fixture.ts';
import { startTestApp } from '../../../test/support/app.ts';
import { ModelServer } from '../../../test/support/model-server.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import { type Client, connect, type Run } from '../index.ts';
import { openNetwork } from './network.ts';

const models = await ModelServer.start(t);
models.otherwise('As you wish.');
const app = await startTestApp(t, models.env());
const { demo } = app;
const { ada, grace } = demo.users;
const runs = new Runs(app);
const conversations = new Conversations(app);

t.test('the text grows, over a break, and ends as it is stored', async (t) => {
  const network = await openNetwork(t, app.baseUrl);
  const { id, slug } = await chatAgent();
  const release = Promise.withResolvers<void>();
  const words = Array.from({ length: 60 }, (_, n) => `word${n} `);
  models.reply({ text: words, hold: { at: 30, until: release.promise } });
  const client = open(t, network.url);
  const place = await withAgent(id);
  await client.send(place, `@${slug} tell me`);
  const { value: page } = await until(
    async () => {
      const next = await client.runs.list({ conversation_id: place }).next();
      return next.value?.data.length === 1 ? next : undefined;
    },
    { what: 'the run' },
  );
  const run = opened(t, client, page!.data[0]!.id);
  const texts = new Set<string>();
  run.on('change', () => texts.add(run.snapshot.text));
  await until(() => run.snapshot.text === words.slice(0, 30).join(''), { what: 'half of the text' });
  await until(() => run.snapshot.run?.status === 'running', { what: 'the run' });
  t.equal(run.snapshot.status, 'ready');
  network.cut();
  // A page that is opened in the middle has it too.
  const late = opened(t, open(t), run.id);
  await until(() => late.snapshot.text.startsWith('word0 '), { what: 'the beginning' });
  release.resolve();
  const whole = words.join('').trimEnd();
  for (const one of [run, late]) {
    await until(() => one.snapshot.run?.status === 'completed', { what: 'the end' });
    t.equal(one.snapshot.text.trimEnd(), whole);
  }
  const { rows } = await app.database.pool.query('SELECT body FROM messages WHERE id = $1', [
    run.snapshot.messageId,
  ]);
  t.strictSame(rows, [{ body: run.snapshot.text }], 'byte for byte');
  t.ok(texts.size > 1, 'it grew');
  t.equal(run.snapshot.steps.length, 1);
  t.equal(run.snapshot.waiting.length, 0);
});

t.test('a call waits for a person: exact arguments, approval and rejection', async (t) => {
  const agent = await reviewed();
  const client = open(t);
  const call = (name: string) => ({ name: 'create-group', arguments: { body: { name } } });
  models.reply({ text: 'Two groups.', calls: [call('Yes'), call('No')] });
  const { id } = await client.runs.start(agent, 'Make groups.');
  const run = opened(t, client, id);
  const waits = () => run.snapshot.waiting.length === 2 && run.snapshot.run?.status === 'awaiting_approval';
  await until(waits, { what: 'two calls' });
  t.match(run.snapshot, {
    run: { triggered_by: { name: 'Grace Hopper' }, definition: {} },
    waiting: [{ tool: 'create-group', arguments: { body: { name: 'Yes' } } }, {}],
  });
  // Another person that may decide has it open too.
  const other = opened(t, open(t, app.baseUrl, ada.access_token), id);
  await until(() => other.snapshot.waiting.length === 2, { what: 'the same calls' });
  const [yes, no] = run.snapshot.waiting;
  await run.approve(yes!.id);
  await until(() => run.snapshot.waiting.length === 1 && other.snapshot.waiting.length === 1, {
    what: 'one decision',
  });
  await other.reject(no!.id, 'One will do.');
  for (const one of [run, other]) {
    await until(() => one.snapshot.run?.status === 'completed', { what: 'the end' });
    t.match(one.snapshot.actions, [
      { status: 'completed', arguments: { body: { name: 'Yes' } }, reviewed_by: grace.id },
      { status: 'rejected', reason: 'One will do.', reviewed_by: ada.id },
    ]);
    t.equal(one.snapshot.text, 'Two groups.\n\nAs you wish.');
  }
  await t.rejects(run.approve(yes!.id), { name: 'ParleyError', code: 'resource_conflict' });
});

t.test('a run is cancelled, and one that is not there says so', async (t) => {
  const agent = await runs.agent();
  models.reply({ text: 'never', firstTokenMs: 600_000 });
  const client = open(t);
  const { id } = await client.runs.start(agent.id);
  const run = opened(t, client, id);
  await until(() => run.snapshot.run?.status === 'running', { what: 'it runs' });
  t.match(await run.cancel(), { status: 'cancelled' });
  await until(() => run.snapshot.run?.status === 'cancelled', { what: 'its end' });
  t.match(await client.runs.get(id, ['steps']), { status: 'cancelled', steps: [{}] });

  const nothing = opened(t, client, 'run_nothing');
  await until(() => nothing.snapshot.status === 'error', { what: 'the refusal' });
  t.match(nothing.snapshot.error, { code: 'resource_not_found', status: 404 });
  await t.rejects(client.runs.start('agt_nothing'), { name: 'ParleyError', code: 'resource_not_found' });
});

t.test('a draft on a case grows for the team', async (t) => {
  const { id, slug } = await chatAgent();
  const { conversation } = await conversations.createCase();
  await conversations.add(conversation.id, { type: 'user', actor_id: grace.id });
  await conversations.add(conversation.id, { type: 'agent', actor_id: id });
  const release = Promise.withResolvers<void>();
  models.reply({ text: ['Dear ', 'customer, ', 'soon.'], hold: { at: 2, until: release.promise } });
  const client = open(t);
  await client.send(conversation.id, `@${slug} answer`);
  const listed = await until(
    async () => (await client.runs.list({ conversation_id: conversation.id }).next()).value?.data[0],
    { what: 'the run' },
  );
  const run = opened(t, client, listed.id);
  await until(() => run.snapshot.text === 'Dear customer, ', { what: 'the draft so far' });
  release.resolve();
  await until(() => run.snapshot.run?.status === 'completed', { what: 'the end' });
  t.equal(run.snapshot.text, 'Dear customer, soon.');
  t.match(await client.fetch(`/v1/messaging/messages/${run.snapshot.messageId}`), {
    status: 'draft',
    body: 'Dear customer, soon.',
  });
});

/** An agent that answers where it is mentioned. */
async function chatAgent(): Promise<{ readonly id: string; readonly slug: string }> {
  const { id, slug } = await runs.agent({ trigger_type: 'chat' });
  return { id, slug };
}

/** An agent whose every group waits for a person. */
async function reviewed(): Promise<string> {
  const { body } = await app.call<{ id: string }>('POST', '/v1/roles', {
    body: { name: 'Grouper', permissions: ['messaging:read', 'messaging:update'] },
  });
  const { id } = await runs.agent({
    role_id: body.id,
    config: { endpoint_tool_slugs: ['create-group'], endpoint_tool_review: { 'create-group': true } },
  });
  return id;
}

async function withAgent(agentId: string): Promise<string> {
  const { id } = await conversations.create({
    participants: [
      { type: 'user', actor_id: grace.id },
      { type: 'agent', actor_id: agentId },
    ],
  });
  return id;
}

function opened(t: Teardown, client: Client, id: string): Run {
  const run = client.run(id);
  t.teardown(() => run.close());
  return run;
}

function open(t: Teardown, url = app.baseUrl, token = grace.access_token): Client {
  const client = connect({ url, account: demo.account_id, token, mostWaitMs: 200 });
  t.teardown(() => client.close());
  return client;
}
