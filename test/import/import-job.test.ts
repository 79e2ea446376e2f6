/** Imports as jobs (docs/contract.md#imports) over HTTP, on a whole server. */

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import type { Import, ImportRemark, ImportReport } from '@parley/protocol/resources/import.ts';
import type { User } from '@parley/protocol/resources/user.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { callsAt, startTestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import {
  ended,
  mattermostContents,
  sendPart,
  slackContents,
  startImport,
  tarred,
  zipped,
  zulipContents,
} from './samples.ts';

const web = createServer((request, response) => {
  if (request.url === '/there.txt') response.setHeader('Content-Type', 'text/plain').end('of Slack');
  else response.writeHead(404).end();
});
await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
t.teardown(() => web.close());
const host = `127.0.0.1:${(web.address() as AddressInfo).port}`;

const app = await startTestApp(t, { PARLEY_FETCH_ALLOW: host });
const { demo, database } = app;
const { call, refusal } = callsAt(app, NEWEST_VERSION);
const PATH = '/v1/imports';

/** Every row that an import can write, without the marks of when and by which import. */
async function rows(): Promise<string> {
  const { rows } = await database.pool.query(`
    SELECT (SELECT json_agg(m ORDER BY m) FROM (
        SELECT conversation_id || ' ' || sequence || ' ' || coalesce(author_id, '') || ' ' || coalesce(body, '')
          || ' ' || created_at || ' ' || coalesce(reply_to_id, '') FROM messages WHERE imported IS NOT NULL) AS x(m)) AS messages,
      (SELECT count(*) FROM actors) AS actors, (SELECT count(*) FROM conversations) AS conversations,
      (SELECT count(*) FROM participants) AS participants, (SELECT count(*) FROM reactions) AS reactions,
      (SELECT count(*) FROM attachments) AS attachments, (SELECT count(*) FROM notifications) AS notifications,
      (SELECT sum(read_sequence) FROM participants) AS positions`);
  return JSON.stringify(rows);
}

t.test('a workspace of Slack comes in, and a second time nothing', async (t) => {
  const files = [
    {
      id: 'F1',
      name: 'there.txt',
      mimetype: 'text/plain',
      size: 8,
      url_private_download: `http://${host}/there.txt`,
    },
    {
      id: 'F2',
      name: 'lost.png',
      mimetype: 'image/png',
      size: 9,
      url_private_download: `http://${host}/lost.png`,
    },
  ];
  const archive = await zipped(slackContents(120, files));
  const {
    rows: [before],
  } = await database.pool.query('SELECT count(*) FROM notifications');
  const id = await startImport(call, 'slack', archive);
  const done = await ended(call, id);
  t.match(done, { status: 'completed', error: null, parts: { uploaded: [] } }, done.error_message ?? '');
  const { body: report } = await call<ImportReport>('GET', `${PATH}/${id}/report`);
  t.equal(report.adds_up, true);
  const of = (type: string) => report.types.find((one) => one.type === type)!;
  t.match(of('people'), { in_archive: 3, imported: 3 });
  t.match(of('conversations'), { in_archive: 3, imported: 3 });
  t.match(of('messages'), { in_archive: 121, imported: 121, skipped: [] });
  t.match(of('files'), {
    in_archive: 2,
    imported: 1,
    skipped: [{ reason: 'file_unavailable', count: 1, examples: [{ place: /general\/2020-09-13/ }] }],
  });
  const remarks = await call<List<ImportRemark>>('GET', `${PATH}/${id}/remarks?type=files`);
  t.match(remarks.body.data, [{ type: 'files', detail: /lost\.png.*404/ }]);

  const general = await conversation('general');
  const { body: page } = await call<List<ChatMessage>>(
    'GET',
    `/v1/messaging/conversations/${general.id}/messages?limit=100&include[]=attachments`,
  );
  const last = page.data[0]!;
  t.match(last, { body: 'number 120 for @otto', sequence: 120, imported: { import_id: id } });
  t.match(last.created_at, /^2020-09-13T12:28:40\.0002/, 'to the microsecond');
  const {
    rows: [after],
  } = await database.pool.query('SELECT count(*) FROM notifications');
  t.strictSame(after, before, 'nobody is notified');

  const first = await rows();
  const again = await ended(call, await startImport(call, 'slack', archive));
  t.equal(again.status, 'completed', again.error_message ?? '');
  t.match(
    again.counts.find(({ type }) => type === 'messages'),
    { imported: 0, existed: 121 },
  );
  t.equal(await rows(), first, 'the same rows');
  const { body: audited } = await call<List<{ action: string }>>(
    'GET',
    '/v1/account/audit?action=import.completed',
  );
  t.equal(audited.data.length, 2);
});

