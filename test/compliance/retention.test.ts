/**
 * Retention policies (docs/contract.md#retention) over HTTP, and the sweep that carries them out,
 * on a whole server.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { RetentionPolicy } from '@parley/protocol/resources/retention-policy.ts';
import { MOST_PREVIEWED, type RetentionPreview } from '@parley/protocol/resources/retention-preview.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { purgeUploads } from '../../src/core/attachments/uploads.ts';
import { SigningKey } from '../../src/core/audit/signing-key.ts';
import { complianceMetrics } from '../../src/features/compliance/metrics.ts';
import { RetentionSweep } from '../../src/features/compliance/sweep.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { closed, gatesOf, TIME } from '../accounts/fixture.ts';
import { TestChain } from '../audit/fixture.ts';
import { ageMessages } from '../support/aged-messages.ts';
import { inAnyOrder } from '../support/any-order.ts';
import { type CallOptions, refusalOf, startTestApp } from '../support/app.ts';
import { AUDIT_KEY } from '../support/node.ts';
import { storedText } from '../support/stored-text.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';

const PATH = '/v1/account/retention';
const QUOTA = 1_000_000;
// A change of a policy wakes the server's sweep; only the sweeps of this test may come in between.
const app = await startTestApp(t, {
  PARLEY_RETENTION_SWEEP_MS: '86400000',
  PARLEY_AUDIT_KEY: AUDIT_KEY,
  PARLEY_STORED_BYTES_PER_ACCOUNT: String(QUOTA),
});
const { demo, database } = app;
const { ada, grace } = demo.users;
const KEPT = {
  messages_days: null,
  files_days: null,
  notifications_days: null,
  runs_days: null,
  audit_days: null,
};
const metrics = complianceMetrics(createMetrics());
const signingKey = await SigningKey.open({ key: AUDIT_KEY, oldKeys: [], dataDir: '' });
const sweeps = ['one', 'two'].map((nodeId) => {
  const options = { database, signingKey, nodeId, metrics, log };
  const sweep = new RetentionSweep({ ...options, everyMs: 86_400_000 });
  t.teardown(() => sweep.close());
  return sweep;
}) as [RetentionSweep, RetentionSweep];

t.test('the resource, a change of it, and its audit', async (t) => {
  t.strictSame(await ok('GET', PATH), { object: 'retention_policy', ...KEPT, updated_at: null });
  const set = await ok<RetentionPolicy>('PUT', PATH, {
    ...KEPT,
    messages_days: 30,
    files_days: 7,
    audit_days: 36_500,
  });
  const { updated_at } = set;
  t.strictSame(set, {
    object: 'retention_policy',
    ...KEPT,
    messages_days: 30,
    files_days: 7,
    audit_days: 36_500,
    updated_at,
  });
  t.match(updated_at, TIME);
  t.strictSame(await ok('GET', PATH), set);
  t.strictSame(
    await ok('PUT', PATH, { ...KEPT, messages_days: 30, files_days: 7, audit_days: 36_500 }),
    set,
    'again',
  );
  await ok('PUT', PATH, KEPT);
  const [last, first, ...others] = await audited('retention.changed');
  t.strictSame(others, [], 'what changes nothing leaves no trace');
  const before = { ...KEPT, messages_days: 30, files_days: 7, audit_days: 36_500 };
  t.strictSame(first?.details, { before: KEPT, after: before });
  t.strictSame(last?.details, { before, after: KEPT });
  t.match(first, { conversation_id: null, actor: { type: 'api_key' } });
});

t.test('a retention policy is checked', async (t) => {
  const refused = async (body: unknown, options: CallOptions = {}) =>
    refusalOf(await call('PUT', PATH, { body, ...options }));
  for (const field of Object.keys(KEPT)) {
    for (const bad of [0, -1, 36_501]) {
      t.equal(await refused({ ...KEPT, [field]: bad }), `422 validation_failed ${field}`, `${bad}`);
    }
    for (const bad of ['7', true, 1.5]) {
      t.equal(await refused({ ...KEPT, [field]: bad }), `400 invalid_format ${field}`, `${bad}`);
    }
  }
  for (const field of Object.keys(KEPT)) {
    const { [field]: _, ...others } = KEPT as Record<string, null>;
    t.equal(await refused(others), `400 missing_field ${field}`, 'what is left out would be kept');
  }
  t.equal(await refused({ ...KEPT, days: 1 }), '422 validation_failed days');
  t.match(await refused([]), /^400 /);
  const key = { 'Idempotency-Key': randomUUID() };
  const first = await call('PUT', PATH, { body: { ...KEPT, runs_days: 5 }, headers: key });
  await ok('PUT', PATH, KEPT);
  const again = await call('PUT', PATH, { body: { ...KEPT, runs_days: 5 }, headers: key });
  t.equal(again.text, first.text, 'a repeated request is answered as before');
  t.match(await ok('GET', PATH), { runs_days: null }, 'and does nothing');
});

t.test('it is for admins, and for keys of an admin role', async (t) => {
  for (const method of ['GET', 'PUT'] as const) {
    const gates = { method, path: PATH, permission: null, agents: false } as const;
    const body = method === 'PUT' ? { body: KEPT } : {};
    t.strictSame(await gatesOf(app, { ...gates, ...body, version: NEWEST_VERSION }), closed(gates), method);
  }
  t.equal((await call('GET', PATH, { token: ada.access_token })).status, 200);
  const other = demo.other_account;
  await ok('PUT', PATH, { ...KEPT, messages_days: 3 });
  const neighbour = await call<RetentionPolicy>('GET', PATH, {
    token: other.api_key,
    headers: { 'Service-Account': other.account_id },
  });
  t.equal(neighbour.body.messages_days, null, 'of its own account alone');
  await ok('PUT', PATH, KEPT);
});

t.test('messages go with everything of them, the young and the held stay', async (t) => {
  const secret = `secret-${randomUUID()}`;
  const [old, mixed, held, whole] = await Promise.all([0, 1, 2, 3].map(() => conversation()));
  for (const id of [old!, mixed!, held!]) for (let n = 0; n < 3; n++) await send(id, secret);
  await send(whole!, 'young');
  await until(async () => (await storedText(database, secret)).includes('public.notifications.body'), {
    what: 'notifications',
  });
  const canceled = await send(old!, secret, {
    scheduled_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  await ok('POST', `/v1/messaging/messages/${canceled.id}/actions/cancel`, undefined, ada.access_token);
  const waiting = await send(old!, 'waiting', {
    scheduled_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  for (const id of [old!, held!]) await age(id, 10);
  await age(mixed!, 10, 2);
  await hold(held!, 'held');
  const before = await database.kysely
    .selectFrom('messages')
    .selectAll()
    .where('conversation_id', '=', held!)
    .execute();

  t.strictSame(await preview({ messages_days: 9 }), { ...NOTHING, messages: 6 }, 'as a preview says');
  await database.query(POLICY, demo.account_id, 9, null, null, null);
  await measure(t, { messages: 86_400 }, 'what is a day past its policy is seen');
  await Promise.all(sweeps.map((sweep) => sweep.sweep()));
  await measure(t, { messages: 0 }, 'and gone');

  t.strictSame(await sequences(old!), [], 'the whole prefix');
  t.strictSame(await sequences(mixed!), [3], 'a young one stops it');
  t.strictSame(await sequences(held!), [1, 2, 3]);
  t.strictSame(await sequences(whole!), [1]);
  const left = await database.kysely
    .selectFrom('messages')
    .select('id')
    .where('conversation_id', '=', old!)
    .execute();
  t.strictSame(left, [{ id: waiting.id }], 'what ended unsent goes, what waits stays');
  t.strictSame(
    await database.kysely.selectFrom('messages').selectAll().where('conversation_id', '=', held!).execute(),
    before,
  );
  const [swept, ...others] = await audited('retention.swept');
  t.strictSame(others, [], 'one audit event');
  t.match(swept, { conversation_id: null, actor: null, details: { messages: 6, files: 0, runs: 0 } });
  t.equal((await send(old!, 'next')).sequence, 4);

  await hold(held!, 'released');
  await sweeps[1].sweep();
  t.strictSame(await sequences(held!), [], 'nothing released survives its policy');
  const rest = await database.kysely
    .selectFrom('messages')
    .select('id')
    .where('conversation_id', '=', mixed!)
    .where('body', '=', secret)
    .execute();
  t.equal(rest.length, 1);
  await age(mixed!, 10);
  await sweeps[0].sweep();
  t.strictSame(await storedText(database, secret), []);
  await ok('PUT', PATH, KEPT);
});

t.test('files go before their messages', async (t) => {
  const id = await conversation();
  const file = await upload(11);
  const sent = await send(id, 'see', { attachments: [{ kind: 'file', s3_key: file }] });
  const young = await send(id, 'later', { attachments: [{ kind: 'file', s3_key: await upload(5) }] });
  await age(id, 10, 1);
  t.strictSame(await preview({ files_days: 7 }), { ...NOTHING, files: 1 });
  t.strictSame(await preview({ messages_days: 7 }), { ...NOTHING, messages: 1, files: 1 });
  await database.query(POLICY, demo.account_id, null, 7, null, null);
  await measure(t, { files: 3 * 86_400 }, 'seen');
  await sweeps[0].sweep();
  const shown = await ok<ChatMessage>('GET', `/v1/messaging/messages/${sent.id}?include[]=attachments`);
  t.strictSame(await preview({ files_days: 7 }), NOTHING);
  t.match(shown.attachments, [
    { kind: 'file', filename: 'report.txt', size_bytes: 11, url: null, removed_at: TIME },
  ]);
  t.ok(shown.updated_at > sent.updated_at, 'the message changed');
  const other = await ok<ChatMessage>('GET', `/v1/messaging/messages/${young.id}?include[]=attachments`);
  t.match(other.attachments, [{ url: String, removed_at: null }]);
  const earlier = await app.call<ChatMessage>(
    'GET',
    `/v1/messaging/messages/${sent.id}?include[]=attachments`,
  );
  t.notOk('removed_at' in earlier.body.attachments![0]!, 'callers of 1.1 get the fields that they had');
  const known = await database.kysely
    .selectFrom('uploads')
    .select('withdrawn_at')
    .where('s3_key', '=', file)
    .executeTakeFirst();
  t.ok(known?.withdrawn_at, 'its links have ended');
  await database.kysely
    .updateTable('uploads')
    .set({ withdrawn_at: '2026-01-01T00:00:00Z' })
    .where('s3_key', '=', file)
    .execute();
  const removed: string[] = [];
  const store = {
    tidy: async () => {},
    remove: async (keys: readonly string[]) => void removed.push(...keys),
  };
  await purgeUploads(database, store as unknown as Parameters<typeof purgeUploads>[1]);
  t.strictSame(removed, [file], 'the bytes go');
  await age(id, 20);
  await database.query(POLICY, demo.account_id, 9, null, null, null);
  await sweeps[0].sweep();
  const kept = await database.kysely
    .selectFrom('attachments')
    .select('id')
    .where('conversation_id', '=', id)
    .execute();
  t.strictSame(kept, []);
  const withdrawn = await database.kysely
    .selectFrom('uploads')
    .select(['filename', 'withdrawn_at'])
    .where('size_bytes', '=', 5)
    .execute();
  t.match(withdrawn, [{ filename: '', withdrawn_at: TIME }], 'those of purged messages too');
  await ok('PUT', PATH, KEPT);
});

t.test('notifications and runs have periods of their own', async (t) => {
  const [free, held] = [await conversation(), await conversation()];
  const runs = await Promise.all([free, held, null].map((id) => insertRun(id, 12)));
  const young = await insertRun(free, 2);
  for (const id of [free, held]) await send(id, 'ping');
  const count = async (id: string) =>
    (await database.kysely.selectFrom('notifications').select('id').where('resource_id', '=', id).execute())
      .length;
  await until(async () => (await count(free)) === 2 && (await count(held)) === 2, {
    what: 'those of the message, and of being added',
  });
  await database.query(AGE_NOTIFICATIONS, 12);
  await hold(held, 'held');
  const due = await preview({ notifications_days: 11, runs_days: 11 });
  t.match(due, { messages: 0, runs: 2, audit: 0 });
  t.ok(due.notifications! >= 2, 'without the held ones');
  await database.query(POLICY, demo.account_id, null, null, 11, 11);
  await measure(t, { notifications: 86_400, runs: 86_400 }, 'seen');
  await sweeps[0].sweep();
  await measure(t, { notifications: 0, runs: 0 }, 'gone, but for what is held');
  t.strictSame(await preview({ notifications_days: 11, runs_days: 11 }), NOTHING);
  t.equal(await count(free), 0);
  t.equal(await count(held), 2);
  const ids = [...runs, young];
  const left = await database.kysely.selectFrom('agent_runs').select('id').where('id', 'in', ids).execute();
  t.strictSame(inAnyOrder(left.map(({ id }) => id)), inAnyOrder([runs[1], young]));
  t.strictSame(await sequences(free), [1], 'messages stay');
  await hold(held, 'released');
  await ok('PUT', PATH, KEPT);
});

t.test('the audit goes behind a checkpoint, and stays where it was tampered with', async (t) => {
  const chain = new TestChain(database, signingKey, demo.account_id);
  const old = async (count: number) => {
    await database.transaction(async (tx) => {
      for (let i = 0; i < count; i++) await chain.actIn(tx);
      await tx.query(AGE_WRITTEN, demo.account_id, 12);
    });
    await until(async () => (await chain.unsealed()) === 0, { what: 'the server to seal them' });
  };
  await old(3);
  const { links } = await chain.verify();
  await database.query(AUDIT_POLICY, demo.account_id, 11);
  await measure(t, { audit: 86_400 }, 'seen');
  t.strictSame(await preview({ audit_days: 11 }), { ...NOTHING, audit: 3 });
  const swept = (await audited('retention.swept')).length;
  await sweeps[0].sweep();
  await measure(t, { audit: 0 }, 'gone');
  t.match(await chain.verify(), { links: links - 3, purged: 3 });
  t.equal((await audited('retention.swept')).length, swept, 'the checkpoint is the record of it');

  await old(1);
  await chain.tamper(
    'UPDATE audit_checkpoints SET checkpoint = checkpoint || \'{"first": 2}\' WHERE account_id = $1',
  );
  await chain.tamper(
    "UPDATE audit_events SET details = details, action = action || '_' WHERE account_id = $1 AND created_at < now() - interval '11 days'",
  );
  await sweeps[0].sweep();
  await measure(t, { audit: 86_400 }, 'it is not purged, and that is seen');
  await ok('PUT', PATH, KEPT);
});

t.test('holds that come and go during sweeps: nothing held is gone', async (t) => {
  const ids = await Promise.all(Array.from({ length: 12 }, () => conversation()));
  for (const id of ids) {
    await send(id, 'one');
    await age(id, 10);
  }
  await database.query(POLICY, demo.account_id, 9, null, null, null);
  const lost: string[] = [];
  const holds = ids.map(async (id) => {
    await hold(id, 'held');
    const kept = await sequences(id);
    await sweeps[1].sweep();
    if ((await sequences(id)).length !== kept.length) lost.push(id);
  });
  await Promise.all([...holds, ...sweeps.map((sweep) => sweep.sweep())]);
  t.strictSame(lost, []);
  for (const id of ids) await hold(id, 'released');
  await sweeps[0].sweep();
  for (const id of ids) t.strictSame(await sequences(id), []);
  await ok('PUT', PATH, KEPT);
});

t.test('a preview is of the account alone, for admins, and changes nothing', async (t) => {
  const path = `${PATH}/preview`;
  const gates = { method: 'GET', path, permission: null, agents: false } as const;
  t.strictSame(await gatesOf(app, { ...gates, version: NEWEST_VERSION }), closed(gates));
  t.strictSame(await preview({}), NOTHING);
  for (const bad of ['0', '36501', 'x']) {
    t.match(refusalOf(await call('GET', `${path}?runs_days=${bad}`)), / runs_days$/, bad);
  }
  t.match(refusalOf(await call('GET', `${path}?days=1`)), / days$/);
  const other = demo.other_account;
  const id = await conversation();
  await send(id, 'old');
  await age(id, 10);
  const all = '?messages_days=9&files_days=9&notifications_days=9&runs_days=9&audit_days=9';
  const neighbour = await call<RetentionPreview>('GET', `${path}${all}`, {
    token: other.api_key,
    headers: { 'Service-Account': other.account_id },
  });
  t.match(neighbour.body, { messages: { count: 0, more: false } });
  t.match(await preview({ messages_days: 9 }), { messages: 1, files: 0, audit: 0 });
  t.match(await preview({ messages_days: 11 }), { messages: 0 });
  t.match(await ok('GET', PATH), KEPT);
  t.strictSame(await sequences(id), [1]);
  await hold(id, 'held');
  t.match(await preview({ messages_days: 9 }), { messages: 0 }, 'what is held does not go');
  await hold(id, 'released');
  await database.query(MANY, id, MOST_PREVIEWED);
  const { messages } = await ok<RetentionPreview>('GET', `${path}?messages_days=9`);
  t.strictSame(messages, { count: MOST_PREVIEWED, more: true }, 'a bounded number is counted');
  await database.query(POLICY, demo.account_id, 9, null, null, null);
  await sweeps[0].sweep();
  t.strictSame(await preview({ messages_days: 9 }), NOTHING);
  await ok('PUT', PATH, KEPT);
});

t.test('the files of an account have a limit together, which uploads at once do not pass', async (t) => {
  const { rows } = await database.pool.query('SELECT bytes FROM stored_bytes WHERE account_id = $1', [
    demo.account_id,
  ]);
  const used = Number(rows[0]?.bytes ?? 0);
  const size = Math.floor((QUOTA - used) / 5);
  const path = '/v1/messaging/attachments/upload-url';
  const body = { filename: 'big.bin', content_type: 'a/b', size_bytes: size };
  const answers = await Promise.all(Array.from({ length: 8 }, () => call('POST', path, { body })));
  const refused = answers.filter(({ status }) => status !== 201);
  t.strictSame(
    refused.map((answer) => refusalOf(answer)),
    Array(3).fill('403 limit_exceeded size_bytes'),
  );
  t.match(refused[0]?.body.error, { quota: { limit: QUOTA, used: used + 5 * size } });
  await database.kysely.deleteFrom('uploads').where('filename', '=', 'big.bin').execute();
  t.equal((await call('POST', path, { body })).status, 201, 'what is removed makes room');
});

function call<Body = never>(method: string, path: string, { headers, ...options }: CallOptions = {}) {
  type Answered = [Body] extends [never] ? import('../support/app.ts').Refusal : Body;
  return app.call<Answered>(method, path, {
    ...options,
    headers: { 'Service-Version': NEWEST_VERSION, ...headers },
  });
}

async function ok<Body = unknown>(
  method: string,
  path: string,
  body?: unknown,
  token?: string,
): Promise<Body> {
  const answer = await call<Body>(method, path, {
    ...(body !== undefined && { body }),
    ...(token && { token }),
  });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body as Body;
}

async function audited(action: string): Promise<readonly AuditEvent[]> {
  return (await ok<List<AuditEvent>>('GET', `/v1/account/audit?action=${action}`)).data;
}

async function conversation(): Promise<string> {
  const participants = [ada, grace].map(({ id }) => ({ type: 'user', actor_id: id }));
  const body = { type: 'group', participants };
  return (await ok<{ id: string }>('POST', '/v1/messaging/conversations', body, ada.access_token)).id;
}

function send(id: string, body: string, fields: object = {}): Promise<ChatMessage> {
  const message = { body, client_message_id: randomUUID(), ...fields };
  return ok('POST', `/v1/messaging/conversations/${id}/messages`, message, ada.access_token);
}

function hold(id: string, legal_hold: string): Promise<unknown> {
  return ok('POST', `/v1/messaging/conversations/${id}/actions/set-legal-hold`, { legal_hold });
}

async function sequences(id: string): Promise<(number | null)[]> {
  const { data } = await ok<List<ChatMessage>>(
    'GET',
    `/v1/messaging/conversations/${id}/messages?after_sequence=0`,
  );
  return data.map(({ sequence }) => sequence);
}

async function upload(size: number): Promise<string> {
  const body = { filename: 'report.txt', content_type: 'text/plain', size_bytes: size };
  const { s3_key, url, method, headers } = await ok<UploadUrl>(
    'POST',
    '/v1/messaging/attachments/upload-url',
    body,
  );
  const put = await fetch(url, { method, headers, body: 'x'.repeat(size) });
  if (!put.ok) throw new Error(await put.text());
  return s3_key;
}

/**
 * Makes the messages of a conversation so many days old, up to a number, with their notifications.
 */
