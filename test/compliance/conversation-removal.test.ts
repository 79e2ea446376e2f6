/**
 * Deleting and restoring a conversation over HTTP and sockets
 * (docs/contract.md#deleting-a-conversation).
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { systemConversation as accountConversation } from '../../src/core/conversations/lifecycle/system-conversation.ts';
import { purgeConversation } from '../../src/features/compliance/purge.ts';
import { purgeDeleted } from '../../src/features/compliance/purge-deleted.ts';
import { createLog } from '../../src/platform/log.ts';
import { Runs } from '../agents/runs.ts';
import { newSigningKey } from '../audit/fixture.ts';
import { Client } from '../gateway/fixture.ts';
import { Cases, user } from '../messages/cases.ts';
import { type CallOptions, refusalOf, startTestApp } from '../support/app.ts';
import { storedText } from '../support/stored-text.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const app = await startTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const cases = new Cases(app);
const runs = new Runs(app);
const PATH = '/v1/messaging/conversations';
const NEWEST = { 'Service-Version': '1.2.harbor' };
const OLDER = { 'Service-Version': '1.1.harbor' };
const asAda = { token: ada.access_token, headers: NEWEST };
const asGrace = { token: grace.access_token, headers: NEWEST };
const neverAborted = new AbortController().signal;
const GONE = '410 resource_gone id';

t.test('after a deletion everything about it is gone; a restore brings it back', async (t) => {
  const { id, customerId, customerToken } = await cases.open(user(vera.id));
  const sent = await cases.sent(id, {
    body: 'halibut',
    attachments: [{ kind: 'file', s3_key: await cases.upload('a.txt') }],
  });
  const reply = await cases.sent(id, { audience: 'customer', body: 'halibut' });
  const draft = await cases.draft(id);
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const scheduled = await cases.sent(id, { scheduled_at: tomorrow });
  const { id: agentId } = await runs.agent();
  const open = await runs.insert(agentId, { conversation_id: id, status: 'awaiting_approval' });
  await until(async () => (await previews(vera.access_token)).includes('halibut'), {
    what: 'a notification',
  });
  const { attachments } = await cases.read(sent.id, 'include[]=attachments');
  const link = async () => (await fetch(attachments![0]!.url!)).status;
  t.equal(await link(), 200);
  const before = await conversation(id);

  const member = await socket(t, grace.access_token, NEWEST);
  const older = await socket(t, vera.access_token, OLDER);
  const admin = await socket(t, demo.api_key, NEWEST);
  const customer = await socket(t, customerToken, NEWEST);
  for (const client of [member, older, admin, customer]) {
    client.send({ id: '1', type: 'subscribe', conversation_id: id });
    await client.frame('caught_up');
  }
  const deleted = await remove(id);
  t.equal(deleted.status, 200);
  const { deleted_at, updated_at } = deleted.body as unknown as Conversation;
  t.match(deleted_at, /^\d{4}-/);
  t.strictSame(deleted.body, { ...before, deleted_at, updated_at, workflow_status: 'waiting_external' });
  for (const client of [member, admin, customer]) {
    const { data } = await client.frame(
      ({ event, conversation_id }) => event === 'conversation.removed' && conversation_id === id,
    );
    t.strictSame(data, { id, object: 'conversation', reason: 'deleted' });
  }
  for (const client of [member, older, admin, customer]) {
    t.match(await client.frame('resync'), { conversation_id: id, reason: 'revoked' });
  }
  const lost = await older.frame(({ event }) => event === 'conversation.removed');
  t.strictSame(lost.data, { id, object: 'conversation' }, 'an older version');
  const feeding = await member.frame(
    ({ event, conversation_id }) => event === 'conversation.removed' && conversation_id === undefined,
  );
  t.match(feeding.data, { id, reason: 'deleted' }, 'on the feed too');

  const requests: [method: string, path: string, body?: object][] = [
    ['GET', `${PATH}/${id}`],
    ['PATCH', `${PATH}/${id}`, { title: 'x' }],
    ['GET', `${PATH}/${id}/messages`],
    ['POST', `${PATH}/${id}/messages`, { body: 'x', client_message_id: randomUUID() }],
    ['GET', `${PATH}/${id}/audit`],
    ['GET', `${PATH}/${id}/participants`],
    ['POST', `${PATH}/${id}/participants`, { type: 'user', actor_id: vera.id }],
    ['POST', `${PATH}/${id}/actions/mark-read`, { sequence: 1 }],
    ['POST', `${PATH}/${id}/actions/hide`],
    ['GET', `/v1/messaging/messages/${sent.id}`],
    ['PATCH', `/v1/messaging/messages/${sent.id}`, { body: 'x' }],
    ['DELETE', `/v1/messaging/messages/${sent.id}`],
    ['POST', `/v1/messaging/messages/${draft.id}/actions/approve`],
    ['POST', `/v1/messaging/messages/${scheduled.id}/actions/cancel`],
    ['POST', `${PATH}/${id}/actions/set-legal-hold`, { legal_hold: 'held' }],
  ];
  for (const [method, path, body] of requests) {
    const answer = await app.call(method, path, { ...asGrace, body });
    t.equal(refusalOf(answer), GONE, `${method} ${path}`);
    t.equal(answer.headers.get('Cache-Control'), 'no-store', 'it may be restored');
  }
  const byCustomer = await app.call('GET', `/v1/messaging/messages/${reply.id}`, { token: customerToken });
  t.equal(refusalOf(byCustomer), GONE, 'the customer');
  for (const options of [asGrace, asAda, { headers: NEWEST }]) {
    const { body } = await app.call<List<Conversation>>('GET', `${PATH}?limit=100`, options);
    t.notOk(
      body.data.some((listed) => listed.id === id),
      'no list has it',
    );
  }
  member.send({ id: '2', type: 'subscribe', conversation_id: id });
  const refused = await member.frame(({ type, id }) => type === 'reply' && id === '2');
  t.match(refused.error, { code: 'resource_gone', param: 'conversation_id' });
  t.strictSame(await outcomes([draft.id, scheduled.id]), ['conversation_deleted', 'conversation_deleted']);
  await until(
    async () => (await runs.get(open, '', { token: ada.access_token }).catch(() => undefined)) === undefined,
    {
      what: 'the run is in no answer',
    },
  );
  const { status } = await row('agent_runs', open);
  t.equal(status, 'cancelled');
  await until(async () => !(await previews(vera.access_token)).includes('halibut'), { what: 'no preview' });

  t.equal(await link(), 410, 'signed links too');
  t.strictSame((await remove(id)).body, deleted.body, 'once more changes nothing');
  const restored = await restore(id);
  t.strictSame([restored.status, (restored.body as unknown as Conversation).deleted_at], [200, null]);
  const { data } = await member.frame(({ event }) => event === 'conversation.added');
  t.match(data, { id, deleted_at: null });
  t.equal((await cases.read(sent.id)).body, 'halibut');
  t.equal(await link(), 200);
  const next = await cases.sent(id);
  t.equal(next.sequence, reply.sequence! + 1);
  t.equal((await app.call('GET', `${PATH}/${id}`, { token: await app.tokenOf(customerId) })).status, 200);
  t.strictSame((await restore(id)).status, 200, 'once more changes nothing');
  t.strictSame(await audited(id), ['conversation.deleted', 'conversation.restored']);
});

t.test('a refused removal of a conversation states its reason', async (t) => {
  const id = await cases.conversation('internal', user(vera.id));
  const held = await cases.conversation('internal');
  await cases.set(held, { legal_hold: 'held' });
  const foreign = {
    token: demo.other_account.api_key,
    headers: { ...NEWEST, 'Service-Account': demo.other_account.account_id },
  };
  const strange = await cases.conversation('internal');
  await cases.setParticipant(strange, grace.id, { membership: 'removed' });
  const managed = await cases.conversation('internal');
  await cases.setParticipant(managed, grace.id, { role: 'admin' });
  const { id: caseId, customerToken } = await cases.open();
  const system = await systemConversation();
  const direct = await directMessage();
  const agent = await app.tokenOf(demo.agent.actor_id);
  const refusals: [what: string, id: string, options: CallOptions, expected: string][] = [
    [
      'no credential',
      id,
      { headers: { ...NEWEST, Authorization: undefined } },
      '401 invalid_credentials Authorization',
    ],
    ['an older version', id, { ...asAda, headers: OLDER }, '400 api_version_too_old Service-Version'],
    [
      'without messaging:update',
      id,
      { ...asGrace, token: vera.access_token },
      '403 insufficient_permissions null',
    ],
    ['a member', id, asGrace, '403 insufficient_permissions null'],
    ['an admin of the conversation', managed, asGrace, '403 insufficient_permissions null'],
    ['a user of a direct message', direct, asGrace, '403 insufficient_permissions null'],
    ['a customer', caseId, { ...asGrace, token: customerToken }, '403 insufficient_permissions null'],
    ['an agent', id, { ...asGrace, token: agent }, '403 insufficient_permissions null'],
    ['no reader', strange, asGrace, '404 resource_not_found id'],
    ['absent', newId('conversation'), asAda, '404 resource_not_found id'],
    ['another account', id, foreign, '404 resource_not_found id'],
    ['on hold', held, asAda, '409 resource_conflict null'],
    ['of the account itself', system, asAda, '409 resource_conflict null'],
  ];
  for (const [what, id, options, expected] of refusals) {
    const answers = [await app.call('DELETE', `${PATH}/${id}`, options)];
    if (!expected.startsWith('409'))
      answers.push(await app.call('POST', `${PATH}/${id}/actions/restore`, options));
    for (const answer of answers) t.equal(refusalOf(answer), expected, what);
  }
  t.equal((await conversation(held)).deleted_at, null, 'what is held stays');
});

t.test('an owner who sees only their own conversations', async (t) => {
  const id = await cases.conversation('internal');
  await cases.setParticipant(id, grace.id, { role: 'owner' });
  t.equal((await app.call('DELETE', `${PATH}/${id}`, asGrace)).status, 200);
  t.equal((await hold(id, 'held', asGrace)).status, 200);
  t.equal((await app.call('POST', `${PATH}/${id}/actions/restore`, asGrace)).status, 200);
});

t.test('an Idempotency-Key makes the removal of a conversation repeatable', async (t) => {
  const id = await cases.conversation('internal');
  const headers = { ...NEWEST, 'Idempotency-Key': randomUUID() };
  const first = await app.call('DELETE', `${PATH}/${id}`, { ...asAda, headers });
  await restore(id);
  const again = await app.call('DELETE', `${PATH}/${id}`, { ...asAda, headers });
  t.strictSame([again.text, again.headers.get('Idempotent-Replayed')], [first.text, 'true']);
  t.equal((await conversation(id)).deleted_at, null);
});

t.test('a direct message that was deleted leaves room for another', async (t) => {
  const first = await directMessage();
  t.equal((await remove(first)).status, 200);
  const second = await directMessage();
  t.not(second, first);
  t.equal(refusalOf(await restore(first)), '409 resource_conflict null', 'while there is another');
  t.equal((await remove(second)).status, 200);
  t.equal((await restore(first)).status, 200);
  t.equal(await directMessage(), first);
});

t.test('a hold on a deleted conversation is for those that may delete it, and keeps it', async (t) => {
  const id = await cases.conversation('internal');
  await remove(id);
  await age(id, 31);
  t.equal(refusalOf(await hold(id, 'held', asGrace)), GONE);
  t.equal((await hold(id, 'held', asAda)).status, 200);
  t.equal((await restore(id)).status, 200, 'it is there, although its days are over');
  await hold(id, 'released', asAda);
  await remove(id);
  await age(id, 31);
  t.equal(refusalOf(await restore(id)), GONE, 'its days are over');
});

t.test('when its days are over it is purged with everything in it, unless it is held', async (t) => {
  const open = async (text: string) => {
    const id = await cases.conversation('internal', user(vera.id));
    const key = await cases.upload(`${text}.txt`);
    const sent = await cases.sent(id, {
      body: text,
      mentions: [vera.id],
      attachments: [{ kind: 'file', s3_key: key }],
    });
    await cases.sent(id, { body: text, scheduled_at: new Date(Date.now() + 86_400_000).toISOString() });
    await app.call('PATCH', `${PATH}/${id}`, { ...asAda, body: { assignee_id: grace.id, title: text } });
    const { id: agentId } = await runs.agent();
    await runs.insert(agentId, {
      conversation_id: id,
      trigger_message_id: sent.id,
      output: JSON.stringify({ text }),
      completed_at: new Date().toISOString(),
    });
    await until(async () => (await storedText(database, text)).includes('public.notifications.body'), {
      what: 'a notification',
    });
    return id;
  };
  const taker = await cases.conversation('internal', user(vera.id));
  const [gone, kept, young] = [await open('turbot-1'), await open('turbot-2'), await open('turbot-3')];
  const own = (id: string) => ({ headers: { 'Service-Version': NEWEST_VERSION }, body: { external_id: id } });
  for (const id of [gone, young]) await app.call('PATCH', `${PATH}/${id}`, own(`of ${id}`));
  for (const id of [gone, kept, young]) await remove(id);
  await hold(kept, 'held', asAda);
  for (const id of [gone, kept]) await age(id, 31);
  // As a node leaves it that is killed between two batches.
  await database.transaction((tx) => purgeConversation(tx, gone));
  const signingKey = await newSigningKey(t);
  const purge = () =>
    purgeDeleted({ database, signingKey, log: createLog('silent'), restoreDays: 30 }, neverAborted);
  await Promise.all([purge(), purge()]);
  t.strictSame(await storedText(database, 'turbot-1'), []);
  const onlyAudit = async () =>
    (await storedText(database, gone)).join() === 'public.audit_events.conversation_id';
  await until(onlyAudit, { what: 'only the audit to name it, when the outbox is handled' });
  const actions = await audited(gone);
  t.equal(actions.at(-1), 'conversation.purged');
  t.equal(
    actions.filter((action) => action === 'conversation.purged').length,
    1,
    'once, by one of two nodes',
  );
  t.equal(refusalOf(await restore(gone)), '404 resource_not_found id');
  const take = async (id: string) => refusalOf(await app.call('PATCH', `${PATH}/${taker}`, own(`of ${id}`)));
  t.equal(await take(young), '409 resource_exists external_id', 'kept for a restore');
  t.equal(await take(gone), '200 undefined undefined', 'free');
  for (const id of [kept, young]) {
    t.equal((await restore(id)).status, 200);
    const { body } = await app.call<List<{ body: string }>>('GET', `${PATH}/${id}/messages`, asAda);
    t.match(body.data.at(-1)?.body, /^turbot-/);
  }
});

t.test('at once with a hold and with sends', async (t) => {
  for (let round = 0; round < 8; round++) {
    const id = await cases.conversation('internal');
    const [deleted, held, sent] = await Promise.all([remove(id), hold(id, 'held', asAda), cases.send(id)]);
    const { deleted_at, legal_hold } = await row('conversations', id);
    t.equal(deleted.status === 200, deleted_at !== null);
    if (deleted.status !== 200) t.strictSame([deleted.status, legal_hold], [409, 'held']);
    t.ok(held.status === 200, 'ada may set it on a tombstone as well');
    t.ok([201, 410].includes(sent.status));
    if (deleted_at === null) continue;
    t.equal(refusalOf(await cases.send(id)), GONE);
    await restore(id);
    const { body } = await app.call<List<object>>('GET', `${PATH}/${id}/messages`, asAda);
    t.equal(body.data.length, sent.status === 201 ? 1 : 0, 'what was acknowledged is there');
  }
});

function remove(id: string, options: CallOptions = asAda) {
  return app.call('DELETE', `${PATH}/${id}`, options);
}

function restore(id: string, options: CallOptions = asAda) {
  return app.call('POST', `${PATH}/${id}/actions/restore`, options);
}

function hold(id: string, legal_hold: string, options: CallOptions) {
  return app.call('POST', `${PATH}/${id}/actions/set-legal-hold`, { ...options, body: { legal_hold } });
}

async function conversation(id: string): Promise<Conversation> {
  return (await app.call<Conversation>('GET', `${PATH}/${id}`, asAda)).body;
}

async function directMessage(): Promise<string> {
  const body = { type: 'direct_message', participants: [{ type: 'user', actor_id: vera.id }] };
  return (await app.call<Conversation>('POST', PATH, { ...asGrace, body })).body.id;
}

async function systemConversation(): Promise<string> {
  const { id } = await database.transaction((tx) => accountConversation(tx, demo.account_id));
  return id;
}

async function previews(token: string): Promise<(string | null)[]> {
  const path = '/v1/messaging/notifications?limit=100';
  const { body } = await app.call<List<{ body: string | null }>>('GET', path, { token });
  return body.data.map((notification) => notification.body);
}

async function outcomes(ids: readonly string[]): Promise<(string | null | undefined)[]> {
  const rows = await database.kysely
    .selectFrom('messages')
    .select('outcome')
    .where('id', 'in', ids)
    .orderBy('id')
    .execute();
  return rows.map(({ outcome }) => outcome?.reason);
}

async function audited(id: string): Promise<string[]> {
  const rows = await database.kysely
    .selectFrom('audit_events')
    .select('action')
    .where('conversation_id', '=', id)
    .where('action', 'like', 'conversation.%')
    .orderBy('created_at')
    .execute();
  return rows.map(({ action }) => action);
}

async function age(id: string, days: number): Promise<void> {
  const deleted_at = new Date(Date.now() - days * 86_400_000).toISOString();
  await database.kysely.updateTable('conversations').set({ deleted_at }).where('id', '=', id).execute();
}

function row<Table extends 'agent_runs' | 'conversations'>(table: Table, id: string) {
  return database.kysely
    .selectFrom(table as 'conversations')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
}

async function socket(t: Teardown, token: string, version: Record<string, string>): Promise<Client> {
  const headers = { Authorization: `Bearer ${token}`, 'Service-Account': demo.account_id, ...version };
  const client = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  t.teardown(() => client.close());
  await client.frame('ready');
  return client;
}
