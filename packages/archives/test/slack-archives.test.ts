/** Exports of Slack, odd ones among them: what the reader makes of each. */

import t from 'tap';
import { freshDirectory } from '../../../test/start/parley.ts';
import { type Contents, type Given, given, hashOf, tarOf, zipOf } from './archives.ts';

const scratch = freshDirectory(t);

const USERS = [
  { id: 'U1', name: 'ada', profile: { real_name: 'Ada Lovelace', email: 'Ada@Example.org' } },
  { id: 'U2', name: 'grace', deleted: true, profile: { display_name: 'Grace', email: 'grace@example.org' } },
  {
    id: 'U3',
    name: 'vera',
    is_restricted: true,
    is_email_confirmed: false,
    profile: { email: 'vera@example.org' },
  },
  { id: 'U4', name: 'robot', is_bot: true, profile: { real_name: 'Robot', bot_id: 'B4' } },
];
const CHANNEL = { id: 'C1', name: 'pier', created: 1_400_000_000, creator: 'U1', members: ['U1', 'U2'] };

async function slack(
  contents: Contents,
  channels: object[] = [CHANNEL],
  users: object[] = USERS,
): Promise<Given> {
  const path = await zipOf(scratch, { 'users.json': users, 'channels.json': channels, ...contents });
  return given('slack', path, { scratch });
}

const said = (ts: string, more: object = {}) => ({
  type: 'message',
  user: 'U1',
  text: `at ${ts}`,
  ts,
  ...more,
});
const bodies = ({ messages }: Given) => messages.map(({ body }) => body);
const ids = ({ messages }: Given) => messages.map((it) => it.client_message_id);

t.test('people: guests, deleted ones, bots, addresses that are no key', async (t) => {
  const { people, found, notes, skipped } = await slack(
    {},
    [CHANNEL],
    [
      ...USERS,
      { id: 'U5', name: 'ada2', profile: { email: 'ada@example.org' } },
      { id: 'U6', name: 'gone', deleted: true, profile: { email: 'ada@example.org' } },
      { id: 'U1', name: 'again' },
      { name: 'without an id' },
      { id: 'U7' },
    ],
  );
  t.match(people.get('U1'), {
    kind: 'user',
    name: 'Ada Lovelace',
    handle: 'ada',
    email: null,
    deactivated: false,
  });
  t.match(people.get('U2'), {
    name: 'Grace',
    email: 'grace@example.org',
    email_verified: true,
    deactivated: true,
  });
  t.match(people.get('U3'), {
    kind: 'guest',
    name: 'vera',
    email: 'vera@example.org',
    email_verified: false,
  });
  t.match(people.get('U4'), { kind: 'bot', email: null });
  t.equal(people.get('U5')!.email, null, 'two active people have the address: it is that of none');
  t.equal(people.get('U6')!.email, null);
  t.match(people.get('U7'), { name: 'U7' });
  t.equal(found.people, 9);
  t.strictSame(
    notes.map(({ reason }) => reason),
    ['shared_email', 'shared_email', 'shared_email'],
  );
  t.strictSame(skipped.map(({ reason }) => reason).sort(), ['duplicate', 'no_id']);
});

