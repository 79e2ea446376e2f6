/** Bulk exports of Mattermost: what the reader makes of each. */

import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { freshDirectory } from '../../../test/start/parley.ts';
import { type Contents, type Given, given, hashOf, zipOf } from './archives.ts';

const scratch = freshDirectory(t);
const VERSION = { type: 'version', version: 1 };
const line = (type: string, value: object) => ({ type, [type]: value });
const USERS = [
  line('team', { name: 'harbor', display_name: 'Harbor' }),
  line('channel', { team: 'harbor', name: 'pier', display_name: 'The Pier', type: 'O', header: 'tides' }),
  line('user', {
    username: 'Ada',
    email: 'ada@example.org',
    first_name: 'Ada',
    last_name: 'Lovelace',
    teams: [
      {
        name: 'harbor',
        channels: [{ name: 'pier', roles: 'channel_user channel_admin', last_viewed_at: 1_704_100_000_500 }],
      },
    ],
  }),
  line('user', { username: 'grace', email: 'hopper@example.org', roles: 'system_guest', delete_at: 5 }),
  line('bot', { username: 'robot', display_name: 'Robot' }),
];
const T = 1_704_100_000_000;
const post = (at: number, more: object = {}) =>
  line('post', {
    team: 'harbor',
    channel: 'pier',
    user: 'ada',
    message: `at ${at}`,
    create_at: T + at,
    ...more,
  });

const jsonl = (lines: readonly unknown[]) =>
  lines.map((it) => `${typeof it === 'string' ? it : JSON.stringify(it)}\n`).join('');

async function mattermost(lines: readonly unknown[], contents: Contents = {}): Promise<Given> {
  const path = await zipOf(scratch, { 'import.jsonl': jsonl([VERSION, ...USERS, ...lines]), ...contents });
  return given('mattermost', path, { scratch });
}

t.test('people, channels, direct messages and what was read', async (t) => {
  const direct = { channel_members: ['grace', 'ada'], user: 'grace', message: 'psst', create_at: T };
  const all = await mattermost([
    line('direct_channel', {
      participants: [{ username: 'ada', last_viewed_at: T + 9 }, { username: 'grace' }],
    }),
    line('direct_channel', { members: ['grace', 'ada'] }),
    line('direct_post', direct),
    line('direct_post', { ...direct, channel_members: ['ada', 'grace', 'robot'] }),
    line('role', {}),
    post(1, { channel: 'lost' }),
  ]);
  t.match(all.people.get('ada'), { name: 'Ada Lovelace', email: 'ada@example.org', kind: 'user' });
  t.match(all.people.get('grace'), { kind: 'guest', deactivated: true });
  t.match(all.people.get('robot'), { kind: 'bot', name: 'Robot' });
  t.match(all.conversations.get('harbor/pier'), {
    kind: 'channel',
    private: false,
    title: 'The Pier',
    description: 'tides',
    created_at: null,
    members: [{ person: 'ada', role: 'admin' }],
  });
  t.match(all.conversations.get('harbor/lost'), { private: true, title: 'lost' });
  t.strictSame([...all.conversations.values()].map(({ kind }) => kind).sort(), [
    'channel',
    'channel',
    'direct',
    'group',
  ]);
  t.equal(all.messages.filter(({ body }) => body === 'psst').length, 2);
  t.strictSame(
    all.positions.map(({ person, through }) => [person, through]),
    [
      ['ada', { at: '2024-01-01T09:06:40.500000Z' }],
      ['ada', { at: '2024-01-01T09:06:40.009000Z' }],
    ],
  );
  t.strictSame(
    all.skipped.map(({ of, reason }) => `${of} ${reason}`),
    ['conversations duplicate'],
  );
});

