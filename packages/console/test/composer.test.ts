/** What the composer decides without a browser. */

import './english.ts';
import { askedAt, meant } from '@parley/client/writing/mention-words.ts';
import { pastedFiles } from '@parley/client/writing/pasted.ts';
import { fieldTime } from '@parley/ui/text/field-time.ts';
import t from 'tap';
import { keyPress } from '../../../test/support/key-press.ts';
import { KeptWriting, NOTHING_WRITTEN, type WritingStorage } from '../session/kept-writing.ts';
import { formatOf, formatted } from '../writing/formatting.ts';
import { emojiAskedAt, mentionsIn } from '../writing/mentions.ts';
import { messageOf } from '../writing/outgoing.ts';
import { momentOf, sendTimes } from '../writing/send-times.ts';
import { refusalOf, type Standing } from '../writing/writable.ts';

const ADA = { id: 'act_a', name: 'Ada Lovelace', type: 'user' } as const;

t.test('an emoji is asked for after a colon that begins a word, and two letters', (t) => {
  t.strictSame(emojiAskedAt('hi :ta', 6), { from: 3, words: 'ta' });
  t.strictSame(emojiAskedAt(':tada:', 6), { from: 0, words: 'tada:' });
  t.strictSame(emojiAskedAt('(:+1', 4), { from: 1, words: '+1' });
  for (const text of [':t', 'at 10:30', 'https://x', ': no', 'a:tada']) {
    t.equal(emojiAskedAt(text, text.length), null, text);
  }
  t.end();
});

t.test('a name is asked for after an @ that begins a word', async (t) => {
  t.strictSame(askedAt('hi @ad', 6), { from: 3, words: 'ad' });
  t.strictSame(askedAt('@Ada Lo', 7), { from: 0, words: 'Ada Lo' });
  t.strictSame(askedAt('(@', 2), { from: 1, words: '' });
  t.equal(askedAt('ada@example.com', 15), null);
  t.equal(askedAt('@Ada Lovelace was here', 22), null);
  const candidates = [{ ...ADA, detail: 'ada@example.com', avatarUrl: null, isMember: true }];
  for (const words of ['', 'lov', 'ADA L', 'ada@']) t.equal(meant(words, candidates).length, 1, words);
  t.equal(meant('ove', candidates).length, 0);
  const lukasz = { ...ADA, name: 'Łukasz Wiśniewski', detail: 'Agent', avatarUrl: null, isMember: true };
  for (const words of ['luk', 'ŁUKASZ WIS', 'Wiś'.normalize('NFD')])
    t.equal(meant(words, [lukasz]).length, 1);
  t.strictSame(mentionsIn('@Ada Lovelace, @Ada Lovelace', [ADA, ADA]), [ADA]);
  for (const text of ['Ada Lovelace', '> @Ada Lovelace', '`@Ada Lovelace`', '\\@Ada Lovelace']) {
    t.strictSame(mentionsIn(text, [ADA]), [], text);
  }
});

t.test('what is sent says for whom it is, and has what only its kind may have', async (t) => {
  const writing = {
    text: ' hi @Ada Lovelace ',
    mentions: [ADA],
    audience: 'customer',
    cc: 'a@x.example',
  } as const;
  const base = { writing, audience: null, isMail: false, attachments: [], memberIds: new Set([ADA.id]) };
  t.strictSame(messageOf(base), { body: 'hi @Ada Lovelace', mentions: [ADA.id] });
  t.strictSame(messageOf({ ...base, memberIds: new Set() }), { body: 'hi @Ada Lovelace' });
  t.match(messageOf({ ...base, audience: 'internal' }), { audience: 'internal' });
  t.match(messageOf({ ...base, audience: 'customer', isMail: true }), {
    audience: 'customer',
    cc: ['a@x.example'],
  });
  const note = messageOf({ ...base, audience: 'internal', isMail: false });
  t.notOk(note !== null && 'cc' in note);
  const draft = messageOf({ ...base, audience: 'customer', isMail: true, isDraft: true });
  t.match(draft, { mode: 'draft', channel: 'email', cc: ['a@x.example'] });
  t.notOk(draft !== null && 'audience' in draft, 'a draft is always for the customer');
  t.equal(messageOf({ ...base, writing: { ...writing, text: ' \n' } }), null);
});

