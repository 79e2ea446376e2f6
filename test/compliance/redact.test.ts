/**
 * Redact Message over HTTP (docs/contract.md#redaction): what is gone, what is refused, and who is
 * told.
 */

import { randomUUID } from 'node:crypto';
import { newId } from '@parley/protocol/ids.ts';
import type { List } from '@parley/protocol/lists.ts';
import type { AgentRun } from '@parley/protocol/resources/agent-run.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import { Runs } from '../agents/runs.ts';
import { Client } from '../gateway/fixture.ts';
import { Cases, message, user } from '../messages/cases.ts';
import { type CallOptions, refusalOf, startTestApp } from '../support/app.ts';
import { storedText } from '../support/stored-text.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const app = await startTestApp(t);
const { demo, database } = app;
const { ada, grace, vera } = demo.users;
const cases = new Cases(app);
const runs = new Runs(app);
const NEWEST = { 'Service-Version': '1.2.harbor' };
const REASON = 'It names a patient.';

t.test('nothing of the message is left but its place', async (t) => {
  const conversation = await cases.conversation('internal', user(vera.id));
  await cases.set(conversation, { legal_hold: 'held' });
  const key = await cases.upload('swordfish plan.txt');
  const send = {
    body: {
      body: 'the code is swordfish 1',
      client_message_id: randomUUID(),
      attachments: [
        { kind: 'file', s3_key: key },
        { kind: 'link', url: 'https://example.com/swordfish' },
      ],
      mentions: [vera.id],
      link_resource_type: 'actor',
      link_resource_id: ada.id,
    },
    headers: { ...NEWEST, 'Idempotency-Key': randomUUID() },
    token: grace.access_token,
  };
  const path = `/v1/messaging/conversations/${conversation}/messages?include[]=author`;
  const sent = message(await app.call('POST', path, send), 201);
  const edit = { token: grace.access_token, body: { body: 'the code is swordfish 2' } };
  message(await app.call('PATCH', `/v1/messaging/messages/${sent.id}`, edit), 200);
  await cases.set(conversation, { legal_hold: 'released' });
  await until(async () => (await storedText(database, 'swordfish')).includes('public.notifications.body'), {
    what: 'a notification with the text',
  });
  const { body: feed } = await app.call<List<Notification>>('GET', '/v1/messaging/notifications', {
    token: vera.access_token,
  });
  const seen = await app.call('POST', `/v1/messaging/notifications/${feed.data[0]!.id}/actions/see`, {
    token: vera.access_token,
    headers: { 'Idempotency-Key': randomUUID() },
  });
  t.match(seen.text, 'swordfish');
  const [link] = (await read(sent.id, 'include[]=attachments')).attachments!;
  t.equal((await fetch(link!.url!)).status, 200);
  const isIndexed = async () =>
    (await storedText(database, 'swordfish')).includes('public.search_entries.terms');
  await until(isIndexed, { what: 'the message is indexed' });
  t.strictSame(await storedText(database, 'swordfish'), [
    'public.attachments.filename',
    'public.attachments.url',
    'public.idempotency_keys.response',
    'public.message_revisions.body',
    'public.messages.body',
    'public.notifications.body',
    'public.search_entries.terms',
    'public.uploads.filename',
  ]);

  const listening = await socket(t);
  const tombstone = message(await redact(sent.id, {}, 'include[]=attachments&include[]=resource'), 200);
  t.strictSame(await storedText(database, 'swordfish'), [], 'at the commit');
  const { redaction } = tombstone;
  t.match(tombstone, { body: null, attachments: [], resource: null, sequence: sent.sequence });
  t.strictSame(redaction, { by: ada.id, reason: REASON, at: tombstone.deleted_at });
  t.strictSame(await read(sent.id, 'include[]=attachments&include[]=resource'), {
    ...tombstone,
    client_message_id: sent.client_message_id,
  });
  t.equal((await fetch(link!.url!)).status, 410, 'a signed link ends');
  t.strictSame((await cases.audited(conversation)).at(-1), {
    action: 'message.redacted',
    actor_id: ada.id,
    details: { message_id: sent.id, reason: REASON },
  });

  const { data } = await listening.frame(({ event }) => event === 'message.updated');
  t.match(data, { id: sent.id, body: null, attachments: [], redaction });
  const withdrawn = await listening.frame(({ event }) => event === 'notification.updated');
  t.match(withdrawn.data, { body: null, status: 'dismissed' });

  const replayed = await app.call<ChatMessage>('POST', path, send);
  t.equal(replayed.headers.get('Idempotent-Replayed'), 'true');
  t.strictSame(replayed.body, { ...sent, body: null, attachments: null }, 'a stored answer loses the text');
  t.notMatch(replayed.text, 'swordfish');
  const headers = { ...send.headers, 'Service-Version': '1.0.harbor' };
  const older = await app.call<ChatMessage>('POST', path, { ...send, headers });
  t.equal(older.headers.get('Idempotent-Replayed'), 'true');
  t.strictSame([older.body.id, older.body.body], [sent.id, null], 'in the form of an earlier version too');

  async function socket(t: Teardown): Promise<Client> {
    const headers = {
      Authorization: `Bearer ${vera.access_token}`,
      'Service-Account': demo.account_id,
      ...NEWEST,
    };
    const client = new Client(new WebSocket(`${app.baseUrl.replace('http', 'ws')}/v1/realtime`, { headers }));
    t.teardown(() => client.close());
    await client.frame('ready');
    client.send({ id: '1', type: 'subscribe', conversation_id: conversation });
    await client.frame('caught_up');
    return client;
  }
});

