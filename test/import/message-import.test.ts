/** Import Messages (docs/contract.md#imported-messages) over HTTP, on a whole server. */

import { randomUUID } from 'node:crypto';
import type { List } from '@parley/protocol/lists.ts';
import type { AuditEvent } from '@parley/protocol/resources/audit-event.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { MessageImport } from '@parley/protocol/resources/imported-message.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { deletePrefix, readDueEnd } from '../../src/core/messages/removal/purge-store.ts';
import { closed, gatesOf } from '../accounts/fixture.ts';
import { type CallOptions, callsAt, startTestApp } from '../support/app.ts';
import { Listener, TestNode } from '../support/node.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { addWebhook } from '../webhooks/webhook.ts';

const app = await startTestApp(t, {
  PARLEY_RETENTION_SWEEP_MS: '86400000',
  PARLEY_FETCH_ALLOW: '127.0.0.1',
});
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const PATH = '/v1/messaging/conversations';
const OLD = '2019-03-04T05:06:07.123456Z';

interface Input {
  readonly [field: string]: unknown;
}

t.test('messages get the next numbers, with their authors, times and everything of theirs', async (t) => {
  const id = await conversation();
  const live = await send(id, 'before');
  const body = [
    { ...message('1'), body: 'the first', edited_at: '2020-01-01T00:00:00Z', mentions: [grace.id] },
    {
      ...message('2', grace.id),
      created_at: '2019-03-04T05:06:07.123457Z',
      reply_to_client_message_id: '1',
      reactions: [
        { emoji: '👍', actor_id: ada.id, created_at: '2021-01-01T00:00:00Z' },
        { emoji: '👍', actor_id: vera.id },
      ],
      attachments: [
        { kind: 'link', url: 'https://example.com/' },
        { kind: 'file', s3_key: await upload() },
      ],
      pinned_by: vera.id,
    },
    { client_message_id: '3', author_id: demo.agent.actor_id, created_at: OLD, deleted_at: OLD },
    { ...message('4', demo.agent.actor_id), reply_to_message_id: live.id },
  ];
  const first = await imported(id, body);
  t.equal(first.status, 201);
  const { import_id, messages } = first.body;
  t.strictSame(
    messages.map(({ client_message_id, sequence, existed }) => [client_message_id, sequence, existed]),
    [1, 2, 3, 4].map((n) => [String(n), live.sequence! + n, false]),
  );
  const [one, two, three, four] = await Promise.all(messages.map((each) => shown(each.id)));
  const mark = one!.imported!;
  t.match(mark, { import_id, by: /^act_/ });
  t.ok(Math.abs(Date.parse(mark.at) - Date.now()) < 600_000);
  t.match(one, {
    kind: 'chat',
    status: 'sent',
    visibility: 'internal',
    body: 'the first',
    author_id: ada.id,
    sender_id: ada.id,
    created_at: OLD,
    sent_at: OLD,
    edited_by: ada.id,
    mentions: [grace.id],
    edited_at: '2020-01-01T00:00:00.000000Z',
    thread: { reply_count: 1, unread: 0 },
  });
  t.match(two, {
    reply_to_id: one!.id,
    created_at: '2019-03-04T05:06:07.123457Z',
    author_id: grace.id,
    attachments: [{ kind: 'link' }, { kind: 'file', filename: 'notes.txt' }],
    reactions: [{ emoji: '👍', count: 2, actor_ids: [vera.id, ada.id] }],
  });
  t.match(three, { body: null, deleted_at: OLD, imported: mark });
  t.match(four, { kind: 'agent', reply_to_id: live.id });
  const { body: pins } = await call<List<{ message_id: string; pinned_by: string; pinned_at: string }>>(
    'GET',
    `${PATH}/${id}/pins`,
  );
  t.match(pins.data, [{ message_id: two!.id, pinned_by: vera.id, pinned_at: '2019-03-04T05:06:07.123457Z' }]);

  const older = await app.call<ChatMessage>('GET', `/v1/messaging/messages/${one!.id}`);
  t.notOk('imported' in older.body, 'an older version never sees the field');
  t.equal((await shown(live.id)).imported, null);

  const again = await imported(id, body);
  t.equal(again.status, 200, 'a repetition changes nothing');
  t.strictSame(
    again.body.messages,
    messages.map((each) => ({ ...each, existed: true })),
  );
  const half = await imported(id, [body[3]!, message('5'), body[0]!, message('6')]);
  t.equal(half.status, 201);
  t.strictSame(
    half.body.messages.map(({ sequence, existed }) => [sequence - live.sequence!, existed]),
    [
      [4, true],
      [5, false],
      [1, true],
      [6, false],
    ],
  );
  t.equal((await send(id, 'after')).sequence, live.sequence! + 7, 'no number was lost');

  const { body: log } = await call<List<AuditEvent>>('GET', `${PATH}/${id}/audit`);
  const events = log.data.filter(({ action }) => action === 'messages.imported');
  t.match(events, [
    { details: { import_id: half.body.import_id, count: 2, sha256: /^[0-9a-f]{64}$/ } },
    {
      details: { import_id, count: 4, first_sequence: live.sequence! + 1, last_sequence: live.sequence! + 4 },
    },
  ]);
});

