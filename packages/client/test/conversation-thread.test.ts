/** The replies to a message: followed live, sent, counted, read. */

import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import t from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import { until } from '../../../test/support/until.ts';
import { PendingChanges } from '../conversation/view/pending-changes.ts';
import { type SentMessage, Timeline } from '../conversation/view/timeline.ts';
import type { LiveConversation, LiveThread, TimelineMessage } from '../index.ts';
import { openNetwork } from './network.ts';
import { allOf, bodiesOf, byId, NAMES, OpenConversations } from './open-conversations.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace } = demo.users;
const conversations = new OpenConversations(app);

t.test('the newest replies, older ones by pages, and what changes', async (t) => {
  const { mine, theirs } = await conversations.both(t, 'pages');
  const { id } = await mine.send('question');
  await mine.send('something else');
  for (let n = 1; n <= 5; n++) await reply(mine, id, `${n}`);
  // Seen from a page that shows neither the question nor most of the replies.
  const narrow = await conversations.open(t, mine.id, { pageSize: 1 });
  const thread = narrow.thread(id, { pageSize: 2 });
  t.equal(thread.snapshot.status, 'loading');
  await thread.opened;
  t.match(thread.snapshot, { status: 'ready', hasOlder: true, end: null });
  t.match(thread.snapshot.root, {
    id,
    body: 'question',
    sender: { name: NAMES.ada },
    thread: { reply_count: 5 },
  });
  t.strictSame(repliesOf(thread), ['4', '5']);
  t.equal(await thread.loadOlder(), true);
  t.strictSame(await Promise.all([thread.loadOlder(), thread.loadOlder()]), [false, false]);
  t.strictSame(repliesOf(thread), ['1', '2', '3', '4', '5']);
  t.strictSame(bodiesOf(narrow), ['5'], 'the timeline has what it had');

  const { snapshot } = thread;
  t.equal(thread.snapshot, snapshot, 'the same until something changes');
  const changes: string[] = [];
  thread.on('change', ({ what }) => changes.push(what));
  await reply(theirs, id, '6');
  await until(() => repliesOf(thread).includes('6'), { what: 'a reply of the other' });
  t.ok(changes.includes('messages'));
  t.equal(thread.snapshot.messages[0], snapshot.messages[0], 'the others are the same objects');
  t.match(thread.snapshot.root?.thread, { reply_count: 6, unread: 1, last_reply: { author_id: grace.id } });
  await theirs.send('not a reply');
  await mine.edit(id, 'question?');
  await until(() => thread.snapshot.root?.body === 'question?', { what: 'the edit of the root' });
  await theirs.react(id, '👍');
  await until(() => thread.snapshot.root?.reactions?.length === 1, { what: 'the reaction' });
  t.equal(repliesOf(thread).length, 6);

  const last = thread.snapshot.messages.at(-1)!;
  await theirs.delete(last.id!);
  await until(() => repliesOf(thread).length === 5, { what: 'a deleted reply is gone' });
  t.match(thread.snapshot.root?.thread, { reply_count: 5, unread: 0, last_reply: { author_id: ada.id } });
  thread.close();
  await reply(mine, id, '7');
  await until(() => bodiesOf(narrow).includes('7'), { what: 'the reply, in the timeline' });
  t.equal(repliesOf(thread).length, 5, 'a closed thread stays as it was');
});

t.test('a reply is shown at once in the thread and in the timeline', async (t) => {
  const { mine, theirs, id: group } = await conversations.both(t, 'echoes');
  const { id } = await mine.send('question');
  await until(() => byId(theirs, id), { what: 'the question' });
  const thread = theirs.thread(id);
  await thread.opened;
  const sending = thread.send('answer');
  const echo = { delivery: 'pending', body: 'answer', reply_to_id: id, reply_to: { body: 'question' } };
  t.match(thread.snapshot.messages, [echo]);
  t.match(theirs.messages.at(-1), echo);
  const { key } = thread.snapshot.messages[0]!;
  const { id: answerId } = await sending;
  const sent = { delivery: 'sent', key, id: answerId, reply_to: { id, body: 'question' } };
  t.match(thread.snapshot.messages, [sent]);
  t.match(theirs.messages.at(-1), sent);
  await until(() => byId(mine, answerId), { what: 'the reply, for the other' });
  t.match(byId(mine, answerId), { reply_to: { id, body: 'question', sender: { id: ada.id } } });
  t.match(byId(mine, id)?.thread, { reply_count: 1, unread: 1 });

  const archive = (status: string) =>
    app.call('PATCH', `/v1/messaging/conversations/${group}`, { body: { status } });
  await archive('archived');
  await t.rejects(thread.send('too late'), { name: 'ParleyError', code: 'resource_conflict' });
  const failed = thread.snapshot.messages.at(-1)!;
  t.match(failed, { delivery: 'failed', body: 'too late' });
  t.match(theirs.messages.at(-1), { delivery: 'failed', key: failed.key }, 'it has failed in both');
  await archive('active');
  await thread.retry(failed.key);
  t.match(thread.snapshot.messages.at(-1), { delivery: 'sent', key: failed.key });
  await archive('archived');
  await t.rejects(thread.send('never'), { name: 'ParleyError' });
  thread.discard(thread.snapshot.messages.at(-1)!.key);
  t.strictSame(repliesOf(thread), ['answer', 'too late']);
});

