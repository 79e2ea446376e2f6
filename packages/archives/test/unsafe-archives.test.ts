/** Archives that are damaged or made to do harm. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { freshDirectory } from '../../../test/start/parley.ts';
import { openArchive } from '../open-archive.ts';
import type { ArchiveLimits } from '../reader.ts';
import { given, tarOf, zipOf } from './archives.ts';

const scratch = freshDirectory(t);
const files = freshDirectory(t);
const SLACK = {
  'users.json': [{ id: 'U1' }],
  'channels.json': [{ id: 'C1', name: 'pier' }],
  'pier/2024-01-01.json': [{ type: 'message', user: 'U1', text: 'hi', ts: '1704100000.000001' }],
};

async function refused(path: string, reason: string, limits: Partial<ArchiveLimits> = {}): Promise<boolean> {
  const outcome = await given('slack', path, { scratch, limits }).catch((error: unknown) => error);
  return (outcome as { reason?: string }).reason === reason;
}

/** Replaces a name by one of the same length, in both places of a zip. */
function renamed(path: string, from: string, to: string): string {
  const bytes = readFileSync(path);
  for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1)) bytes.write(to, at, 'latin1');
  writeFileSync(path, bytes);
  return path;
}

t.test('names of files that lead elsewhere', async (t) => {
  for (const name of [
    '../../x.json',
    '/etc/pw.json',
    'C:/abcd.json',
    'a\\b/xx.json',
    'pier\n00.json',
    'p\x00er/00.json',
  ]) {
    const path = await zipOf(files, { ...SLACK, ['x'.repeat(name.length)]: 'x' });
    t.ok(await refused(renamed(path, 'x'.repeat(name.length), name), 'unsafe'), JSON.stringify(name));
  }
  t.ok(
    await refused(
      renamed(await zipOf(files, { ...SLACK, 'uuuuu.json': [] }), 'uuuuu.json', 'users.json'),
      'damaged',
    ),
  );
});

t.test('bombs', async (t) => {
  const bomb = await zipOf(files, { ...SLACK, 'pier/2024-01-02.json': Buffer.alloc(8 * 2 ** 20, 0x20) });
  t.ok(await refused(bomb, 'unsafe'), 'by its ratio');
  t.ok(await refused(await zipOf(files, SLACK), 'unsafe', { entries: 2 }), 'by its files');
  t.ok(await refused(await zipOf(files, SLACK), 'unsafe', { unpackedBytes: 50 }), 'by its size');
  // A size in the list that is too small does not let more through.
  const lying = await zipOf(files, SLACK);
  const bytes = readFileSync(lying);
  const at = bytes.lastIndexOf('pier/2024');
  bytes.writeUInt32LE(5, at - 22);
  writeFileSync(lying, bytes);
  const { messages, skipped } = await given('slack', lying, { scratch });
  t.equal(messages.length, 0);
  t.match(skipped, [{ of: 'documents', where: 'pier/2024-01-01.json' }]);

  const tar = await tarOf(files, { 'realm.json': Buffer.alloc(40 * 2 ** 20, 0x20) });
  await t.rejects(given('zulip', tar, { scratch }), { message: /200 times/ });
  const limits = { unpackedBytes: 1_000 };
  await t.rejects(given('zulip', await tarOf(files, { 'realm.json': {} }), { scratch, limits }), {
    message: /1000 bytes/,
  });
});

t.test('documents that are too large or too deep', async (t) => {
  const limits = { documentBytes: 200, depth: 5 };
  const all = await given(
    'slack',
    await zipOf(files, {
      ...SLACK,
      'pier/2024-01-02.json': [{ text: 'x'.repeat(300) }],
      'pier/2024-01-03.json': `[${'{"a":'.repeat(6)}1${'}'.repeat(6)}]`,
      'pier/2024-01-04.json':
        '[{"type":"message","text":"\\"[[[[[[[[","user":"U1","ts":"1704300000.000001"}]',
    }),
    { scratch, limits },
  );
  t.equal(all.messages.length, 2);
  t.match(all.skipped, [{ detail: /longer than 200 bytes/ }, { detail: /more than 5 levels/ }]);
});

t.test('bytes that are damaged', async (t) => {
  const path = await zipOf(files, { ...SLACK, 'pier/2024-01-02.json': [{ type: 'message', text: 'lost' }] });
  const bytes = readFileSync(path);
  const at = bytes.indexOf('pier/2024-01-01.json') + 'pier/2024-01-01.json'.length;
  bytes.fill(0xff, at, at + 20);
  writeFileSync(path, bytes);
  const { skipped } = await given('slack', path, { scratch });
  t.match(skipped, [
    { of: 'documents', where: 'pier/2024-01-01.json', detail: /damaged/ },
    { of: 'messages' },
  ]);

  writeFileSync(path, bytes.subarray(0, bytes.length / 2));
  t.ok(await refused(path, 'not_an_archive'));
});

t.test('bytes that are others than those that were packed', async (t) => {
  const path = await zipOf(files, { ...SLACK, '__uploads/F1/a.txt': 'whole' });
  const bytes = readFileSync(path);
  // In the list of the archive: behind the signature 12 bytes, then the CRC-32.
  for (const name of ['pier/2024-01-01.json', '__uploads/F1/a.txt']) {
    const at = bytes.lastIndexOf(name) - 46 + 16;
    bytes.writeUInt32LE((bytes.readUInt32LE(at) ^ 1) >>> 0, at);
  }
  writeFileSync(path, bytes);
  const reader = await openArchive('slack', path, { scratch });
  const skipped = [];
  for await (const record of reader.records()) if (record.type === 'skipped') skipped.push(record);
  t.match(skipped, [{ of: 'documents', where: 'pier/2024-01-01.json', detail: /CRC-32/ }]);
  const content = await reader.openFile('__uploads/F1/a.txt');
  const read = async () => {
    for await (const _ of content!.read());
  };
  await t.rejects(read(), { name: 'UnreadableArchive', message: /CRC-32/ });
  await reader.close();
});

t.test('a walk can be ended, and nothing stays in the scratch directory', async (t) => {
  const controller = new AbortController();
  const path = await zipOf(files, { ...SLACK, 'pier/2024-01-02.json': [] });
  const reader = await openArchive('slack', path, { scratch, signal: controller.signal });
  const walk = async () => {
    for await (const _ of reader.records()) controller.abort(new Error('ended here'));
  };
  await t.rejects(walk(), { message: 'ended here' });
  t.equal(await reader.openFile('nothing'), undefined);
  await reader.close();
  t.strictSame(
    readdirSync(scratch).filter((name) => name.startsWith('spool-')),
    [],
  );
});