t.test('conversations: lists, folders, archived and empty ones, equal members', async (t) => {
  const { conversations, messages, notes, found } = await slack(
    {
      'groups.json': [
        {
          id: 'G1',
          name: 'secret',
          created: 0,
          is_archived: true,
          members: ['U1'],
          topic: { value: 'plans' },
        },
      ],
      'mpims.json': [{ id: 'G2', name: 'mpdm-ada--grace--vera-1', members: ['U1', 'U2', 'U3'] }],
      'dms.json': [
        { id: 'D1', members: ['U2', 'U1'] },
        { id: 'D2', members: ['U1', 'U2'] },
        { id: 'D3', members: ['U1'] },
      ],
      'pier/2024-01-01.json': [said('1704100000.000100')],
      'D1/2024-01-02.json': [said('1704200000.000100', { text: 'second' })],
      'D2/2024-01-01.json': [said('1704100000.000100', { text: 'first' })],
      'D2/2024-01-03.json': [said('1704300000.000100', { text: 'third' })],
      'old-name/2024-01-01.json': [said('1704100000.000200')],
      'deleted-channel/2024-01-01.json': [said('1704100000.000300')],
    },
    [
      CHANNEL,
      { id: 'C2', name: 'new-name', previous_names: ['old-name'], members: [] },
      { id: 'C3', name: 'empty' },
      { name: 'no id' },
    ],
  );
  t.match(conversations.get('C1'), {
    kind: 'channel',
    private: false,
    title: 'pier',
    archived: false,
    created_at: '2014-05-13T16:53:20.000000Z',
    creator: 'U1',
    members: [
      { person: 'U1', role: 'owner' },
      { person: 'U2', role: 'member' },
    ],
  });
  t.match(conversations.get('G1'), { private: true, archived: true, created_at: null, description: 'plans' });
  t.match(conversations.get('G2'), { kind: 'group', title: null });
  t.match(conversations.get('D1'), { kind: 'direct', merged: ['D2'], title: null });
  t.match(conversations.get('D3'), { kind: 'direct', members: [{ person: 'U1' }] });
  t.match(conversations.get('C3'), { title: 'empty', members: [] });
  t.match(conversations.get('deleted-channel'), { title: 'deleted-channel', private: true });
  t.strictSame(
    messages.filter(({ conversation }) => conversation === 'D1').map((it) => [it.client_message_id, it.body]),
    [
      ['slack:D2:1704100000.000100', 'first'],
      ['slack:D1:1704200000.000100', 'second'],
      ['slack:D2:1704300000.000100', 'third'],
    ],
  );
  t.ok(
    messages.some(({ conversation }) => conversation === 'C2'),
    'a folder with the name of before',
  );
  t.strictSame(
    notes.map(({ reason }) => reason),
    ['same_members', 'unlisted'],
  );
  t.equal(found.conversations, 10);
});

t.test('times keep six digits, and one that is none costs its message alone', async (t) => {
  const all = await slack({
    'pier/2024-01-01.json': [
      said('1704100000.000009'),
      said('1704100000.999999'),
      ...['', 'NaN', 'inf', '-1.000000', '99999999999.000000', '1704100000', '1e9.000000'].map((ts) =>
        said(ts),
      ),
      { type: 'message', user: 'U1', text: 'without' },
      said('1704100000.5', { ts: 1704100000.5 }),
      said('1704099999.5'),
    ],
  });
  t.strictSame(
    all.messages.map((it) => it.created_at),
    ['2024-01-01T09:06:39.500000Z', '2024-01-01T09:06:40.000009Z', '2024-01-01T09:06:40.999999Z'],
  );
  t.equal(all.skipped.filter(({ reason }) => reason === 'invalid_time').length, 9);
  t.equal(all.found.messages, 12);
});

t.test('threads: roots that are missing, days out of order, replies that are broadcast', async (t) => {
  const all = await slack({
    'pier/2024-1-10.json': [
      said('1704900000.000100', { thread_ts: '1704100000.000100', parent_user_id: 'U1' }),
    ],
    'pier/2024-1-2.json': [
      said('1704200000.000300', { thread_ts: '1704100000.000100', subtype: 'thread_broadcast' }),
      said('1704200000.000200', { thread_ts: '1700000000.000100', parent_user_id: 'U9' }),
      said('1704200000.000250', { thread_ts: '1700000000.000100' }),
      said('1704200000.000400', { thread_ts: '1800000000.000100' }),
      said('1704200000.000500', { thread_ts: 'nonsense' }),
    ],
    'pier/2024-1-1.json': [said('1704100000.000100', { thread_ts: '1704100000.000100', reply_count: 2 })],
  });
  t.strictSame(
    all.messages.map((it) => [it.client_message_id.slice(9), it.reply_to?.slice(9) ?? null, it.counted]),
    [
      ['1704100000.000100', null, true],
      ['1700000000.000100', null, false],
      ['1704200000.000200', '1700000000.000100', true],
      ['1704200000.000250', '1700000000.000100', true],
      ['1704200000.000300', '1704100000.000100', true],
      ['1704200000.000400', null, true],
      ['1704200000.000500', null, true],
      ['1704900000.000100', '1704100000.000100', true],
    ],
  );
  const [, tombstone] = all.messages;
  t.match(tombstone, {
    author: 'U9',
    body: null,
    created_at: '2023-11-14T22:13:20.000100Z',
    deleted_at: tombstone!.created_at,
  });
  t.match(all.people.get('U9'), { kind: 'placeholder' });
  t.strictSame(all.notes.map(({ reason }) => reason).sort(), [
    'invalid_thread',
    'invalid_thread',
    'missing_root',
  ]);
});

