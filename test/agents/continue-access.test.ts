/**
 * The approver of a call needs access to the conversation in which the call acts: the conversation
 * that its arguments name, or that of their message.
 */

import { newId } from '@parley/protocol/ids.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import t from 'tap';
import { Conversations } from '../conversations/fixture.ts';
import { refusalOf, startTestApp } from '../support/app.ts';
import { ModelServer } from '../support/model-server.ts';
import { accepted } from './bodies.ts';
import { Runs } from './runs.ts';

const models = await ModelServer.start(t);
models.otherwise('As you wish.');
const app = await startTestApp(t, models.env());
const { demo } = app;
const { grace } = demo.users;
const runs = new Runs(app);
const conversations = new Conversations(app);
const agent = await runs.agent();
const DENIED = '403 insufficient_permissions null';

const group = (role?: 'member' | 'viewer') =>
  conversations.create({
    participants: role === undefined ? [] : [{ type: 'user', actor_id: grace.id, role }],
  });
const [closed, watched, own] = [await group(), await group('viewer'), await group('member')];

t.test('grace approves what she could do there herself, and nothing else', async (t) => {
  const theirs = accepted(
    await app.call<{ id: string }>('POST', '/v1/messaging/conversations', {
      body: { type: 'group', participants: [] },
      token: demo.other_account.api_key,
      headers: { 'Service-Account': demo.other_account.account_id },
    }),
    201,
  );
  const [unread, seen, mine] = [await said(closed.id), await said(watched.id), await said(own.id)];
  const cases: [what: string, tool: string, id: string, outcome: string][] = [
    ['sends where she is not', 'send-message', closed.id, DENIED],
    ['reads where she is not', 'list-messages', closed.id, DENIED],
    ['adds people where she is not', 'add-participant', closed.id, DENIED],
    ['changes what is said where she is not', 'update-message', unread, DENIED],
    ['reads what is said where she is not', 'get-message', unread, DENIED],
    ['sends where she only reads', 'send-message', watched.id, DENIED],
    ['changes what is said where she only reads', 'update-message', seen, DENIED],
    ['reads where she only reads', 'list-messages', watched.id, 'approved'],
    ['reads what is said where she only reads', 'get-message', seen, 'approved'],
    ['sends where she is', 'send-message', own.id, 'approved'],
    ['changes what is said where she is', 'update-message', mine, 'approved'],
    ['no such conversation', 'send-message', newId('conversation'), 'approved'],
    ['no such message', 'update-message', newId('message'), 'approved'],
    ['a conversation of another account', 'send-message', theirs.id, 'approved'],
    ['an endpoint elsewhere', 'get-agent', closed.id, 'approved'],
  ];
  for (const [what, tool, id, outcome] of cases) {
    t.ok(
      app.routes.some(({ name }) => name === tool.replaceAll('-', '_')),
      tool,
    );
    const [run, action] = await runs.waiting(agent.id, [
      { tool, arguments: JSON.stringify({ path: { id } }) },
    ]);
    t.equal(await approved(run, [action!]), outcome, what);
  }
});

t.test('nothing is decided where one of the calls is refused; rejecting asks for less', async (t) => {
  const send = (id: string) => ({ tool: 'send-message', arguments: JSON.stringify({ path: { id } }) });
  const [run, allowed, refused] = await runs.waiting(agent.id, [send(own.id), send(closed.id)]);
  t.equal(await approved(run, [allowed!, refused!]), DENIED);
  const before = await runs.get(run, 'include[]=actions');
  t.match(before.actions, [{ status: 'pending_review' }, { status: 'pending_review' }]);
  const rejection = { decisions: [{ action_id: refused, approve: false }] };
  const { actions } = accepted(
    await runs.act(run, 'continue', { query: 'include[]=actions', body: rejection }),
  );
  t.match(actions, [{ status: 'pending_review' }, { status: 'rejected', reviewed_by: grace.id }]);
});

t.test('callers with access to the whole account approve everywhere in it', async (t) => {
  const path = { id: closed.id };
  const [run, action] = await runs.waiting(agent.id, [
    { tool: 'send-message', arguments: JSON.stringify({ path }) },
  ]);
  t.equal(await approved(run, [action!], demo.api_key), 'approved');
});

t.test('a call whose arguments name no resource can be approved', async (t) => {
  for (const text of ['', '{}', '{"path":null}', '{"path":{"id":7}}']) {
    const [run, action] = await runs.waiting(agent.id, [{ tool: 'send-message', arguments: text }]);
    t.equal(await approved(run, [action!]), 'approved', text);
  }
});

/** Returns `approved` or the refusal. Grace is the caller by default. */
async function approved(run: string, actionIds: readonly string[], token = runs.grace): Promise<string> {
  const body = { decisions: actionIds.map((action_id) => ({ action_id, approve: true })) };
  const answer = await runs.refused(run, 'continue', { body, token });
  return answer.status === 200 ? 'approved' : refusalOf(answer);
}

/** Sends a message as ada; returns its id. */
async function said(conversationId: string): Promise<string> {
  const body = { body: 'Ahoy.', client_message_id: newId('message') };
  const path = `/v1/messaging/conversations/${conversationId}/messages`;
  return (await conversations.ok<ChatMessage>('POST', path, { body })).id;
}