t.test('what is said of thousands of things is counted behind the first thousand', async (t) => {
  const contents = slackContents(1);
  const archive = await zipped({
    ...contents,
    'general/2020-09-14.json': Array.from({ length: 2_600 }, (_, index) => index),
    'general/2020-09-15.json': Array.from({ length: 900 }, () => ({ type: 'message' })),
  });
  const id = await startImport(call, 'slack', archive, { origin: 'of much to skip' });
  const done = await ended(call, id);
  t.equal(done.status, 'completed', done.error_message ?? '');
  const { body: report } = await call<ImportReport>('GET', `${PATH}/${id}/report`);
  t.equal(report.adds_up, true);
  const skipped = report.types.find(({ type }) => type === 'messages')!.skipped;
  t.equal(
    skipped.reduce((sum, { count }) => sum + count, 0),
    3_500,
  );
  const { rows } = await database.pool.query(
    'SELECT reason, count(*)::integer AS remarks, sum(count)::integer AS counted FROM import_remarks WHERE import_id = $1 AND type = $2 GROUP BY reason',
    [id, 'messages'],
  );
  for (const { reason, remarks, counted } of rows) {
    t.equal(remarks, Math.min(counted, 1_000), reason);
    t.equal(counted, skipped.find((it) => it.reason === reason)!.count, reason);
  }
  t.ok(rows.some(({ counted }) => counted > 1_000));
});

t.test('a placeholder is claimed, once, and acts as the person then', async (t) => {
  const { body: users } = await call<List<User>>('GET', '/v1/users?q=ines&include[]=role');
  const [ines] = users.data;
  t.match(ines, { placeholder: true, status: 'deactivated', role_id: null, email: /@placeholder\.invalid$/ });
  const path = `/v1/users/${ines!.id}/actions/claim`;
  const roles = await call<List<{ id: string; name: string }>>('GET', '/v1/roles');
  const role_id = roles.body.data.find(({ name }) => name === 'member')!.id;
  const body = { email: 'Ines@Harbor.example', role_id };
  t.equal(await refusal('POST', `/v1/users/${ines!.id}/actions/activate`), '409 resource_conflict null');
  t.equal(await refusal('POST', path, { body: { role_id } }), '400 missing_field email');
  t.equal(
    await refusal('POST', path, { body: { ...body, email: 'ada@example.com' } }),
    '409 resource_exists email',
  );
  t.equal(
    await refusal('POST', path, { body: { ...body, role_id: 'rol_x' } }),
    '404 resource_not_found role_id',
  );
  const member = { token: demo.users.vera.access_token };
  t.match(await refusal('POST', path, { body, ...member }), /^403/);
  const claimed = await call<User>('POST', path, { body });
  t.match(claimed.body, { placeholder: false, status: 'active', email: 'ines@harbor.example', role_id });
  t.equal(await refusal('POST', path, { body }), '409 resource_conflict null');
  const token = await app.tokenOf(ines!.id);
  const own = await call<List<Conversation>>('GET', '/v1/messaging/conversations', { token });
  t.ok(
    own.body.data.some(({ title }) => title === 'general'),
    'it reads what it was a member of',
  );
});