t.test('older versions see a deleted message; customers see neither by whom nor why', async (t) => {
  const { id, customerToken } = await cases.open();
  const sent = await cases.sent(id, { audience: 'customer', body: 'our margin is 40 %' });
  message(await redact(sent.id), 200);
  const older = await cases.read(sent.id);
  t.strictSame([older.body, typeof older.deleted_at, 'redaction' in older], [null, 'string', false]);
  const shown = await app.call<ChatMessage>('GET', `/v1/messaging/messages/${sent.id}`, {
    token: customerToken,
    headers: NEWEST,
  });
  t.strictSame(shown.body.redaction, { by: null, reason: null, at: older.deleted_at });
  t.notMatch(shown.text, REASON);
});

t.test('what agents repeat of it is blanked, and their open runs in the conversation end', async (t) => {
  const conversation = await cases.conversation('internal');
  const elsewhere = await cases.conversation('internal');
  const before = await cases.sent(conversation, { body: 'harmless' });
  const secret = 'the code is "marlin" 7';
  const sent = await cases.sent(conversation, { body: secret });
  const { id: agentId } = await runs.agent();
  const now = new Date().toISOString();
  const ended = { completed_at: now, triggered_by: grace.id };
  const quotes = (conversation_id: string, fields: object = {}) =>
    runs.insert(agentId, {
      ...ended,
      conversation_id,
      output: JSON.stringify({ text: `You said ${secret}.` }),
      ...fields,
    });
  const started = await quotes(conversation, {
    trigger_message_id: sent.id,
    output: '{"text": "About a fish."}',
  });
  const quoting = await quotes(conversation);
  const [reading] = await runs.waiting(
    agentId,
    [{ status: 'completed', arguments: '{"a": 1}', result: JSON.stringify({ id: sent.id, body: secret }) }],
    { ...ended, status: 'completed', conversation_id: elsewhere, output: '{"text": "A marlin."}' },
  );
  const calls = JSON.stringify([{ id: 'c', name: 'x', arguments: JSON.stringify({ q: secret }) }]);
  await database.kysely.updateTable('agent_run_steps').set({ calls }).where('run_id', '=', reading).execute();
  const harmless = await quotes(conversation, { output: '{"text": "Good morning."}' });
  const apart = await quotes(elsewhere, { output: '{"text": "Good evening."}' });
  const open = await runs.insert(agentId, { conversation_id: conversation, status: 'awaiting_approval' });
  const [spoken] = await runs.waiting(agentId, [{}], { conversation_id: conversation });
  await database.kysely
    .updateTable('agent_run_steps')
    .set({ text: 'About a big fish.' })
    .where('run_id', '=', spoken)
    .execute();
  const shownFile = await artifact(started, 'shown.md');
  const hiddenFile = await artifact(started, 'hidden.md');
  const reply = await cases.sent(conversation, { body: 'See the file.' });
  await database.kysely
    .insertInto('attachments')
    .values({
      id: newId('attachment'),
      conversation_id: conversation,
      message_id: reply.id,
      position: 0,
      kind: 'file',
      s3_key: shownFile,
      filename: 'shown.md',
    })
    .execute();
  const draft = await cases.open().then(({ id }) => cases.draft(id, { body: 'the code is marlin' }));

  message(await redact(sent.id), 200);
  await until(async () => (await storedText(database, 'marlin')).length === 2, { what: 'the draft alone' });
  t.strictSame(
    (await storedText(database, 'marlin')).sort(),
    ['public.messages.body', 'public.notifications.body'],
    'the draft that repeats it, and its notifications',
  );
  t.equal((await cases.read(draft.id)).body, 'the code is marlin', 'is the text of its author');
  const outputOf = async (id: string) => (await runs.get(id, '', { token: ada.access_token })).output;
  for (const id of [started, quoting, reading]) t.equal(await outputOf(id), null);
  t.strictSame(await outputOf(harmless), { text: 'Good morning.' });
  t.strictSame(await outputOf(apart), { text: 'Good evening.' });
  const shown: AgentRun = await runs.get(reading, 'include[]=steps&include[]=actions', {
    token: ada.access_token,
  });
  t.match(shown.actions, [{ arguments: {}, result: null }]);
  await until(async () => (await runs.get(open, '', { token: ada.access_token })).status === 'cancelled', {
    what: 'the open run to be cancelled',
  });
  await until(async () => (await storedText(database, 'About a big fish.')).length === 0, {
    what: 'the texts of the run that was open to be gone',
  });
  const files = await database.kysely.selectFrom('artifacts').select('s3_key').execute();
  t.ok(
    files.some(({ s3_key }) => s3_key === shownFile),
    'a file that a message shows stays',
  );
  t.notOk(files.some(({ s3_key }) => s3_key === hiddenFile));
  t.equal((await cases.read(before.id)).body, 'harmless');
});

