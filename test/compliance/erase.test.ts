/**
 * The erasure of a person over HTTP, and that nothing of the person is left
 * (docs/contract.md#erasing-a-person).
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Erasure } from '@parley/protocol/resources/erasure.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import type { Participant } from '@parley/protocol/resources/participant.ts';
import type { User } from '@parley/protocol/resources/user.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { createCustomer } from '../../src/core/accounts/actors/actors.ts';
import { createUser } from '../../src/core/accounts/actors/users.ts';
import { createConversation } from '../../src/core/conversations/rows/conversation-store.ts';
import { Client } from '../gateway/fixture.ts';
import { Cases } from '../messages/cases.ts';
import { type Refusal, refusalOf, startTestApp } from '../support/app.ts';
import { storedText } from '../support/stored-text.ts';
import { until } from '../support/until.ts';
import { ask, exported } from './export-fixture.ts';

const app = await startTestApp(t);
const { demo, database } = app;
const { ada, grace } = demo.users;
const cases = new Cases(app);
const asAda = { token: ada.access_token };
let persons = 0;

t.test('keep: what the person wrote stays, and its name and addresses are nowhere', async (t) => {
  const { person, token, name, email, text, id } = await member();
  const message = await cases.sent(id, { body: text }, { token });
  // An answer that shows the person is stored for a day.
  const sender = await cases.send(
    id,
    { body: 'with my name' },
    { token, query: 'include[]=sender', headers: { 'Idempotency-Key': randomUUID() } },
  );
  t.match(sender.text, name);
  await app.call('PATCH', `/v1/messaging/conversations/${id}`, { ...asAda, body: { assignee_id: person } });
  await until(async () => (await titles(grace.access_token)).some((title) => title.startsWith(name)), {
    what: 'a notification with the name',
  });
  await until(async () => (await bodies(id)).some((body) => body?.includes(name)), {
    what: 'a system message',
  });
  const headers = {
    Authorization: `Bearer ${grace.access_token}`,
    'Service-Account': demo.account_id,
    'Service-Version': demo.service_version,
  };
  const reader = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
  t.teardown(() => reader.close());
  await reader.frame('ready');
  reader.send({ type: 'subscribe', id: 's', conversation_id: id });
  await reader.frame('caught_up');
  const browser = await subscribed(person);
  const shown = await exported(app, `/v1/users/${person}/exports`);
  const run = await startedRun(person, name);
  const data = { buyer: person, name, deep: [{ email }] };
  t.equal((await raised(data, person)).status, 201);
  const reported = await startedRun(null, email, {
    event: 'order.created',
    data: { buyer: person, note: text },
  });
  for (const title of [`About ${name}`, 'Pier']) {
    await app.call('PATCH', `/v1/messaging/conversations/${id}`, { ...asAda, body: { title } });
  }
  const spoken = 'public.messages.body';

  const erased = await erase(person, 'keep');
  t.strictSame(erased, {
    id: erased.id,
    object: 'erasure',
    user_id: person,
    messages: 'keep',
    status: 'queued',
    progress: { done: 0, total: 0 },
    held_conversations: [],
    error: null,
    requested_by: erased.requested_by,
    created_at: erased.created_at,
    completed_at: null,
  });
  t.match(
    await app.call('GET', '/v1/account', { token }),
    { status: 401 },
    'credentials end with the answer',
  );
  t.equal((await fetch(shown.url!)).status, 410, 'and so do exports');
  const { status, progress } = await completed(erased.id);
  t.equal(status, 'complete');
  t.equal(progress.done, progress.total);

  t.strictSame(await storedText(database, email), []);
  t.strictSame(await storedText(database, browser), [], 'its browsers receive nothing any more');
  t.notOk((await storedText(database, person)).includes('public.digests.actor_id'));
  // The title that ada gave is her text; the audit of it is not.
  t.strictSame(await storedText(database, name), [spoken], 'nowhere but in a system message about a title');
  t.ok((await bodies(id)).every((body) => !body?.includes(name) || body.includes(`“About ${name}”`)));
  t.match(await runRow(run), { input: null, output: null, status: 'completed' });
  t.match(await runRow(reported), { input: null, output: null }, 'what was reported of the person to a run');
  t.equal(
    refusalOf(await raised(data, person)),
    '422 validation_failed event_id',
    'its event stays, emptied',
  );
  t.strictSame(await storedText(database, text), [spoken], 'the message alone has its text');
  const page = await app.call<List<ChatMessage>>(
    'GET',
    `/v1/messaging/conversations/${id}/messages?include[]=sender`,
    asAda,
  );
  const kept = page.body.data.find((row) => row.id === message.id);
  t.match(kept, { body: text, sender: { id: person, name: 'Deleted user', handle: null, avatar_url: null } });
  t.notMatch(page.text.replaceAll(`About ${name}`, ''), name);
  t.ok((await bodies(id)).some((body) => body?.endsWith('assigned the conversation to Deleted user.')));
  t.ok((await titles(grace.access_token)).some((title) => title === 'Deleted user in Pier'));
  const { body: members } = await ask<List<Participant>>(
    app,
    'GET',
    `/v1/messaging/conversations/${id}/participants`,
  );
  t.match(
    members.data.find(({ actor }) => actor?.id === person),
    { membership: 'active', notifications: 'muted', actor: { name: 'Deleted user' } },
    'the membership stays',
  );
  const users = await app.call<List<User>>('GET', `/v1/users?q=${person}`);
  t.match(
    users.body.data.find(({ id }) => id === person),
    { name: 'Deleted user', email: `${person}@deleted.invalid`, status: 'deactivated' },
  );
  const update = await reader.frame(({ event }) => event === 'participant.updated');
  t.match(update.data, { actor: { id: person, name: 'Deleted user' } }, 'open screens receive the new name');
  const again = await app.call('POST', `/v1/users/${person}/actions/activate`, {
    headers: { 'Service-Version': '1.2.harbor' },
  });
  t.equal(refusalOf(again), '409 resource_conflict null', 'it is for good');
  const audited = await ask<List<{ action: string; details: object }>>(
    app,
    'GET',
    '/v1/account/audit?action=user.erased&limit=1',
  );
  t.match(audited.body.data[0]?.details, { user_id: person, erasure_id: erased.id, messages: 'keep' });
});

t.test('a name goes from system messages below the newest thousand too', async (t) => {
  const { person, name, id } = await member();
  await app.call('PATCH', `/v1/messaging/conversations/${id}`, { ...asAda, body: { assignee_id: person } });
  await until(async () => (await bodies(id)).some((body) => body?.includes(name)), {
    what: 'a system message',
  });
  await database.kysely
    .insertInto('messages')
    .values({
      id: newId('message'),
      account_id: demo.account_id,
      conversation_id: id,
      sequence: 5_000,
      kind: 'void',
      status: 'void',
      visibility: 'internal',
    })
    .execute();
  await completed((await erase(person, 'keep')).id);
  t.strictSame(await storedText(database, name), []);
});

t.test('remove: messages become tombstones, and what waits ends', async (t) => {
  const { person, token, text, id } = await member('customer');
  const sent = await cases.sent(id, { body: text }, { token });
  const draft = await cases.draft(id, { body: `${text} drafted` }, { token });
  const scheduled = await cases.sent(
    id,
    { body: `${text} later`, scheduled_at: new Date(Date.now() + 86_400_000).toISOString() },
    { token },
  );
  const others = await cases.sent(id, { body: 'of another author' }, asAda);
  await react(others.id, token);
  await react(others.id, grace.access_token);
  await until(async () => (await storedText(database, text)).includes('public.notifications.body'), {
    what: 'a preview',
  });
  await completed((await erase(person, 'remove')).id);
  t.strictSame(await storedText(database, text), []);
  t.match(await row(sent.id), { status: 'sent', sequence: sent.sequence, body: null, deleted_at: String });
  t.match(await row(draft.id), { status: 'rejected', body: null });
  t.match(await row(scheduled.id), { status: 'canceled', body: null });
  t.match(await row(others.id), { body: 'of another author', deleted_at: null });
  t.strictSame(await reactorsOf(others.id), [grace.id], 'its reactions are gone');
});

t.test('what is held stays and is named, until the erasure is repeated', async (t) => {
  const { person, token, name, text, id } = await member();
  const sent = await cases.sent(id, { body: text }, { token });
  await app.call('PATCH', `/v1/messaging/conversations/${id}`, { ...asAda, body: { assignee_id: person } });
  await until(async () => (await bodies(id)).some((body) => body?.includes(name)), {
    what: 'a system message',
  });
  await react(sent.id, token);
  await cases.set(id, { legal_hold: 'held' });
  const erased = await erase(person, 'remove');
  t.strictSame(erased.held_conversations, [id], 'the answer names it');
  t.strictSame((await completed(erased.id)).held_conversations, [id]);
  t.match(await row(sent.id), { body: text, deleted_at: null });
  t.strictSame(await reactorsOf(sent.id), [person]);
  t.ok(
    (await bodies(id)).some((body) => body?.includes(name)),
    'as it was',
  );
  t.notOk((await storedText(database, name)).includes('public.actors.name'));

  await cases.set(id, { legal_hold: 'released' });
  const repeated = await erase(person, 'remove');
  t.strictSame((await completed(repeated.id)).held_conversations, []);
  t.strictSame(await storedText(database, text), []);
  t.strictSame(await storedText(database, name), [], 'nothing remembers the name');
  t.strictSame(await reactorsOf(sent.id), []);
});

async function react(messageId: string, token: string): Promise<void> {
  const path = `/v1/messaging/messages/${messageId}/reactions/${encodeURIComponent('🎉')}`;
  const { status } = await app.call('PUT', path, { token, headers: { 'Service-Version': '1.2.harbor' } });
  if (status !== 200) throw new Error(`the reaction was answered ${status}`);
}

async function reactorsOf(messageId: string): Promise<string[]> {
  const rows = await database.kysely
    .selectFrom('reactions')
    .select('actor_id')
    .where('message_id', '=', messageId)
    .execute();
  return rows.map(({ actor_id }) => actor_id);
}

t.test('erasing a customer removes name and address everywhere', async (t) => {
  const name = 'Cora Quill';
  const email = `${randomUUID()}@example.net`;
  const { id: customer } = await createCustomer(database, { accountId: demo.account_id, name, email });
  const id = await cases.conversation('customer', { type: 'customer', actorId: customer });
  const token = await app.tokenOf(customer);
  const question = await cases.sent(id, { body: 'Where?' }, { token });
  const folded = name.toLowerCase();
  await until(async () => (await storedText(database, folded)).includes('public.actors.folded'), {
    what: 'a name that lists find',
  });
  await completed((await erase(customer, 'keep')).id);
  t.equal((await cases.send(id, {}, { token })).status, 401);
  for (const gone of [name, folded, email]) t.strictSame(await storedText(database, gone), [], gone);
  t.match(await row(question.id), { body: 'Where?', author_id: customer });
});

t.test(
  'a hold that is set at the same moment: what it holds is whole and named, all else is gone',
  async (t) => {
    const all = await Promise.all(Array.from({ length: 8 }, () => member()));
    const raced = await Promise.all(
      all.map(async ({ person, token, text, id }, index) => {
        const sent = await cases.sent(id, { body: text }, { token });
        const { id: erasure } = await erase(person, 'remove');
        // Around the moment at which the job begins.
        await delay(900 + 40 * index);
        await cases.set(id, { legal_hold: 'held' });
        return { id, sent: sent.id, text, erasure };
      }),
    );
    for (const { id, sent, text, erasure } of raced) {
      const { held_conversations } = await completed(erasure);
      const { body, deleted_at } = await row(sent);
      if (body === text) t.strictSame(held_conversations, [id], 'held, and named');
      else
        t.ok(body === null && deleted_at !== null && (await storedText(database, text)).length === 0, 'gone');
    }
  },
);

t.test('a refused erasure states its reason', async (t) => {
  const { person } = await member();
  const path = `/v1/users/${person}/actions/erase`;
  const refused = async (body: object | undefined, options = {}, at = path) =>
    refusalOf(await ask<Refusal>(app, 'POST', at, { body, ...options }));
  const keep = { messages: 'keep' };
  t.equal(await refused({}), '400 missing_field messages');
  t.equal(await refused({ messages: 'all' }), '422 validation_failed messages');
  t.equal(await refused({ ...keep, name: true }), '422 validation_failed name');
  t.equal(
    await refused(keep, { token: grace.access_token }),
    '403 insufficient_permissions null',
    'a member',
  );
  t.equal(
    await refused(keep, asAda, `/v1/users/${ada.id}/actions/erase`),
    '409 resource_conflict null',
    'oneself',
  );
  const agent = `/v1/users/${demo.agent.actor_id}/actions/erase`;
  t.equal(await refused(keep, {}, agent), '404 resource_not_found id', 'an agent is no person');
  const admins = await database.kysely
    .selectFrom('actors')
    .innerJoin('roles', 'roles.id', 'actors.role_id')
    .select('actors.id')
    .where('actors.account_id', '=', demo.account_id)
    .where('actors.type', '=', 'user')
    .where('roles.type', '=', 'admin')
    .execute();
  t.strictSame(admins, [{ id: ada.id }], 'ada is the only admin');
  t.equal(
    await refused(keep, {}, `/v1/users/${ada.id}/actions/erase`),
    '409 resource_conflict null',
    'the last admin',
  );
  t.equal((await row2(ada.id)).name, 'Ada Lovelace');

  const headers = { 'Idempotency-Key': randomUUID() };
  const [one, again] = [
    await ask<Erasure>(app, 'POST', path, { body: keep, headers }),
    await ask<Erasure>(app, 'POST', path, { body: keep, headers }),
  ];
  t.equal(one.status, 201);
  t.equal(again.text, one.text);
  t.equal(again.headers.get('idempotent-replayed'), 'true');
  await completed(one.body.id);
  const read = `/v1/erasures/${one.body.id}`;
  t.equal(
    refusalOf(await ask<Refusal>(app, 'GET', `/v1/erasures/${newId('erasure')}`)),
    '404 resource_not_found id',
  );
  t.equal(
    refusalOf(await ask<Refusal>(app, 'GET', `/v1/exports/${one.body.id}`)),
    '404 resource_not_found id',
  );
  t.equal(
    refusalOf(await ask<Refusal>(app, 'GET', read, { token: grace.access_token })),
    '403 insufficient_permissions null',
  );
});

/**
 * A new user in a new conversation of ada's and grace's, with a name and a text that occur nowhere
 * else.
 */
