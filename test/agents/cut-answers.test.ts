/** Answers that were cut: their marks, and that none reaches a customer before a person read it. */

import { newId } from '@parley/protocol/ids.ts';
import type { AgentRun } from '@parley/protocol/resources/agent-run.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { createRole } from '../../src/core/accounts/rights/roles.ts';
import type { ReceivedFrame } from '../gateway/fixture.ts';
import { openSocket } from '../notifications/readers.ts';
import { startTestApp } from '../support/app.ts';
import { type ModelReply, ModelServer } from '../support/model-server.ts';
import { until } from '../support/until.ts';
import { accepted, createdAgent } from './bodies.ts';

const models = await ModelServer.start(t);
const app = await startTestApp(t, models.env('first', 'second'));
const { database, demo } = app;
const MESSAGES = '/v1/messaging/messages';
const NEWEST = { headers: { 'Service-Version': NEWEST_VERSION } };
const TEXT = 'The refund takes';
const ADA = { token: demo.users.ada.access_token };

const role = await createRole(database, {
  accountId: demo.account_id,
  name: 'answering',
  type: 'agent',
  permissions: ['messaging:read', 'messaging:create', 'messaging:send_external'],
});
const agent = await createdAgent(app, { trigger_type: 'chat', role_id: role.id });
const readers = {
  newest: await openSocket(t, app, ADA, NEWEST_VERSION),
  before: await openSocket(t, app, ADA, '1.3.harbor'),
};

/** Both models answer like this, so that no other takes over. */
const CUT: Readonly<Record<string, readonly [ModelReply, ChatMessage['incomplete'], AgentRun['status']]>> = {
  whole: [{ text: TEXT }, null, 'completed'],
  'too long': [{ text: TEXT, finish: 'length' }, 'length', 'completed'],
  filtered: [{ text: TEXT, finish: 'content_filter' }, 'content_filter', 'failed'],
  'an error at its end': [{ text: TEXT, finish: 'error' }, 'error', 'failed'],
  'an error in between': [{ text: `${TEXT} x`, breaks: { after: 3, how: 'error' } }, 'error', 'failed'],
  'no end': [{ text: TEXT, finish: null }, 'error', 'failed'],
  'a cut connection': [{ text: `${TEXT} x`, breaks: { after: 3, how: 'cut' } }, 'error', 'failed'],
};

for (const [what, [reply, incomplete, status]] of Object.entries(CUT)) {
  t.test(`${what}: the message, the turn and the end of the stream say so`, async (t) => {
    models.reply(reply, 'first');
    if (status === 'failed') models.reply(reply, 'second');
    const id = await conversation('internal');
    const run = await ended(id, await ask(id));
    t.equal(run.status, status);
    t.match(run.steps, [{ text: TEXT, incomplete }]);
    const { message, update } = await written(run, 'message.updated');
    t.match(message, { body: TEXT, streaming_state: 'complete', incomplete });
    t.match(update, { body: TEXT, stream: {}, incomplete });
    const earlier = await readers.before.frame(isEnd('message.updated', message.id));
    t.notOk('incomplete' in earlier.data!, 'earlier versions have the fields that they had');
    t.notOk('incomplete' in accepted(await app.call<ChatMessage>('GET', `${MESSAGES}/${message.id}`)));
  });

  t.test(`${what}: a reply to a customer`, async (t) => {
    models.reply(reply, 'first');
    if (status === 'failed') models.reply(reply, 'second');
    const id = await conversation('customer');
    const run = await ended(id, await ask(id, demo.customer.access_token));
    const { message, update } = await written(run, 'draft.updated');
    t.match(update, { body: TEXT, stream: {}, incomplete });
    if (incomplete === null) {
      await until(async () => (await messageOf(run)).status === 'sent', { what: 'the reply to be sent' });
      return;
    }
    t.match(message, { status: 'draft', incomplete });
    const isSent = isEnd('message.created', message.id);
    t.notOk(readers.newest.frames.some(isSent), 'it waits for a person');
    const approve = `${MESSAGES}/${message.id}/actions/approve`;
    const approved = accepted(await app.call<ChatMessage>('POST', approve, { body: {}, ...NEWEST }));
    t.match(approved, { status: 'sent', incomplete }, 'who sends it as it is decides so');
    const token = demo.customer.access_token;
    const shown = await app.call<ChatMessage>('GET', `${MESSAGES}/${message.id}`, { token, ...NEWEST });
    t.match(accepted(shown), { body: TEXT, incomplete: null });
  });
}

