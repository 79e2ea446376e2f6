/** Completeness and replays (docs/contract.md#completeness) over HTTP, on a whole server. */

import { randomUUID } from 'node:crypto';
import { wireTime } from '@parley/protocol/json/canonical-json.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { NewWebhook } from '@parley/protocol/resources/webhook.ts';
import type {
  ConversationCompleteness,
  WebhookDelivery,
  WebhookReplay,
} from '@parley/protocol/resources/webhook-delivery.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { TIME } from '../accounts/fixture.ts';
import { Conversations } from '../conversations/fixture.ts';
import { inAnyOrder } from '../support/any-order.ts';
import { type CallOptions, refusalOf, startTestApp } from '../support/app.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: '127.0.0.1' });
const { database } = app;
const conversations = new Conversations(app);
const receiver = await WebhookReceiver.start(t);

type Completeness = List<ConversationCompleteness> & { readonly all_through: string };

function call<Body>(method: string, path: string, options: CallOptions = {}) {
  return app.call<Body>(method, path, {
    ...options,
    headers: { 'Service-Version': NEWEST_VERSION, ...options.headers },
  });
}

/** A webhook for new messages, which is gone after the test. */
async function create(t: Teardown): Promise<NewWebhook> {
  const body = { url: receiver.url, event_types: ['message.created'] };
  const { body: webhook } = await call<NewWebhook>('POST', '/v1/webhooks', { body });
  t.teardown(async () => void (await call('DELETE', `/v1/webhooks/${webhook.id}`)));
  return webhook;
}

async function send(conversationId: string): Promise<{ id: string; sequence: number }> {
  const body = { body: 'ahoy', client_message_id: randomUUID() };
  return conversations.ok('POST', `/v1/messaging/conversations/${conversationId}/messages`, { body });
}

async function completeness(webhookId: string, query = ''): Promise<Completeness> {
  const path = `/v1/webhooks/${webhookId}/completeness?${query}`;
  return (await call<Completeness>('GET', path)).body;
}

/** Resolves when the claim about the conversation is this one. */
async function untilThrough(webhookId: string, conversationId: string, through: number): Promise<void> {
  await until(
    async () => {
      const { data } = await completeness(webhookId);
      const claim = data.find(({ conversation_id }) => conversation_id === conversationId);
      return claim?.through_sequence === through;
    },
    { what: `number ${through} to be claimed` },
  );
}

t.test('a failed delivery stops the proof until it is redelivered', async (t) => {
  const webhook = await create(t);
  const { id } = await conversations.create({ title: 'Pier' });
  t.strictSame((await completeness(webhook.id)).data, [], 'nothing was sent');
  await send(id);
  await untilThrough(webhook.id, id, 1);

  receiver.answer = () => 500;
  const failed = await send(id);
  const deliveries = async () =>
    (await call<List<WebhookDelivery>>('GET', `/v1/webhooks/${webhook.id}/deliveries`)).body.data;
  const delivery = await until(
    async () => (await deliveries()).find((row) => row.resource_id === failed.id && row.attempts > 0),
    { what: 'the failed try' },
  );
  receiver.answer = () => 200;
  await send(id);
  await until(
    async () => (await deliveries()).some((row) => row.sequence === 3 && row.status === 'delivered'),
    {
      what: 'the next message',
    },
  );
  const before = await completeness(webhook.id);
  t.strictSame(before.data, [
    { object: 'conversation_completeness', conversation_id: id, through_sequence: 1, head: 3 },
  ]);
  t.match(before.all_through, TIME);
  t.ok(before.all_through < delivery.occurred_at, 'nor is the event before the claimed time');

  const redeliver = `/v1/webhooks/${webhook.id}/deliveries/${delivery.id}/actions/redeliver`;
  t.equal((await call('POST', redeliver)).status, 200);
  await untilThrough(webhook.id, id, 3);
  await until(async () => (await completeness(webhook.id)).all_through > delivery.occurred_at, {
    what: 'the claimed time',
  });
});

