/**
 * From a committed event to its deliveries: which are recorded, once, and the source of the
 * payload.
 */

import { newId } from '@parley/protocol/ids.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import type { Selectable } from 'kysely';
import t from 'tap';
import { Rights } from '../../src/api/access/rights.ts';
import { cutMarked } from '../../src/api/marked-json.ts';
import { createNodeMetrics } from '../../src/app/metrics.ts';
import { SentEffects } from '../../src/core/committed/sent-effects.ts';
import { ConversationDirectory } from '../../src/core/conversations/directory/directory.ts';
import { enqueuePurged } from '../../src/core/conversations/outbox-topics.ts';
import type { Frame } from '../../src/core/frames/frame.ts';
import { toFrame } from '../../src/core/frames/publish.ts';
import { MESSAGES_SENT } from '../../src/core/messages/outbox-topics.ts';
import { readSentMessages } from '../../src/core/messages/rows/message-store.ts';
import { Timeline } from '../../src/core/messages/timeline/timeline.ts';
import { SettingsOfUsers } from '../../src/core/notifications/settings/settings.ts';
import { messageEvent, withParts } from '../../src/core/resources/message.ts';
import { RUN_ENDED } from '../../src/features/agents/runs/state/outbox-topics.ts';
import { EMAIL_RECEIVED } from '../../src/features/mail/mails/outbox-topics.ts';
import { dataOf, encodeData, eventDataReader } from '../../src/features/webhooks/event-data.ts';
import { enqueue } from '../../src/platform/db/queue/outbox.ts';
import type { Schema } from '../../src/platform/db/tables/schema.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import { Conversations } from '../conversations/fixture.ts';
import { addMail } from '../mail/fixture.ts';
import { startTestApp } from '../support/app.ts';
import { NO_FILES } from '../support/files.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { addWebhook, settled } from './webhook.ts';

const app = await startTestApp(t);
const { database, demo } = app;
const conversations = new Conversations(app);
const owner = { accountId: demo.account_id, actorId: demo.users.ada.id };
const readData = eventDataReader({ database, files: NO_FILES });

type Row = Selectable<Schema['webhook_deliveries']>;

async function deliveries(webhookId: string): Promise<Row[]> {
  await settled(database);
  return database.kysely
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', webhookId)
    .orderBy('id')
    .execute();
}

const all = await addWebhook(database, owner);
const messages = await addWebhook(database, owner, { eventTypes: ['message.created', 'order.*'] });
const direct = await addWebhook(database, owner, { eventTypes: ['message.*'], includeDirect: true });
const disabled = await addWebhook(database, owner, { eventTypes: ['message.created'], isDisabled: true });
const drafts = await addWebhook(database, owner, { eventTypes: ['draft.created', 'scheduled.updated'] });

async function send(conversationId: string, body: object = {}): Promise<{ id: string; sequence: number }> {
  const path = `/v1/messaging/conversations/${conversationId}/messages`;
  return conversations.ok('POST', path, {
    body: { body: 'ahoy', client_message_id: newId('message'), ...body },
  });
}