async function member(audience: 'internal' | 'customer' = 'internal') {
  persons += 1;
  const name = `Zenobia Quux${persons}`;
  const email = `zenobia.${randomUUID()}@example.com`;
  const { role_id } = await row2(grace.id);
  const { user } = await database.transaction((tx) =>
    createUser(tx, { accountId: demo.account_id, name, email, roleId: role_id! }),
  );
  const { conversation } = await database.transaction((tx) =>
    createConversation(tx, {
      accountId: demo.account_id,
      type: 'group',
      title: 'Pier',
      audience,
      participants: [
        { type: 'user', actorId: ada.id, role: 'owner' },
        { type: 'user', actorId: grace.id },
        { type: 'user', actorId: user.id },
      ],
    }),
  );
  const token = await app.tokenOf(user.id);
  return { person: user.id, token, name, email, text: `a text of ${randomUUID()}`, id: conversation.id };
}

/** A run that the person started, with its name in every text. */
/** The event of a producer, whose answer is stored for its key. */
function raised(data: object, event_id: string) {
  return ask<Refusal>(app, 'POST', '/v1/events', {
    body: { type: 'order.created', data, event_id },
    headers: { 'Idempotency-Key': randomUUID() },
  });
}

async function startedRun(person: string | null, name: string, report?: object): Promise<string> {
  const { id: agent_id, actor_id } = demo.agent;
  const [id, step] = [newId('agentRun'), newId('agentStep')];
  const text = `Write to ${name}`;
  await database.kysely
    .insertInto('agent_runs')
    .values({
      id,
      account_id: demo.account_id,
      agent_id,
      actor_id,
      trigger_key: id,
      trigger_type: report === undefined ? 'manual' : 'event',
      status: 'completed',
      triggered_by: person,
      input: JSON.stringify(report ?? text),
      output: JSON.stringify({ text }),
      completed_at: new Date().toISOString(),
    })
    .execute();
  await database.kysely
    .insertInto('agent_run_steps')
    .values({ id: step, run_id: id, position: 1, status: 'completed', text })
    .execute();
  await database.kysely
    .insertInto('agent_run_actions')
    .values({
      id: newId('agentAction'),
      run_id: id,
      step_id: step,
      position: 1,
      call_id: 'c',
      tool: 'fetch_url',
      category: 'built_in',
      status: 'completed',
      arguments: JSON.stringify({ text }),
    })
    .execute();
  return id;
}