t.test('an edited text is whole, and a change of anything else leaves the mark', async (t) => {
  models.reply({ text: TEXT, finish: 'length' }, 'first');
  const id = await conversation('customer');
  const run = await ended(id, await ask(id, demo.customer.access_token));
  const draft = await messageOf(run);
  const edit = async (body: object) => {
    const path = `${MESSAGES}/${draft.id}`;
    return accepted(await app.call<ChatMessage>('PATCH', path, { body, ...NEWEST })).incomplete;
  };
  t.equal(await edit({ metadata: { seen: 'yes' } }), 'length');
  t.equal(await edit({ body: TEXT }), 'length');
  t.equal(await edit({ body: `${TEXT} ten days.` }), null);
});

t.test('a run that is stopped leaves a text that is marked', async (t) => {
  models.reply({ text: `${TEXT} x`, breaks: { after: 3, how: 'stall' } }, 'first');
  const id = await conversation('internal');
  const messageId = await ask(id);
  const run = await until(() => runOf(id, messageId), { what: 'the run' });
  await until(async () => (await findMessage(run))?.streaming_state === 'streaming', { what: 'its text' });
  accepted(await app.call('POST', `/v1/ai/runs/${run.id}/actions/cancel`, { body: {} }));
  const over = await ended(id, messageId);
  t.match(over, { status: 'cancelled', steps: [{ status: 'failed', incomplete: 'error' }] });
  t.match(await messageOf(over), { streaming_state: 'complete', incomplete: 'error' });
});

t.test('where every model says nothing, no message is written and the run fails', async (t) => {
  for (const text of [[''], [' \n '], ['<think>Hm.', '</think>']]) {
    models.reply({ text }, 'first').reply({ text }, 'second');
    const id = await conversation('internal');
    const run = await ended(id, await ask(id));
    t.match(run, { status: 'failed', error_message: /The model answered without a text\.$/ });
    t.equal(await findMessage(run), undefined);
  }
});

/**
 * A conversation of ada and the agent, which answers to every message; a case has the customer too.
 */
async function conversation(audience: 'internal' | 'customer'): Promise<string> {
  const customer = { type: 'customer', actor_id: demo.customer.actor_id };
  const answer = await app.call<{ id: string }>('POST', '/v1/messaging/conversations', {
    body: {
      type: 'group',
      title: 'Pier',
      audience,
      participants: [
        { type: 'user', actor_id: demo.users.ada.id },
        { type: 'agent', actor_id: agent.id, agent_trigger_policy: 'always' },
        ...(audience === 'customer' ? [customer] : []),
      ],
    },
    token: demo.users.ada.access_token,
  });
  const { id } = accepted(answer, 201);
  for (const reader of Object.values(readers)) await reader.request('subscribe', { conversation_id: id });
  return id;
}

/** Sends a question, and returns its id. */
async function ask(id: string, token = demo.users.ada.access_token): Promise<string> {
  const body = { body: 'How long does it take?', client_message_id: newId('message') };
  const path = `/v1/messaging/conversations/${id}/messages`;
  return accepted(await app.call<ChatMessage>('POST', path, { body, token }), 201).id;
}

async function runOf(id: string, messageId: string): Promise<AgentRun | undefined> {
  const path = `/v1/ai/runs?conversation_id=${id}&include[]=steps`;
  const { data } = accepted(await app.call<{ data: AgentRun[] }>('GET', path, NEWEST));
  return data.find(({ input }) => (input as { message_id: string }).message_id === messageId);
}

async function ended(id: string, messageId: string): Promise<AgentRun> {
  return until(
    async () => {
      const run = await runOf(id, messageId);
      return run?.completed_at == null ? undefined : run;
    },
    { what: 'the run to end' },
  );
}

async function findMessage({ id }: AgentRun): Promise<ChatMessage | undefined> {
  const rows = await database.kysely
    .selectFrom('messages')
    .select('id')
    .where('agent_run_id', '=', id)
    .execute();
  if (rows.length === 0) return undefined;
  return accepted(await app.call<ChatMessage>('GET', `${MESSAGES}/${rows.at(-1)!.id}`, NEWEST));
}

async function messageOf(run: AgentRun): Promise<ChatMessage> {
  const message = await findMessage(run);
  if (message === undefined) throw new Error('The run has written nothing.');
  return message;
}

/** The message of the run, and the data of the frame that ended its stream. */
async function written(run: AgentRun, event: 'message.updated' | 'draft.updated') {
  const message = await messageOf(run);
  const { data } = await readers.newest.frame(isEnd(event, message.id));
  return { message, update: data };
}

function isEnd(name: string, id: string) {
  return ({ event, data }: ReceivedFrame) => event === name && data?.id === id;
}