t.test('a role may be given the permission', async (t) => {
  const role = {
    name: randomUUID(),
    permissions: ['messaging:read', 'messaging:update', 'messaging:redact'],
  };
  const { body } = await app.call<{ id: string }>('POST', '/v1/roles', { body: role });
  const key = { name: 'Redactor', role_id: body.id };
  const { body: made } = await app.call<{ key: string }>('POST', '/v1/api-keys', { body: key });
  const sent = await cases.sent(await cases.conversation('internal'));
  t.equal((await redact(sent.id, { token: made.key })).status, 200);
});

t.test('a refused redaction states its reason', async (t) => {
  const conversation = await cases.conversation('internal', user(vera.id));
  const { id: caseId, customerToken } = await cases.open();
  const sent = await cases.sent(conversation);
  const deleted = await cases.sent(conversation);
  await app.call('DELETE', `/v1/messaging/messages/${deleted.id}`);
  const redacted = await cases.sent(conversation);
  await redact(redacted.id);
  const draft = await cases.draft(caseId);
  const scheduled = await cases.sent(caseId, {
    scheduled_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  const held = await cases.conversation('internal');
  const evidence = await cases.sent(held);
  await cases.set(held, { legal_hold: 'held' });
  const bodies: [body: unknown, expected: string][] = [
    [{}, '400 missing_field reason'],
    [{ reason: null }, '400 missing_field reason'],
    [{ reason: 5 }, '400 invalid_format reason'],
    [{ reason: '' }, '422 validation_failed reason'],
    [{ reason: ' \n' }, '422 validation_failed reason'],
    [{ reason: 'a'.repeat(501) }, '422 validation_failed reason'],
    [{ reason: 'a', why: 'b' }, '422 validation_failed why'],
  ];
  for (const [body, expected] of bodies) t.equal(refusalOf(await redact(sent.id, { body })), expected);
  const states: [what: string, id: string, expected: string][] = [
    ['a deleted message', deleted.id, '410 resource_gone id'],
    ['another reason', redacted.id, '410 resource_gone id'],
    ['a draft', draft.id, '409 resource_conflict null'],
    ['a scheduled message', scheduled.id, '409 resource_conflict null'],
    ['on hold', evidence.id, '409 resource_conflict null'],
    ['no such message', newId('message'), '404 resource_not_found id'],
  ];
  for (const [what, id, expected] of states) {
    t.equal(refusalOf(await redact(id, { body: { reason: 'Another.' } })), expected, what);
  }
  t.equal((await cases.read(evidence.id)).body, 'ahoy', 'what is held stays');
  const callers: [what: string, options: CallOptions, expected: string][] = [
    [
      'no credential',
      { headers: { ...NEWEST, Authorization: undefined } },
      '401 invalid_credentials Authorization',
    ],
    ['a role without it', { token: grace.access_token }, '403 insufficient_permissions null'],
    ['a customer', { token: customerToken }, '403 insufficient_permissions null'],
    ['an agent', { token: await app.tokenOf(demo.agent.actor_id) }, '403 insufficient_permissions null'],
    [
      'another account',
      {
        token: demo.other_account.api_key,
        headers: { ...NEWEST, 'Service-Account': demo.other_account.account_id },
      },
      '404 resource_not_found id',
    ],
    ['1.1', { headers: { 'Service-Version': '1.1.harbor' } }, '400 api_version_too_old Service-Version'],
  ];
  for (const [what, options, expected] of callers) {
    t.equal(refusalOf(await redact(sent.id, options)), expected, what);
  }
  t.equal((await cases.read(sent.id)).body, 'ahoy');
  const { token } = { token: grace.access_token };
  const afterwards: [method: string, body?: object][] = [['PATCH', { body: 'x' }], ['DELETE']];
  for (const [method, body] of afterwards) {
    const answer = await app.call(method, `/v1/messaging/messages/${redacted.id}`, { token, body });
    t.equal(refusalOf(answer), '410 resource_gone id', method);
  }
});

t.test('the same request again answers the same', async (t) => {
  const conversation = await cases.conversation('internal');
  const sent = await cases.sent(conversation);
  const headers = { ...NEWEST, 'Idempotency-Key': randomUUID() };
  const first = await redact(sent.id, { headers });
  const replayed = await redact(sent.id, { headers });
  t.strictSame([replayed.text, replayed.headers.get('Idempotent-Replayed')], [first.text, 'true']);
  const again = await redact(sent.id);
  t.strictSame([again.status, again.text], [200, first.text], 'also without a key');
  t.equal((await cases.audited(conversation)).length, 1);
});

t.test('at once with a hold, an edit and another redaction', async (t) => {
  for (let round = 0; round < 8; round++) {
    const conversation = await cases.conversation('internal');
    const sent = await cases.sent(conversation, { body: `tarpon ${round} a` });
    const [redacted] = await Promise.all([
      redact(sent.id),
      redact(sent.id),
      app.call('POST', `/v1/messaging/conversations/${conversation}/actions/set-legal-hold`, {
        token: ada.access_token,
        body: { legal_hold: 'held' },
      }),
      app.call('PATCH', `/v1/messaging/messages/${sent.id}`, {
        token: grace.access_token,
        body: { body: `tarpon ${round} b` },
        headers: { 'Idempotency-Key': randomUUID() },
      }),
    ]);
    const text = `tarpon ${round} `;
    if (redacted.status === 200)
      t.strictSame(await storedText(database, text), [], 'redacted before the hold');
    else {
      const stored = await storedText(database, text);
      t.ok(stored.includes('public.messages.body'), `${refusalOf(redacted)}: what is held stays`);
    }
  }
});

function redact(id: string, options: CallOptions = {}, query = '') {
  return app.call(`POST`, `/v1/messaging/messages/${id}/actions/redact?${query}`, {
    token: ada.access_token,
    body: { reason: REASON },
    headers: NEWEST,
    ...options,
  });
}

/** Returns the key of a file of the run. */
async function artifact(runId: string, filename: string): Promise<string> {
  const s3_key = newId('upload');
  await database.kysely
    .insertInto('artifacts')
    .values({
      id: newId('artifact'),
      account_id: demo.account_id,
      run_id: runId,
      s3_key,
      filename,
      content_type: 'text/markdown',
      size_bytes: 2,
    })
    .execute();
  return s3_key;
}

async function read(id: string, query = ''): Promise<ChatMessage> {
  const options = { token: grace.access_token, headers: NEWEST };
  return message(await app.call('GET', `/v1/messaging/messages/${id}?${query}`, options), 200);
}
