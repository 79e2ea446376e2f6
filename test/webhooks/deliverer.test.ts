/**
 * Tries of deliveries, their retries and what follows from failures, on receivers of every kind.
 */

import { createHmac } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { newId } from '@parley/protocol/ids.ts';
import { pino } from 'pino';
import t from 'tap';
import { signatureOf } from '../../src/core/events/receiver-signature.ts';
import type { DeliveryRow, FirstTry } from '../../src/features/webhooks/delivery.ts';
import { removeOld } from '../../src/features/webhooks/removal.ts';
import { WEBHOOK_TIMES } from '../../src/features/webhooks/times.ts';
import { delayAfter } from '../../src/platform/backoff.ts';
import { freePort } from '../support/free-port.ts';
import { WAITING_LOCKS } from '../support/postgres.ts';
import type { Teardown } from '../support/teardown.ts';
import { createGround, log } from '../support/timeline.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { type DeliveringOptions, firstTry, openDelivering } from './delivering.ts';
import { addWebhook, type WebhookOptions } from './webhook.ts';

const ground = await createGround(t);
const { database } = ground;

t.test('tries follow the schedule', async (t) => {
  const { retries } = WEBHOOK_TIMES;
  const after = (tries: number, askedMs?: number) => delayAfter(retries, tries, askedMs, () => 0);
  const seconds = Array.from({ length: 9 }, (_, tries) => after(tries));
  t.strictSame(
    seconds.map((ms) => ms && ms / 1_000),
    [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000, null],
  );
  t.equal(after(1, 60_000), 60_000, 'a longer wait that the receiver asks for');
  t.equal(after(2, 60_000), 300_000, 'not a shorter one');
  t.equal(after(1, 1e12), 36_000_000, 'nor any');
  t.equal(after(8, 60_000), null);
  t.equal(
    delayAfter(retries, 2, 0, () => 1),
    330_000,
    'a tenth longer at most',
  );
  t.equal(WEBHOOK_TIMES.failingMs, 432_000_000);
});

t.test(
  'a forbidden address reads like one without a server; the log of the operator tells them apart',
  async (t) => {
    const lines: { msg: string; webhook?: string; host?: string }[] = [];
    const log = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line)) });
    const { deliverer } = await scene(t, { log });
    const forbidden = await addHook({ url: 'http://127.0.0.2:1/' });
    const closed = await addHook({ url: `http://127.0.0.1:${await freePort()}/` });
    for (const id of [forbidden, closed]) {
      await deliverer.deliver([firstTry(id)]);
      t.strictSame(await states(id), ['pending 1 null connection_error']);
    }
    const told = lines.filter(({ msg }) => msg.includes('not public'));
    t.match(told, [{ webhook: forbidden, host: '127.0.0.2:1' }]);
    t.equal(told.length, 1);
  },
);

t.test('a signature of each secret that is valid', async (t) => {
  const signed = { id: 'evt_1', timestamp: 1_700_000_000, body: '{"é":1}' };
  const [secret, previous] = [Buffer.from('new'), Buffer.from('old')];
  const v1 = (key: Buffer) =>
    `v1,${createHmac('sha256', key).update(`evt_1.1700000000.${signed.body}`).digest('base64')}`;
  const until = (at: string | null) => ({ secret, previous_secret: previous, previous_secret_until: at });
  t.equal(signatureOf(until('2023-11-14T22:13:20.000001Z'), signed), v1(secret), 'at its end');
  t.equal(signatureOf(until('2023-11-14T22:13:21Z'), signed), `${v1(secret)} ${v1(previous)}`);
  t.equal(signatureOf({ ...until(null), previous_secret: null }, signed), v1(secret));
});

t.test('a new event is sent at once, and recorded with its outcome', async (t) => {
  const { deliverer, receiver, id, metrics } = await scene(t);
  const fields = { conversation_id: 'cnv_1', sequence: 7, head: 9, trace: 'not one' };
  const [one, two] = [firstTry(id, '{"é":[]}', fields), firstTry(id)];
  await deliverer.deliver([one, two]);
  t.strictSame(await states(id), ['delivered 1 200', 'delivered 1 200']);
  const [request] = receiver.received.filter(
    ({ headers }) => headers['webhook-id'] === one.delivery.event_id,
  );
  t.equal(
    request!.text,
    `{"type":"order.created","timestamp":"${one.delivery.occurred_at}","conversation_id":"cnv_1","sequence":7,"head":9,"data":{"é":[]}}`,
  );
  t.notOk('traceparent' in request!.headers);
  const { occurred_at, created_at, updated_at, last_ms, tries, ...row } = (await rows(id))[0]!;
  t.strictSame(row, {
    webhook_id: id,
    id: one.delivery.id,
    event_id: one.delivery.event_id,
    event_type: 'order.created',
    ...fields,
    resource_id: one.delivery.resource_id,
    change: null,
    url: null,
    was_delivered: false,
    status: 'delivered',
    attempts: 1,
    next_try_at: null,
    last_status_code: 200,
    last_error: null,
  });
  t.match(tries, [{ status_code: 200, error: null, answer: '', duration_ms: last_ms }]);
  await deliverer.deliver([one, one]);
  t.strictSame(await states(id), ['delivered 1 200', 'delivered 1 200'], 'the same event is the same row');
  t.match(await metrics.registry.metrics(), /parley_webhook_deliveries_total\{outcome="delivered"\} 4/);
  await until(async () => (await webhook(id)).last_success_at, { what: 'the success to be noted' });
});