t.test('verified addresses name users of the account', async (t) => {
  const [ada] = (await database.pool.query('SELECT email FROM users WHERE id = $1', [demo.users.ada.id]))
    .rows;
  const contents = mattermostContents(30).replaceAll('ines@harbor.example', ada.email);
  const id = await startImport(call, 'mattermost', Buffer.from(contents), { emails_verified: true });
  const done = await ended(call, id);
  t.equal(done.status, 'completed', done.error_message ?? '');
  const town = await conversation('Town');
  const { body } = await call<List<ChatMessage>>('GET', `/v1/messaging/conversations/${town.id}/messages`);
  t.equal(body.data.find(({ body }) => body === 'post 29')?.author_id, demo.users.ada.id);
  const { rows: positions } = await database.pool.query(
    'SELECT read_sequence FROM participants WHERE conversation_id = $1',
    [town.id],
  );
  t.strictSame(
    positions.map(({ read_sequence }) => Number(read_sequence)),
    [4, 4],
    'as far as they had read',
  );
});

t.test('an export of Zulip, and one of our own', async (t) => {
  const zulip = await ended(call, await startImport(call, 'zulip', await tarred(zulipContents(40))));
  t.equal(zulip.status, 'completed', zulip.error_message ?? '');
  t.match(
    zulip.counts.find(({ type }) => type === 'messages'),
    { in_archive: 40, imported: 40 },
  );
  const general = await conversation('general');
  const exported = await call<{ id: string }>('POST', `/v1/messaging/conversations/${general.id}/exports`);
  const url = await exportUrl(exported.body.id);
  const archive = Buffer.from(await (await fetch(url)).arrayBuffer());
  const parley = await ended(call, await startImport(call, 'parley', archive));
  t.equal(parley.status, 'completed', parley.error_message ?? '');
  const { rows } = await database.pool.query('SELECT id FROM conversations WHERE external_id = $1', [
    general.id,
  ]);
  t.equal(rows.length, 1, 'with new ids, and the old ones as those of the application');
});

t.test('customers see replies of an exported case under the persona, as before', async (t) => {
  const reply = { body: 'an answer', audience: 'customer', client_message_id: 'reply-of-a-case' };
  const path = `/v1/messaging/conversations/${demo.conversations.case}`;
  const question = { body: 'a question', client_message_id: 'question-of-a-case' };
  await call('POST', `${path}/messages`, { token: demo.customer.access_token, body: question });
  const sent = await call<ChatMessage>('POST', `${path}/messages`, {
    token: demo.users.ada.access_token,
    body: reply,
  });
  t.equal(sent.status, 201, sent.text);
  const exported = await call<{ id: string }>('POST', `${path}/exports`);
  const url = await exportUrl(exported.body.id);
  const archive = Buffer.from(await (await fetch(url)).arrayBuffer());
  const done = await ended(call, await startImport(call, 'parley', archive));
  t.equal(done.status, 'completed', done.error_message ?? '');
  const { rows } = await database.pool.query(
    `SELECT DISTINCT m.sender_id FROM messages m JOIN actors a ON a.id = m.author_id
      WHERE m.imported IS NOT NULL AND m.visibility = 'external' AND NOT a.customer`,
  );
  t.strictSame(rows, [{ sender_id: sent.body.sender_id }], 'no person of the team');

  const { rows: cases } = await database.pool.query<{ id: string; author_id: string }>(
    `SELECT c.id, m.author_id FROM conversations c JOIN messages m ON m.conversation_id = c.id
      JOIN actors a ON a.id = m.author_id AND a.customer WHERE m.imported IS NOT NULL`,
  );
  const at = `/v1/messaging/conversations/${cases[0]!.id}`;
  const since = async () => (await call<Conversation>('GET', at)).body.waiting_since;
  await call('PATCH', at, { body: { workflow_status: 'open' } });
  t.equal(await since(), null, 'no customer waits since the import');
  const token = await app.tokenOf(cases[0]!.author_id);
  const later = await call<ChatMessage>('POST', `${at}/messages`, {
    token,
    body: { body: 'And now?', client_message_id: 'behind-the-import' },
  });
  t.equal(await since(), later.body.created_at);
});