t.test('a reply to a reply is in the thread of that reply', async (t) => {
  const all = await slack({
    'pier/2024-01-01.json': [
      said('1704100000.000001'),
      said('1704100000.000002', { thread_ts: '1704100000.000001' }),
      said('1704100000.000003', { thread_ts: '1704100000.000002' }),
    ],
  });
  t.strictSame(
    all.messages.map(({ reply_to }) => reply_to),
    [null, 'slack:C1:1704100000.000001', 'slack:C1:1704100000.000001'],
  );
});

t.test('authors: bots, people who are nowhere listed, and none', async (t) => {
  const all = await slack({
    'pier/2024-01-01.json': [
      said('1704100000.000001', { user: undefined, bot_id: 'B4', subtype: 'bot_message' }),
      said('1704100000.000002', {
        user: undefined,
        bot_id: 'B9',
        username: 'deploys',
        subtype: 'bot_message',
      }),
      said('1704100000.000003', { user: undefined, username: 'hook', subtype: 'bot_message' }),
      said('1704100000.000004', { user: 'UPARTED', user_profile: { real_name: 'Edsger of Elsewhere' } }),
      said('1704100000.000005', { user: undefined }),
      said('1704100000.000006', {
        user: undefined,
        subtype: 'file_comment',
        comment: { user: 'U2', comment: 'nice' },
      }),
      said('1704100000.000007', { reactions: [{ name: 'wave', users: ['UGONE', 'U1', 'U1'], count: 5 }] }),
    ],
  });
  t.strictSame(
    all.messages.map(({ author }) => author),
    ['U4', 'B9', 'bot:hook', 'UPARTED', 'unknown', 'U2', 'U1'],
  );
  t.match(all.people.get('B9'), { kind: 'placeholder', name: 'deploys' });
  t.match(all.people.get('UPARTED'), { kind: 'placeholder', name: 'Edsger of Elsewhere', email: null });
  t.match(all.people.get('unknown'), { name: 'Unknown author' });
  t.match(all.people.get('UGONE'), { kind: 'placeholder', name: 'UGONE' });
  t.equal(all.messages[5]!.body, 'nice');
  t.strictSame(
    all.messages[6]!.reactions.map(({ person }) => person),
    ['UGONE', 'U1'],
  );
  t.strictSame(
    all.skipped.map(({ of, reason, count }) => [of, reason, count]),
    [
      ['reactions', 'unnamed', 2],
      ['reactions', 'duplicate', 1],
    ],
  );
});

t.test('subtypes: what is a message, a sentence of Slack, or nothing', async (t) => {
  let at = 0;
  const next = (more: object) => {
    at += 1;
    return said(`1704100000.${String(at).padStart(6, '0')}`, more);
  };
  const all = await slack({
    'pier/2024-01-01.json': [
      next({ subtype: 'channel_join', text: '<@U1> has joined', files: [{ id: 'F1' }] }),
      next({ subtype: 'channel_topic', text: '<@U1> set the topic: tides' }),
      next({ subtype: 'me_message', text: 'waves' }),
      next({ subtype: 'tombstone', user: 'USLACKBOT', text: 'This message was deleted.' }),
      next({
        subtype: 'huddle_thread',
        text: '',
        room: { created_by: 'U1', participant_history: ['U1', 'U2'] },
      }),
      next({ subtype: 'message_changed', text: '', message: { text: 'x' } }),
      next({ subtype: 'from_the_future', text: 'hello' }),
      next({ subtype: 'from_the_future', text: '', blocks: [{ type: 'hologram' }] }),
      next({ type: 'channel_marked' }),
      next({
        text: '',
        attachments: [
          {
            pretext: 'Build',
            title: 'green',
            title_link: 'https://ci.example.org/1',
            fields: [{ title: 'Took', value: '3 s' }],
          },
        ],
      }),
      next({
        text: 'see <https://example.org>',
        attachments: [{ from_url: 'https://example.org', text: 'preview' }],
      }),
      next({ edited: { user: 'U1', ts: '1704100001.000000' }, text: 'edited' }),
      null,
      'text',
    ],
  });
  t.strictSame(bodies(all), [
    '@ada set the topic: tides',
    '_waves_',
    null,
    'A huddle of @ada, @grace.',
    'hello',
    'Build\n[green](https://ci.example.org/1)\n**Took**\n3 s',
    'see https://example.org',
    'edited',
  ]);
  t.strictSame(
    all.messages.map(({ system }) => system),
    [true, false, false, true, false, false, false, false],
  );
  t.equal(all.messages[2]!.deleted_at, all.messages[2]!.created_at);
  t.equal(all.messages[7]!.edited_at, '2024-01-01T09:06:41.000000Z');
  t.strictSame(
    all.skipped.map(({ of, reason }) => `${of} ${reason}`),
    [
      'files message_skipped',
      'messages system_message',
      'messages edit_log',
      'messages empty',
      'messages not_a_message',
      'messages invalid_time',
      'messages invalid_time',
    ],
  );
});