t.test('a write that takes long delays the next one, and no more', async (t) => {
  const { deliverer, receiver, id } = await scene(t);
  const client = await database.pool.connect();
  await client.query('BEGIN');
  await client.query('LOCK TABLE webhook_deliveries IN EXCLUSIVE MODE');
  const delivering = [deliverer.deliver([firstTry(id)])];
  await until(async () => (await client.query(WAITING_LOCKS)).rowCount, { what: 'the write to wait' });
  delivering.push(deliverer.deliver([firstTry(id)]));
  await until(() => receiver.received.length === 2, { what: 'the second try' });
  // The time for its write comes while the first one is under way.
  await pause(150);
  await client.query('COMMIT');
  client.release();
  await Promise.all(delivering);
  t.strictSame(await states(id), ['delivered 1 200', 'delivered 1 200']);
});

t.test('tries until it succeeds or the schedule ends, with one id', async (t) => {
  const { deliverer, receiver, id } = await scene(t, { sooner: 1e6 });
  receiver.answer = () => (receiver.received.length < 4 ? 503 : 200);
  const one = firstTry(id);
  await deliverer.deliver([one]);
  await awaitStates(id, ['delivered 4 200']);
  t.strictSame(
    receiver.received.map(({ headers, event }) => [headers['webhook-id'], event.data]),
    [{ n: 1 }, { again: true }, { again: true }, { again: true }].map((data) => [
      one.delivery.event_id,
      data,
    ]),
    'later ones read the resource again',
  );

  receiver.answer = () => 500;
  receiver.received.length = 0;
  await deliverer.deliver([firstTry(id)]);
  await awaitStates(id, ['delivered 4 200', 'failed 8 500 status']);
  t.equal(receiver.received.length, 8);
});

t.test('how a try can fail', async (t) => {
  // On a busy machine an answer may take longer than a fraction of a second.
  const { deliverer, receiver, id } = await scene(t, { timeoutMs: 2_000 });
  const kinds: [expected: string, answer: WebhookReceiver['answer']][] = [
    ['pending 1 302 redirect', () => (response) => response.writeHead(302, { Location: receiver.url }).end()],
    ['pending 1 404 status', () => 404],
    ['pending 1 null timeout', () => undefined],
    ['pending 1 null connection_error', () => (response) => response.destroy()],
    [
      'pending 1 null invalid_response',
      () =>
        ({ socket }) =>
          void socket!.end('SSH-2.0-OpenSSH\r\n'),
    ],
  ];
  const expected: string[] = [];
  for (const [state, answer] of kinds) {
    receiver.answer = answer;
    await deliverer.deliver([firstTry(id)]);
    expected.push(state);
    await awaitStates(id, expected);
  }
  t.equal(
    receiver.received.length,
    kinds.length,
    'no redirect is followed, and none is tried again before its time',
  );
  receiver.answer = () => (response) => response.writeHead(429, { 'Retry-After': '3600' }).end();
  const waiting = await addHook({ url: receiver.url });
  await deliverer.deliver([firstTry(waiting)]);
  const [row] = await rows(waiting);
  t.equal(Math.round((Date.parse(row!.next_try_at!) - Date.parse(row!.created_at)) / 60_000), 60);
});

t.test('a resource that is gone, a webhook that is disabled, and one that is gone', async (t) => {
  const { deliverer, receiver, id } = await scene(t, { sooner: 1e6, readData: async () => undefined });
  receiver.answer = () => 500;
  await deliverer.deliver([firstTry(id)]);
  await awaitStates(id, ['withdrawn 1 null']);
  const disabled = await addHook({ url: receiver.url, isDisabled: true });
  await deliverer.deliver([firstTry(disabled), firstTry(newId('webhook'))]);
  t.strictSame(await states(disabled), ['failed 0 null webhook_disabled']);
  t.equal(receiver.received.length, 1);
});