t.test('an archive in two parts, out of order, with one missing and one of another size', async (t) => {
  const big = randomBytes(26 * 1024 * 1024);
  const files = [{ id: 'F9', name: 'big.bin', mimetype: 'application/octet-stream' }];
  const archive = await zipped({ ...slackContents(3, files), '__uploads/F9/big.bin': big });
  const body = { source: 'slack', size_bytes: archive.length, origin: 'parts' };
  const { body: made } = await call<Import>('POST', PATH, { body });
  const { size_bytes: size, count } = made.parts!;
  t.equal(count, 2);
  const path = `${PATH}/${made.id}`;
  t.equal(await refusal('POST', PATH, { body }), '409 resource_conflict null', 'one at a time');
  t.equal(await refusal('POST', `${path}/parts`, { body: { number: 3 } }), '422 validation_failed number');
  t.equal(await refusal('POST', `${path}/parts`, { body: {} }), '400 missing_field number');
  t.equal(await sendPart(call, made.id, 2, archive.subarray(size)), 204);
  t.strictSame((await call<Import>('GET', path)).body.parts!.uploaded, [2]);
  t.equal(await refusal('POST', `${path}/actions/start`), '409 resource_conflict null', 'one is missing');
  t.equal(await sendPart(call, made.id, 1, archive.subarray(0, size - 1)), 422, 'one of another size');
  t.equal(await sendPart(call, made.id, 1, archive.subarray(0, size)), 204);
  t.equal((await call('POST', `${path}/actions/start`)).status, 200);
  const done = await ended(call, made.id);
  t.equal(done.status, 'completed', done.error_message ?? '');
  const { body: report } = await call<ImportReport>('GET', `${path}/report`);
  t.match(
    report.types.find(({ type }) => type === 'files'),
    { skipped: [{ reason: 'file_too_large' }] },
  );
  t.equal(await refusal('POST', `${path}/actions/start`), '409 resource_conflict null');
  t.equal(await refusal('POST', `${path}/actions/cancel`), '409 resource_conflict null');
  t.equal(await refusal('POST', `${path}/parts`, { body: { number: 1 } }), '409 resource_conflict null');
});

t.test('what is no archive, or another one, fails with a sentence', async (t) => {
  const random = await zipped({ 'b.bin': randomBytes(1_000) });
  const no = await ended(call, await startImport(call, 'slack', random));
  t.match(no, { status: 'failed', error: 'validation_failed', error_message: /no export of Slack/ });
  const noise = await ended(call, await startImport(call, 'zulip', randomBytes(5_000)));
  t.match(noise, { status: 'failed', error: 'validation_failed', error_message: /not the \.tar\.gz/ });
  const other = await ended(call, await startImport(call, 'slack', random, { sha256: '0'.repeat(64) }));
  t.match(other, { status: 'failed', error_message: /SHA-256/ });
});

t.test('an import is canceled while it awaits its parts, and goes on', async (t) => {
  const archive = await zipped(slackContents(50));
  const body = { source: 'slack', size_bytes: archive.length, origin: 'canceled', file_token: 'xoxb-secret' };
  const { body: made, text } = await call<Import>('POST', PATH, { body });
  t.notMatch(text, 'xoxb', 'the token is not shown');
  const path = `${PATH}/${made.id}`;
  await sendPart(call, made.id, 1, archive);
  t.equal((await call<Import>('POST', `${path}/actions/cancel`)).body.status, 'canceled');
  t.equal((await call<Import>('POST', `${path}/actions/cancel`)).body.status, 'canceled');
  await call('POST', `${path}/actions/start`);
  t.match(await ended(call, made.id), { status: 'completed', origin: 'canceled' });
  const { rows } = await database.pool.query('SELECT options FROM imports WHERE id = $1', [made.id]);
  t.strictSame(rows[0].options, { origin: 'canceled' }, 'and is forgotten');
});