t.test('texts: mentions, links, entities, marks, emojis', async (t) => {
  const cases: [string, string][] = [
    ['hi <@U1> and <@U3|vera>', 'hi @ada and @vera'],
    ['<@UPARTED|edsger> <@UGONE>', '@edsger @UGONE'],
    ['<!here> <!channel> <!subteam^S1|@crew> <!date^1^{date}|14 Feb>', '@here @channel @crew 14 Feb'],
    ['in <#C1|renamed> or <#C9|lost> or <#C8>', 'in #pier or #lost or #C8'],
    [
      '<https://a.example/?x=1&amp;y=2|the page> <https://b.example> <mailto:a@b.example|a@b.example>',
      '[the page](https://a.example/?x=1&y=2) https://b.example a@b.example',
    ],
    ['1 &lt; 2 &amp;&amp; 3 &gt; 2 &amp;lt;', '1 < 2 && 3 > 2 &lt;'],
    ['*bold* _it_ ~gone~ 2*3*4 a~b~c *not\nbold*', '**bold** _it_ ~~gone~~ 2*3*4 a~b~c *not\nbold*'],
    [
      '`*code* <https://x.example|x> :wave:` ```\n<@U1> &lt;b&gt;\n```',
      '`*code* x :wave:` ```\n@U1 <b>\n```',
    ],
    [':wave: :thumbsup::skin-tone-3: :flag-fr: :our_logo: 10:30:00', '👋 👍🏼 🇫🇷 :our_logo: 10:30:00'],
    ['&gt; quoted\n&gt;&gt;&gt; one\ntwo', '> quoted\n> one\n> two'],
    ['< not a token > <@U1', '< not a token > <@U1'],
  ];
  const all = await slack({
    'pier/2024-01-01.json': cases.map(([text], index) =>
      said(`1704100000.${String(index).padStart(6, '0')}`, { text }),
    ),
  });
  for (const [index, [text, body]] of cases.entries()) t.equal(all.messages[index]?.body, body, text);
  t.strictSame(all.messages[0]!.mentions, ['U1', 'U3']);
});