t.test('edits, reactions, deletions, redactions and threads work as on others', async (t) => {
  const id = await conversation();
  const { messages } = (await imported(id, [message('1'), message('2'), message('3')])).body;
  const [one, two, three] = messages.map((each) => `/v1/messaging/messages/${each.id}`);
  const asAda = { token: ada.access_token };
  t.match((await call('PATCH', one!, { ...asAda, body: { body: 'edited' } })).body, {
    body: 'edited',
    imported: { by: /^act_/ },
  });
  t.equal((await call('PUT', `${one}/reactions/${encodeURIComponent('🎉')}`, asAda)).status, 200);
  t.equal((await call('POST', `${one}/actions/pin`, asAda)).status, 200);
  t.equal((await call('DELETE', two!, asAda)).status, 200);
  t.equal((await call('POST', `${three}/actions/redact`, { body: { reason: 'why' } })).status, 200);
  t.match(await shown(messages[2]!.id), { body: null, redaction: { reason: 'why' }, imported: {} });
});

t.test('nothing moves: unread counts, activity, order, snoozes, hidden; heads stay heads', async (t) => {
  const id = await conversation();
  const other = await conversation();
  await send(id, 'one', grace.access_token);
  const last = await send(id, 'two', grace.access_token);
  await send(other, 'later', grace.access_token);
  await call('POST', `${PATH}/${id}/actions/mark-read`, {
    body: { sequence: last.sequence },
    token: vera.access_token,
  });
  const until_ = new Date(Date.now() + 3_600_000).toISOString();
  const snoozed = await call('POST', `${PATH}/${id}/actions/snooze`, {
    body: { until: until_ },
    token: vera.access_token,
  });
  t.equal(snoozed.status, 200);
  await settled();
  const before = await Promise.all([ada, vera].map((user) => own(id, user.access_token)));
  t.match(before, [{ unread: 2 }, { unread: 0, snoozed: true }]);
  const order = await listed();
  const counts = await rows();

  const { messages } = (await imported(id, many(60, grace.id))).body;
  const head = messages.at(-1)!.sequence;
  const compare = async (when: string) => {
    const after = await Promise.all([ada, vera].map((user) => own(id, user.access_token)));
    for (const [index, one] of after.entries()) {
      const { unread, activity_at, snoozed } = before[index]!;
      t.match(one, { unread, activity_at, snoozed }, when);
    }
    t.equal(after[0]!.last_read_sequence, before[0]!.last_read_sequence, 'behind the head, it stays');
    t.equal(after[1]!.last_read_sequence, head, 'at the head, it stays at the head');
    t.strictSame(await listed(), order, when);
  };
  await compare('at once');
  await settled();
  await compare('once the inbox was written');
  t.strictSame(await rows(), counts, 'no notification, delivery, run, push or mail');

  await send(id, 'three', grace.access_token);
  t.match(await own(id, ada.access_token), { unread: 3 });
  t.match(await own(id, vera.access_token), { unread: 1, snoozed: false });
  await settled();
  t.match(await own(id, ada.access_token), { unread: 3 });
  await call('DELETE', `/v1/messaging/messages/${messages[5]!.id}`);
  await settled();
  t.match(await own(id, vera.access_token), { unread: 1 });
  await call('POST', `${PATH}/${id}/actions/mark-read`, {
    body: { sequence: head + 1 },
    token: ada.access_token,
  });
  const unseen = () =>
    database.kysely
      .selectFrom('notifications')
      .select('id')
      .where('recipient_id', '=', ada.id)
      .where('status', '<>', 'read')
      .where('message_id', 'in', (select) =>
        select.selectFrom('messages').select('messages.id').where('conversation_id', '=', id),
      )
      .execute();
  await until(async () => (await unseen()).length === 0, {
    what: 'notifications in front of the import to be read',
  });
});

