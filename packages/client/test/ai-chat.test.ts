/** `useChat` of the AI SDK, without a page, over the real server and a model that is scripted. */

import { Chat } from '@ai-sdk/react';
import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai';
import t from 'tap';
import { Runs } from '../../../test/agents/runs.ts';
import { Conversations } from '../../../test/conversations/fixture.ts';
import { startTestApp } from '../../../test/support/app.ts';
import { ModelServer } from '../../../test/support/model-server.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import { ParleyChatTransport } from '../ai/index.ts';
import type { AgentRun } from '../index.ts';
import { type Client, connect } from '../index.ts';
import { openNetwork } from './network.ts';

const models = await ModelServer.start(t);
models.otherwise('As you wish.');
const app = await startTestApp(t, models.env('first', 'second'));
const { demo } = app;
const { grace } = demo.users;
const runs = new Runs(app);
const conversations = new Conversations(app);
const reader = connect({ url: app.baseUrl, account: demo.account_id, token: grace.access_token });
t.teardown(() => reader.close());

t.test('a message is sent once, and its answer is one message with the id of the run', async (t) => {
  const id = await conversation();
  const { chat, transport } = await opened(t, id);
  models.reply({ text: ['One ', 'two ', 'three.'] });
  await chat.sendMessage({ text: 'Count.' });
  t.equal(chat.status, 'ready');
  const [stored] = await storedOf(id, 'agent');
  t.strictSame(textsOf(chat.messages.at(-1)), [stored!.body]);
  t.equal(chat.messages.at(-1)?.id, stored!.agent_run_id);
  t.equal(stored!.body, 'One two three.');

  // Sent again, as after an error: nothing twice, and the same answer.
  chat.messages = chat.messages.slice(0, 1);
  await chat.sendMessage();
  t.equal((await storedOf(id, 'chat')).length, 1);
  t.strictSame(
    chat.messages.map((message) => [message.role, textsOf(message)]),
    [
      ['user', ['Count.']],
      ['assistant', ['One two three.']],
    ],
  );
  // A page that is opened later has the same, under the same ids.
  t.strictSame(shownOf(await transport.messages(id)), shownOf(chat.messages));
});

t.test('a page that is opened in the middle shows the answer from its start, and whole', async (t) => {
  const id = await conversation();
  const release = Promise.withResolvers<void>();
  const words = Array.from({ length: 40 }, (_, n) => `word${n} `);
  models.reply({ text: words, hold: { at: 20, until: release.promise } });
  const { chat } = await opened(t, id);
  const sending = chat.sendMessage({ text: 'Tell me.' });
  await until(() => textsOf(chat.messages.at(-1)).join('').includes('word19'), { what: 'half of it' });
  const { chat: late } = await opened(t, id);
  const resuming = late.resumeStream();
  const hasHalf = () => textsOf(late.messages.at(-1)).join('').includes('word19');
  await until(() => late.status === 'streaming' && hasHalf(), { what: 'half of it there' });
  release.resolve();
  await Promise.all([sending, resuming]);
  const [stored] = await storedOf(id, 'agent');
  for (const one of [chat, late]) {
    t.equal(one.status, 'ready');
    t.equal(textsOf(one.messages.at(-1)).join(''), stored!.body);
    t.strictSame(
      one.messages.map(({ role }) => role),
      ['user', 'assistant'],
    );
  }
  // Nothing is under way any more.
  const { chat: last } = await opened(t, id);
  await last.resumeStream();
  t.equal(last.status, 'ready');
  t.strictSame(shownOf(last.messages), shownOf(chat.messages));
});

t.test('an answer that ends between the messages and the stream is whole', async (t) => {
  const id = await conversation();
  const release = Promise.withResolvers<void>();
  models.reply({ text: ['Half ', 'whole.'], hold: { at: 1, until: release.promise } });
  const first = await opened(t, id);
  const sending = first.chat.sendMessage({ text: 'Tell me.' });
  await until(() => textsOf(first.chat.messages.at(-1))[0] === 'Half ', { what: 'half of it' });
  const { chat: late } = await opened(t, id);
  release.resolve();
  await sending;
  await late.resumeStream();
  t.strictSame(shownOf(late.messages), shownOf(first.chat.messages));
  t.strictSame(textsOf(late.messages.at(-1)), ['Half whole.']);
});

