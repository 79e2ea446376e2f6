/** Archives that become archives of Parley, and converted ones that anyone may have written. */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { zulipContents } from '../../../test/import/samples.ts';
import { freshDirectory } from '../../../test/start/parley.ts';
import { convertArchive } from '../convert/convert-archive.ts';
import type { Remark } from '../convert/converted-writer.ts';
import { UnreadableArchive } from '../reader.ts';
import { type Contents, given, tarOf, zipOf } from './archives.ts';
import { writeMattermostExport } from './mattermost-generator.ts';
import { writeSlackExport } from './slack-generator.ts';

const scratch = freshDirectory(t);
const files = freshDirectory(t);
const SLACK = {
  'users.json': [{ id: 'U1' }],
  'channels.json': [{ id: 'C1', name: 'pier' }],
  'pier/2024-01-01.json': [{ type: 'message', user: 'U1', text: 'hi', ts: '1704100000.000001' }],
};
const hashOfFile = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

t.test('an archive and what it became give the same bytes', async (t) => {
  const [slack, mattermost] = [join(files, 'slack.zip'), join(files, 'import.jsonl')];
  await writeSlackExport(slack, { seed: 6, people: 20, channels: 3, messages: 2_000, odd: true });
  await writeMattermostExport(mattermost, { seed: 6, people: 5, channels: 2, messages: 500 });
  const zulip = await tarOf(files, zulipContents(30));
  for (const [source, from] of [
    ['slack', slack],
    ['mattermost', mattermost],
    ['zulip', zulip],
  ] as const) {
    const to = freshDirectory(t);
    const [first, again] = [join(to, 'first.zip'), join(to, 'again.zip')];
    const remarks: Remark[] = [];
    const onRemark = (remark: Remark) => remarks.push(remark);
    const counts = await convertArchive({ source, from, to: first, onRemark });
    t.strictSame(await convertArchive({ source: 'parley', from: first, to: again }), counts);
    t.equal(hashOfFile(again), hashOfFile(first), source);
    t.strictSame(readdirSync(to).sort(), ['again.zip', 'first.zip'], 'and nothing else is left');
    const { records, found, skipped } = await given(source, from, { scratch });
    for (const type of ['people', 'messages', 'reactions', 'read_positions'] as const) {
      const lost = skipped.reduce((sum, it) => (it.of === type ? sum + it.count : sum), 0);
      t.equal(counts[type], found[type] - lost, `${source} ${type}`);
    }
    t.strictSame(
      remarks,
      records.filter(({ type }) => type === 'skipped' || type === 'note'),
    );
  }
});

t.test('a file that is damaged is left out, with its reason and place', async (t) => {
  const said = { type: 'message', user: 'U1', ts: '1704100001.000001' };
  const from = await zipOf(files, {
    ...SLACK,
    'pier/2024-01-02.json': [{ ...said, text: 'see', files: ['F1', 'F2'].map((id) => ({ id, name: id })) }],
    '__uploads/F1/a.txt': 'whole',
    '__uploads/F2/a.txt': 'whole too',
  });
  const bytes = readFileSync(from);
  const at = bytes.lastIndexOf('__uploads/F1') - 46 + 16;
  bytes.writeUInt32LE((bytes.readUInt32LE(at) ^ 1) >>> 0, at);
  writeFileSync(from, bytes);
  const to = join(freshDirectory(t), 'parley.zip');
  const remarks: Remark[] = [];
  const counts = await convertArchive({
    source: 'slack',
    from,
    to,
    onRemark: (remark) => remarks.push(remark),
  });
  t.match(counts, { messages: 2, files: 1 });
  t.match(remarks, [{ of: 'files', reason: 'file_damaged', count: 1, detail: /"F1" \(F1\).*CRC-32/ }]);
  const { messages, skipped } = await given('parley', to, { scratch });
  t.match(messages[1], { body: 'see', files: [{ id: 'F2', source: { entry: 'files/2' } }] });
  t.match(skipped, [{ of: 'files', reason: 'file_damaged', where: 'pier/2024-01-02.json[0]' }]);
});

t.test('what cannot be converted leaves nothing', async (t) => {
  const renamed = await zipOf(files, { ...SLACK, 'xxxxxxxx.json': 'x' });
  const bytes = readFileSync(renamed).toString('latin1').replaceAll('xxxxxxxx.json', '../../x/.json');
  writeFileSync(renamed, bytes, 'latin1');
  const bomb = { ...SLACK, 'pier/2024-01-02.json': Buffer.alloc(8 * 2 ** 20, 0x20) };
  const to = freshDirectory(t);
  for (const [from, message] of [
    [renamed, /a file with the name "\.\.\/\.\.\/x\/\.json"/],
    [await zipOf(files, bomb), /unpacks to more than 200 times/],
    [await zipOf(files, { 'notes.txt': 'x' }), /no export of Slack|TXT/],
  ] as const) {
    const converted = convertArchive({ source: 'slack', from, to: join(to, 'parley.zip') });
    const error = await converted.catch((error: unknown) => error);
    t.ok(error instanceof UnreadableArchive);
    t.match(error, { message });
  }
  const from = await zipOf(files, SLACK);
  await t.rejects(convertArchive({ source: 'slack', from, to }), { message: /is there already/ });
  const stop = new AbortController();
  const watched = watch(to, () => stop.abort(new Error('ended here')));
  const stopped = convertArchive({ source: 'slack', from, to: join(to, 'a.zip'), signal: stop.signal });
  await t.rejects(stopped, { message: 'ended here' });
  watched.close();
  t.strictSame(readdirSync(to), []);
});