t.test('a slow receiver: a bounded number at a time, and no other waits', async (t) => {
  const { deliverer, receiver: slow, id } = await scene(t, { timeoutMs: 60_000 });
  slow.answer = () => undefined;
  const quick = await WebhookReceiver.start(t);
  const other = await addHook({ url: quick.url });
  await deliverer.deliver(Array.from({ length: 200 }, () => firstTry(id)));
  t.equal((await rows(id)).length, 200, 'all are recorded');
  for (let round = 0; round < 3; round++) {
    await deliverer.deliver(Array.from({ length: 20 }, () => firstTry(other)));
  }
  t.equal(quick.received.length, 60);
  t.equal(slow.mostAtOnce, 16);
  t.equal(slow.received.length, 16);
});

t.test('a burst beyond what fits in memory is delivered from the table', async (t) => {
  const { deliverer, receiver, id } = await scene(t);
  const tries = Array.from({ length: 300 }, () => firstTry(id));
  await deliverer.deliver(tries);
  await awaitStates(id, Array(300).fill('delivered 1 200'));
  t.ok(receiver.mostAtOnce <= 16);
  t.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 300);
  t.equal(receiver.received.length, 300, 'each once');
});

t.test('two nodes share what is pending, and take over from one that died', async (t) => {
  const { deliverer, receiver, id } = await scene(t, { timeoutMs: 500, sooner: 10 });
  await openDelivering(t, ground.url, { timeoutMs: 500, sooner: 10 });
  // A node that is killed with its tries under way leaves rows with a lease, and nothing else.
  const dead = await openDelivering(t, ground.url, { timeoutMs: 500, readData: () => new Promise(() => {}) });
  const tries = Array.from({ length: 100 }, () => firstTry(id));
  await storeDue(tries);
  dead.deliverer.wake();
  deliverer.wake();
  // On a busy machine a try may take longer than its half second, and is repeated.
  await until(async () => (await states(id)).every((state) => /^delivered \d 200$/.test(state)), {
    what: 'the states of the deliveries',
  });
  t.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 100);
});

t.test('a node that stops leaves what it has not done to others', async (t) => {
  const stopping = await scene(t, { timeoutMs: 60_000 });
  const { receiver, id } = stopping;
  receiver.answer = () => undefined;
  const delivering = stopping.deliverer.deliver(Array.from({ length: 30 }, () => firstTry(id)));
  await until(() => receiver.received.length === 16, { what: 'the tries to begin' });
  await stopping.close();
  await delivering;
  t.strictSame(await states(id), Array(30).fill('pending 0 null'));
  receiver.answer = () => 200;
  await openDelivering(t, ground.url);
  await awaitStates(id, Array(30).fill('delivered 1 200'));
});

t.test('five days without a success, and a receiver that is gone', async (t) => {
  const { deliverer, receiver, id } = await scene(t);
  receiver.answer = () => 500;
  await deliverer.deliver([firstTry(id)]);
  const { failing_since } = await until(
    async () => ((await webhook(id)).failing_since ? webhook(id) : undefined),
    {
      what: 'the failure to be noted',
    },
  );
  await failingSince(id, '119 hours');
  await deliverer.deliver([firstTry(id)]);
  receiver.answer = () => 200;
  await deliverer.deliver([firstTry(id)]);
  await until(async () => (await webhook(id)).failing_since === null, { what: 'one success to end it' });
  t.equal((await webhook(id)).status, 'enabled');

  receiver.answer = () => 500;
  await deliverer.deliver([firstTry(id)]);
  await until(async () => ((await webhook(id)).failing_since ?? '') > failing_since!, {
    what: 'it fails again',
  });
  await failingSince(id, '121 hours');
  await deliverer.deliver([firstTry(id)]);
  await until(async () => (await webhook(id)).status === 'disabled', { what: 'it to be disabled' });
  t.equal((await webhook(id)).disabled_reason, 'failing');
  const before = receiver.received.length;
  await until(
    async () => {
      const one = firstTry(id);
      await deliverer.deliver([one]);
      const [last] = (await rows(id)).slice(-1);
      return last!.status === 'failed';
    },
    { what: 'its events not to be tried' },
  );
  t.ok(receiver.received.length - before < 100);
});