t.test('blocks say more than the text, unless one is of a kind that is not known', async (t) => {
  const section = (...elements: object[]) => ({ type: 'rich_text_section', elements });
  const rich = {
    type: 'rich_text',
    elements: [
      section(
        { type: 'text', text: 'Hello ' },
        { type: 'user', user_id: 'U1' },
        { type: 'text', text: ' bold ', style: { bold: true } },
        { type: 'link', url: 'https://a.example', text: 'here' },
        { type: 'emoji', name: '+1', skin_tone: 2 },
        { type: 'emoji', name: 'our_logo' },
        { type: 'text', text: 'x', style: { code: true } },
        { type: 'text', text: '\n' },
      ),
      {
        type: 'rich_text_list',
        style: 'ordered',
        elements: [section({ type: 'text', text: 'one' }), section({ type: 'text', text: 'two' })],
      },
      {
        type: 'rich_text_list',
        style: 'bullet',
        indent: 1,
        elements: [section({ type: 'channel', channel_id: 'C1' })],
      },
      { type: 'rich_text_quote', elements: [{ type: 'text', text: 'said\ntwice' }] },
      { type: 'rich_text_preformatted', elements: [{ type: 'text', text: 'a < b' }] },
    ],
  };
  let deep: object = { type: 'rich_text_section', elements: [] };
  for (let depth = 0; depth < 40; depth += 1) deep = { type: 'rich_text_section', elements: [deep] };
  const all = await slack({
    'pier/2024-01-01.json': [
      said('1704100000.000001', { text: 'old', blocks: [rich] }),
      said('1704100000.000002', { text: 'all of it', blocks: [rich, { type: 'hologram' }] }),
      said('1704100000.000003', {
        text: 'short',
        blocks: [
          { type: 'header', text: { type: 'plain_text', text: 'Title' } },
          { type: 'section', text: { type: 'mrkdwn', text: '*x* <@U2>' } },
        ],
      }),
      said('1704100000.000004', { text: 'deep', blocks: [{ type: 'rich_text', elements: [deep] }] }),
    ],
  });
  t.equal(
    all.messages[0]!.body,
    'Hello @ada **bold** [here](https://a.example)👍🏻:our_logo:`x`\n1. one\n2. two\n  - #pier\n> said\n> twice\n```\na < b\n```',
  );
  t.strictSame(all.messages[0]!.mentions, ['U1']);
  t.equal(all.messages[1]!.body, 'all of it');
  t.match(all.messages[2], { body: '**Title**\n\n**x** @grace', mentions: ['U2'] });
  t.equal(all.messages[3]!.body, 'deep');
});

t.test('files: by URL, from the archive, and those that cannot be had', async (t) => {
  const url = 'https://files.slack.com/files-pri/T1-F1/download/a.png?t=xoxe-1';
  const file = (id: string, more: object) => ({
    id,
    name: `${id}.png`,
    mimetype: 'image/png',
    size: 3,
    ...more,
  });
  const all = await slack({
    '__uploads/F2/b.png': Buffer.from('png'),
    'pier/2024-01-01.json': [
      said('1704100000.000001', {
        files: [
          file('F1', { url_private_download: url, name: '../a/b\\c\n.png' }),
          file('F2', { url_private: 'https://x.example/b', mode: 'tombstone' }),
          file('F3', { mode: 'tombstone' }),
          file('F4', { mode: 'hidden_by_limit' }),
          file('F5', { is_external: true, url_private: 'https://drive.example/x', title: 'Sheet' }),
          file('F6', {}),
          file('F7', { url_private: 'javascript:alert(1)' }),
          file('F1', { url_private: url }),
          null,
          { url_private: 'file:///etc/passwd' },
        ],
      }),
      said('1704100000.000002', { text: '', file: file('F8', { url_private: 'https://x.example/8' }) }),
    ],
  });
  t.strictSame(all.messages[0]!.files, [
    { id: 'F1', name: '.._a_b_c .png', content_type: 'image/png', size: 3, source: { url } },
    { id: 'F2', name: 'F2.png', content_type: 'image/png', size: 3, source: { entry: '__uploads/F2/b.png' } },
  ]);
  t.match(all.messages[0]!.body, /\[F5\.png\]\(https:\/\/drive\.example\/x\)$/);
  t.match(all.messages[1], { body: null, files: [{ id: 'F8' }] });
  t.strictSame(
    all.skipped.map(({ reason }) => reason),
    ['deleted', 'hidden_by_limit', 'external', 'no_url', 'no_url', 'duplicate', 'no_url'],
  );
});

t.test('reactions: one form of each emoji, twenty kinds at most', async (t) => {
  const usual = ['+1', 'thumbsup', 'heart', 'our_logo', 'flag-de', '+1::skin-tone-2'];
  const names = [...usual, 'robot_face', 'email', 'male-cook', 'woman-running', 'man-boy', 'flag-wales'];
  const many = [
    'one',
    'two',
    'three',
    'four',
    'five',
    'six',
    'seven',
    'eight',
    'nine',
    'zero',
    'a',
    'b',
    'ab',
    'o2',
    'cl',
    'sos',
    'id',
    'vs',
    'cool',
    'free',
    'new',
    'ng',
  ];
  const all = await slack({
    'pier/2024-01-01.json': [
      said('1704100000.000001', { reactions: names.map((name) => ({ name, users: ['U1'], count: 1 })) }),
      said('1704100000.000002', { reactions: many.map((name) => ({ name, users: ['U1'] })) }),
    ],
  });
  t.strictSame(
    all.messages[0]!.reactions.map(({ emoji }) => emoji),
    ['👍', '❤️', '🇩🇪', '👍🏻', '🤖', '✉️', '👨‍🍳', '🏃‍♀️', '👨‍👦', '🏴󠁧󠁢󠁷󠁬󠁳󠁿'],
  );
  t.equal(all.messages[1]!.reactions.length, 20);
  t.strictSame(
    all.skipped.map(({ reason }) => reason),
    ['custom_emoji', 'duplicate', 'many_emojis', 'many_emojis'],
  );
});

