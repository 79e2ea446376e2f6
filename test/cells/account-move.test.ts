/** Accounts that move between two installations (docs/operations.md#moving-an-account). */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { FEATURES, HOOKS } from '../../src/app/features.ts';
import { openObjectStore } from '../../src/core/attachments/open-store.ts';
import { exportAudit } from '../../src/core/audit/chain-store.ts';
import { SigningKey, TrustedKeys } from '../../src/core/audit/signing-key.ts';
import { verifyExport } from '../../src/core/audit/verify.ts';
import { hooksOf } from '../../src/core/features/feature.ts';
import { rowsOf } from '../../src/core/resources/holdings.ts';
import { moveAccount } from '../../src/features/cells/account-move.ts';
import { movedTables } from '../../src/features/cells/moved-tables.ts';
import { mail } from '../../src/features/mail/feature.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { createLog } from '../../src/platform/log.ts';
import { freshDirectory } from '../start/parley.ts';
import { removeLeft, startCells, type TestCell } from '../support/cells.ts';
import { until } from '../support/until.ts';

interface Page {
  readonly data: readonly { readonly id: string; readonly sequence?: number }[];
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

const MOVED = new Map(movedTables(HOOKS));
const [source, target] = await startCells(t, { PARLEY_DEMO_DAY: 'on' });
const { account_id: id, api_key: token } = source.demo;
const messages = `/v1/messaging/conversations/${source.demo.conversations.group}/messages`;
const headers = { 'Service-Account': id };
const takeIt = ['account', 'move-in', '--id', id, '--from', source.envFile] as const;

t.test('what a move needs', async (t) => {
  const move = (...more: string[]) => target.admin(...takeIt, ...more);
  await t.rejects(move(), { message: /is not to move: run "account move-out" at the source first/ });
  await t.rejects(source.admin('account', 'move-out', '--id', 'acc_none', '--to', target.url), {
    message: /acc_none/,
  });
  await t.rejects(source.admin('account', 'move-out', '--id', id, '--to', `${target.url}/path`), {
    message: /--to must be an http\(s\) URL without a path/,
  });
  await source.admin('account', 'move-out', '--id', id, '--to', 'http://c.cells.test');
  await t.rejects(move(), { message: /is to move to http:\/\/c.cells.test, but this cell is/ });
  await t.rejects(source.admin('account', 'move-out', '--id', id, '--to', target.url), {
    message: /moves between this cell and http:\/\/c.cells.test/,
  });
  await source.database.query(FORGET, id);
  t.match(await source.admin('account', 'move-out', '--id', id, '--to', target.url), {
    object: 'account_move',
    account_id: id,
    state: 'leaving',
    cell: target.url,
    number: 1,
  });
  await t.rejects(source.admin(...takeIt), { message: /names the data directory of this cell/ });
  await t.rejects(target.admin('account', 'move-in', '--id', id, '--from', '/none'), { message: /ENOENT/ });
  const incomplete = join(freshDirectory(t), 'cell.env');
  writeFileSync(incomplete, `DATABASE_URL=${source.databaseUrl}\n`);
  await t.rejects(target.admin('account', 'move-in', '--id', id, '--from', incomplete), {
    message: /both cells need PARLEY_PUBLIC_URL/,
  });
  const [key] = await target.database.query(CHANGE_SECRET, 'another');
  await t.rejects(move(), { message: /other secrets in "settings": mail_ids/ });
  await target.database.query(CHANGE_SECRET, key!.before);
  await t.rejects(move(), { message: 'this cell has an inbox support@demo.example already' });
  await target.database.query(RENAME_INBOXES);
  const works = await source.call('POST', messages, {
    body: { client_message_id: 'goes-on', body: 'the source goes on' },
  });
  t.equal(works.status, 201);
});

t.test('a build that lacks a feature does not move an account with rows of it', async (t) => {
  const hooks = hooksOf(FEATURES.filter((feature) => feature !== mail));
  const partsOf = async ({ databaseUrl, dataDir, url }: typeof source) => {
    const database = await openDatabase({ url: databaseUrl, log: createLog('silent'), hooks });
    t.teardown(() => database.close());
    const baseUrl = () => url;
    const { store } = await openObjectStore({ database, dataDir, s3: null, accountBytes: null, baseUrl });
    const signingKey = await SigningKey.open({ key: null, oldKeys: [], dataDir });
    return { database, store, signingKey, url };
  };
  const cells = { source: await partsOf(source), target: await partsOf(target) };
  await t.rejects(moveAccount({ ...cells, accountId: id, log: createLog('silent') }), {
    message: 'no feature of this build moves rows in inboxes, mails',
  });
});

t.test('everything of an account is at the other cell, and nothing is left', async (t) => {
  const uploaded = await upload('the bytes of a file');
  const sent = await source.call<{ id: string; sequence: number }>('POST', messages, {
    body: { client_message_id: 'with-file', attachments: [{ kind: 'file', s3_key: uploaded }] },
  });
  t.equal(sent.status, 201, sent.text);
  const scheduled = await source.call<{ id: string }>('POST', messages, {
    body: {
      client_message_id: 'later',
      body: 'later',
      scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
    },
  });
  t.equal(scheduled.status, 201);
  const holding = `/v1/messaging/conversations/${source.demo.conversations.case}/actions/set-legal-hold`;
  const held = await source.call('POST', holding, { body: { legal_hold: 'held' } });
  t.equal(held.status, 200, held.text);
  const pair = (await source.admin('token', 'create', '--user', source.demo.users.ada.id)) as Tokens;
  const before = await source.call<Page>('GET', `${messages}?limit=100`);

  // The second waits for the first, and has nothing left to do.
  const [moved, repeated] = await Promise.all([target.admin(...takeIt), target.admin(...takeIt)]).then(
    (both) => both.sort((one, other) => (other as { rows: number }).rows - (one as { rows: number }).rows),
  );
  t.match(repeated, { number: 1, rows: 0, refused_ms: 0 });
  t.match(moved, { object: 'moved_account', account_id: id, number: 1, from: source.url, to: target.url });

  const after = await until(
    async () => {
      const answer = await target.call<Page>('GET', `${messages}?limit=100`, { headers, token });
      return answer.status === 200 ? answer : undefined;
    },
    { what: 'the account to be in use at the target' },
  );
  const idsOf = ({ body }: typeof after) => body.data.map((message) => [message.id, message.sequence]);
  t.strictSame(idsOf(after), idsOf(before));
  const [there, here] = [await countRows(source), await countRows(target)];
  for (const [table, count] of Object.entries(there)) {
    // The source has lost what begins work, and the target goes on to write the others.
    if ((MOVED.get(table)!.last ?? 'true') !== 'true') continue;
    if (['search_entries', 'conversation_activity', 'inbox_rows'].includes(table)) continue;
    const added = { audit_handovers: 1, audit_events: 1 }[table] ?? 0;
    t.equal(here[table], count + added, `rows of ${table}`);
  }
  const resent = await target.call<{ id: string }>('POST', messages, {
    headers,
    token,
    body: { client_message_id: 'with-file', attachments: [{ kind: 'file', s3_key: uploaded }] },
  });
  t.equal(resent.body.id, sent.body.id, 'a resend is the original');
  const [last] = await target.database.query(READ_LAST, source.demo.conversations.group);
  const next = await target.call<{ sequence: number }>('POST', messages, {
    headers,
    token,
    body: { client_message_id: 'after', body: 'after' },
  });
  t.ok(next.body.sequence > last!.sequence, 'numbers go on');
  const refreshed = await target.call<Tokens>('POST', '/v1/auth/tokens/refresh', {
    headers,
    token: '',
    body: { refresh_token: pair.refresh_token },
  });
  t.equal(refreshed.status, 201, `a refresh token stays valid: ${refreshed.text}`);

  const late = await source.database.query(WRITE, id).catch((error: unknown) => error);
  t.match(late, { cause: { code: 'PYMVD' } }, 'the fence refuses what a node still believes');
  const folded = `UPDATE actors SET folded = 'words' WHERE account_id = $1`;
  await t.resolves(source.database.pool.query(folded, [id]), 'folding names changes nothing');
  await until(
    async () => {
      const refused = await source.call('POST', messages, { body: { client_message_id: 'x', body: 'x' } });
      return refused.status === 421 && refused.body.error.cell_url === target.url;
    },
    { what: 'the source to say where the account is' },
  );
  await removeLeft(source, id);
  const left = Object.entries(await countRows(source)).filter(([, count]) => count > 0);
  t.strictSame(left, [], 'nothing is left');
  t.match(await target.admin(...takeIt), { number: 1, rows: 0 }, 'a repetition changes nothing');
});

t.test('it moves back', async (t) => {
  await target.admin('account', 'move-out', '--id', id, '--to', source.url);
  const back = ['account', 'move-in', '--id', id, '--from', target.envFile] as const;
  t.match(await source.admin(...back), { number: 2, from: target.url, to: source.url });
  await until(
    async () => {
      const body = { client_message_id: 'back', body: 'back' };
      return (await source.call('POST', messages, { body })).status === 201;
    },
    { what: 'the account to be in use where it began' },
  );
  await t.rejects(target.admin(...takeIt), { message: /is not to move/ }, 'the former move is over');
  const lines: string[] = [];
  await exportAudit(source.database, id, async (line) => void lines.push(JSON.stringify(line)));
  for (const cell of [source, target]) {
    const { publicKey } = await SigningKey.open({ key: null, oldKeys: [], dataDir: cell.dataDir });
    const trusted = new TrustedKeys([publicKey]);
    t.match(await verifyExport({ lines, trusted }), { handovers: 2 }, 'the key of either cell is enough');
  }
});

t.test('a move that is given up leaves the account where it is', async (t) => {
  await removeLeft(target, id);
  await source.admin('account', 'move-out', '--id', id, '--to', target.url);
  t.match(await target.admin(...takeIt, '--cancel', 'yes'), { object: 'canceled_move' });
  t.strictSame(
    Object.values(await countRows(target)).filter((count) => count > 0),
    [],
  );
  const sent = await source.call('POST', messages, { body: { client_message_id: 'on', body: 'on' } });
  t.equal(sent.status, 201);
  await t.rejects(target.admin(...takeIt), { message: /is not to move/ });
  await source.admin('account', 'move-out', '--id', id, '--to', target.url);
  t.match(await target.admin(...takeIt), { number: 3 }, 'numbers go on');
});

async function upload(bytes: string): Promise<string> {
  const { body } = await source.call<{ s3_key: string; url: string; headers: Record<string, string> }>(
    'POST',
    '/v1/messaging/attachments/upload-url',
    { body: { filename: 'a.txt', content_type: 'text/plain', size_bytes: Buffer.byteLength(bytes) } },
  );
  const { ok } = await fetch(body.url, { method: 'PUT', headers: body.headers, body: bytes });
  if (!ok) throw new Error('the upload failed');
  return body.s3_key;
}

async function countRows(cell: TestCell): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [table, moved] of MOVED) {
    const count = statement<[string], { count: number }>(`test-count-${table}`)(
      `SELECT count(*)::int AS count FROM ${table} t ${rowsOf(moved)}`,
    );
    counts[table] = (await cell.database.query(count, id))[0]!.count;
  }
  return counts;
}

const FORGET = statement<[id: string]>('test-forget-move')`DELETE FROM account_moves WHERE account_id = $1`;

const CHANGE_SECRET = statement<[value: string], { before: string }>('test-change-secret')`
  WITH former AS (SELECT value FROM settings WHERE name = 'mail_ids')
  UPDATE settings SET value = $1 FROM former WHERE name = 'mail_ids' RETURNING former.value AS before`;

const RENAME_INBOXES = statement('test-rename-inboxes')`UPDATE inboxes SET address = 'other-' || address`;

const READ_LAST = statement<[conversationId: string], { sequence: number }>('test-read-last')`
  SELECT max(sequence) AS sequence FROM messages WHERE conversation_id = $1`;

const WRITE = statement<[id: string]>('test-late-write')`
  UPDATE actors SET name = 'too late' WHERE account_id = $1`;