t.test('what is unread', async (t) => {
  const { mine, theirs } = await conversations.both(t, 'unread');
  const { id } = await mine.send('question');
  const other = await mine.send('another question');
  for (const body of ['1', '2']) await reply(theirs, id, body);
  await reply(theirs, other.id, '3');
  const unread = (messageId: string) => byId(mine, messageId)?.thread?.unread;
  await until(() => unread(id) === 2 && unread(other.id) === 1, { what: 'the counts, live' });
  const late = await conversations.open(t, mine.id);
  t.match(
    [byId(late, id)?.thread, byId(late, other.id)?.thread],
    [
      { reply_count: 2, unread: 2 },
      { reply_count: 1, unread: 1 },
    ],
  );

  const thread = mine.thread(id);
  await thread.opened;
  await thread.markRead();
  t.match(thread.snapshot.root?.thread, { reply_count: 2, unread: 0 });
  t.equal(unread(id), 0, 'in the timeline too');
  t.equal(unread(other.id), 1, 'another thread is not read by that');
  await reply(theirs, id, '4');
  await until(() => unread(id) === 1, { what: 'a new one' });
  await mine.markRead();
  t.strictSame([unread(id), unread(other.id)], [0, 0], 'reading the conversation reads its threads');
  t.equal(thread.snapshot.root?.thread?.unread, 0);
  await until(() => byId(late, id)?.thread?.unread === 0, { what: 'the position, on another device' });
  await t.rejects(thread.markRead(1_000), { name: 'ParleyError', code: 'validation_failed' });
});

t.test('what is marked unread on another device is unread in its thread', async (t) => {
  const { mine, theirs, id } = await conversations.both(t, 'unread again');
  const { id: root } = await mine.send('question');
  const { sequence } = await reply(theirs, root, 'answer');
  const unread = () => byId(mine, root)?.thread?.unread;
  await until(() => mine.snapshot.conversation !== null && unread() === 1, { what: 'the count' });
  await mine.markRead();
  t.equal(unread(), 0);
  const elsewhere = conversations.client(t).conversations;
  await elsewhere.markUnread(id, sequence!);
  await until(() => unread() === 1, { what: 'an unread reply' });
  await elsewhere.markRead(id, sequence!);
  await until(() => unread() === 0, { what: 'a reply that was read' });
});

t.test('a reply that is counted before it arrives stays unread until it is read', async (t) => {
  let position = 5;
  const timeline = new Timeline({
    actor: () => ({ id: ada.id }) as never,
    changed() {},
    quoteOf: () => null,
    readThrough: () => position,
    pending: new PendingChanges<SentMessage>(() => {}),
  });
  const message = (sequence: number, fields: object) =>
    ({
      id: `msg_${sequence}`,
      sequence,
      body: '',
      author_id: grace.id,
      deleted_at: null,
      thread: null,
      created_at: '',
      updated_at: `2026-01-01T00:00:0${sequence}Z`,
      ...fields,
    }) as unknown as ChatMessage;
  const last_reply = { id: 'msg_8', sequence: 8, sender_id: grace.id, author_id: grace.id, at: '' };
  const counted = { object: 'thread', message_id: 'msg_1', reply_count: 3, last_reply, unread: 2 } as const;
  const first = message(2, { reply_to_id: 'msg_1' });
  const shown = () => byId(timeline, 'msg_1')?.thread;
  timeline.receive(message(1, { thread: counted }));
  timeline.receive(first);
  timeline.receive(message(7, { reply_to_id: 'msg_1' }));
  // The page was answered with the count of a reply that the socket brings later.
  timeline.positionMoved();
  t.match(shown(), { reply_count: 3, unread: 2 });
  timeline.receive({ ...first, deleted_at: '2026-01-01T00:00:09Z', updated_at: '2026-01-01T00:00:09Z' });
  t.match(shown(), { reply_count: 2, unread: 2 }, 'a reply that was read is deleted');
  position = 7;
  timeline.positionMoved();
  timeline.receive(message(8, { reply_to_id: 'msg_1' }));
  t.match(shown(), { reply_count: 2, unread: 1 }, 'what was read is known once all have arrived');
  timeline.receive(message(9, { reply_to_id: 'msg_1' }));
  // The answer to a request is older than the last reply.
  timeline.count({ ...counted, reply_count: 2, unread: 0 });
  t.match(shown(), { reply_count: 3, unread: 1, last_reply: { sequence: 9 } });
});

