/** The local echo is whole from the first moment, and what is shown changes only where it must. */

import type { SendMessageBody } from '@parley/protocol/resources/chat-message.ts';
import t from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import { until } from '../../../test/support/until.ts';
import { localMessage } from '../conversation/view/local-echo.ts';
import { PendingChanges } from '../conversation/view/pending-changes.ts';
import { Quotes } from '../conversation/view/quotes.ts';
import {
  emptyThread,
  withNewReplies,
  withoutReply,
  withReadThrough,
} from '../conversation/view/thread-counts.ts';
import { type SentMessage, Timeline, type TimelineHost } from '../conversation/view/timeline.ts';
import type { ChatMessage, Message, TimelineMessage } from '../index.ts';
import { byId, NAMES, OpenConversations } from './open-conversations.ts';

const app = await borrowTestApp(t);
const conversations = new OpenConversations(app);

t.test('files and quote, from the first moment until the event', async (t) => {
  const { mine, theirs } = await conversations.both(t, 'whole');
  const original = await mine.send('question');
  const attachment = await mine.upload(new File(['hi'], 'notes.txt', { type: 'text/plain' }));
  const link = { kind: 'link', url: 'https://example.com' } as const;
  const history: TimelineMessage[] = [];
  const note = () => {
    const shown = mine.messages.find(({ key }) => key === 'whole');
    if (shown !== undefined && history.at(-1) !== shown) history.push(shown);
  };
  mine.on('change', note);
  const sending = mine.send({
    body: 'See this',
    client_message_id: 'whole',
    reply_to_message_id: original.id,
    attachments: [attachment, link],
  });
  t.match(mine.messages.at(-1), {
    delivery: 'pending',
    attachments: [
      { id: null, kind: 'file', filename: 'notes.txt', content_type: 'text/plain', size_bytes: 2, url: null },
      { id: null, kind: 'link', filename: null, url: link.url },
    ],
    reply_to_id: original.id,
    reply_to: { id: original.id, body: 'question', sender: { name: NAMES.ada } },
  });
  const quote = mine.messages.at(-1)!.reply_to;
  const { id } = await sending;
  await until(() => byId(theirs, id), { what: 'the message, for the other' });
  note();
  t.ok(history.length >= 2);
  for (const shown of history) {
    t.equal(shown.attachments?.length, 2, 'never without its files');
    t.equal(shown.reply_to, quote, 'and the quote is one object all along');
  }
  t.match(byId(theirs, id), { reply_to: { body: 'question' }, attachments: [{ filename: 'notes.txt' }, {}] });

  await mine.edit(original.id, 'question?');
  await until(() => byId(theirs, id)?.reply_to?.body === 'question?', { what: 'the edit, in the quote' });
  t.equal(byId(mine, id)?.reply_to?.body, 'question?');
  await mine.delete(original.id);
  await until(() => byId(theirs, id)?.reply_to?.deleted_at, { what: 'the deletion, in the quote' });
  t.equal(byId(theirs, id)?.reply_to?.body, null);
});

t.test('a quote of a message that is not shown is read', async (t) => {
  const { mine, id: group } = await conversations.both(t, 'far');
  const original = await mine.send('long ago');
  for (let n = 0; n < 3; n++) await mine.send(`${n}`);
  const narrow = await conversations.open(t, group, { pageSize: 1, as: 'grace' });
  const far = { id: original.id, body: 'long ago', sender: { name: NAMES.ada } };
  const { id } = await mine.send({ body: 'as I said', reply_to_message_id: original.id });
  await until(() => byId(narrow, id)?.reply_to, { what: 'the quote of an event' });
  t.match(byId(narrow, id)?.reply_to, far);
  await mine.edit(original.id, 'edited');
  await until(() => byId(narrow, id)?.reply_to?.body === 'edited', { what: 'its edit' });

  const other = await conversations.open(t, group, { pageSize: 1, as: 'grace' });
  t.match(other.messages, [{ id, reply_to: { id: original.id, body: 'edited' } }], 'with the page');
  await until(() => byId(other, id)?.reply_to?.sender?.name === NAMES.ada, { what: 'its sender' });

  const echoing = await conversations.open(t, group, { pageSize: 1, as: 'grace' });
  await mine.send('between');
  await until(() => echoing.messages.length === 2, { what: 'the message' });
  const first = (await echoing.history({ around_sequence: 2, limit: 1 }).next()).value!.data[0]!;
  const sending = echoing.send({ body: 'and this', reply_to_message_id: first.id });
  t.match(echoing.messages.at(-1), { delivery: 'pending', reply_to_id: first.id });
  await sending;
  await until(() => echoing.messages.at(-1)?.reply_to, { what: 'the quote of the echo' });
  t.match(echoing.messages.at(-1), { reply_to: { body: first.body } });
  const gone = echoing.send({ body: 'to nothing', reply_to_message_id: 'msg_none' });
  await t.rejects(gone, { name: 'ParleyError', param: 'reply_to_message_id' });
  t.match(echoing.messages.at(-1), { delivery: 'failed', reply_to: null });
});