function runRow(id: string) {
  return database.kysely.selectFrom('agent_runs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

async function erase(id: string, messages: 'keep' | 'remove'): Promise<Erasure> {
  const { status, body, text } = await ask<Erasure>(app, 'POST', `/v1/users/${id}/actions/erase`, {
    body: { messages },
  });
  if (status !== 201) throw new Error(text);
  return body;
}

function completed(id: string): Promise<Erasure> {
  return until(
    async () => {
      const { body } = await ask<Erasure>(app, 'GET', `/v1/erasures/${id}`);
      return body.status === 'complete' || body.status === 'failed' ? body : undefined;
    },
    { what: `the end of ${id}` },
  );
}

async function titles(token: string): Promise<string[]> {
  const { body } = await app.call<List<Notification>>('GET', '/v1/messaging/notifications?limit=100', {
    token,
  });
  return body.data.map(({ title }) => title);
}

async function bodies(conversationId: string): Promise<(string | null)[]> {
  const rows = await database.kysely
    .selectFrom('messages')
    .select('body')
    .where('conversation_id', '=', conversationId)
    .execute();
  return rows.map(({ body }) => body);
}

function row(messageId: string) {
  return database.kysely
    .selectFrom('messages')
    .selectAll()
    .where('id', '=', messageId)
    .executeTakeFirstOrThrow();
}

function row2(actorId: string) {
  return database.kysely.selectFrom('actors').selectAll().where('id', '=', actorId).executeTakeFirstOrThrow();
}

/** Gives the person a browser and a digest; returns a part of the endpoint of the browser. */
async function subscribed(person: string): Promise<string> {
  const name = randomUUID();
  await database.kysely
    .insertInto('push_subscriptions')
    .values({
      id: newId('pushSubscription'),
      account_id: demo.account_id,
      actor_id: person,
      key_id: '',
      endpoint: `https://push.example.com/${name}`,
      origin: 'https://push.example.com',
      p256dh: 'p256dh',
      auth: 'auth',
    })
    .execute();
  await database.kysely
    .insertInto('digests')
    .values({ actor_id: person, id: newId('digest'), notification_ids: ['ntf_1'] })
    .execute();
  return name;
}