t.test('no agent starts, and webhooks are complete without them', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const webhook = await addWebhook(
    database,
    { accountId: demo.account_id, actorId: ada.id },
    { eventTypes: ['message.*'], url: receiver.url },
  );
  const id = demo.conversations.group;
  const created = () =>
    receiver.received.flatMap(({ event }) => (event.type === 'message.created' ? event.sequence : []));
  let first = await send(id, 'first');
  // A node hears of a webhook a moment after its row.
  const isHeard = async () => {
    if (created().length > 0) return true;
    first = await send(id, 'first');
    return false;
  };
  await until(isHeard, { what: 'an event' });
  await until(() => created().includes(first.sequence!), { what: 'the event before the import' });
  const before = created();
  const runs = (await rows()).agent_runs;
  const mention = { body: `@${demo.agent.slug} help`, mentions: [demo.agent.actor_id, grace.id] };
  const { messages } = (await imported(id, [{ ...message(randomUUID()), ...mention }, ...many(20)])).body;
  const last = await send(id, 'last');
  await until(() => created().includes(last.sequence!), { what: 'the last event' });
  t.strictSame(created(), [...before, last.sequence]);
  const through = async () => {
    const { body } = await call<List<{ conversation_id: string; through_sequence: number; head: number }>>(
      'GET',
      `/v1/webhooks/${webhook}/completeness`,
    );
    return body.data.find(({ conversation_id }) => conversation_id === id);
  };
  await until(async () => (await through())?.through_sequence === last.sequence, {
    what: 'completeness',
  });
  t.equal(last.sequence! - first.sequence!, messages.length + 1);
  await settled();
  t.equal((await rows()).agent_runs, runs);
  await call('DELETE', `/v1/webhooks/${webhook}`);
});

t.test('customers see what was for them, under the persona', async (t) => {
  const id = demo.conversations.case;
  const { customer } = demo;
  const from = (await shownList(id)).length;
  const { messages } = (
    await imported(id, [
      { ...message('c1', customer.actor_id), body: 'help' },
      { ...message('c2'), body: 'a note' },
      { ...message('c3'), body: 'an answer', audience: 'customer' },
    ])
  ).body;
  t.ok(from >= 0);
  const token = customer.access_token;
  const { body } = await call<List<ChatMessage>>('GET', `${PATH}/${id}/messages?limit=2`, { token });
  t.match(body.data, [
    { id: messages[2]!.id, body: 'an answer', author_id: null, imported: { by: null } },
    { id: messages[0]!.id, body: 'help', visibility: 'external' },
  ]);
  t.not(body.data[0]!.sender_id, ada.id, 'not the person');
  t.equal((await own(id, token)).unread, 0);
});

t.test('sockets get them in order, and load the list again where it is too many', async (t) => {
  const id = await conversation();
  const node = (version: string) =>
    new TestNode(undefined as never, app.dataDir, { ...demo, service_version: version });
  const [newest, older] = await Promise.all(
    [NEWEST_VERSION, '1.2.harbor'].map((version) => Listener.open(node(version), id, {})),
  );
  t.teardown(() => {
    for (const listener of [newest!, older!]) listener.socket.terminate();
  });
  const from = (await send(id, 'before')).sequence!;
  await imported(id, many(300));
  await send(id, 'between');
  await imported(id, many(20));
  for (const listener of [newest!, older!]) {
    await until(() => listener.sequences().length === 322, { what: 'all messages' });
    t.strictSame(
      listener.sequences(),
      Array.from({ length: 322 }, (_, n) => from + n),
    );
  }
  t.match(newest!.created()[1]!.data, { imported: { by: /^act_/ }, created_at: OLD });
  t.notOk('imported' in older!.created()[1]!.data!);

  // As if other calls had committed meanwhile, whose frames are still on their way.
  await database.pool.query(
    `INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, client_message_id, imported)
      SELECT $1 || n, $2, $3, $4::bigint + n, 'chat', 'sent', 'internal', 'bulk-' || n, '{}'
      FROM generate_series(1, 1500) AS n`,
    [id, demo.account_id, id, from + 321],
  );
  const last = await send(id, 'behind them');
  t.equal(last.sequence, from + 321 + 1501);
  const resync = () => newest!.frames.find(({ type }) => type === 'resync');
  await until(resync, { what: 'a resync' });
  t.match(resync(), { conversation_id: id, reason: 'too_old', head_sequence: last.sequence });
  const late = await Listener.open(node(NEWEST_VERSION), id, { afterSequence: from });
  t.teardown(() => late.socket.terminate());
  t.match(late.frames.at(-1), { type: 'resync', reason: 'too_old' });
});