t.test('a picture has a preview on pages, which is dropped later', async (t) => {
  // What tells a page from Node.
  Object.defineProperty(globalThis, 'document', { value: {}, configurable: true });
  t.teardown(() => Reflect.deleteProperty(globalThis, 'document'));
  const { mine } = await conversations.both(t, 'previews');
  const attachment = await mine.upload(new File(['png'], 'a.png', { type: 'image/png' }));
  const sending = mine.send({ attachments: [attachment] });
  const [preview] = mine.messages.at(-1)!.attachments!;
  t.match(preview?.url, /^blob:/);
  t.equal(await (await fetch(preview!.url!)).text(), 'png');
  await sending;
  t.match(mine.messages.at(-1)?.attachments, [{ url: /^http/, filename: 'a.png' }]);
  await t.rejects(fetch(preview!.url!), 'its memory is free');
});

t.test('an own event takes the echo with the same text, files and quote', (t) => {
  const timeline = timelineOf({ actor: () => ({ id: 'act_me' }) as never });
  echo(timeline, 'plain', { body: 'x' });
  echo(timeline, 'reply', { body: 'x', reply_to_message_id: 'msg_1' });
  echo(timeline, 'file', { body: 'x', attachments: [{ kind: 'link', url: 'https://example.com' }] });
  echo(timeline, 'waiting', { body: 'x', scheduled_at: '2027-01-01T00:00:00Z' });
  t.equal(timeline.messages.length, 3, 'what waits for its time is not in the timeline');
  timeline.receive(sent(2, { body: 'x', reply_to_id: 'msg_1' }));
  timeline.receive(sent(3, { body: 'x', attachments: [{ id: 'att_1' }] as never }));
  timeline.receive(sent(4, { body: 'x' }));
  t.strictSame(
    timeline.messages.map(({ key }) => key),
    ['reply', 'file', 'plain'],
  );
  timeline.receive(sent(5, { body: 'x' }));
  t.equal(timeline.messages.at(-1)?.key, 'msg_5');
  timeline.fail('waiting', new Error('too late'));
  t.match(timeline.messages.at(-1), { key: 'waiting', delivery: 'failed' });
  t.end();
});

t.test('a message is the same object until it changes', (t) => {
  let changes = 0;
  const timeline = timelineOf({ changed: () => void changes++ });
  const attachments = [{ id: 'att_1', url: 'https://example.com/1' }];
  timeline.receive(sent(1, { attachments: [...attachments] as never, reactions: [] }));
  timeline.receive(sent(2));
  const [first, second] = timeline.messages;
  const { messages } = timeline;
  changes = 0;
  timeline.receive(sent(1, { attachments: attachments.map((one) => ({ ...one })) as never }));
  timeline.update(sent(2, { sender: null, attachments: null }));
  timeline.react('msg_1', []);
  timeline.keepOnly(new Set(['msg_1', 'msg_2']), 9);
  timeline.drop(0);
  t.equal(timeline.messages, messages, 'the same array');
  t.equal(changes, 0);
  timeline.update(sent(1, { body: 'edited', updated_at: '2027', attachments: null }));
  t.equal(timeline.messages[1], second);
  t.not(timeline.messages[0], first);
  t.equal(timeline.messages[0]?.attachments, first?.attachments, 'nor do its parts change');
  timeline.update(sent(1, { body: 'older', updated_at: '2020' }));
  t.equal(timeline.messages[0]?.body, 'edited');
  t.equal(changes, 1);
  t.end();
});

t.test('a resource that was attached, in either order of the answer, which lacks it, and the event', (t) => {
  const named = { id: 'ent_1', object: 'entity', type: 'entity', name: 'SO-1', handle: null };
  const told = (resource: object | null, fields: Partial<Message> = {}) =>
    sent(1, { attachments: [{ id: 'att_1', kind: 'resource', resource }] as never, ...fields });
  for (const [first, second] of [
    [told(null, { client_message_id: 'own' }), told(named)],
    [told(named), told(null, { client_message_id: 'own' })],
  ] as const) {
    const timeline = timelineOf({});
    timeline.receive(first);
    timeline.receive(second);
    t.match(timeline.messages, [{ attachments: [{ resource: named }] }]);
  }
  t.end();
});

t.test('changes that the server has not answered', (t) => {
  const pending = new PendingChanges<SentMessage>(() => timeline.touch());
  const timeline = timelineOf({ pending });
  timeline.receive(sent(1));
  timeline.receive(sent(2));
  const [, second] = timeline.messages;
  const first = pending.add('msg_1', (message) => ({ ...message, body: `${message.body}, once` }));
  const again = pending.add('msg_1', (message) => ({ ...message, body: `${message.body}, twice` }));
  t.equal(timeline.messages[0]?.body, 'text 1, once, twice');
  t.equal(timeline.messages[0], timeline.messages[0]);
  t.equal(timeline.messages[1], second);
  const shown = timeline.messages[0];
  timeline.receive(sent(3));
  t.equal(timeline.messages[0], shown, 'the same object for the same changes');
  timeline.update(sent(1, { body: 'edited', updated_at: '2027' }));
  t.equal(timeline.messages[0]?.body, 'edited, once, twice', 'on top of what others do');
  first();
  t.equal(timeline.messages[0]?.body, 'edited, twice');
  again();
  t.equal(timeline.messages[0]?.body, 'edited');
  t.end();
});

