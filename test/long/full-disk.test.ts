/**
 * A full disk: a small separate file system under one table, and under the uploads.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client, src/core/installation,
 * src/features/mail, src/platform/outbound.
 */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import t, { type Test } from 'tap';
import { startApp } from '../../src/app/app.ts';
import { readConfig } from '../../src/app/config.ts';
import { demoFilePath, readDemoFile } from '../../src/app/demo.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';
import { freshDirectory, UNSAFE_POSTGRES } from '../start/parley.ts';
import { startPostgres } from '../support/postgres.ts';

const log = createLog('silent');
const skip = !canMount() && 'only root may mount a small file system';

t.test('a full disk of Postgres loses no acknowledged write', { skip }, async (t) => {
  // Before the server, which is stopped before it goes.
  const small = smallDisk(t, '4m');
  const { url } = await startPostgres(t);
  const { call, demo, admin } = await open(t, url);
  const space = join(small, 'space');
  mkdirSync(space, { mode: 0o700 });
  const { rows } = await sql<{ data_directory: string }>`SHOW data_directory`.execute(admin.kysely);
  const { uid, gid } = statSync(rows[0]!.data_directory);
  chownSync(space, uid, gid);
  chownSync(small, uid, gid);
  await sql.raw(`CREATE TABLESPACE small LOCATION '${space}'`).execute(admin.kysely);
  await sql`ALTER TABLE messages SET TABLESPACE small`.execute(admin.kysely);

  const messages = `/v1/messaging/conversations/${demo.conversations.group}/messages`;
  const send = (n: number) =>
    call('POST', messages, {
      body: randomBytes(15_000).toString('hex'),
      client_message_id: `full-${n}`,
    });
  const refused = await firstRefusal(200, send);
  t.match(refused, { status: 503, body: { error: { code: 'service_unavailable', is_transient: true } } });
  t.match(refused.headers.get('retry-after'), /^\d+$/);
  const readyz = await call('GET', '/readyz');
  t.match(readyz, { status: 200, body: { status: 'ready', postgres: 'disk_full' } }, 'it still reads');
  t.match(await call('GET', messages), { status: 200 });
  t.match(
    await (await fetch(`${demo.admin_url}/metrics`)).text(),
    /^parley_postgres_errors_total\{code="53100"\} [1-9]/m,
  );

  execFileSync('mount', ['-o', 'remount,size=32m', small]);
  t.match(await send(1_000), { status: 201 }, 'with room it goes on');
});

t.test('a full disk of uploads refuses uploads', { skip }, async (t) => {
  const { url } = await startPostgres(t);
  const dataDir = freshDirectory(t);
  const uploads = join(dataDir, 'uploads');
  mkdirSync(uploads);
  mountSmall(t, uploads, '1m');
  const { call } = await open(t, url, dataDir);
  const bytes = randomBytes(700_000);
  const upload = async () => {
    const announced = await call('POST', '/v1/messaging/attachments/upload-url', {
      filename: 'noise.bin',
      content_type: 'application/octet-stream',
      size_bytes: bytes.length,
    });
    const target = announced.body as { url: string; headers: Record<string, string> };
    const answer = await fetch(target.url, { method: 'PUT', headers: target.headers, body: bytes });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) };
  };
  t.match(await upload(), { status: 204 });
  t.match((await call('GET', '/readyz')).body, { files: 'up' });
  const refused = await upload();
  t.match(refused, { status: 503, body: { error: { code: 'service_unavailable' } } });
  t.equal(refused.headers.get('retry-after'), '30');
  t.match(await call('GET', '/readyz'), { status: 200, body: { files: 'disk_full', postgres: 'up' } });
  execFileSync('mount', ['-o', 'remount,size=8m', uploads]);
  t.match(await upload(), { status: 204 }, 'with room it goes on');
});

async function open(t: Test, url: string, dataDir = freshDirectory(t)) {
  const env = {
    ...UNSAFE_POSTGRES,
    PARLEY_ADMIN_PORT: '0',
    DATABASE_URL: url,
    PORT: '0',
    PARLEY_DEMO: 'on',
    PARLEY_DATA_DIR: dataDir,
  };
  const app = await startApp({ config: readConfig(env), log });
  t.teardown(() => app.close());
  const demo = readDemoFile(demoFilePath(dataDir))!;
  const admin = await openDatabase({ url, log });
  t.teardown(() => admin.close());
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(app.baseUrl + path, {
      method,
      headers: {
        Authorization: `Bearer ${demo.api_key}`,
        'Service-Version': demo.service_version,
        'Service-Account': demo.account_id,
        'Content-Type': 'application/json',
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, body: jsonOf(text) };
  };
  return { call, demo, admin };
}

async function firstRefusal<A extends { status: number }>(
  most: number,
  send: (n: number) => Promise<A>,
): Promise<A> {
  for (let n = 0; n < most; n++) {
    const answer = await send(n);
    if (answer.status !== 201) return answer;
  }
  throw new Error('the disk took everything');
}

/** A file system of `size` that every user may enter, removed with the test. */
function smallDisk(t: Test, size: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'parley-small-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  mountSmall(t, directory, size);
  return directory;
}

function mountSmall(t: Test, directory: string, size: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0755`, 'tmpfs', directory]);
  t.teardown(() => execFileSync('umount', ['-l', directory]));
}

function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const directory = mkdtempSync(join(tmpdir(), 'parley-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', directory], { stdio: 'ignore' });
    execFileSync('umount', [directory]);
    return existsSync(directory);
  } catch {
    return false;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