t.test('posts come in the order of time, with threads, reactions, pins, edits and files', async (t) => {
  const reactions = [
    { user: 'grace', emoji_name: 'thumbsup', create_at: T + 90 },
    { user: 'grace', emoji_name: 'our_logo', create_at: T },
    { emoji_name: 'wave', create_at: T },
  ];
  const all = await mattermost(
    [
      post(30),
      post(10, {
        edit_at: T + 40,
        is_pinned: true,
        reactions,
        replies: [
          { user: 'edsger', message: 'reply', create_at: T + 20 },
          { user: 'ada', message: 'too early', create_at: T + 5 },
        ],
        attachments: [{ path: 'a/b/list.txt' }, { path: 'lost.txt' }, { path: '../../etc/passwd' }],
      }),
      post(10, { message: 'the same moment' }),
      post(10, { message: 'the same moment' }),
      post(0, { create_at: 0 }),
      post(50, { message: '' }),
      post(60, { type: 'system_join_channel' }),
      post(70, { type: 'system_header_change', message: 'ada changed the header' }),
      post(80, {
        message: '',
        props: { attachments: [{ title: 'Build', text: 'green', fields: [{ title: 'Took', value: 3 }] }] },
      }),
      '{"type":"post"',
    ],
    { 'data/a/b/list.txt': 'hello' },
  );
  t.strictSame(
    all.messages.map(({ body, system }) => [body, system]),
    [
      ['too early', false],
      ['at 10', false],
      ['the same moment', false],
      ['reply', false],
      ['at 30', false],
      ['ada changed the header', true],
      ['**Build**\ngreen\n**Took**\n3', false],
    ],
  );
  const [early, root, same, reply] = all.messages;
  t.match(root, {
    client_message_id: `mattermost:harbor/pier:${T + 10}:ada`,
    edited_at: '2024-01-01T09:06:40.040000Z',
    pin: { by: null, at: null },
    reactions: [{ emoji: '👍', person: 'grace' }],
    files: [
      { name: 'list.txt', content_type: 'text/plain', size: 5, source: { entry: 'data/a/b/list.txt' } },
    ],
  });
  t.equal(reply!.reply_to, root!.client_message_id);
  t.equal(early!.reply_to, null);
  t.match(same!.client_message_id, /:ada:[\da-f]{12}$/);
  t.match(all.people.get('edsger'), { kind: 'placeholder' });
  t.strictSame(all.skipped.map(({ of, reason }) => `${of} ${reason}`).sort(), [
    'documents unreadable',
    'files missing_file',
    'files missing_file',
    'messages duplicate',
    'messages empty',
    'messages invalid_time',
    'messages system_message',
    'reactions custom_emoji',
    'reactions no_person',
  ]);
});

t.test('texts: mentions, channels, emojis', async (t) => {
  const all = await mattermost([
    post(1, {
      message: '@ADA, @grace. @nobody ada@example.org ~pier ~lost :wave: `@ada` https://x.example/@ada **b**',
    }),
  ]);
  t.match(all.messages[0], {
    body: '@ada, @hopper. @nobody ada@example.org #The Pier ~lost 👋 `@ada` https://x.example/@ada **b**',
    mentions: ['ada', 'grace'],
  });
});

t.test('a file of lines alone, sorted on disk, gives the same', async (t) => {
  const lines = Array.from({ length: 3_000 }, (_, index) =>
    post((index * 7_919) % 3_000, { message: randomBytes(9_000).toString('base64') }),
  );
  const path = join(scratch, 'plain.jsonl');
  writeFileSync(path, jsonl([VERSION, ...USERS, ...lines]));
  const [plain, zipped] = [await given('mattermost', path, { scratch }), await mattermost(lines)];
  t.equal(plain.messages.length, 3_000);
  t.equal(hashOf(zipped.records), hashOf(plain.records));
});

t.test('what is no bulk export is refused', async (t) => {
  const refused = async (contents: Contents, message: RegExp) =>
    t.rejects(given('mattermost', await zipOf(scratch, contents), { scratch }), { message });
  await refused({ 'a.txt': 'x' }, /no file of the type \.jsonl/);
  await refused({ 'a.jsonl': jsonl([post(1)]) }, /does not begin with its version/);
  await refused({ 'a.jsonl': jsonl([{ type: 'version', version: 2 }]) }, /version 1 can be imported/);
  await refused({ 'a.jsonl': '' }, /does not begin with its version/);
});