t.test('what is quoted', async (t) => {
  const reads: string[] = [];
  let answer: (message: Message) => void = () => {};
  const changed: Message[] = [];
  const timeline = timelineOf({});
  timeline.receive(sent(1));
  timeline.quote = (quote) => void changed.push(quote);
  const fetch = (path: string) => {
    reads.push(path);
    return new Promise<Message>((resolve) => {
      answer = resolve;
    });
  };
  const host = { fetch, people: { get: () => undefined } };
  const quotes = new Quotes({
    host,
    timeline,
    each: (run: (one: Timeline) => void) => run(timeline),
  } as never);
  const shown = quotes.of('msg_1');
  t.match(shown, { id: 'msg_1', body: 'text 1', reply_to: null });
  t.notOk(Object.hasOwn(shown!, 'key'));
  t.equal(quotes.of('msg_1'), shown);
  quotes.note(sent(1));
  quotes.note(sent(1, { updated_at: '2020', body: 'older' }));
  quotes.note(sent(7));
  t.strictSame(changed, []);
  t.equal(quotes.of('msg_2'), null);
  t.equal(quotes.of('msg_2'), null);
  t.match(reads, [/msg_2/]);
  t.equal(reads.length, 1, 'asked for once');
  answer(sent(2));
  await until(() => changed.length === 1, { what: 'the answer' });
  t.equal(quotes.of('msg_2'), changed[0]);
  quotes.note(sent(2, { updated_at: '2027', body: 'edited' }));
  t.match(quotes.of('msg_2'), { body: 'edited' });
  t.equal(changed.length, 2);
});

t.test('the counts of a thread', (t) => {
  const of = (...messages: Message[]) => messages as SentMessage[];
  const [mine, theirs, third] = of(
    sent(2, { author_id: 'act_me' }),
    sent(3, { author_id: 'act_other' }),
    sent(4, { author_id: 'act_other' }),
  ) as [SentMessage, SentMessage, SentMessage];
  const two = withNewReplies(emptyThread('msg_1'), [mine, theirs], 'act_me');
  t.match(two, { reply_count: 2, unread: 1, last_reply: { id: 'msg_3', sequence: 3 } });
  t.equal(withNewReplies(two, [mine, theirs], 'act_me'), two, 'each is counted once');
  const three = withNewReplies(two, [mine, theirs, third], 'act_me');
  t.match(three, { reply_count: 3, unread: 2 });
  const gone = { ...third, deleted_at: '2026' };
  t.match(withoutReply(three, third, [mine, theirs, gone], 'act_me'), {
    reply_count: 2,
    unread: 1,
    last_reply: { id: 'msg_3' },
  });
  const read = withReadThrough(three, [mine, theirs, third], 3, 'act_me');
  t.match(read, { reply_count: 3, unread: 1 });
  t.equal(withReadThrough(read, [mine, theirs, third], 2, 'act_me'), read, 'reading never adds');
  t.equal(withReadThrough(three, [third], 3, 'act_me'), three, 'older ones may be unread too');
  t.match(withReadThrough(three, [third], 4, 'act_me'), { unread: 0 });
  t.match(withoutReply(read, theirs, [mine, { ...theirs, deleted_at: '2026' }, third], 'act_me'), {
    reply_count: 2,
    unread: 1,
    last_reply: { id: 'msg_4' },
  });
  t.end();
});

function timelineOf(host: Partial<TimelineHost>): Timeline {
  const timeline: Timeline = new Timeline({
    actor: () => undefined,
    readThrough: () => 0,
    changed: () => {},
    quoteOf: (_: string, given: ChatMessage | null) => given,
    pending: new PendingChanges<SentMessage>(() => timeline.touch()),
    ...host,
  });
  return timeline;
}

function echo(timeline: Timeline, key: string, request: SendMessageBody): void {
  const parts = { sender: undefined, reply_to: null, created_at: '2026', previewOf: () => null };
  timeline.echo(localMessage(key, request, parts));
}

function sent(sequence: number, fields: Partial<Message> = {}): Message {
  return {
    id: `msg_${sequence}`,
    sequence,
    body: `text ${sequence}`,
    status: 'sent',
    sender: { id: 'act_me', type: 'user' },
    author_id: 'act_me',
    sender_id: 'act_me',
    attachments: [],
    client_message_id: null,
    reply_to: null,
    reply_to_id: null,
    reactions: null,
    thread: null,
    deleted_at: null,
    created_at: '2026',
    updated_at: '2026',
    sent_at: '2026',
    ...fields,
  } as unknown as Message;
}