t.test('a replay sends what was delivered again under the same ids, and takes no claim back', async (t) => {
  const webhook = await create(t);
  const { id } = await conversations.create();
  const since = wireTime(Date.now() - 60_000);
  for (const _ of [1, 2, 3]) await send(id);
  await untilThrough(webhook.id, id, 3);
  const idsOf = () =>
    receiver.received
      .filter(({ event }) => event.conversation_id === id)
      .map(({ headers }) => headers['webhook-id']);
  const first = idsOf();

  const path = `/v1/webhooks/${webhook.id}/actions/replay`;
  const headers = { 'Idempotency-Key': randomUUID() };
  const replay = await call<WebhookReplay>('POST', path, { body: { since }, headers });
  t.equal(replay.status, 200);
  t.strictSame(replay.body, {
    object: 'webhook_replay',
    webhook_id: webhook.id,
    since,
    until: replay.body.until,
  });
  t.ok(replay.body.until > since);
  await until(() => idsOf().length === 6, { what: 'the events again' });
  t.strictSame(inAnyOrder(idsOf().slice(3)), inAnyOrder(first));
  await untilThrough(webhook.id, id, 3);

  const again = await call<WebhookReplay>('POST', path, { body: { since }, headers });
  t.strictSame(again.body, replay.body);
  t.equal(again.headers.get('idempotent-replayed'), 'true');
});

t.test('a replay refuses invalid requests', async (t) => {
  const { id } = await create(t);
  const path = `/v1/webhooks/${id}/actions/replay`;
  const refusals: [body: object, refusal: string][] = [
    [{}, '400 missing_field since'],
    [{ since: null }, '400 missing_field since'],
    [{ since: 7 }, '400 invalid_format since'],
    [{ since: 'yesterday' }, '400 invalid_format since'],
    [{ since: new Date(Date.now() + 60_000).toISOString() }, '422 validation_failed since'],
    [{ since: '2026-01-01T00:00:00Z', until: null }, '422 validation_failed until'],
  ];
  for (const [body, refusal] of refusals) t.equal(refusalOf(await call('POST', path, { body })), refusal);
  await call('PATCH', `/v1/webhooks/${id}`, { body: { status: 'disabled' } });
  const body = { since: '2026-01-01T00:00:00Z' };
  t.equal(refusalOf(await call('POST', path, { body })), '409 resource_conflict null');
});

t.test('the conversations come in pages', async (t) => {
  const webhook = await create(t);
  const ids: string[] = [];
  for (const _ of [1, 2, 3]) {
    const { id } = await conversations.create();
    await send(id);
    ids.push(id);
  }
  await until(async () => (await completeness(webhook.id)).data.length === 3, { what: 'the conversations' });
  const first = await completeness(webhook.id, 'limit=2');
  t.equal(first.data.length, 2);
  const { body } = await call<Completeness>('GET', first.page_info.next_page_url!);
  t.match(body.all_through, TIME);
  t.strictSame(
    [...first.data, ...body.data].map(({ conversation_id }) => conversation_id),
    ids.sort(),
  );
});

t.test('a webhook that lost events proves nothing more', async (t) => {
  const webhook = await create(t);
  const { id } = await conversations.create();
  await send(id);
  await untilThrough(webhook.id, id, 1);
  const lostSince = new Date().toISOString();
  await database.pool.query('UPDATE webhooks SET lost_since = $2 WHERE id = $1', [webhook.id, lostSince]);
  await send(id);
  await until(
    () => receiver.received.some(({ event }) => event.conversation_id === id && event.sequence === 2),
    {
      what: 'the message',
    },
  );
  const { data, all_through } = await completeness(webhook.id);
  t.match(data, [{ through_sequence: 1, head: 2 }]);
  t.ok(Date.parse(all_through) <= Date.parse(lostSince));
});