async function age(conversationId: string, days: number, through = 1_000): Promise<void> {
  await ageMessages(database, conversationId, days, through);
}

const NOTHING = { messages: 0, files: 0, notifications: 0, runs: 0, audit: 0 };

/** Returns how many of each kind would be purged; there are not more. */
async function preview(periods: Readonly<Record<string, number>>): Promise<Record<string, number>> {
  const query = new URLSearchParams(
    Object.entries(periods).map(([field, days]): [string, string] => [field, String(days)]),
  );
  const { object, ...kinds } = await ok<RetentionPreview>('GET', `${PATH}/preview?${query}`);
  if (object !== 'retention_preview') throw new Error(object);
  return Object.fromEntries(
    Object.entries(kinds).map(([kind, { count, more }]) => [kind, more ? Number.NaN : count]),
  );
}

async function insertRun(conversationId: string | null, days: number): Promise<string> {
  const { agent, account_id } = demo;
  const id = newId('agentRun');
  await database.kysely
    .insertInto('agent_runs')
    .values({
      id,
      account_id,
      agent_id: agent.id,
      actor_id: agent.actor_id,
      trigger_type: 'manual',
      trigger_key: id,
      status: 'completed',
      conversation_id: conversationId,
      completed_at: new Date(Date.now() - days * 86_400_000).toISOString(),
    })
    .execute();
  return id;
}

