/**
 * Two installations: accounts that move between them, and both behind one balancer, as
 * docs/operations.md#cells configures it.
 *
 * Without influence: src/app/demo, src/app/supervise.ts, src/app/supervisor, src/app/tail.ts,
 * packages/client/ai, packages/client/react, src/core/installation, src/core/registration,
 * src/edge/console, src/features/agents/models, src/features/agents/tools,
 * src/api/documents/pages, src/core/documents, packages/ui.
 */

import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '@parley/client/connect.ts';
import t from 'tap';
import { WebSocket } from 'ws';
import type { MoveState } from '../../src/api/access/tables.ts';
import { writeMove } from '../../src/core/accounts/account/moves.ts';
import { cells } from '../campaigns/cells.ts';
import { freshDirectory, ROOT } from '../start/parley.ts';
import type { TestApp } from '../support/app.ts';
import { startCells } from '../support/cells.ts';
import { findProgram } from '../support/debian-program.ts';
import { freePort } from '../support/free-port.ts';
import { startNginxWith } from '../support/nginx.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const TEXT = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8').split('\n## Cells\n')[1]!;
const HOME = 'https://chat.example';
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const [a, b] = await startCells(t, {}, { PARLEY_HOME_CELL: HOME });
const map = join(freshDirectory(t), 'cells.map');
writeFileSync(map, `${b.demo.account_id} b;\n`);
const { port } = await startNginxWith(t, (own) =>
  block('nginx')
    .replace('listen 80;', `listen 127.0.0.1:${own};`)
    .replaceAll('cells.map', map)
    .replace('a-1:8080', new URL(a.baseUrl).host)
    .replace('b-1:8080', new URL(b.baseUrl).host),
);
const balancer = `http://127.0.0.1:${port}`;

t.test('a slice of the campaign: accounts move, with faults, while messages are sent', async (t) => {
  const { problems, ends, faults, acknowledged } = await cells(t, {
    seed: 1,
    moves: 8,
    accounts: 2,
    messages: 30,
    installations: [a, b],
  });
  t.strictSame(problems, []);
  t.ok(ends.moved === 8 && Object.keys(faults).length > 4, JSON.stringify({ ends, faults }));
  t.ok(acknowledged > 100, `${acknowledged} messages`);
});

t.test('requests and sockets go to the cell of their account', async (t) => {
  for (const { demo } of [a, b]) {
    t.equal((await users(demo.account_id, demo.api_key)).status, 200);
    const client = open(t, demo.account_id, demo.users.ada.access_token);
    await until(() => client.state === 'live', { what: 'a socket through the balancer' });
  }
});

t.test('an account that no cell knows is refused at home, and sent there by the other', async (t) => {
  t.equal((await users('acc_unknown', a.demo.api_key)).status, 404);
  const answer = await fetch(`${b.baseUrl}/v1/users`, { headers: headersOf('acc_unknown', b.demo.api_key) });
  t.match(await answer.json(), { error: { code: 'account_in_other_cell', cell_url: HOME } });
});

t.test('an address without an account is looked for in both', async (t) => {
  for (const app of [a, b]) {
    const facts = { filename: 'a.png', content_type: 'image/png', size_bytes: PNG.length };
    const path = '/v1/messaging/attachments/upload-url';
    const token = app.demo.users.ada.access_token;
    const upload = await app.call<Upload>('POST', path, { body: facts, token });
    const { url, headers, s3_key } = upload.body;
    t.equal((await fetch(url, { method: 'PUT', headers, body: PNG })).status, 204);
    const me = { body: { avatar_s3_key: s3_key }, token };
    const patched = await app.call<{ actor: { avatar_url: string } }>('PATCH', '/v1/me', {
      ...me,
      headers: { 'Service-Version': '1.3.harbor-preview.1' },
    });
    t.equal(patched.status, 200, patched.text);
    const { avatar_url } = patched.body.actor;
    const answer = await fetch(balancer + new URL(avatar_url).pathname);
    t.equal(answer.status, 200, avatar_url);
    await answer.body?.cancel();
  }
  t.equal((await fetch(`${balancer}/v1/avatars/avt_none`)).status, 404);
});