t.test('an import is canceled while it runs, and goes on where it stopped', async (t) => {
  const archive = await zipped(slackContents(8_000));
  const id = await startImport(call, 'slack', archive, { origin: 'stopped' });
  const written = async () => {
    const { body } = await call<Import>('GET', `${PATH}/${id}`);
    return body.counts.find(({ type }) => type === 'messages')?.imported ?? 0;
  };
  await until(async () => (await written()) > 0, { what: 'the first messages' });
  t.equal((await call<Import>('POST', `${PATH}/${id}/actions/cancel`)).body.status, 'canceled');
  const running = async () => {
    const { rows } = await database.pool.query('SELECT lease_until FROM imports WHERE id = $1', [id]);
    return rows[0].lease_until !== null;
  };
  await until(async () => !(await running()), { what: 'the end of the job' });
  const first = await written();
  t.ok(first > 0 && first < 8_001, `${first} are there`);
  await call('POST', `${PATH}/${id}/actions/start`);
  t.match(await ended(call, id), { status: 'completed' });
  const { rows } = await database.pool.query(
    "SELECT count(*)::integer AS count FROM messages WHERE imported ->> 'import_id' = $1",
    [id],
  );
  t.strictSame(rows, [{ count: 8_001 }], 'each once');
});

t.test('a conversation that was deleted, or is held, takes nothing in', async (t) => {
  const archive = await zipped(slackContents(12));
  const options = { origin: 'held' };
  await ended(call, await startImport(call, 'slack', archive, options));
  const general = await conversation('general');
  const path = `/v1/messaging/conversations/${general.id}`;
  await call('POST', `${path}/actions/set-legal-hold`, { body: { legal_hold: 'held' } });
  const more = await zipped(slackContents(20));
  const held = await ended(call, await startImport(call, 'slack', more, options));
  t.equal(held.status, 'completed', held.error_message ?? '');
  const { body: report } = await call<ImportReport>('GET', `${PATH}/${held.id}/report`);
  t.match(
    report.types.find(({ type }) => type === 'messages'),
    {
      imported: 0,
      skipped: [{ reason: 'legal_hold', count: 20 }],
    },
  );
  await call('POST', `${path}/actions/set-legal-hold`, { body: { legal_hold: 'released' } });
  await call('DELETE', path);
  const deleted = await ended(call, await startImport(call, 'slack', more, options));
  t.match(
    deleted.counts.find(({ type }) => type === 'conversations'),
    { skipped: 1, existed: 2 },
  );
  t.match(
    deleted.counts.find(({ type }) => type === 'messages'),
    { skipped: 20, existed: 1 },
  );
});

t.test('bodies are checked', async (t) => {
  const body = { source: 'slack', size_bytes: 10 };
  for (const [change, expected] of [
    [{ source: undefined }, '400 missing_field source'],
    [{ source: 'irc' }, '422 validation_failed source'],
    [{ size_bytes: undefined }, '400 missing_field size_bytes'],
    [{ size_bytes: 0 }, '422 validation_failed size_bytes'],
    [{ size_bytes: 5 * 1024 ** 3 + 1 }, '422 validation_failed size_bytes'],
    [{ sha256: 'abc' }, '422 validation_failed sha256'],
    [{ email_domain: 'not a domain' }, '400 invalid_format email_domain'],
    [{ emails_verified: 'yes' }, '400 invalid_format emails_verified'],
    [{ file_token: '' }, '422 validation_failed file_token'],
    [{ origin: 'two\nlines' }, '422 validation_failed origin'],
  ] as const) {
    t.equal(await refusal('POST', PATH, { body: { ...body, ...change } }), expected, JSON.stringify(change));
  }
  t.match(await refusal('POST', PATH, { body, token: demo.users.vera.access_token }), /^403/);
  t.equal(await refusal('GET', `${PATH}/imp_x`), '404 resource_not_found id');
});

async function conversation(title: string): Promise<Conversation> {
  const { rows } = await database.pool.query(
    'SELECT id FROM conversations WHERE title = $1 AND deleted_at IS NULL ORDER BY changed_in DESC LIMIT 1',
    [title],
  );
  return (await call<Conversation>('GET', `/v1/messaging/conversations/${rows[0].id}`)).body;
}

async function exportUrl(id: string): Promise<string> {
  for (;;) {
    const { body } = await call<{ status: string; url: string | null }>('GET', `/v1/exports/${id}`);
    if (body.status === 'complete') return body.url!;
    if (body.status === 'failed') throw new Error('the export failed');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