t.test('formats are written around what is selected, and taken back', async (t) => {
  const apply = (text: string, start: number, end: number, format: Parameters<typeof formatted>[1]) => {
    const { from, to, insert, ...selection } = formatted({ text, start, end }, format);
    return [text.slice(0, from) + insert + text.slice(to), selection.start, selection.end];
  };
  t.strictSame(apply('a word', 2, 6, 'bold'), ['a **word**', 4, 8]);
  t.strictSame(apply('a **word**', 4, 8, 'bold'), ['a word', 2, 6]);
  t.strictSame(apply('这重要的', 1, 3, 'italic'), ['这*重要*的', 2, 4]);
  t.strictSame(apply('这*重要*的', 2, 4, 'italic'), ['这重要的', 1, 3]);
  t.strictSame(apply('**a**', 2, 3, 'italic'), ['***a***', 3, 4]);
  t.strictSame(apply('***a***', 3, 4, 'italic'), ['**a**', 2, 3]);
  t.strictSame(apply('***a***', 3, 4, 'bold'), ['*a*', 1, 2]);
  t.strictSame(apply('word', 0, 4, 'link'), ['[word](https://)', 7, 15]);
  t.strictSame(apply('https://x.example', 0, 17, 'link'), ['[](https://x.example)', 1, 1]);
  t.strictSame(apply('x\na\nb', 2, 5, 'code'), ['x\n```\na\nb\n```', 6, 9]);
  t.strictSame(apply('a\nb', 1, 3, 'list')[0], '- a\n- b');
  t.strictSame(apply('- a\n- b', 0, 7, 'list')[0], 'a\nb');
  t.equal(formatOf(keyPress('b', 'KeyB', { ctrlKey: true })), 'bold');
  t.equal(formatOf(keyPress('b', 'KeyB', { ctrlKey: true, altKey: true })), undefined);
});

t.test('a format has the same keys on every keyboard', (t) => {
  for (const [key, code, format] of [
    ['и', 'KeyB', 'bold'],
    ['β', 'KeyB', 'bold'],
    ['ن', 'KeyI', 'italic'],
    ['لا', 'KeyB', 'bold'],
    // Where Latin letters are elsewhere, they are where they are.
    ['e', 'KeyD', 'code'],
    ['x', 'KeyB', undefined],
  ] as const)
    t.equal(formatOf(keyPress(key, code, { ctrlKey: true })), format, `${key} of ${code}`);
  for (const [key, code, format] of [
    ['И', 'KeyB', undefined],
    ['Ч', 'KeyX', 'strike'],
    ['Г', 'KeyU', 'link'],
    // American, German and French.
    ['*', 'Digit8', 'list'],
    ['(', 'Digit8', 'list'],
    ['8', 'Digit8', 'list'],
    ['(', 'Digit9', 'quote'],
    [')', 'Digit9', 'quote'],
    ['(', 'Digit5', undefined],
    ['9', 'Numpad9', 'quote'],
  ] as const)
    t.equal(formatOf(keyPress(key, code, { ctrlKey: true, shiftKey: true })), format, `${key} of ${code}`);
  t.end();
});

t.test('a paste with a text has no files', async (t) => {
  const file = new File(['x'], 'x.png');
  const data = (text: string) => ({ types: [], files: [file], getData: () => text });
  t.strictSame(pastedFiles(data('words')), []);
  t.strictSame(pastedFiles(data(' \n')), [file]);
  t.strictSame(pastedFiles(null), []);
});