t.test('pins: from the channel and from the message', async (t) => {
  const pins = [
    { id: '1704100000.000001', type: 'C', user: 'U2', created: 1_704_100_005 },
    { id: '1704199999.000001', type: 'C', user: 'U2' },
    { id: 'F1', type: 'F' },
  ];
  const all = await slack(
    {
      'pier/2024-01-01.json': [
        said('1704100000.000001', { pinned_to: ['C1'] }),
        said('1704100000.000002', {
          pinned_to: ['C1'],
          pinned_info: { channel: 'C1', pinned_by: 'U3', pinned_ts: 1_704_100_006 },
        }),
      ],
    },
    [{ ...CHANNEL, pins }],
  );
  t.strictSame(
    all.messages.map(({ pin }) => pin),
    [
      { by: 'U2', at: '2024-01-01T09:06:45.000000Z' },
      { by: 'U3', at: '2024-01-01T09:06:46.000000Z' },
    ],
  );
  t.strictSame(
    all.skipped.map(({ reason }) => reason),
    ['not_a_message', 'missing_message'],
  );
});

t.test('what stands twice is given once, and what differs is not lost', async (t) => {
  const twice = said('1704100000.000001', { reactions: [{ name: 'wave', users: ['U1'] }] });
  const all = await slack({
    'pier/2024-01-01.json': [twice, twice, said('1704100000.000001', { text: 'another' })],
    'pier/2024-01-02.json': [twice],
  });
  t.strictSame(bodies(all), ['at 1704100000.000001', 'another']);
  t.match(ids(all)[1], /^slack:C1:1704100000\.000001:[\da-f]{12}$/);
  t.equal(all.skipped.filter(({ of }) => of === 'messages').length, 2);
});

t.test('what is too long becomes several messages', async (t) => {
  const text = `${'word '.repeat(8_000)}🎉${'x'.repeat(45_000)}`;
  const files = Array.from({ length: 25 }, (_, index) => ({
    id: `F${index}`,
    name: 'a',
    url_private: 'https://x.example',
  }));
  const all = await slack({
    'pier/2024-01-01.json': [
      said('1704100000.000001', { text }),
      said('1704100000.000002', { text: 'files', files, thread_ts: '1704100000.000001' }),
      said('1704100000.000003', {
        text: Array.from({ length: 60 }, (_, index) => `<@UX${index}>`).join(' '),
      }),
    ],
  });
  const parts = all.messages.filter((it) => it.client_message_id.includes('000001'));
  t.equal(parts.map(({ body }) => body).join(''), text);
  t.ok(parts.every(({ body }) => body!.length <= 40_000 && body!.isWellFormed()));
  t.strictSame(
    parts.map(({ counted }) => counted),
    [true, false, false],
  );
  const [first, second] = all.messages.filter(({ files }) => files.length > 0);
  t.strictSame([first!.files.length, second!.files.length, second!.body], [20, 5, null]);
  t.equal(second!.reply_to, 'slack:C1:1704100000.000001');
  t.equal(all.messages.at(-1)!.mentions.length, 50);
});

t.test('a file that cannot be read costs what is in it, and is named', async (t) => {
  const all = await slack({
    'pier/2024-01-01.json': '[{"type":"message"',
    'pier/2024-01-02.json': { no: 'list' },
    'pier/2024-01-03.json': `${'['.repeat(200)}${']'.repeat(200)}`,
    'pier/2024-01-04.json': Buffer.from(`\ufeff${JSON.stringify([said('1704300000.000001')])}`),
    'pier/2024-01-05.json': '',
    'integration_logs.json': [],
    '__MACOSX/pier/._2024-01-01.json': 'clutter',
  });
  t.equal(all.messages.length, 1);
  t.strictSame(
    all.skipped.map(({ of, where }) => [of, where]),
    [1, 2, 3, 5].map((day) => ['documents', `pier/2024-01-0${day}.json`]),
  );
  t.match(all.skipped[0]!.detail, /^It is no valid JSON: /);
  t.match(all.skipped[2]!.detail, /nested more than 100 levels/);
});