t.test('stop ends the request to the model; an abort does not', async (t) => {
  const id = await conversation();
  const release = Promise.withResolvers<void>();
  models.reply({ text: ['One ', 'two.'], hold: { at: 1, until: release.promise } });
  const { chat, transport } = await opened(t, id);
  const aborted = chat.sendMessage({ text: 'First.' });
  await until(() => textsOf(chat.messages.at(-1))[0] === 'One ', { what: 'the first word' });
  const request = models.requests.at(-1)!;
  await chat.stop();
  await aborted;
  t.equal(chat.status, 'ready');
  release.resolve();
  t.equal(await request.over, 'complete');
  await until(async () => (await storedOf(id, 'agent'))[0]?.body === 'One two.', {
    what: 'the whole answer',
  });
  await chat.resumeStream();
  t.strictSame(textsOf(chat.messages.at(-1)), ['One two.'], 'and it can be shown');

  models.reply({ text: ['Never ', 'ends.'], hold: { at: 1, until: new Promise(() => {}) } });
  const stopped = chat.sendMessage({ text: 'Second.' });
  await until(() => textsOf(chat.messages.at(-1))[0] === 'Never ', { what: 'the first word of the second' });
  const second = models.requests.at(-1)!;
  await transport.stop(chat);
  t.equal(await second.over, 'aborted');
  await stopped;
  t.equal(chat.status, 'ready');
  t.equal((await runs.get(chat.messages.at(-1)!.id)).status, 'cancelled');
  const [, answer] = await storedOf(id, 'agent');
  t.strictSame(textsOf(chat.messages.at(-1)), [answer!.body]);
});

t.test('a late stop does not hit the next run', async (t) => {
  const id = await conversation();
  const network = await openNetwork(t, app.baseUrl);
  const { chat, transport } = await opened(t, id, { url: network.url });
  models.reply('First answer.');
  await chat.sendMessage({ text: 'First.' });
  const shown = { id: chat.id, messages: [...chat.messages], stop: async () => {} };
  const release = Promise.withResolvers<void>();
  models.reply({ text: ['Second ', 'answer.'], hold: { at: 1, until: release.promise } });
  const other = await opened(t, id);
  const sending = other.chat.sendMessage({ text: 'Second.' });
  await until(() => textsOf(other.chat.messages.at(-1))[0] === 'Second ', { what: 'the second run' });
  await transport.stop(shown);
  release.resolve();
  await sending;
  t.strictSame(textsOf(other.chat.messages.at(-1)), ['Second answer.']);
  t.equal((await runs.get(other.chat.messages.at(-1)!.id)).status, 'completed');
});

t.test('stop before the run is known cancels it when it is', async (t) => {
  const id = await conversation();
  // Whether the model is asked at all depends on how early the run is cancelled.
  models.otherwise({ text: 'never', firstTokenMs: 600_000 });
  t.teardown(() => void models.otherwise('As you wish.'));
  const { chat, transport } = await opened(t, id);
  const sending = chat.sendMessage({ text: 'Go.' });
  await until(() => chat.status === 'submitted', { what: 'the request' });
  await transport.stop(chat);
  await sending;
  t.strictSame(
    (await runsOf(id)).map(({ status }) => status),
    ['cancelled'],
  );
});

t.test('what an attempt wrote that failed is taken back', async (t) => {
  const id = await conversation();
  models.reply({ text: ['It ', 'fails '], breaks: { after: 2, how: 'error' } }, 'first');
  models.reply({ text: ['It ', 'is ', 'done.'] }, 'second');
  const { chat } = await opened(t, id);
  await chat.sendMessage({ text: 'Do it.' });
  t.strictSame(textsOf(chat.messages.at(-1)), ['It is done.']);
});

t.test('a run that fails is an error of the chat', async (t) => {
  const id = await conversation();
  for (const model of ['first', 'second']) models.reply({ status: 400 }, model);
  const { chat } = await opened(t, id);
  await chat.sendMessage({ text: 'Do it.' });
  t.equal(chat.status, 'error');
  const [run] = await runsOf(id);
  t.match(run, { status: 'failed' });
  t.equal(chat.error?.message, run!.error_message);
});