t.test('the times that are offered have not passed', async (t) => {
  const labels = (text: string) => sendTimes(new Date(text)).map(({ label }) => label);
  t.strictSame(labels('2026-11-26T10:00'), [
    'In an hour',
    'This evening',
    'Tomorrow morning',
    'Monday morning',
  ]);
  t.strictSame(labels('2026-11-26T17:30'), ['In an hour', 'Tomorrow morning', 'Monday morning']);
  t.strictSame(labels('2026-11-29T10:00'), ['In an hour', 'This evening', 'Tomorrow morning'], 'a Sunday');
  const monday = sendTimes(new Date('2026-11-30T10:00')).at(-1)!.at;
  t.equal(fieldTime(monday), '2026-12-07T09:00');
  t.equal(momentOf('2026-11-26T10:00', new Date('2026-11-26T10:00')), null);
  t.equal(momentOf('', new Date()), null);
  t.equal(momentOf('2026-11-26T10:01', new Date('2026-11-26T10:00'))?.getMinutes(), 1);
});

t.test('a conversation that takes no messages says why', async (t) => {
  const conversation = { status: 'active', audience: 'internal', blocked: false, deleted_at: null } as const;
  const standing: Standing = { conversation, end: null, own: { role: 'member' }, can: () => true };
  const why = (change: Partial<Standing>) => refusalOf({ ...standing, ...change })?.sentence ?? '';
  t.equal(why({}), '');
  t.equal(why({ conversation: null }), '', 'it is not read yet');
  t.match(why({ conversation: { ...conversation, status: 'archived' } }), /archived/);
  t.match(why({ conversation: { ...conversation, blocked: true } }), /blocked/);
  t.match(why({ conversation: { ...conversation, deleted_at: '2026-11-26T10:00:00Z' } }), /deleted/);
  t.match(why({ own: { role: 'viewer' } }), /only read/);
  t.match(why({ can: () => false }), /role/);
  t.match(why({ end: 'revoked' }), /no longer/);
});

t.test('writing is kept by person and place, and survives what others store', async (t) => {
  const map = new Map<string, string>([['other', 'x']]);
  const storage: WritingStorage = {
    get length() {
      return map.size;
    },
    key: (index) => [...map.keys()][index] ?? null,
    getItem: (name) => map.get(name) ?? null,
    setItem: (name, value) => void map.set(name, value),
    removeItem: (name) => void map.delete(name),
  };
  const ada = new KeptWriting({ account: 'acc', actor: 'a' }, storage);
  const grace = new KeptWriting({ account: 'acc', actor: 'g' }, storage);
  const written = { ...NOTHING_WRITTEN, text: 'hi', audience: 'customer' } as const;
  ada.set('cnv_1', written);
  t.strictSame(ada.get('cnv_1'), written);
  t.strictSame(ada.get('cnv_2'), NOTHING_WRITTEN);
  t.strictSame(grace.get('cnv_1'), NOTHING_WRITTEN);
  grace.set('cnv_1', written);
  ada.clear();
  t.strictSame(ada.get('cnv_1'), NOTHING_WRITTEN);
  t.strictSame(grace.get('cnv_1'), written);
  grace.set('cnv_1', NOTHING_WRITTEN);
  t.strictSame([...map.keys()], ['other']);
  grace.choose('customer');
  const reply = { ...NOTHING_WRITTEN, audience: 'customer' };
  t.strictSame(grace.get('cnv_3'), reply, 'a case begins with the last choice');
  t.strictSame(grace.get('cnv_3 msg_1'), NOTHING_WRITTEN, 'a thread does not');
  t.strictSame(ada.get('cnv_3'), NOTHING_WRITTEN);
  grace.set('cnv_3', { ...NOTHING_WRITTEN, text: 'hi' });
  t.match(grace.get('cnv_3'), { audience: 'internal' }, 'a written text keeps its audience');
  grace.clear();
  t.strictSame([...map.keys()], ['other'], 'signing out forgets the choice');
  for (const text of ['{', '{"text":1}', '{"text":"x","mentions":[],"audience":"all"}']) {
    map.set('parley-writing acc a cnv_1', text);
    t.strictSame(ada.get('cnv_1'), NOTHING_WRITTEN, text);
  }
});