t.test('replies behind the end of a window stay unread', async (t) => {
  const { mine, theirs, id } = await conversations.both(t, 'window');
  const root = await mine.send('question');
  for (let n = 1; n <= 8; n++) await mine.send(`${n}`);
  const { sequence } = await reply(theirs, root.id, 'answer');
  const narrow = await conversations.open(t, id, { pageSize: 2 });
  const window = narrow.around(root.sequence!, { pageSize: 3 });
  await window.opened;
  const unread = () => byId(window.snapshot, root.id)?.thread?.unread;
  t.equal(unread(), 1);
  await narrow.markRead(sequence! - 1);
  t.equal(unread(), 1);
  await narrow.markRead();
  t.equal(unread(), 0);
});

t.test('to a reader who is no member nothing is unread, until it is added again', async (t) => {
  const { mine, theirs, id } = await conversations.both(t, 'no member');
  const { id: root } = await mine.send('question');
  const people = await allOf(mine.members());
  for (const { id: memberId, actor_id } of people) {
    if (actor_id === grace.id) await mine.updateMember(memberId, { role: 'owner' });
  }
  await mine.leave();
  await reply(theirs, root, '1');
  // An admin reads on.
  const outside = await conversations.open(t, id);
  const unread = () => byId(outside, root)?.thread?.unread;
  await until(() => outside.snapshot.conversation !== null, { what: 'the conversation' });
  await reply(theirs, root, '2');
  await until(() => byId(outside, root)?.thread?.reply_count === 2, { what: 'the second reply' });
  t.equal(unread(), 0);
  t.equal(outside.snapshot.conversation?.unread, 0);
  await theirs.addMember({ type: 'user', actor_id: ada.id });
  await until(() => unread() === 2, { what: 'the replies that are unread to a member' });
  const fresh = await conversations.open(t, id);
  t.strictSame(byId(outside, root)?.thread, byId(fresh, root)?.thread);
});

t.test('a thread that cannot be read, or no longer', async (t) => {
  const { mine, theirs } = await conversations.both(t, 'ends');
  const none = mine.thread('msg_none');
  const ends: unknown[] = [];
  none.on('end', (why) => ends.push(why));
  await t.rejects(none.opened, { name: 'ParleyError', code: 'resource_not_found' });
  t.match(none.snapshot, { status: 'ended', root: null, messages: [], end: { code: 'resource_not_found' } });
  t.match(ends, [{ code: 'resource_not_found' }]);

  const { id } = await mine.send('question');
  await until(() => byId(theirs, id), { what: 'the question' });
  const thread = theirs.thread(id);
  await thread.opened;
  await reply(mine, id, 'answer');
  await until(() => repliesOf(thread).length === 1, { what: 'the answer' });
  await theirs.leave();
  await until(() => thread.snapshot.status === 'ended', { what: 'the end' });
  t.match(thread.snapshot, { root: null, messages: [], hasOlder: false, end: 'revoked' });
  const after = theirs.thread(id);
  await t.rejects(after.opened, { name: 'ParleyError' });
});

t.test('after a long absence the replies are read again', async (t) => {
  const network = await openNetwork(t, app.baseUrl);
  const mine = await conversations.open(t, await conversations.group('absence'));
  const { id } = await mine.send('question');
  for (let n = 1; n <= 3; n++) await reply(mine, id, `${n}`);
  const client = conversations.client(t, { as: 'grace', url: network.url });
  const theirs = client.conversation(mine.id);
  const thread = theirs.thread(id, { pageSize: 2 });
  await thread.opened;
  await thread.loadOlder();
  t.strictSame(repliesOf(thread), ['1', '2', '3']);
  network.target = 'http://127.0.0.1:1';
  network.cut();
  await until(() => client.state === 'offline', { what: 'offline' });
  const [, second, third] = mine.messages.slice(1);
  await mine.edit(third!.id!, 'three');
  await mine.delete(second!.id!);
  // More than a resume replays, so that the changes are not replayed either.
  await app.database.query(INSERT_MESSAGES, mine.id, 1_001, ada.id, demo.account_id);
  network.target = app.baseUrl;
  await until(() => repliesOf(thread).join() === '1,three', { what: 'the replies as they are' });
  t.match(thread.snapshot.root?.thread, { reply_count: 2 });
});

function reply(conversation: LiveConversation, reply_to_message_id: string, body: string) {
  return conversation.send({ body, reply_to_message_id });
}

function repliesOf({ snapshot }: LiveThread): TimelineMessage['body'][] {
  return snapshot.messages.map(({ body }) => body);
}

/** Messages without events, as after a long absence. */
const INSERT_MESSAGES = {
  name: 'insert-many-messages-behind-a-thread',
  text: `
    INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, body, sender_id, author_id, changed_in)
    SELECT 'msg_thread_absence_' || n, $4, $1, (SELECT max(sequence) FROM messages WHERE conversation_id = $1) + n,
           'chat', 'sent', 'internal', 'meanwhile', $3, $3, pg_current_xact_id()
    FROM generate_series(1, $2::int) AS n`,
};
