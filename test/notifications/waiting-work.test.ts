/**
 * Work that waits for a person notifies those that can act, until somebody has
 * (docs/contract.md#work-that-waits).
 */

import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import t from 'tap';
import { createRole } from '../../src/core/accounts/rights/roles.ts';
import { RUN_APPROVAL } from '../../src/features/agents/runs/state/outbox-topics.ts';
import { enqueue } from '../../src/platform/db/queue/outbox.ts';
import { Runs } from '../agents/runs.ts';
import { Cases, message } from '../messages/cases.ts';
import { borrowTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { newReader, type Reader } from './readers.ts';

const app = await borrowTestApp(t);
const { database, demo } = app;
const { ada, grace } = demo.users;
const cases = new Cases(app);
const runs = new Runs(app);
const PREVIEW = { 'Service-Version': '1.2.harbor' };

const { id: able } = await database.transaction((tx) =>
  createRole(tx, {
    accountId: demo.account_id,
    name: 'able',
    permissions: ['messaging:read', 'messaging:update', 'agents:run', 'agents:read'],
  }),
);

t.test('a draft: those that can approve it, until it is decided', async (t) => {
  const [approver, leaver, muted, viewer, reader, inactive, outsider] = await Promise.all([
    newReader(app, able),
    newReader(app, able),
    newReader(app, able),
    newReader(app, able),
    newReader(app),
    newReader(app, able),
    newReader(app, able),
  ]);
  const members = [approver, leaver, muted, reader, inactive].map(
    ({ id }) => ({ type: 'user', actorId: id }) as const,
  );
  const { id } = await cases.open(...members, { type: 'user', actorId: viewer.id, role: 'viewer' });
  await patchOwn(muted, id, { notifications: 'muted' });
  await app.call('POST', `/v1/users/${inactive.id}/actions/deactivate`, { headers: PREVIEW });
  const draft = await cases.draft(id, { body: 'Dear Cleo' });

  const [shown] = await feed(approver, 'draft.proposed', 1);
  t.match(shown, {
    category: 'draft.proposed',
    title: 'Grace Hopper proposed a reply in Pier',
    body: 'Dear Cleo',
    status: 'unseen',
    message_id: draft.id,
    agent_run_id: null,
    sender: { id: grace.id },
    resource: { id },
  });
  const [quiet] = await feed(muted, 'draft.proposed', 1);
  t.match(quiet, { status: 'read', body: 'Dear Cleo', message_id: draft.id }, 'without an announcement');
  for (const one of [viewer, reader, outsider]) await feed(one, 'draft.proposed', 0);
  await feed({ id: grace.id, token: grace.access_token }, 'draft.proposed', 0);
  const rows = await database.kysely
    .selectFrom('notifications')
    .select('recipient_id')
    .where('message_id', '=', draft.id)
    .execute();
  t.strictSame(
    rows.map(({ recipient_id }) => recipient_id).sort(),
    [ada.id, approver.id, leaver.id, muted.id].sort(),
  );

  const { id: leaving } = await database.kysely
    .selectFrom('participants')
    .select('id')
    .where('conversation_id', '=', id)
    .where('actor_id', '=', leaver.id)
    .executeTakeFirstOrThrow();
  await app.call('DELETE', `/v1/messaging/conversations/${id}/participants/${leaving}`);
  await edit(draft.id, 'Dear Cleopatra');
  await until(async () => (await feed(approver, 'draft.proposed'))[0]?.body === 'Dear Cleopatra', {
    what: 'an edited preview',
  });
  t.equal((await feed(leaver, 'draft.proposed', 1))[0]?.body, null, 'no text of after the removal');
  const rejected = await app.call('POST', `/v1/messaging/messages/${draft.id}/actions/reject`, {
    token: ada.access_token,
  });
  t.equal(rejected.status, 200);
  await feed(approver, 'draft.proposed', 0);
  const row = await database.kysely
    .selectFrom('notifications')
    .select(['status', 'body'])
    .where('message_id', '=', draft.id)
    .where('recipient_id', '=', approver.id)
    .executeTakeFirstOrThrow();
  t.strictSame(row, { status: 'dismissed', body: null }, 'withdrawn');
});

t.test('an approved reply notifies the members, and not who approved it', async (t) => {
  const [approver, reader] = await Promise.all([newReader(app, able), newReader(app)]);
  const { id } = await cases.open(
    ...[approver, reader].map((one) => ({ type: 'user', actorId: one.id }) as const),
  );
  const draft = await cases.draft(id, { body: 'Dear **Cleo**', mentions: [approver.id] });
  const path = `/v1/messaging/messages/${draft.id}/actions/approve`;
  t.equal((await app.call('POST', path, { token: approver.token })).status, 200);
  t.match(await feed(reader, 'chat.message', 1), [{ message_id: draft.id, body: 'Dear Cleo' }]);
  await feed(approver, 'chat.message', 0);
  await feed(approver, 'chat.mention', 0);
});

t.test('a draft that no member can approve: admins, without a word of it', async (t) => {
  const { id } = await cases.open();
  await database.kysely
    .deleteFrom('participants')
    .where('conversation_id', '=', id)
    .where('actor_id', '=', ada.id)
    .execute();
  const draft = await cases.draft(id, { body: 'Secret' });
  const [shown] = await until(
    async () => {
      const all = await feed({ id: ada.id, token: ada.access_token }, 'draft.proposed');
      const own = all.filter(({ message_id }) => message_id === draft.id);
      return own.length === 1 ? own : undefined;
    },
    { what: 'an admin outside' },
  );
  t.match(shown, { title: 'A reply to a customer waits for approval', body: null });
});

t.test('an assignment: to a user, to a group, and taken back', async (t) => {
  const [one, other, outside] = await Promise.all([newReader(app), newReader(app), newReader(app)]);
  const members = [one, other].map(({ id }) => ({ type: 'user', actorId: id }) as const);
  const { id } = await cases.open(...members);
  const assign = async (assignee_id: string | null, token = ada.access_token) => {
    const path = `/v1/messaging/conversations/${id}`;
    const { status, text } = await app.call('PATCH', path, { token, body: { assignee_id } });
    if (status !== 200) throw new Error(text);
  };
  await assign(one.id);
  const [shown] = await feed(one, 'conversation.assigned', 1);
  t.match(shown, {
    title: 'Ada Lovelace assigned Pier to you',
    body: null,
    message_id: null,
    sender: { id: ada.id },
    resource: { id },
  });
  await assign(other.id);
  await feed(other, 'conversation.assigned', 1);
  await feed(one, 'conversation.assigned', 0, 'the earlier assignee is not asked any more');

  const group = await app.call<{ actor_id: string }>('POST', '/v1/messaging/groups', {
    headers: PREVIEW,
    body: { name: 'Crew', members: [one.id, other.id, outside.id] },
  });
  await assign(group.body.actor_id);
  const [ofGroup] = await feed(one, 'conversation.assigned', 1);
  t.equal(ofGroup?.title, 'Ada Lovelace assigned Pier to Crew');
  await until(async () => (await feed(other, 'conversation.assigned'))[0]?.title === ofGroup?.title, {
    what: 'the other member',
  });
  await feed(outside, 'conversation.assigned', 0, 'who cannot read it is not notified');
  await assign(ada.id);
  await feed(one, 'conversation.assigned', 0);
  await feed({ id: ada.id, token: ada.access_token }, 'conversation.assigned', 0, 'not by oneself');
  await assign(one.id);
  await feed(one, 'conversation.assigned', 1);
  await assign(null);
  await feed(one, 'conversation.assigned', 0);
});

t.test('a run that waits for approval: in a conversation, and outside of any', async (t) => {
  const [approver, reader, outsider] = await Promise.all([
    newReader(app, able),
    newReader(app),
    newReader(app, able),
  ]);
  const conversationId = await cases.conversation(
    'internal',
    ...[approver, reader].map(({ id }) => ({ type: 'user', actorId: id }) as const),
  );
  const { id: agentId, name } = await runs.agent();
  const [runId, first, second] = await runs.waiting(
    agentId,
    [{}, { tool: 'fetch_url', category: 'built_in' }],
    {
      conversation_id: conversationId,
    },
  );
  await due(runId);
  const [shown] = await feed(approver, 'approval.requested', 1);
  t.match(shown, {
    title: `${name} asks for approval in Pier`,
    body: 'list-agents, fetch_url',
    priority: 'high',
    agent_run_id: runId,
    message_id: null,
    resource: { id: conversationId },
  });
  for (const one of [reader, outsider]) await feed(one, 'approval.requested', 0);
  const decide = (action_id: string) =>
    runs.act(runId, 'continue', {
      token: approver.token,
      body: { decisions: [{ action_id, approve: false }] },
    });
  t.equal((await decide(first!)).status, 200);
  await due(runId);
  t.equal((await feed(approver, 'approval.requested', 1))[0]?.id, shown?.id, 'one more is to be decided');
  t.equal((await decide(second!)).status, 200);
  await feed(approver, 'approval.requested', 0);

  const [elsewhere] = await runs.waiting(agentId, [{}], { triggered_by: outsider.id });
  await due(elsewhere);
  t.match((await feed(outsider, 'approval.requested', 1))[0], { agent_run_id: elsewhere, resource: null });
  await feed(reader, 'approval.requested', 0);
  t.equal((await runs.act(elsewhere, 'cancel', { token: outsider.token })).status, 200);
  await feed(outsider, 'approval.requested', 0);
});

/** What a run writes when it pauses. */
function due(runId: string): Promise<void> {
  return database.transaction((tx) => enqueue(tx, RUN_APPROVAL, { run_id: runId }));
}

async function patchOwn(reader: Reader, conversationId: string, body: object): Promise<void> {
  const { id } = await database.kysely
    .selectFrom('participants')
    .select('id')
    .where('conversation_id', '=', conversationId)
    .where('actor_id', '=', reader.id)
    .executeTakeFirstOrThrow();
  const path = `/v1/messaging/conversations/${conversationId}/participants/${id}`;
  const { status, text } = await app.call('PATCH', path, { token: reader.token, body });
  if (status !== 200) throw new Error(text);
}

async function edit(id: string, body: string): Promise<void> {
  const options = { token: grace.access_token, body: { body } };
  message(
    await app.call<ChatMessage & { error: never }>('PATCH', `/v1/messaging/messages/${id}`, options),
    200,
  );
}

/** The notifications of a category, once there are `count` of them and the outbox is empty. */
async function feed(
  { token }: Reader,
  category: string,
  count?: number,
  what = `${count} of ${category}`,
): Promise<readonly Notification[]> {
  return until(
    async () => {
      if (count !== undefined && (await hasOutbox())) return undefined;
      const query = `limit=100&category=${category}&include[]=sender&include[]=resource`;
      const { body } = await app.call<List<Notification>>('GET', `/v1/messaging/notifications?${query}`, {
        token,
        headers: PREVIEW,
      });
      return count === undefined || body.data.length === count ? body.data : undefined;
    },
    { what },
  );
}

async function hasOutbox(): Promise<boolean> {
  return (await database.kysely.selectFrom('outbox').select('id').limit(1).executeTakeFirst()) !== undefined;
}