t.test('HAProxy routes requests and sockets, as the second example says', async (t) => {
  const advice = 'this test needs haproxy';
  const program = await findProgram({ names: ['haproxy'], package: 'haproxy', advice });
  const own = await freePort();
  const directory = freshDirectory(t);
  const file = join(directory, 'haproxy.cfg');
  const itsMap = join(directory, 'cells.map');
  writeFileSync(itsMap, `${b.demo.account_id} b\n`);
  const configuration = block('haproxy')
    .replace('bind :80', `bind 127.0.0.1:${own}`)
    .replaceAll('cells.map', itsMap)
    .replace('127.0.0.1:8081', new URL(a.baseUrl).host)
    .replace('127.0.0.1:8082', new URL(b.baseUrl).host);
  writeFileSync(file, `${configuration}\n`);
  const haproxy = spawn(program, ['-db', '-f', file], { stdio: 'ignore' });
  t.teardown(() => haproxy.kill('SIGKILL'));
  const base = `http://127.0.0.1:${own}`;
  for (const { demo } of [a, b]) {
    const headers = headersOf(demo.account_id, demo.api_key);
    const isServed = async () =>
      (await fetch(`${base}/v1/users`, { headers }).catch(() => undefined))?.status === 200;
    await until(isServed, { what: 'an answer of the cell that has the account' });
    const client = open(t, demo.account_id, demo.users.ada.access_token, [], base);
    await until(() => client.state === 'live', { what: 'a socket through HAProxy' });
  }
});

t.test('bytes for an upload URL of before a move reach the cell that has the account', async (t) => {
  const { account_id, users: people } = a.demo;
  const facts = { filename: 'a.txt', content_type: 'text/plain', size_bytes: 3 };
  const { body } = await a.call<Upload>('POST', '/v1/messaging/attachments/upload-url', {
    body: facts,
    token: people.ada.access_token,
  });
  await copyRows(a, b);
  await b.database.kysely
    .insertInto('uploads')
    .values({ ...facts, account_id, actor_id: people.ada.id, s3_key: body.s3_key })
    .execute();
  const move = (state: MoveState) =>
    a.database.transaction((tx) => writeMove(tx, { account_id, state, cell: b.baseUrl, number: 1 }));
  await move('left');
  const { pathname, search } = new URL(body.url);
  const put = { method: 'PUT', headers: body.headers, body: 'abc' };
  t.equal((await fetch(`${balancer}${pathname}${search}`, put)).status, 204);
  t.equal(readFileSync(join(b.dataDir, 'uploads', body.s3_key), 'utf8'), 'abc');
  await move('arrived');
});

t.test('a client goes on in the cell that its account has moved to', async (t) => {
  const { account_id, users: people } = a.demo;
  const urls: string[] = [];
  const client = open(t, account_id, people.ada.access_token, urls);
  await until(() => client.state === 'live', { what: 'a socket in the first cell' });
  await copyRows(a, b);
  const cell = b.baseUrl;
  await a.database.transaction((tx) => writeMove(tx, { account_id, state: 'left', cell, number: 1 }));
  const there = cell.replace('http', 'ws');
  await until(() => urls.at(-1)?.startsWith(there) && client.state === 'live', {
    what: 'a socket in the second cell',
  });
  t.match(await client.fetch('/v1/me'), { actor: { id: people.ada.id } });
  const other = open(t, b.demo.account_id, b.demo.users.ada.access_token);
  await until(() => other.state === 'live', { what: 'others' });
});

interface Upload {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly s3_key: string;
}

function block(language: string): string {
  return new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(TEXT)![1]!;
}

function headersOf(account: string, token: string): Record<string, string> {
  const version = a.demo.service_version;
  return { authorization: `Bearer ${token}`, 'service-account': account, 'service-version': version };
}

function users(account: string, token: string): Promise<Response> {
  return fetch(`${balancer}/v1/users`, { headers: headersOf(account, token) });
}

function open(t: Teardown, account: string, token: string, urls: string[] = [], url = balancer) {
  class Socket extends WebSocket {
    constructor(url: string) {
      super(url);
      urls.push(url);
    }
  }
  const options = { url, account, token, mostWaitMs: 500, WebSocket: Socket };
  const client = connect({ ...options, transports: ['websocket'] });
  t.teardown(() => client.close());
  return client;
}

/** The rows without which no caller is known; the move itself is not tested here. */
async function copyRows(from: TestApp, to: TestApp): Promise<void> {
  const { account_id } = from.demo;
  for (const [table, column] of [
    ['accounts', 'id'],
    ['roles', 'account_id'],
    ['actors', 'account_id'],
  ] as const) {
    const rows = await from.database.kysely
      .selectFrom(table)
      .selectAll()
      .where(column as 'id', '=', account_id)
      .execute();
    await to.database.kysely
      .insertInto(table)
      .values(rows as never)
      // Both demo accounts have the same roles.
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}