t.test('characters that Postgres does not take', async (t) => {
  const all = await slack(
    {
      'pier/2024-01-01.json': [
        said('1704100000.000001', { text: 'a\0b\ud800' }),
        said('1704100000.000002', { text: '\0' }),
        said('1704100000.000003', { user: 'U\0', bot_id: 'B\n', username: 'x\0\ud800y' }),
        said('1704100000.000004', { reactions: [{ name: 'x\0', users: ['U1', 'U\0'] }], thread_ts: '\0' }),
      ],
    },
    [CHANNEL, { id: 'C\0', name: 'x' }, { id: 'C2', purpose: { value: 'a\0' } }],
    [...USERS, { id: 'U8', name: 'a\0', profile: { real_name: '\ud800', email: 'a\0@x.example' } }],
  );
  t.strictSame(bodies(all).slice(0, 2), ['a\ufffdb\ufffd', '\ufffd']);
  const written = JSON.stringify(all.records);
  t.notMatch(written, /\\u0000|\\ud800/);
});

t.test('an export in a folder, and one of an organization', async (t) => {
  const inFolder = await zipOf(scratch, {
    'my export/users.json': USERS,
    'my export/channels.json': [CHANNEL],
    'my export/pier/2024-01-01.json': [said('1704100000.000001')],
  });
  t.equal((await given('slack', inFolder, { scratch })).messages.length, 1);
  const grid = await zipOf(scratch, {
    'org_users.json': USERS,
    'channels.json': [],
    'teams/one/channels.json': [CHANNEL],
    'teams/one/pier/2024-01-01.json': [said('1704100000.000001')],
    'teams/two/channels.json': [{ ...CHANNEL, id: 'C2' }],
    'teams/two/pier/2024-01-01.json': [said('1704100000.000001')],
  });
  const { messages, conversations } = await given('slack', grid, { scratch });
  t.strictSame([...conversations.keys()].sort(), ['C1', 'C2']);
  t.equal(messages.length, 2);
});

t.test('folders of the same name that no list names, in several workspaces', async (t) => {
  const workspaces = ['w0', 'w1', 'w2', 'w3'];
  const grid = await zipOf(scratch, {
    'org_users.json': USERS,
    ...Object.fromEntries(
      workspaces.flatMap((workspace, index) => [
        [`${workspace}/channels.json`, []],
        [`${workspace}/g/2024-01-01.json`, [said(`170410000${index}.000001`)]],
      ]),
    ),
  });
  const { messages, conversations } = await given('slack', grid, { scratch });
  t.strictSame(
    [...conversations.keys()],
    ['g', 'g (unlisted)', 'w2/g (unlisted)', 'w3/g (unlisted)'],
    'each is a conversation of its own',
  );
  t.equal(new Set(messages.map(({ conversation }) => conversation)).size, 4);
});

t.test('walks leave nothing behind for the next one', async (t) => {
  const contents = { 'pier/2024-01-01.json': [said('1704100000.000001', { user: 'UPARTED' })] };
  const [first, second] = [await slack(contents), await slack(contents)];
  t.equal(hashOf(second.records), hashOf(first.records));
});

t.test('what is no export of Slack is refused at once', async (t) => {
  const refused = async (path: string, reason: string, message: RegExp) =>
    t.match(
      await given('slack', path, { scratch }).then(
        () => undefined,
        (error: unknown) => error,
      ),
      { reason, message },
    );
  await refused(
    await zipOf(scratch, { 'photo.png': 'x', 'a/b.json': [] }),
    'wrong_format',
    /no export of Slack/,
  );
  await refused(await zipOf(scratch, { 'general.txt': 'x' }), 'unsupported', /TXT/);
  await refused(await tarOf(scratch, { 'users.json': [] }), 'not_an_archive', /zip file that Slack exports/);
});