t.test('two batches at once, and sends beside them: no message twice, no number twice', async (t) => {
  const id = await conversation();
  const batch = many(200);
  const sends = (async () => {
    for (let n = 0; n < 30; n++) await send(id, `live ${n}`);
  })();
  const answers = await Promise.all(
    [batch, batch, batch.slice(100), many(100)].map((each) => imported(id, each)),
  );
  await sends;
  const ids = new Map<string, string>();
  let fresh = 0;
  for (const { body } of answers) {
    const order = body.messages.flatMap(({ sequence, existed }) => (existed ? [] : sequence));
    t.strictSame(
      order,
      order.toSorted((a, b) => a - b),
      'in the order given',
    );
    for (const one of body.messages) {
      t.equal(ids.get(one.client_message_id) ?? one.id, one.id);
      ids.set(one.client_message_id, one.id);
      if (!one.existed) fresh += 1;
    }
  }
  t.equal(fresh, 300);
  const { rows: stored } = await database.pool.query<{ sequence: number; kind: string }>(
    'SELECT sequence, kind FROM messages WHERE conversation_id = $1 ORDER BY sequence',
    [id],
  );
  t.strictSame(
    stored.map(({ sequence }) => Number(sequence)),
    stored.map((_, index) => index + 1),
    'no gap',
  );
  t.equal(stored.filter(({ kind }) => kind !== 'void' && kind !== 'system_event').length, 330);
});

t.test('search finds them, at their own times', async (t) => {
  const id = await conversation();
  const word = `w${randomUUID().replaceAll('-', '')}`;
  await imported(id, [{ ...message('1'), body: `about ${word}` }]);
  const search = async (query: string) =>
    (await call<List<{ message: ChatMessage | null }>>('GET', `/v1/messaging/search?q=${word}${query}`)).body
      .data;
  t.equal((await search('')).length, 1, 'at once');
  await until(
    async () =>
      (await database.pool.query(`SELECT FROM search_entries WHERE conversation_id = $1 AND id <> $1`, [id]))
        .rowCount === 1,
    { what: 'an entry' },
  );
  t.equal((await search('')).length, 1);
});

t.test('no policy purges them within seven days', async (t) => {
  const id = await conversation();
  await imported(id, many(3));
  const due = () => database.transaction((tx) => readDueEnd(tx, id, 1, 100));
  t.equal(await due(), undefined);
  await database.pool.query(
    `UPDATE messages SET imported = jsonb_set(imported, '{at}', to_jsonb(to_char(
      now() - interval '8 days', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))) WHERE conversation_id = $1 AND imported IS NOT NULL`,
    [id],
  );
  const end = await due();
  t.ok(end !== undefined && end >= 3);
  const gone = await database.transaction((tx) => deletePrefix(tx, id, end!));
  t.ok(gone!.length >= 3);
});