t.test('calls that wait are decided in the chat, and the run goes on in the same message', async (t) => {
  const id = await conversation(await reviewed());
  const call = (name: string) => ({ name: 'create-group', arguments: { body: { name } } });
  models.reply({ text: 'Two groups.', calls: [call('Yes'), call('No')] });
  models.reply({ text: 'As you wish.' });
  const { chat } = await opened(t, id);
  await chat.sendMessage({ text: 'Make groups.' });
  t.equal(chat.status, 'ready');
  const waiting = approvalsOf(chat.messages.at(-1));
  t.match(
    waiting,
    [
      { toolName: 'create-group', input: { body: { name: 'Yes' } }, state: 'approval-requested' },
      { input: { body: { name: 'No' } }, state: 'approval-requested' },
    ],
    'the exact arguments',
  );
  // A page that is opened now shows them too.
  const { chat: late } = await opened(t, id);
  await late.resumeStream();
  t.strictSame(partsOf(late.messages.at(-1)), partsOf(chat.messages.at(-1)));

  const [yes, no] = waiting;
  await chat.addToolApprovalResponse({ id: yes!.approval.id, approved: true });
  await chat.addToolApprovalResponse({ id: no!.approval.id, approved: false, reason: 'One will do.' });
  await until(() => textsOf(chat.messages.at(-1)).includes('As you wish.') && chat.status === 'ready', {
    what: 'the rest of the run',
  });
  t.match(approvalsOf(chat.messages.at(-1)), [
    { state: 'output-available', approval: { approved: true } },
    { state: 'output-denied', approval: { approved: false, reason: 'One will do.' } },
  ]);
  t.match((await runsOf(id))[0], {
    status: 'completed',
    actions: [{ status: 'completed' }, { status: 'rejected', reason: 'One will do.' }],
  });
  const texts = (await storedOf(id, 'agent')).map(({ body }) => body);
  t.strictSame(textsOf(chat.messages.at(-1)), texts);
  t.equal(chat.messages.length, 2);
});

t.test(
  'a second turn while a reader of the first is elsewhere: each shows its own (LibreChat#14411)',
  async (t) => {
    const id = await conversation();
    const release = Promise.withResolvers<void>();
    models.reply({ text: ['First ', 'answer.'], hold: { at: 1, until: release.promise } });
    const here = await opened(t, id);
    const first = here.chat.sendMessage({ text: 'One.' });
    await until(() => textsOf(here.chat.messages.at(-1))[0] === 'First ', { what: 'the first answer' });
    const there = await opened(t, id);
    const reading = there.chat.resumeStream();
    await until(() => textsOf(there.chat.messages.at(-1))[0] === 'First ', { what: 'it there' });
    await here.chat.stop();
    await first;
    models.reply('Second answer.');
    await here.chat.sendMessage({ text: 'Two.' });
    t.strictSame(textsOf(here.chat.messages.at(-1)), ['Second answer.']);
    t.strictSame(textsOf(there.chat.messages.at(-1)), ['First ']);
    release.resolve();
    await reading;
    t.strictSame(textsOf(there.chat.messages.at(-1)), ['First answer.']);
    const { chat: late } = await opened(t, id);
    t.strictSame(late.messages.map(textsOf), [['One.'], ['First answer.'], ['Two.'], ['Second answer.']]);
  },
);

t.test('a break heals by itself; the end of the client is a disconnect', async (t) => {
  const id = await conversation();
  const network = await openNetwork(t, app.baseUrl);
  const release = Promise.withResolvers<void>();
  models.reply({ text: ['One ', 'two.'], hold: { at: 1, until: release.promise } });
  models.reply({ text: ['Three ', 'four.'], hold: { at: 1, until: new Promise(() => {}) } });
  const ends: boolean[] = [];
  const { chat, client } = await opened(t, id, {
    url: network.url,
    onFinish: ({ isDisconnect }) => ends.push(isDisconnect),
  });
  const sending = chat.sendMessage({ text: 'Count.' });
  await until(() => textsOf(chat.messages.at(-1))[0] === 'One ', { what: 'the first word' });
  network.cut();
  release.resolve();
  await sending;
  t.strictSame(textsOf(chat.messages.at(-1)), ['One two.']);
  const second = chat.sendMessage({ text: 'Go on.' });
  await until(() => textsOf(chat.messages.at(-1))[0] === 'Three ', { what: 'the second answer' });
  client.close();
  await second;
  t.equal(chat.status, 'error');
  t.strictSame(ends, [false, true]);
});

