/** Exports of Zulip: what the reader makes of each. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { freshDirectory } from '../../../test/start/parley.ts';
import { type Contents, type Given, given, hashOf, tarOf } from './archives.ts';

const scratch = freshDirectory(t);
const user = (id: number, full_name: string, more: object = {}) => ({
  id,
  full_name,
  delivery_email: `u${id}@example.org`,
  is_active: true,
  is_bot: false,
  role: 400,
  ...more,
});
const REALM = {
  zerver_userprofile: [
    user(1, 'Ada Lovelace'),
    user(2, 'Grace', { role: 600 }),
    user(3, 'Twin', { is_active: false }),
    user(4, 'Twin'),
    user(5, 'Robot', { is_bot: true }),
  ],
  zerver_userprofile_crossrealm: [{ id: 9, email: 'notification-bot@zulip.com' }],
  zerver_stream: [
    {
      id: 10,
      name: 'pier',
      invite_only: false,
      description: 'tides',
      date_created: 1_400_000_000.5,
      creator: 1,
    },
    { id: 11, name: 'old', invite_only: true, deactivated: true },
  ],
  zerver_huddle: [{ id: 20 }],
  zerver_recipient: [
    { id: 100, type: 2, type_id: 10 },
    { id: 101, type: 2, type_id: 11 },
    { id: 102, type: 3, type_id: 20 },
    { id: 103, type: 1, type_id: 2 },
    { id: 104, type: 1, type_id: 1 },
  ],
  zerver_subscription: [
    { recipient: 100, user_profile: 1, active: true },
    { recipient: 100, user_profile: 2, active: false },
    ...[1, 2, 5].map((user_profile) => ({ recipient: 102, user_profile, active: true })),
  ],
  zerver_reaction: [
    {
      message: 1,
      user_profile: 2,
      emoji_code: '1f44d',
      emoji_name: 'thumbs_up',
      reaction_type: 'unicode_emoji',
    },
    {
      message: 1,
      user_profile: 77,
      emoji_code: '1f1eb-1f1f7',
      emoji_name: 'france',
      reaction_type: 'unicode_emoji',
    },
    { message: 1, user_profile: 2, emoji_code: '8', emoji_name: 'logo', reaction_type: 'realm_emoji' },
    {
      message: 999,
      user_profile: 2,
      emoji_code: '1f44d',
      emoji_name: 'thumbs_up',
      reaction_type: 'unicode_emoji',
    },
  ],
};
const T = 1_704_100_000;
const message = (id: number, more: object = {}) => ({
  id,
  sender: 1,
  recipient: 100,
  subject: 'Tides',
  content: `number ${id}`,
  date_sent: T + id + 0.000_001,
  ...more,
});

async function zulip(
  files: readonly (readonly object[])[],
  more: Contents = {},
  realm: object = REALM,
): Promise<Given> {
  const messages = files.map((zerver_message, index): [string, unknown] => [
    `export/messages-${String(index + 1).padStart(6, '0')}.json`,
    { zerver_message },
  ]);
  const contents = { ...Object.fromEntries(messages), 'export/realm.json': realm, ...more };
  return given('zulip', await tarOf(scratch, contents), { scratch });
}

t.test('people, channels, direct messages', async (t) => {
  const all = await zulip([
    [
      message(1, { recipient: 103, subject: '' }),
      message(2, { recipient: 104, sender: 2, subject: '' }),
      message(3, { recipient: 102, sender: 5 }),
      message(4, { recipient: 104, sender: 1 }),
      message(5, { recipient: 555 }),
      message(6, { sender: 88 }),
    ],
  ]);
  t.match(all.people.get('1'), { kind: 'user', name: 'Ada Lovelace', email: 'u1@example.org' });
  t.match(all.people.get('2'), { kind: 'guest' });
  t.match(all.people.get('3'), { deactivated: true });
  t.match(all.people.get('9'), { kind: 'bot', email: null });
  t.match(all.people.get('88'), { kind: 'placeholder' });
  t.match(all.conversations.get('stream:10'), {
    title: 'pier',
    private: false,
    archived: false,
    creator: '1',
    created_at: '2014-05-13T16:53:20.500000Z',
    members: [{ person: '1', role: 'owner' }],
  });
  t.match(all.conversations.get('stream:11'), { private: true, archived: true });
  t.match(all.conversations.get('direct:1-2-5'), { kind: 'group' });
  const direct = all.messages.filter(({ conversation }) => conversation === 'direct:1-2');
  t.strictSame(
    direct.map(({ author }) => author),
    ['1', '2'],
    'both directions are one conversation',
  );
  t.match(all.conversations.get('direct:1'), { kind: 'direct' });
  t.ok(all.conversations.has('recipient:555'));
});

t.test('a topic is a thread, in whatever file its messages are', async (t) => {
  const all = await zulip([
    [message(1), message(3, { subject: 'Ropes' }), message(5, { subject: '' })],
    [message(4, { subject: 'TIDES' }), message(2, { content: 'late', last_edit_time: T + 50 }), message(2)],
  ]);
  t.strictSame(
    all.messages.map((it) => [it.client_message_id, it.reply_to, it.body]),
    [
      ['zulip:1', null, '**Tides**\n\nnumber 1'],
      ['zulip:2', 'zulip:1', 'late'],
      ['zulip:3', null, '**Ropes**\n\nnumber 3'],
      ['zulip:4', 'zulip:1', 'number 4'],
      ['zulip:5', null, 'number 5'],
    ],
  );
  t.equal(all.messages[0]!.created_at, '2024-01-01T09:06:41.000001Z');
  t.equal(all.messages[1]!.edited_at, '2024-01-01T09:07:30.000000Z');
  t.strictSame(
    all.messages[0]!.reactions.map(({ emoji, person }) => [emoji, person]),
    [
      ['👍', '2'],
      ['🇫🇷', '77'],
    ],
  );
  t.strictSame(all.skipped.map(({ of, reason }) => `${of} ${reason}`).sort(), [
    'messages duplicate',
    'reactions custom_emoji',
    'reactions missing_message',
  ]);
});

t.test('texts, files and messages that cannot be had', async (t) => {
  const content =
    '@**Ada Lovelace** @_**Grace|2** @**Twin** @**Twin|4** @**all** @*crew* #**pier>Tides** :wave: ' +
    '[list](/user_uploads/2/ab/list%20one.txt) ![](/user_uploads/2/cd/lost.png) `@**Grace**`';
  const all = await zulip(
    [
      [
        message(1, { content }),
        message(2, { content: '/me waves' }),
        message(3, { content: ' ' }),
        message(4, { date_sent: 'x' }),
      ],
    ],
    {
      'export/uploads/2/ab/list one.txt': 'hello',
      'export/avatars/x.png': 'not wanted',
      'export/attachment.json': {
        zerver_attachment: [
          { path_id: '2/ab/list one.txt', file_name: 'List One.txt', content_type: 'text/plain' },
        ],
      },
    },
  );
  t.match(all.messages[0], {
    body: '**Tides**\n\n@u1 @u2 @Twin @u4 @all @crew #pier > Tides 👋 list lost.png `@**Grace**`',
    mentions: ['1', '4'],
    files: [{ name: 'List One.txt', content_type: 'text/plain', size: 5 }],
  });
  t.equal(all.messages[1]!.body, '_waves_');
  t.strictSame(
    all.skipped.map(({ reason }) => reason),
    ['custom_emoji', 'missing_file', 'empty', 'invalid_time', 'missing_message'],
  );
});

t.test('what each person has read', async (t) => {
  const reading = (of: number, user_profile: number, flags_mask: number) => ({
    message: of,
    user_profile,
    flags_mask,
  });
  const all = await zulip([], {
    'export/messages-000001.json': {
      zerver_message: [message(1), message(2), message(3)],
      zerver_usermessage: [
        reading(1, 1, 1),
        reading(2, 1, 1),
        reading(3, 1, 1),
        reading(1, 2, 1),
        reading(2, 2, 0),
        reading(3, 2, 1),
        reading(9, 2, 0),
        {},
      ],
    },
  });
  t.strictSame(
    all.positions.map(({ person, through }) => [person, through]),
    [
      ['1', { at: all.messages[2]!.created_at }],
      ['2', { at: '2024-01-01T09:06:42.000000Z' }],
    ],
  );
});

t.test('a tar that is not packed, and one with long names, gives the same', async (t) => {
  const folder = 'a'.repeat(120);
  const contents = (name: string) => ({
    [`${name}/messages-000001.json`]: { zerver_message: [message(1)] },
    [`${name}/realm.json`]: REALM,
  });
  const plain = await given('zulip', await tarOf(scratch, contents('export'), { plain: true }), { scratch });
  const packed = await given('zulip', await tarOf(scratch, contents('export')), { scratch });
  const long = await given('zulip', await tarOf(scratch, contents(folder)), { scratch });
  t.equal(hashOf(packed.records), hashOf(plain.records));
  t.equal(long.messages.length, 1);
});

t.test('what is no export of Zulip is refused', async (t) => {
  const refused = async (path: string, message: RegExp) =>
    t.rejects(given('zulip', path, { scratch }), { message });
  await refused(await tarOf(scratch, { 'a/b.json': {} }), /no realm\.json/);
  await refused(await tarOf(scratch, { 'realm.json': '{' }), /realm\.json cannot be read/);
  await refused(await tarOf(scratch, { 'realm.json': {} }), /no people/);
  const cut = join(scratch, 'cut.tar.gz');
  const whole = readFileSync(await tarOf(scratch, { 'realm.json': REALM }));
  writeFileSync(cut, whole.subarray(0, whole.length - 40));
  await refused(cut, /damaged/);
  writeFileSync(cut, 'no archive');
  await refused(cut, /tar\.gz file that Zulip exports/);
});