t.test('what is refused', async (t) => {
  const id = await conversation();
  const to = (messages: unknown, more: CallOptions = {}) =>
    refusal('POST', `${PATH}/${id}/messages/import`, { body: { messages }, ...more });
  const one = message('r');
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  const cases: [string, unknown][] = [
    ['422 validation_failed messages', []],
    ['422 validation_failed messages', many(501)],
    ['400 missing_field messages[0].client_message_id', [{ ...one, client_message_id: undefined }]],
    ['422 validation_failed messages[0].client_message_id', [{ ...one, client_message_id: '' }]],
    ['422 validation_failed messages[0].client_message_id', [{ ...one, client_message_id: 'x'.repeat(256) }]],
    ['400 missing_field messages[0].author_id', [{ ...one, author_id: undefined }]],
    ['404 resource_not_found messages[1].author_id', [one, { ...message('s'), author_id: 'act_none' }]],
    ['400 missing_field messages[0].created_at', [{ ...one, created_at: undefined }]],
    ['400 invalid_format messages[0].created_at', [{ ...one, created_at: 1551675967 }]],
    ['422 validation_failed messages[0].created_at', [{ ...one, created_at: '1969-12-31T23:59:59.999999Z' }]],
    ['422 validation_failed messages[0].created_at', [{ ...one, created_at: soon }]],
    ['422 validation_failed messages[0].edited_at', [{ ...one, edited_at: '2018-01-01T00:00:00Z' }]],
    ['422 validation_failed messages[0].edited_at', [{ ...one, edited_at: soon }]],
    ['400 missing_field messages[0].body', [{ ...one, body: ' ' }]],
    ['422 validation_failed messages[0].body', [{ ...one, body: 'x'.repeat(40_001) }]],
    ['422 validation_failed messages[0].body', [{ ...one, deleted_at: OLD }]],
    ['422 validation_failed messages[0].audience', [{ ...one, audience: 'customer' }]],
    ['422 validation_failed messages[1].client_message_id', [one, one]],
    [
      '422 validation_failed messages[0].reply_to_client_message_id',
      [{ ...one, reply_to_client_message_id: 'later' }, message('later')],
    ],
    [
      '422 validation_failed messages[0].reply_to_client_message_id',
      [{ ...one, reply_to_client_message_id: 'r' }],
    ],
    [
      '404 resource_not_found messages[0].reply_to_client_message_id',
      [{ ...one, reply_to_client_message_id: 'nothing' }],
    ],
    ['404 resource_not_found messages[0].reply_to_message_id', [{ ...one, reply_to_message_id: 'msg_none' }]],
    [
      '422 validation_failed messages[1].reply_to_client_message_id',
      [one, { ...message('s'), reply_to_client_message_id: 'r', reply_to_message_id: 'msg_none' }],
    ],
    ['404 resource_not_found messages[0].mentions[0]', [{ ...one, mentions: ['act_none'] }]],
    [
      '422 validation_failed messages[0].reactions[0].emoji',
      [{ ...one, reactions: [{ emoji: 'ok', actor_id: ada.id }] }],
    ],
    [
      '422 validation_failed messages[0].reactions[1]',
      [{ ...one, reactions: [1, 2].map(() => ({ emoji: '👍', actor_id: ada.id })) }],
    ],
    [
      '404 resource_not_found messages[0].reactions[0].actor_id',
      [{ ...one, reactions: [{ emoji: '👍', actor_id: 'act_none' }] }],
    ],
    ['400 missing_field messages[0].pinned_by', [{ ...one, pinned_at: OLD }]],
    ['404 resource_not_found messages[0].pinned_by', [{ ...one, pinned_by: 'act_none' }]],
    ['400 missing_field messages[0].attachments[0].s3_key', [{ ...one, attachments: [{ kind: 'file' }] }]],
    [
      '404 resource_not_found messages[0].attachments[0].s3_key',
      [{ ...one, attachments: [{ kind: 'file', s3_key: 'none' }] }],
    ],
    ['422 validation_failed messages[0].sequence', [{ ...one, sequence: 1 }]],
  ];
  for (const [expected, messages] of cases) {
    t.equal(await to(messages), expected, `${expected} ${JSON.stringify(messages).slice(0, 80)}`);
  }
  t.equal((await shownList(id)).length, 0, 'nothing of a refused call is written');

  t.equal(await to([one], { token: ada.access_token }), '403 insufficient_permissions null', 'an admin');
  const other = demo.other_account;
  t.equal(
    await to([one], { token: other.api_key, headers: { 'Service-Account': other.account_id } }),
    '404 resource_not_found id',
  );
  const gates = {
    method: 'POST' as const,
    path: `${PATH}/${id}/messages/import`,
    permission: null,
    agents: false,
    body: { messages: [one] },
  } as const;
  t.strictSame(await gatesOf(app, { ...gates, version: NEWEST_VERSION }), closed(gates));

  await hold(id, 'held');
  t.equal(await to([one]), '409 resource_conflict null');
  await hold(id, 'released');
  await call('PATCH', `${PATH}/${id}`, { body: { status: 'archived' } });
  t.equal(await to([one]), '201', 'the history of what is archived can be imported');
  await call('DELETE', `${PATH}/${id}`);
  t.equal(await to([message('z')]), '410 resource_gone id');
});