const MANIFEST = { object: 'converted_archive', format: 1, source: 'slack' };
const PERSON = {
  type: 'person',
  ref: 'U1',
  kind: 'user',
  name: 'Ada',
  handle: null,
  email: null,
  email_verified: false,
  deactivated: false,
};
const CONVERSATION = {
  type: 'conversation',
  ref: 'C1',
  merged: [],
  kind: 'channel',
  private: false,
  audience: 'internal',
  title: 'pier',
  description: null,
  archived: false,
  created_at: null,
  creator: 'U1',
  members: [],
};
const MESSAGE = {
  type: 'message',
  client_message_id: 'slack:C1:1',
  counted: true,
  conversation: 'C1',
  author: 'U1',
  created_at: '2024-01-01T09:06:40.000001Z',
  body: 'hi',
  reply_to: null,
  edited_at: null,
  deleted_at: null,
  mentions: [],
  reactions: [],
  files: [],
  pin: null,
  audience: 'internal',
  system: false,
  incomplete: null,
  where: 'pier/2024-01-01.json[0]',
};
const FILE = { id: 'F1', name: 'a', content_type: null, size: 1, source: { entry: 'files/1' } };
const converted = (records: readonly unknown[]): Promise<string> => {
  const lines = records.map((it) => `${typeof it === 'string' ? it : JSON.stringify(it)}\n`).join('');
  return zipOf(files, { 'manifest.json': MANIFEST, 'records.jsonl': lines, 'files/1': 'x' } as Contents);
};

t.test('a record that anyone wrote is read again as it is, or not at all', async (t) => {
  const wrong = [
    '{',
    'null',
    '[]',
    { type: 'toString' },
    { type: 'people' },
    { ...PERSON, ref: 'U\n2' },
    { ...PERSON, ref: 'U2', kind: 'owner' },
    { ...PERSON, ref: 'U3', admin: true },
    { ...CONVERSATION, ref: 'C2', members: [{ person: 'U1', role: 'owner', since: 1 }] },
    { ...CONVERSATION, ref: 'C3', title: 'two\nlines' },
    { ...MESSAGE, created_at: '2024-13-01T09:06:40.000001Z' },
    { ...MESSAGE, created_at: '0001-01-01T09:06:40.000001Z' },
    { ...MESSAGE, client_message_id: 'x'.repeat(256) },
    { ...MESSAGE, author: '\ud800' },
    { ...MESSAGE, reactions: [{ emoji: '<b>', person: 'U1', created_at: null }] },
    { ...MESSAGE, files: [{ ...FILE, name: '../a' }] },
    { ...MESSAGE, files: [{ ...FILE, source: { url: 'file:///etc/passwd' } }] },
    { ...MESSAGE, files: [{ ...FILE, source: { entry: 'files/1', url: 'https://example.org' } }] },
    { type: 'read_position', conversation: 'C1', person: 'U1', through: {} },
    { type: 'skipped', of: 'messages', count: 1e12, reason: 'a', detail: 'a', where: 'a' },
  ];
  const right = [PERSON, CONVERSATION, { ...MESSAGE, files: [FILE] }];
  const all = await given('parley', await converted([...wrong, ...right]), { scratch });
  t.match(all.records.slice(-3), right);
  t.strictSame(
    all.skipped.map(({ of, reason, where }) => `${of} ${reason} ${where}`),
    wrong.map((_, index) => `documents unreadable records.jsonl:${index + 1}`),
  );
});

t.test('what it says twice, or of something that it does not have, is left out and counted', async (t) => {
  const reaction = { emoji: '🎉', person: 'UGONE', created_at: null };
  const path = await converted([
    { ...MESSAGE, reactions: [reaction], files: [FILE] },
    PERSON,
    PERSON,
    CONVERSATION,
    CONVERSATION,
    { ...CONVERSATION, ref: 'C2', merged: ['C3', 'C3'] },
    { ...MESSAGE, body: 'x'.repeat(90_000), files: [{ ...FILE, source: { entry: 'files/2' } }] },
    { ...MESSAGE, client_message_id: 'slack:C1:2', deleted_at: MESSAGE.created_at, reactions: [reaction] },
    { type: 'read_position', conversation: 'C9', person: 'U1', through: { at: MESSAGE.created_at } },
  ]);
  const all = await given('parley', path, { scratch });
  t.strictSame(
    all.skipped.map(({ of, reason, count }) => `${count} ${of} ${reason}`),
    [
      '1 messages unexpected',
      '1 reactions unexpected',
      '1 files unexpected',
      '1 people unexpected',
      '1 conversations unexpected',
      '3 conversations unexpected',
      '1 files missing_file',
      '1 reactions message_deleted',
      '1 read_positions unexpected',
    ],
  );
  t.strictSame(
    all.messages.map(({ client_message_id, counted }) => `${client_message_id} ${counted}`),
    ['slack:C1:1 true', 'slack:C1:1#2 false', 'slack:C1:1#3 false', 'slack:C1:2 true'],
  );
});

t.test('one that a later version has made is refused', async (t) => {
  for (const change of [{ format: 2 }, { source: 'irc' }]) {
    const manifest = { ...MANIFEST, ...change };
    const path = await zipOf(files, { 'manifest.json': manifest, 'records.jsonl': '' });
    await t.rejects(given('parley', path, { scratch }), { message: /A later version/ });
  }
});