t.test('every event of a conversation is recorded once for each webhook that wants it', async (t) => {
  const { id } = await conversations.create({ title: 'Pier' });
  const sent = await send(id);
  await send(id);
  await conversations.ok('PATCH', `/v1/messaging/messages/${sent.id}`, { body: { body: 'edited' } });
  const grace = await conversations.add(id, { type: 'user', actor_id: demo.users.grace.id });
  const participant = `/v1/messaging/conversations/${id}/participants/${grace.id}`;
  // A later change may overtake one that is not recorded yet.
  await settled(database);
  await conversations.ok('PATCH', participant, { body: { role: 'viewer' } });
  await settled(database);
  await conversations.ok('DELETE', participant);
  await conversations.update(id, { title: 'Quay' });
  const rows = (await deliveries(all)).filter(({ conversation_id }) => conversation_id === id);
  t.strictSame(rows.map(({ event_type, sequence }) => `${event_type} ${sequence}`).sort(), [
    'conversation.created null',
    'conversation.updated null',
    'message.created 1',
    'message.created 2',
    'message.created 3',
    'message.created 4',
    'message.created 5',
    'message.updated 1',
    'participant.added null',
    'participant.removed null',
    'participant.updated null',
  ]);
  for (const row of rows) {
    t.ok(row.head! >= (row.sequence ?? 0), `${row.event_type} has a head`);
    t.not(row.status, 'failed');
    const data = JSON.parse((await readData({ version: NEWEST_VERSION } as never, row)) ?? 'null');
    // The participant is gone, and so is what its earlier events would show.
    const isGone = row.event_type === 'participant.added' || row.event_type === 'participant.updated';
    t.equal(data?.id, isGone && data === null ? undefined : row.resource_id, row.event_type);
  }
  const created = rows.find(({ resource_id }) => resource_id === sent.id)!;
  const { updated_at, ...shown } = JSON.parse(
    (await readData({ version: NEWEST_VERSION } as never, created))!,
  );
  t.match(shown, { id: sent.id, body: 'edited', sequence: 1, author_id: demo.users.ada.id });
  t.equal(created.occurred_at, shown.created_at);
  t.ok(updated_at > shown.created_at);

  const own = (await deliveries(messages)).filter(({ conversation_id }) => conversation_id === id);
  t.strictSame(own.map(({ event_type, sequence }) => [event_type, sequence]).sort(), [
    ['message.created', 1],
    ['message.created', 2],
    ['message.created', 3],
    ['message.created', 4],
    ['message.created', 5],
  ]);
  t.not(own[0]!.id, created.id, 'each webhook has deliveries of its own');
  t.equal(own[0]!.event_id, created.event_id, 'of the same event');

  // A node that takes over does not know whether the events were recorded.
  await database.transaction(async (tx) => {
    const payload = JSON.stringify({ messages: [{ conversation_id: id, id: sent.id }] });
    await tx.kysely
      .insertInto('outbox')
      .values({ topic: MESSAGES_SENT.name, payload, due_at: '2026-01-01T00:00:00Z' })
      .execute();
  });
  const again = (await deliveries(all)).filter(({ conversation_id }) => conversation_id === id);
  t.strictSame(
    again.map(({ id }) => id),
    rows.map(({ id }) => id),
    'the same events are the same deliveries',
  );
});

t.test('direct messages go only to a webhook that includes them', async (t) => {
  const sent = await send(demo.conversations.direct);
  const ofIt = async (id: string) => (await deliveries(id)).filter((row) => row.resource_id === sent.id);
  t.equal((await ofIt(all)).length, 0);
  t.equal((await ofIt(direct)).length, 1);
});

t.test('events of a disabled webhook are recorded as failed', async (t) => {
  const { id } = await send(demo.conversations.group);
  const row = (await deliveries(disabled)).find(({ resource_id }) => resource_id === id);
  t.match(row, { status: 'failed', last_error: 'webhook_disabled', next_try_at: null });
});

t.test('drafts and schedules of cases are sent, schedules elsewhere are not', async (t) => {
  const { conversation } = await conversations.createCase();
  const before = (await deliveries(drafts)).length;
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const draft = await send(conversation.id, { mode: 'draft', audience: 'customer', channel: 'message' });
  const scheduled = await send(conversation.id, { scheduled_at: scheduledAt });
  const elsewhere = await send(demo.conversations.group, { scheduled_at: scheduledAt });
  for (const { id } of [scheduled, elsewhere]) {
    await conversations.ok('PATCH', `/v1/messaging/messages/${id}`, { body: { body: 'later' } });
  }
  const rows = (await deliveries(drafts)).slice(before);
  t.strictSame(
    new Set(rows.map(({ event_type, resource_id }) => `${event_type} ${resource_id}`)),
    new Set([`draft.created ${draft.id}`, `scheduled.updated ${scheduled.id}`]),
  );
});

t.test('an event of a producer is recorded under its own id', async (t) => {
  const body = { type: 'order.created', data: { number: 7 } };
  const { id } = await conversations.ok<{ id: string }>('POST', '/v1/events', {
    body,
    token: demo.api_key,
    headers: { 'Service-Version': NEWEST_VERSION },
  });
  const rows = (await deliveries(messages)).filter(({ event_type }) => event_type === 'order.created');
  t.match(rows, [{ event_id: id, resource_id: id, conversation_id: null }]);
  t.match(JSON.parse((await readData({ version: NEWEST_VERSION } as never, rows[0]!))!), {
    object: 'event',
    ...body,
  });
});