t.test('what Parley cannot do is refused, and nothing is sent', async (t) => {
  const id = await conversation();
  const { chat } = await opened(t, id);
  await chat.sendMessage({ text: 'Hello.' });
  const [question] = chat.messages;
  await chat.regenerate();
  t.match(chat.error, { name: 'ParleyError', code: 'method_not_allowed' });
  await chat.sendMessage({ text: 'Something else.', messageId: question!.id });
  t.match(chat.error, { name: 'ParleyError', code: 'method_not_allowed' });
  t.equal((await storedOf(id, 'chat')).length, 1);
  t.equal((await runsOf(id)).length, 1);
});

interface OpenOptions {
  readonly url?: string;
  readonly onFinish?: (end: { readonly isDisconnect: boolean }) => void;
}

/** Does what a page does when it is opened. */
async function opened(t: Teardown, id: string, { url = app.baseUrl, onFinish = () => {} }: OpenOptions = {}) {
  const client: Client = connect({
    url,
    account: demo.account_id,
    token: grace.access_token,
    mostWaitMs: 200,
  });
  t.teardown(() => client.close());
  const transport = new ParleyChatTransport({ client });
  const messages = await transport.messages(id);
  const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses;
  const chat = new Chat<UIMessage>({ id, messages, transport, sendAutomaticallyWhen, onFinish });
  return { chat, transport, client };
}

/** Returns the id of a conversation of Grace with an agent that answers every message. */
async function conversation(agentId?: string): Promise<string> {
  const agent = agentId ?? (await runs.agent({ trigger_type: 'chat' })).id;
  const { id } = await conversations.create({
    participants: [
      { type: 'user', actor_id: grace.id },
      { type: 'agent', actor_id: agent, agent_trigger_policy: 'always' },
    ],
  });
  return id;
}

/** An agent whose every group waits for a person. */
async function reviewed(): Promise<string> {
  const { body } = await app.call<{ id: string }>('POST', '/v1/roles', {
    body: { name: 'Group maker', permissions: ['messaging:read', 'messaging:update'] },
  });
  const { id } = await runs.agent({
    trigger_type: 'chat',
    role_id: body.id,
    config: { endpoint_tool_slugs: ['create-group'], endpoint_tool_review: { 'create-group': true } },
  });
  return id;
}

/** The messages of a kind as Postgres has them. */
async function storedOf(id: string, kind: 'chat' | 'agent') {
  const { rows } = await app.database.pool.query<{ body: string; agent_run_id: string }>(
    'SELECT body, agent_run_id FROM messages WHERE conversation_id = $1 AND kind = $2 ORDER BY sequence',
    [id, kind],
  );
  return rows;
}

function partsOf(message: UIMessage | undefined): UIMessage['parts'] {
  return message?.parts ?? [];
}

function textsOf(message: UIMessage | undefined): string[] {
  return partsOf(message).flatMap((part) => (part.type === 'text' ? [part.text] : []));
}

function approvalsOf(message: UIMessage | undefined) {
  return partsOf(message).flatMap((part) =>
    part.type === 'dynamic-tool' && part.approval !== undefined ? [{ ...part, approval: part.approval }] : [],
  );
}

/** The id and the text of each message. */
function shownOf(messages: readonly UIMessage[]) {
  return messages.map((message) => ({
    id: message.id,
    role: message.role,
    text: textsOf(message).join('\n\n'),
  }));
}

/** The runs of a conversation, newest first. */
async function runsOf(id: string): Promise<readonly AgentRun[]> {
  const { value } = await reader.runs.list({ conversation_id: id, include: ['actions'] }).next();
  return value?.data ?? [];
}
