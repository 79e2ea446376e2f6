/** Archives that are read in a process of their own, and what ends that process. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { freshDirectory } from '../../../test/start/parley.ts';
import { childrenOf } from '../../../test/support/process-tree.ts';
import { until } from '../../../test/support/until.ts';
import { openArchive } from '../open-archive.ts';
import { openInProcess } from '../process/reader-process.ts';
import { type ArchiveReader, UnreadableArchive } from '../reader.ts';
import { hashOf, zipOf } from './archives.ts';
import { writeSlackExport } from './slack-generator.ts';

const scratch = freshDirectory(t);
const files = freshDirectory(t);
const SLACK = { 'users.json': [{ id: 'U1' }], 'channels.json': [{ id: 'C1', name: 'pier' }] };

async function read(reader: ArchiveReader) {
  const all = [];
  for await (const record of reader.records()) all.push(record);
  return { hash: hashOf(all), found: reader.found(), progress: reader.progress() };
}

/** Reads everything, and returns the error that ends it. */
async function failure(opening: Promise<ArchiveReader>): Promise<unknown> {
  let reader: ArchiveReader | undefined;
  try {
    reader = await opening;
    await read(reader);
    return undefined;
  } catch (error) {
    return error;
  } finally {
    await reader?.close();
  }
}

t.test('it gives what the same archive gives in this process, also a second time', async (t) => {
  const path = join(files, 'export.zip');
  await writeSlackExport(path, { seed: 3, people: 30, channels: 4, messages: 3_000, odd: true });
  const [inside, outside] = [
    await openArchive('slack', path, { scratch }),
    await openInProcess('slack', path, { scratch }),
  ];
  const expected = await read(inside);
  t.strictSame(await read(outside), expected);
  t.strictSame(await read(outside), expected);
  const begun = outside.records()[Symbol.asyncIterator]();
  await begun.next();
  t.strictSame(await read(outside), expected, 'after a walk that was not ended');
  for (const reader of [inside, outside]) await reader.close();
  t.strictSame(readdirSync(scratch), []);
});

t.test('files are read whole, side by side, and left in the middle', async (t) => {
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
  const path = await zipOf(files, { ...SLACK, '__uploads/F1/a.bin': bytes });
  const reader = await openInProcess('slack', path, { scratch });
  const whole = async () => {
    const content = await reader.openFile('__uploads/F1/a.bin');
    const pieces: Buffer[] = [];
    for await (const piece of content!.read()) pieces.push(piece);
    return Buffer.concat(pieces).equals(bytes);
  };
  t.strictSame(await Promise.all([whole(), whole(), whole()]), [true, true, true]);
  for await (const _ of (await reader.openFile('__uploads/F1/a.bin'))!.read()) break;
  t.equal(await whole(), true);
  t.equal(await reader.openFile('nothing'), undefined);
  await reader.close();
});

t.test('an archive that is refused says why', async (t) => {
  const path = await zipOf(files, { 'notes.txt': 'x' });
  const expected = await failure(openArchive('slack', path, { scratch }));
  t.strictSame(await failure(openInProcess('slack', path, { scratch })), expected);
  t.match(await failure(openInProcess('slack', join(files, 'none'), { scratch })), { code: 'ENOENT' });
});

t.test('one that takes too much memory or time is refused', async (t) => {
  const path = await zipOf(files, { ...SLACK, 'pier/2024-01-01.json': `[${'{},'.repeat(3_000_000)}{}]` });
  const limits = { ratio: 10_000 };
  t.match(await failure(openInProcess('slack', path, { scratch, limits, heapMb: 64 })), {
    name: 'UnreadableArchive',
    reason: 'unsafe',
    message: /more than 64 MB of memory/,
  });
  t.match(await failure(openInProcess('slack', path, { scratch, limits, silentMs: 20 })), {
    name: 'UnreadableArchive',
    reason: 'unsafe',
    message: /longer than 0 s/,
  });
});

t.test('a process that is killed is no fault of the archive', async (t) => {
  const path = await zipOf(files, { ...SLACK, 'pier/2024-01-01.json': [{}] });
  const before = new Set(await childrenOf(process.pid));
  const reader = await openInProcess('slack', path, { scratch });
  const [pid] = (await childrenOf(process.pid)).filter((it) => !before.has(it));
  t.notMatch(readFileSync(`/proc/${pid}/environ`, 'utf8'), /PATH=/, 'it has nothing of the environment');
  process.kill(pid!, 'SIGKILL');
  const error = await failure(Promise.resolve(reader));
  t.match(error, { message: /ended with SIGKILL/ });
  t.notOk(error instanceof UnreadableArchive);
});

t.test('a signal ends it', async (t) => {
  const path = await zipOf(files, SLACK);
  const controller = new AbortController();
  const before = new Set(await childrenOf(process.pid));
  const reader = await openInProcess('slack', path, { scratch, signal: controller.signal });
  controller.abort(new Error('ended here'));
  t.match(await failure(Promise.resolve(reader)), { message: 'ended here' });
  await until(async () => (await childrenOf(process.pid)).every((it) => before.has(it)), {
    what: 'no process is left',
  });
  t.match(await failure(openInProcess('slack', path, { scratch, signal: controller.signal })), {
    message: 'ended here',
  });
});