t.test('a purge and the end of a run are recorded', async (t) => {
  const { id } = await conversations.create();
  const runId = newId('agentRun');
  await database.transaction(async (tx) => {
    const purged = { purged_through: 1, purged_at: new Date().toISOString(), purged_in: '3' };
    await tx.kysely.updateTable('conversations').set(purged).where('id', '=', id).execute();
    await enqueuePurged(tx, id);
    const { agent, account_id } = demo;
    await tx.kysely
      .insertInto('agent_runs')
      .values({
        id: runId,
        account_id,
        agent_id: agent.id,
        actor_id: agent.actor_id,
        conversation_id: id,
        trigger_type: 'manual',
        trigger_key: runId,
        status: 'completed',
        completed_at: purged.purged_at,
      })
      .execute();
    await enqueue(tx, RUN_ENDED, { run_id: runId });
  });
  const rows = (await deliveries(all)).filter((row) => row.conversation_id === id);
  const ofType = (type: string) => rows.find(({ event_type }) => event_type === type)!;
  const read = async (row: Row) => JSON.parse((await readData({ version: NEWEST_VERSION } as never, row))!);
  t.strictSame(await read(ofType('messages.purged')), { conversation_id: id, through_sequence: 1 });
  t.match(await read(ofType('agent_run.completed')), { object: 'agent_run', id: runId, status: 'completed' });
});

t.test('a mail is recorded, and read again without its HTML', async (t) => {
  const { id: conversation_id } = await conversations.create();
  const { id: message_id } = await send(conversation_id);
  const mail = await addMail(
    { database, ...owner },
    { conversation_id, message_id, body_text: 'Hello', body_html: '<p>Hello</p>' },
  );
  await database.transaction((tx) => enqueue(tx, EMAIL_RECEIVED, { mail_id: mail.id }));
  const rows = (await deliveries(all)).filter(({ event_type }) => event_type === 'email.received');
  t.match(rows, [{ resource_id: mail.id, conversation_id }]);
  const data = JSON.parse((await readData({ version: NEWEST_VERSION } as never, rows[0]!))!);
  t.match(data, { object: 'email', id: mail.id, message_id, text: 'Hello', html: null });
});

t.test('the data of a payload is that of the event on a socket of the same version', async (t) => {
  const { id } = await send(demo.conversations.group);
  const [message] = await withParts(database, NO_FILES, await readSentMessages(database, [id]));
  const event = messageEvent('message.created', message!, 'internal');
  for (const version of ['1.1.harbor', NEWEST_VERSION] as const) {
    const frame = JSON.parse(cutMarked(version, toFrame(event).team!)!.toString());
    t.strictSame(JSON.parse(encodeData(version, dataOf(event)!)), frame.data, version);
  }
});

t.test('rows behind a slow webhook are done before it', async (t) => {
  const engine = new MemoryEngine<Frame>();
  const rights = await Rights.open(engine);
  t.teardown(() => rights.close());
  const removed: number[] = [];
  const inFlight = {
    revision: '0',
    begin() {},
    release() {},
    done: (ids: readonly number[]) => void removed.push(...ids),
  };
  const slow = Promise.withResolvers<void>();
  const answers = [slow.promise, undefined];
  const directory = new ConversationDirectory(database, rights);
  const metrics = createNodeMetrics();
  const effects = new SentEffects({
    database,
    files: NO_FILES,
    engine,
    directory,
    log,
    metrics,
    inFlight,
    ofFeatures: { sent: () => answers.shift() },
    settings: new SettingsOfUsers(database, rights),
    timeline: new Timeline(database, engine, metrics),
  });
  const { id } = await send(demo.conversations.group);
  const [message] = await withParts(database, NO_FILES, await readSentMessages(database, [id]));
  const committed = { ...message!, audience: 'internal' as const, rosterVersion: 0, notifications: [] };
  void effects.committed({ outboxId: 1, messages: [committed] });
  await until(() => answers.length === 1, { what: 'the first row' });
  void effects.committed({ outboxId: 2, messages: [committed] });
  await until(() => removed.length === 1, { what: 'the row behind' });
  t.strictSame(removed, [2]);
  slow.resolve();
  await effects.idle();
  t.strictSame(removed, [2, 1]);
});

t.test('a trace travels from the request to the delivery', async (t) => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const { body } = await app.call<{ id: string }>(
    'POST',
    `/v1/messaging/conversations/${demo.conversations.group}/messages`,
    {
      body: { body: 'traced', client_message_id: newId('message') },
      token: demo.users.ada.access_token,
      headers: { traceparent },
    },
  );
  const row = (await deliveries(messages)).find(({ resource_id }) => resource_id === body.id);
  t.match(row?.trace, /^00-0af7651916cd43dd8448eb211c80319c-/);
});

t.test('a payload whose resource is gone has no data', async (t) => {
  const { id } = await send(demo.conversations.group);
  const row = (await deliveries(messages)).find(({ resource_id }) => resource_id === id)!;
  await database.pool.query('DELETE FROM notifications WHERE message_id = $1', [id]);
  await database.pool.query('DELETE FROM messages WHERE id = $1', [id]);
  t.equal(await readData({ version: NEWEST_VERSION } as never, row), undefined);
});