t.test('old deliveries of webhooks are removed', async (t) => {
  const { close } = await scene(t);
  await close();
  const options = { database, times: WEBHOOK_TIMES, keepDays: 30, maxFailed: 3, log };
  const { signal } = new AbortController();
  const [kept, full, forgotten, removed] = [
    await addHook({}),
    await addHook({}),
    await addHook({ isDisabled: true }),
    newId('webhook'),
  ];
  const old = (Date.now() - 31 * 86_400_000) * 1_000;
  const put = async (id: string, status: string, us = old) => {
    const delivery = firstTry(id).delivery;
    await database.kysely
      .insertInto('webhook_deliveries')
      .values({
        webhook_id: id,
        id: `whd_${(us + Math.random()).toString(16).slice(0, 13)}${newId('event').slice(4, 15)}`,
        event_id: delivery.event_id,
        event_type: 'order.created',
        occurred_at: delivery.occurred_at,
        status: status as 'failed',
      })
      .execute();
  };
  for (const status of ['delivered', 'withdrawn', 'failed', 'pending']) await put(kept, status);
  await put(kept, 'delivered', Date.now() * 1_000);
  for (let n = 0; n < 4; n++) await put(full, 'failed');
  await put(removed, 'failed');
  await put(forgotten, 'failed');
  await database.pool.query(
    'INSERT INTO webhook_progress (webhook_id, conversation_id) SELECT unnest($1::text[]), $2',
    [[kept, forgotten], ground.conversationId],
  );
  await database.pool.query("UPDATE webhooks SET disabled_at = now() - interval '31 days' WHERE id = $1", [
    forgotten,
  ]);
  await removeOld(options, signal);
  t.strictSame((await rows(kept)).map(({ status }) => status).sort(), ['delivered', 'failed', 'pending']);
  t.match(await webhook(full), { status: 'disabled', disabled_reason: 'backlog' });
  t.equal((await rows(full)).length, 4);
  t.strictSame(await rows(removed), []);
  t.equal(await webhook(forgotten), undefined);
  t.strictSame(await rows(forgotten), []);
  const { rows: progress } = await database.pool.query('SELECT webhook_id FROM webhook_progress');
  t.strictSame(progress, [{ webhook_id: kept }]);
  const { deliverer } = await openDelivering(t, ground.url);
  await deliverer.deliver([firstTry(full)]);
  t.equal((await rows(full)).length, 4, 'nothing more is recorded for it');
});

interface Scene extends Awaited<ReturnType<typeof openDelivering>> {
  readonly receiver: WebhookReceiver;
  readonly id: string;
}

/** A node, and a webhook with its receiver. The webhooks of earlier tests are gone. */
async function scene(t: Teardown, options: DeliveringOptions = {}): Promise<Scene> {
  await database.pool.query('DELETE FROM webhooks');
  const receiver = await WebhookReceiver.start(t);
  const id = await addHook({ url: receiver.url });
  const delivering = await openDelivering(t, ground.url, options);
  // Each node is closed before the next test begins.
  t.teardown(() => delivering.close());
  return { ...delivering, receiver, id };
}

function addHook(options: WebhookOptions): Promise<string> {
  return addWebhook(database, { accountId: ground.accountId, actorId: ground.authorId }, options);
}

async function rows(webhookId: string): Promise<DeliveryRow[]> {
  return database.kysely
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('webhook_id', '=', webhookId)
    .orderBy('id')
    .execute();
}

/** `delivered 1 200`, `failed 8 500 status`: in the order of the events. */
async function states(webhookId: string): Promise<string[]> {
  return (await rows(webhookId)).map(({ status, attempts, last_status_code: code, last_error: error }) =>
    [status, attempts, code, ...(error === null ? [] : [error])]
      .join(' ')
      .replace(/ $/, ' null')
      .replace('  ', ' null '),
  );
}

async function awaitStates(webhookId: string, expected: readonly string[]): Promise<void> {
  let last: string[] = [];
  try {
    await until(
      async () => {
        last = await states(webhookId);
        return JSON.stringify(last) === JSON.stringify(expected);
      },
      { what: 'the states of the deliveries' },
    );
  } catch (error) {
    throw new Error(`has ${last.slice(0, 5)}`, { cause: error });
  }
}

async function webhook(id: string) {
  return (await database.kysely.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst())!;
}

async function failingSince(id: string, age: string): Promise<void> {
  await database.pool.query('UPDATE webhooks SET failing_since = now() - $2::interval WHERE id = $1', [
    id,
    age,
  ]);
}

async function storeDue(tries: readonly FirstTry[]): Promise<void> {
  await database.kysely
    .insertInto('webhook_deliveries')
    .values(
      tries.map(({ delivery: { attempts: _, change: __, ...delivery } }) => ({
        ...delivery,
        next_try_at: new Date(Date.now() - 1_000).toISOString(),
      })),
    )
    .execute();
}