t.test('an Idempotency-Key, and ids of the application', async (t) => {
  const id = await conversation();
  await database.pool.query(`UPDATE actors SET external_id = 'u-1' WHERE id = $1`, [grace.id]);
  await database.pool.query(`UPDATE conversations SET external_id = 'c-1' WHERE id = $1`, [id]);
  const options = {
    body: { messages: [{ ...message('1'), author_id: 'ext:u-1' }] },
    headers: { 'Idempotency-Key': randomUUID() },
  };
  const path = `${PATH}/ext:c-1/messages/import`;
  const first = await call<MessageImport>('POST', path, options);
  t.equal(first.status, 201);
  t.equal((await shown(first.body.messages[0]!.id)).author_id, grace.id);
  const again = await call('POST', path, options);
  t.equal(again.status, 201);
  t.equal(again.text, first.text);
});

function message(key: string, author = ada.id): Input {
  return { client_message_id: key, author_id: author, body: `message ${key}`, created_at: OLD };
}

function many(count: number, author = ada.id): Input[] {
  return Array.from({ length: count }, () => message(randomUUID(), author));
}

function imported(id: string, messages: readonly Input[]) {
  return call<MessageImport>('POST', `${PATH}/${id}/messages/import`, { body: { messages } });
}

async function conversation(): Promise<string> {
  const participants = [grace, vera].map(({ id }) => ({ type: 'user', actor_id: id }));
  const body = { type: 'group', title: 'history', participants };
  return (await call<Conversation>('POST', PATH, { body, token: ada.access_token })).body.id;
}

async function send(id: string, body: string, token = ada.access_token): Promise<ChatMessage> {
  const sent = { body, client_message_id: randomUUID() };
  return (await call<ChatMessage>('POST', `${PATH}/${id}/messages`, { body: sent, token })).body;
}

async function shown(id: string): Promise<ChatMessage> {
  const include = ['thread', 'reactions', 'attachments'].map((name) => `include[]=${name}`).join('&');
  return (await call<ChatMessage>('GET', `/v1/messaging/messages/${id}?${include}`)).body;
}

async function shownList(id: string): Promise<ChatMessage[]> {
  const { body } = await call<List<ChatMessage>>('GET', `${PATH}/${id}/messages?limit=100`);
  return body.data.filter(({ kind }) => kind !== 'system_event');
}

async function own(id: string, token: string): Promise<Conversation> {
  return (await call<Conversation>('GET', `${PATH}/${id}`, { token })).body;
}

/** The order of the list by activity. */
async function listed(): Promise<string[]> {
  const { body } = await call<List<Conversation>>('GET', `${PATH}?order=activity&limit=100`, {
    token: ada.access_token,
  });
  return body.data.map(({ id }) => id);
}

/** Waits until the inbox has no mark and the outbox no row. */
async function settled(): Promise<void> {
  const waiting = 'SELECT 1 FROM inbox_due UNION ALL SELECT 1 FROM outbox LIMIT 1';
  await until(async () => (await database.pool.query(waiting)).rowCount === 0, { what: 'settled marks' });
}

async function rows(): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of [
    'notifications',
    'webhook_deliveries',
    'agent_runs',
    'push_deliveries',
    'digests',
    'mails',
  ]) {
    const { rows: found } = await database.pool.query(`SELECT count(*)::int AS count FROM ${table}`);
    counts[table] = found[0].count;
  }
  return counts;
}

async function hold(id: string, legal_hold: string): Promise<void> {
  await call('POST', `${PATH}/${id}/actions/set-legal-hold`, { body: { legal_hold } });
}

async function upload(): Promise<string> {
  const { body } = await call<UploadUrl>('POST', '/v1/messaging/attachments/upload-url', {
    body: { filename: 'notes.txt', content_type: 'text/plain', size_bytes: 5 },
  });
  const put = await fetch(body.url, { method: 'PUT', headers: body.headers, body: 'notes' });
  t.ok(put.ok);
  return body.s3_key;
}