async function measure(t: Tap, expected: Readonly<Record<string, number>>, what: string): Promise<void> {
  await sweeps[0].measure();
  const { values } = await metrics.retentionOldest.get();
  for (const [kind, seconds] of Object.entries(expected)) {
    const value = values.find(({ labels }) => labels.kind === kind)?.value ?? -1;
    t.ok(value >= seconds && value < seconds + 3_600, `${what}: ${kind} ${value}`);
  }
}

type Tap = Pick<typeof t, 'ok'>;

/** Messages that ended ten days ago without being sent. */
const MANY = statement<[conversationId: string, count: number]>('test-many-ended')`
    INSERT INTO messages (id, account_id, conversation_id, kind, status, visibility, body, created_at)
    SELECT 'msg_many' || n, c.account_id, c.id, 'text', 'canceled', 'external', 'x', now() - interval '10 days'
    FROM conversations c, generate_series(1, $2::int) AS n WHERE c.id = $1`;

// Without a wake-up of the server's own sweep.
const AUDIT_POLICY = statement<[accountId: string, days: number]>('test-audit-policy')`
    UPDATE retention_policies SET audit_days = $2, swept_at = NULL WHERE account_id = $1`;

const AGE_WRITTEN = statement<[accountId: string, days: number]>('age-written-audit')`
    UPDATE audit_events SET created_at = created_at - $2::integer * interval '1 day'
    WHERE account_id = $1 AND xmin = pg_current_xact_id()::xid`;

const POLICY = statement<
  [
    accountId: string,
    messages: number | null,
    files: number | null,
    notifications: number | null,
    runs: number | null,
  ]
>('test-policy')`
    INSERT INTO retention_policies (account_id, messages_days, files_days, notifications_days, runs_days)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (account_id) DO UPDATE SET messages_days = excluded.messages_days, files_days = excluded.files_days,
      notifications_days = excluded.notifications_days, runs_days = excluded.runs_days`;

const AGE_NOTIFICATIONS = statement<[days: number]>('test-age-notifications')`
    UPDATE notifications n SET created_at = created_at - make_interval(days => $1::int),
      id = left(notification_id(created_at - make_interval(days => $1::int), '', ''), 17) || right(n.id, 11)
    WHERE created_at > now() - interval '1 day'`;
