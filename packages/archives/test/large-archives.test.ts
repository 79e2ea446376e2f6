/** Archives of many messages, among them what importers have failed at. */

import { join } from 'node:path';
import t from 'tap';
import { freshDirectory } from '../../../test/start/parley.ts';
import { openArchive } from '../open-archive.ts';
import { given, hashOf } from './archives.ts';
import { writeMattermostExport } from './mattermost-generator.ts';
import { writeSlackExport } from './slack-generator.ts';

const scratch = freshDirectory(t);

for (const seed of [1, 2]) {
  t.test(`10,000 messages, odd ones among them (seed ${seed})`, async (t) => {
    const path = join(scratch, `${seed}.zip`);
    const written = await writeSlackExport(path, {
      seed,
      people: 60,
      channels: 7,
      messages: 10_000,
      odd: true,
    });
    const all = await given('slack', path, { scratch });
    t.equal(all.found.messages, 10_000);
    t.equal(all.found.messages, written.messages);
    t.equal(all.found.files, written.files);
    t.ok(all.skipped.some(({ reason }) => reason === 'invalid_time'));
    t.ok(all.notes.some(({ reason }) => reason === 'missing_root'));
    t.ok([...all.people.values()].some(({ kind, name }) => kind === 'placeholder' && name === 'Gone'));
    t.equal(
      hashOf((await given('slack', path, { scratch })).records),
      hashOf(all.records),
      'every walk is the same',
    );
  });
}

t.test('60,000 posts in no order of time, more than is kept in memory', async (t) => {
  const path = join(scratch, 'import.jsonl');
  await writeMattermostExport(path, { seed: 5, people: 20, channels: 3, messages: 60_000 });
  const all = await given('mattermost', path, { scratch });
  t.equal(all.found.messages, 60_000);
  t.equal(all.skipped.length, 0);
  t.ok(all.messages.some(({ reply_to }) => reply_to !== null));
  t.equal(all.positions.length, 60);
});

t.test('one archive is read again by the same reader', async (t) => {
  const path = join(scratch, 'again.zip');
  await writeSlackExport(path, { seed: 4, people: 10, channels: 2, messages: 1_000, odd: true });
  const reader = await openArchive('slack', path, { scratch });
  const records = async () => {
    const all = [];
    for await (const record of reader.records()) all.push(record);
    return { hash: hashOf(all), found: reader.found() };
  };
  t.strictSame(await records(), await records());
  await reader.close();
});
