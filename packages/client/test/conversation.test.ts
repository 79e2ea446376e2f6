/**
 * A conversation as a page shows it, against the real gateway: its timeline, local echoes, activity
 * and uploads.
 */

import type { List } from '@parley/protocol/lists.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { Conversation } from '@parley/protocol/resources/conversation.ts';
import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { inAnyOrder } from '../../../test/support/any-order.ts';
import { borrowTestApp } from '../../../test/support/app.ts';
import { Random } from '../../../test/support/random.ts';
import { until } from '../../../test/support/until.ts';
import { localMessage } from '../conversation/view/local-echo.ts';
import { PendingChanges } from '../conversation/view/pending-changes.ts';
import { Timeline } from '../conversation/view/timeline.ts';
import {
  type Client,
  type ConnectOptions,
  connect,
  type LiveConversation,
  type SentMessage,
  type TimelineMessage,
} from '../index.ts';
import type { XhrLike } from '../rest/xhr.ts';
import { openNetwork } from './network.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const { ada, grace } = demo.users;

t.test('the newest messages, older ones by pages, and what changes', async (t) => {
  const id = await groupOf('pages');
  await sendMany(id, 45);
  const conversation = open(t).conversation(id, { pageSize: 20 });
  await conversation.opened;
  t.strictSame(sequencesOf(conversation), range(26, 45));
  t.equal(conversation.messages, conversation.messages, 'the same array until something changes');
  t.equal(await conversation.loadOlder(), true);
  // Two calls at once load two pages.
  t.strictSame(await Promise.all([conversation.loadOlder(), conversation.loadOlder()]), [false, false]);
  t.strictSame(sequencesOf(conversation), range(1, 45));
  t.equal(conversation.hasOlder, false);

  let changes = 0;
  conversation.on('change', () => {
    changes += 1;
  });
  const [old] = conversation.messages;
  await edit(old!.id);
  await until(() => conversation.messages[0]!.body === 'edited', { what: 'the edit' });
  await sendMany(id, 1);
  await until(() => conversation.messages.length === 46, { what: 'a new message' });
  t.ok(changes >= 2);
  conversation.close();
  conversation.close();

  const empty = open(t).conversation(await groupOf('empty'));
  await empty.opened;
  t.strictSame([empty.messages, empty.hasOlder], [[], false]);

  const none = open(t).conversation('cnv_nothing');
  const ends: unknown[] = [];
  none.on('end', (why) => ends.push(why));
  await t.rejects(none.opened, { message: 'There is no such conversation.' });
  t.match(ends, [{ code: 'resource_not_found' }]);
  await t.rejects(none.send('ahoy'), { name: 'ParleyError', status: 404 });
});

t.test('an edit while the first page is on its way is not lost', async (t) => {
  const id = await groupOf('race');
  await sendMany(id, 3);
  const client = open(t, {
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (!String(input).includes('before_sequence')) return response;
      // The page is read, then the message is edited, then the page arrives.
      const text = await response.text();
      const { data } = JSON.parse(text) as { readonly data: readonly ChatMessage[] };
      await edit(data[0]!.id);
      await until(() => updates.length > 0, { what: 'the event' });
      return new Response(text, { status: response.status });
    },
  });
  const updates: unknown[] = [];
  client.subscribe(id, { onMessage() {}, onUpdate: (message) => updates.push(message) });
  await until(() => client.state === 'live', { what: 'live' });
  const conversation = client.conversation(id);
  await conversation.opened;
  t.strictSame(
    conversation.messages.map(({ body }) => body),
    ['1', '2', 'edited'],
  );
});

t.test('a message is shown at once, and once, whatever the network does', async (t) => {
  const id = await groupOf('echo');
  const network = await openNetwork(t, app.baseUrl);
  const answers: ('lose' | 'hold')[] = [];
  let held: (() => void) | undefined;
  const client = open(t, {
    url: network.url,
    fetch: async (input, init) => {
      const answer = init?.method === 'POST' ? answers.shift() : undefined;
      const response = await fetch(input, init);
      if (answer === 'lose') throw new TypeError('the answer is lost');
      if (answer === 'hold') {
        await new Promise<void>((resolve) => {
          held = resolve;
        });
      }
      return response;
    },
  });
  const conversation = client.conversation(id);
  await conversation.opened;
  const history: string[] = [];
  conversation.on('change', () => {
    const { messages } = conversation;
    history.push(messages.map(({ delivery, body }) => `${delivery} ${body}`).join(', '));
    t.equal(new Set(messages.map(({ key }) => key)).size, messages.length, 'keys are unique');
  });

  // The event comes before the answer.
  answers.push('hold');
  const first = conversation.send({ body: 'one', client_message_id: 'first' });
  t.match(conversation.messages, [
    { delivery: 'pending', key: 'first', id: null, body: 'one', sender: { id: ada.id } },
  ]);
  await until(() => conversation.messages[0]?.delivery === 'sent', { what: 'the event' });
  t.equal(conversation.messages.length, 1);
  t.equal(conversation.messages[0]!.key, 'first', 'a list of elements by key keeps its element');
  await until(() => held !== undefined, { what: 'the answer' });
  held!();
  const { id: firstId } = await first;
  t.match(conversation.messages, [
    { delivery: 'sent', key: 'first', id: firstId, client_message_id: 'first' },
  ]);

  // The answer of a message that was written is lost, together with the connection.
  answers.push('lose');
  const second = conversation.send('two');
  const third = conversation.send('three');
  network.cut();
  await Promise.all([second, third]);

  // Nothing can leave for a while.
  network.target = 'http://127.0.0.1:1';
  network.cut();
  const fourth = conversation.send('four');
  const fifth = conversation.send('five');
  await until(() => client.state === 'offline', { what: 'offline' });
  t.strictSame(
    conversation.messages.map(({ delivery }) => delivery),
    ['sent', 'sent', 'sent', 'pending', 'pending'],
  );
  network.target = app.baseUrl;
  await Promise.all([fourth, fifth]);
  await until(() => client.state === 'live', { what: 'live' });
  t.strictSame(
    conversation.messages.map(({ body, delivery, sequence }) => `${sequence} ${delivery} ${body}`),
    ['1 sent one', '2 sent two', '3 sent three', '4 sent four', '5 sent five'],
    'in the order of the calls',
  );
  const stored = await app.call<{ data: ChatMessage[] }>('GET', `/v1/messaging/conversations/${id}/messages`);
  t.equal(stored.body.data.length, 5, 'none was sent twice');
  for (const seen of history) {
    const bodies = seen.split(', ').map((one) => one.split(' ')[1]);
    t.equal(new Set(bodies).size, bodies.length, seen);
  }
});

t.test('a refusal is shown with its error, and can be sent again or discarded', async (t) => {
  const id = await groupOf('refusals');
  const conversation = open(t).conversation(id);
  await conversation.opened;
  const archive = (status: string) =>
    app.call('PATCH', `/v1/messaging/conversations/${id}`, { body: { status } });
  await archive('archived');
  await t.rejects(conversation.send('ahoy'), { name: 'ParleyError', status: 409 });
  // Ignored by the caller.
  void conversation.send('aye');
  await until(() => conversation.messages.every(({ delivery }) => delivery === 'failed'), { what: 'both' });
  t.match(conversation.messages, [
    { body: 'ahoy', error: { error: { code: 'resource_conflict' } } },
    { body: 'aye' },
  ]);
  const [ahoy, aye] = conversation.messages.map(({ key }) => key) as [string, string];
  conversation.discard(aye);
  t.throws(() => conversation.discard(aye), { message: /There is no failed message/ });
  await archive('active');
  const again = conversation.retry(ahoy);
  t.match(conversation.messages, [{ key: ahoy, delivery: 'pending' }]);
  await again;
  t.match(conversation.messages, [{ key: ahoy, delivery: 'sent', sequence: 1 }]);
});

t.test('typing, presence and read positions', async (t) => {
  const id = await groupOf('activity');
  const mine = open(t).conversation(id);
  const client = open(t, { token: grace.access_token });
  const theirs = client.conversation(id);
  await Promise.all([mine.opened, theirs.opened]);
  await client.request('presence', { status: 'online' });
  await until(() => mine.presence.get(grace.id) === 'online', { what: 'presence' });
  theirs.typing();
  theirs.typing();
  await until(() => mine.typingActors.some(({ id: actorId }) => actorId === grace.id), { what: 'typing' });
  theirs.typing(false);
  await until(() => mine.typingActors.length === 0, { what: 'the end of typing' });
  await until(
    () => {
      // The server publishes one `start` a second at most.
      theirs.typing(false);
      theirs.typing();
      return mine.typingActors.length === 1;
    },
    { what: 'typing again' },
  );
  await theirs.send('ahoy');
  await until(() => mine.messages.length === 1, { what: 'the message' });
  t.strictSame(mine.typingActors, [], 'a message ends the typing of its author');
  t.strictSame(theirs.typingActors, [], 'one does not see oneself type');

  await mine.markRead();
  await until(() => theirs.reads.get(ada.id)?.sequence === 1, { what: 'the position' });
  const { body } = await app.call<Conversation>('GET', `/v1/messaging/conversations/${id}`, {
    token: ada.access_token,
  });
  t.equal(body.unread, 0);
  await mine.markRead();
  await mine.markRead(0);
});

t.test('after a long absence, what is shown is read again', async (t) => {
  const id = await groupOf('absence');
  await sendMany(id, 12);
  const network = await openNetwork(t, app.baseUrl);
  const client = open(t, { url: network.url });
  const conversation = client.conversation(id, { pageSize: 5 });
  await conversation.opened;
  await conversation.loadOlder();
  t.strictSame(sequencesOf(conversation), range(3, 12));
  network.target = 'http://127.0.0.1:1';
  network.cut();
  await until(() => client.state === 'offline', { what: 'offline' });
  // More than a resume replays, so that the change of a message is not replayed either.
  await edit(conversation.messages[0]!.id);
  await app.database.query(INSERT_MESSAGES, id, 1_001, ada.id, demo.account_id);
  network.target = app.baseUrl;
  await until(() => conversation.messages.at(-1)?.sequence === 1_013, { what: 'what was missed' });
  await until(() => conversation.messages[0]!.body === 'edited', { what: 'the edit' });
  t.strictSame(sequencesOf(conversation), range(3, 1_013));
});

t.test('a request is repeated, and a change happens once', async (t) => {
  let lost = 0;
  const client = open(t, {
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (init?.method === 'POST' && lost++ < 2) throw new TypeError('the answer is lost');
      return response;
    },
  });
  const title = 'repeated';
  const made = await client.conversations.create({ type: 'group', title, participants: [] });
  t.equal(made.title, title);
  t.equal(lost, 3);
  const found: string[] = [];
  for await (const page of client.conversations.list({ limit: 2, type: 'group', q: title })) {
    found.push(...page.data.map((conversation) => conversation.id));
  }
  t.strictSame(found, [made.id]);
  let pages = 0;
  for await (const { data } of client.conversations.list({ limit: 2, include: ['last_message'] })) {
    t.ok(data.length <= 2);
    pages += 1;
  }
  t.ok(pages > 1);
  await t.rejects(client.fetch('/v1/messaging/conversations/cnv_nothing'), {
    name: 'ParleyError',
    status: 404,
    error: { code: 'resource_not_found' },
  });
  await t.rejects(client.fetch('/v1/account', { timeoutMs: 0 }), { name: 'TimeoutError' });
});

t.test('reactions, on both sides, live and after a break', async (t) => {
  const id = await groupOf('reactions');
  const network = await openNetwork(t, app.baseUrl);
  const version = NEWEST_VERSION;
  const mine = open(t, { version }).conversation(id);
  const client = open(t, { version, token: grace.access_token, url: network.url });
  const theirs = client.conversation(id);
  await Promise.all([mine.opened, theirs.opened]);
  const { id: messageId } = await mine.send('ahoy');
  await until(() => theirs.messages.length === 1, { what: 'the message' });
  const reactionsOf = ({ messages: [first] }: LiveConversation) =>
    first?.delivery === 'sent' ? (first.reactions ?? []) : [];
  const shown = (conversation: LiveConversation) =>
    reactionsOf(conversation)
      .map(({ emoji, count, mine }) => `${emoji}${count}${mine ? ' mine' : ''}`)
      .join(', ');
  await mine.react(messageId, '👍');
  t.equal(shown(mine), '👍1 mine');
  await until(() => shown(theirs) === '👍1', { what: 'the reaction' });
  await theirs.react(messageId, '👍');
  await until(() => shown(mine) === '👍2 mine', { what: 'the second' });
  await edit(messageId);
  await until(() => mine.messages[0]?.body === 'edited', { what: 'the edit' });
  t.equal(shown(mine), '👍2 mine', 'an edit keeps them');

  network.target = 'http://127.0.0.1:1';
  network.cut();
  await until(() => client.state === 'offline', { what: 'offline' });
  await mine.unreact(messageId, '👍');
  network.target = app.baseUrl;
  await until(() => shown(theirs) === '👍1 mine', { what: 'what was taken back' });
  const late = open(t, { version }).conversation(id);
  await late.opened;
  t.equal(shown(late), '👍1');
  await t.rejects(late.react(messageId, 'no emoji'), { name: 'ParleyError', status: 400 });
});

t.test('the caller, people, members, search and what is unread', async (t) => {
  const id = await groupOf('directory');
  const client = open(t, { version: NEWEST_VERSION, token: grace.access_token });
  t.match(await client.me(), { actor: { id: grace.id }, permissions: /messaging:read/ });
  t.match(await all(client.people({ q: 'Ada' })), [{ id: ada.id, type: 'user' }]);
  const conversation = client.conversation(id);
  await conversation.opened;
  t.equal(client.actor?.id, grace.id);
  const members = await all(conversation.members({ limit: 1 }));
  t.strictSame(inAnyOrder(members.map(({ actor }) => actor?.id)), inAnyOrder([ada.id, grace.id]));

  const counts: number[] = [];
  client.on('inbox.updated', ({ unread }) => counts.push(unread));
  await sendMany(id, 2, 'lanterns');
  await until(() => conversation.messages.length === 2, { what: 'the messages' });
  await until(async () => (await client.conversations.summary()).unread > 0, { what: 'something unread' });
  // The counts of a second are sent together, and not where they are those of before: so nothing is
  // read until then.
  await until(() => counts.length > 0, { what: 'new counts' });
  await conversation.markRead();
  await conversation.markUnread(2);
  t.match(await client.conversations.get(id), { unread: 1, last_read_sequence: 1 });
  await conversation.markRead();
  t.match(await client.conversations.get(id), { unread: 0 });
  const areCurrent = async () => counts.at(-1) === (await client.conversations.summary()).unread;
  await until(areCurrent, { what: 'the counts without the messages' });
  const [first] = await all(client.conversations.list({ order: 'activity', limit: 1 }), 1);
  t.equal(first?.id, id);

  const hits = await until(
    async () => {
      const found = await all(client.search('lanterns', { conversation_id: id }));
      return found.length === 2 ? found : undefined;
    },
    { what: 'hits' },
  );
  t.match(hits[0], { conversation_id: id, message: { body: /lanterns/ }, highlights: [{ field: 'body' }] });
  const titles = await all(client.search('directory', { type: 'conversations' }));
  t.match(titles, [{ conversation: { id } }]);
});

t.test('a file is uploaded with progress and sent', async (t) => {
  const id = await groupOf('files');
  const conversation = open(t, { XMLHttpRequest: FetchingXhr }).conversation(id);
  await conversation.opened;
  FetchingXhr.failures = 1;
  const progress: number[] = [];
  const file = new File(['x'.repeat(1_000)], 'notes.txt', { type: 'text/plain' });
  const attachment = await conversation.upload(file, {
    onProgress: ({ sentBytes, totalBytes }) => progress.push(sentBytes / totalBytes),
  });
  t.strictSame(progress, [0.5, 0.5, 1], 'tried again');
  t.match(attachment, { kind: 'file', filename: 'notes.txt', content_type: 'text/plain', size_bytes: 1_000 });
  await conversation.send({ body: 'See this.', attachments: [attachment] });
  const shown = await until(() => attachmentsOf(conversation.messages[0]), { what: 'the attachments' });
  t.equal(await (await fetch(shown[0]!.url!)).text(), 'x'.repeat(1_000));

  const plain = open(t);
  const image = await plain.upload(new Blob(['png'], { type: 'image/png' }), { filename: 'a.png' });
  t.match(image, { kind: 'image', filename: 'a.png', size_bytes: 3 });
  await t.rejects(plain.upload(new Blob([])), { name: 'ParleyError', status: 422 });
  let refusals = 1;
  const moved = open(t, {
    fetch: async (input, init) =>
      init?.method === 'PUT' && refusals-- > 0 ? new Response(null, { status: 421 }) : fetch(input, init),
  });
  const arrived = await moved.upload(new File(['hi'], 'b.txt', { type: 'text/plain' }));
  t.match(arrived, { filename: 'b.txt' }, 'after a URL of the cell that the account has left');
  const aborter = new AbortController();
  const aborted = conversation.upload(file, {
    signal: aborter.signal,
    onProgress: () => aborter.abort(new Error('changed my mind')),
  });
  await t.rejects(aborted, { message: 'changed my mind' });
});

t.test(
  'what was sent has its files and the message that it replies to, as soon as it counts as sent',
  async (t) => {
    const id = await groupOf('whole');
    await sendMany(id, 1);
    for (const version of ['1.2.harbor', NEWEST_VERSION]) {
      const conversation = open(t, { version }).conversation(id);
      await conversation.opened;
      const original = conversation.messages[0]!.id!;
      const attachment = await conversation.upload(new File(['x'], 'x.txt', { type: 'text/plain' }));
      const key = `whole-${version}`;
      const flashes: unknown[] = [];
      conversation.on('change', () => {
        const shown = conversation.messages.find((one) => one.key === key);
        if (shown?.delivery === 'sent' && shown.attachments === null) flashes.push(shown);
      });
      const request = { body: 'See this.', attachments: [attachment], reply_to_message_id: original };
      const answer = await conversation.send({ ...request, client_message_id: key });
      const whole = { attachments: [{ filename: 'x.txt' }], reply_to: { id: original, body: '1' } };
      t.match(answer, whole, version);
      const shown = () => conversation.messages.find((one) => one.key === key);
      t.match(shown(), { delivery: 'sent', ...whole });
      await edit(answer.id);
      await until(() => shown()?.body === 'edited', {
        what: 'the edit, whose event does not name the quote',
      });
      t.match(shown(), whole);
      t.strictSame(flashes, [], 'it was never shown without its file');
      conversation.close();
    }
  },
);

t.test('a text that is streamed while its message is being loaded is shown with it', async (t) => {
  const timeline = emptyTimeline();
  const message = {
    id: 'msg_1',
    sequence: 1,
    body: '',
    streaming_state: 'streaming',
    thread: null,
    sender: { id: 'act_agent', type: 'agent' },
    updated_at: '2026-01-01T00:00:00Z',
  } as unknown as ChatMessage;
  await timeline.load(async () => {
    for (const body of ['Once', 'Once upon a time']) timeline.write({ messageId: 'msg_1', body });
    return [message];
  });
  t.equal(timeline.find('msg_1')?.body, 'Once upon a time');
  await timeline.load(async () => [message]);
  t.equal(timeline.find('msg_1')?.body, 'Once upon a time', 'and stays when it is loaded again');
});

t.test('in any order of answers and events, each message is shown once', async (t) => {
  for (let seed = 1; seed <= 300; seed++) {
    const problem = shuffledTimeline(new Random(seed));
    if (problem !== undefined) t.fail(`seed ${seed}: ${problem}`);
  }
});

function emptyTimeline(): Timeline {
  return new Timeline({
    actor: () => ({ id: 'act_me' }) as never,
    changed() {},
    quoteOf: () => null,
    readThrough: () => 0,
    pending: new PendingChanges<SentMessage>(() => {}),
  });
}

/**
 * Own messages, some with the same text, and those of others; events arrive in order, answers at
 * any time, some are refused. Returns what is wrong.
 */
function shuffledTimeline(random: Random): string | undefined {
  const timeline = emptyTimeline();
  const stored: ChatMessage[] = [];
  const pending: { key: string; message: ChatMessage | undefined }[] = [];
  const done = new Set<string>();
  const failed = new Set<string>();
  let delivered = 0;
  const commit = (author: string, body: string, own: string | null) => {
    const sequence = stored.length + 1;
    const message = {
      id: `msg_${sequence}`,
      sequence,
      body,
      sender: { id: author, type: 'user' },
      attachments: [],
      client_message_id: own,
      updated_at: `2026-01-01T00:00:${String(sequence).padStart(2, '0')}Z`,
    } as unknown as ChatMessage;
    stored.push(message);
    return message;
  };
  const steps = [
    // Sends, with a text that may repeat.
    () => {
      const [key, body] = [`key_${pending.length}`, `text ${random.below(3)}`];
      const parts = { sender: undefined, reply_to: null, created_at: '', previewOf: () => null };
      timeline.echo(localMessage(key, { body, client_message_id: key }, parts));
      const isRefused = random.below(5) === 0;
      pending.push({ key, message: isRefused ? undefined : commit('act_me', body, key) });
    },
    // The same person on another device, or somebody else.
    () => void commit(random.pick(['act_me', 'act_other']), `text ${random.below(3)}`, null),
    () => {
      const message = stored[delivered];
      if (message === undefined) return;
      delivered += 1;
      timeline.receive({ ...message, client_message_id: null });
    },
    // An answer to a request that asked for no attachments.
    () => {
      const open = pending.filter(({ key }) => !done.has(key));
      if (open.length === 0) return;
      const { key, message } = random.pick(open);
      done.add(key);
      if (message === undefined) {
        failed.add(key);
        timeline.fail(key, new Error('refused'));
      } else timeline.acknowledge(key, { ...message, attachments: null });
    },
  ];
  const check = () => {
    const keys = timeline.messages.map(({ key }) => key);
    if (new Set(keys).size !== keys.length) return `keys ${keys}`;
    const sequences = timeline.messages.flatMap(({ sequence }) => sequence ?? []);
    return sequences.every((one, i) => i === 0 || one > sequences[i - 1]!) ? undefined : `order ${sequences}`;
  };
  for (let step = 0; step < 40; step++) {
    random.pick(steps)();
    const problem = check();
    if (problem !== undefined) return problem;
  }
  while (delivered < stored.length) steps[2]!();
  while (pending.some(({ key }) => !done.has(key))) steps[3]!();
  const shown = timeline.messages.map(({ id, key, delivery }) => id ?? `${delivery} ${key}`);
  const expected = [...stored.map(({ id }) => id), ...[...failed].map((key) => `failed ${key}`)];
  if (shown.toSorted().join() !== expected.toSorted().join()) return `${shown} and not ${expected}`;
  const renamed = pending.filter(
    ({ key, message }) => message !== undefined && !timeline.messages.some((one) => one.key === key),
  );
  return check() ?? (renamed.length > 0 ? `keys lost: ${renamed.map(({ key }) => key)}` : undefined);
}

function open(t: { teardown(close: () => void): void }, options: Partial<ConnectOptions> = {}): Client {
  const defaults = { url: app.baseUrl, account: demo.account_id, token: ada.access_token, mostWaitMs: 200 };
  const client = connect({ ...defaults, ...options });
  t.teardown(() => client.close());
  return client;
}

async function groupOf(title: string): Promise<string> {
  const { body } = await app.call<Conversation>('POST', '/v1/messaging/conversations', {
    token: ada.access_token,
    body: { type: 'group', title, participants: [{ type: 'user', actor_id: grace.id }] },
  });
  return body.id;
}

async function edit(messageId: string | null): Promise<void> {
  const { status } = await app.call('PATCH', `/v1/messaging/messages/${messageId}`, {
    token: ada.access_token,
    body: { body: 'edited' },
  });
  if (status !== 200) throw new Error(`an edit was answered ${status}`);
}

/** The items of so many pages. */
async function all<T>(pages: AsyncIterable<List<T>>, mostPages = 100): Promise<T[]> {
  const items: T[] = [];
  let read = 0;
  for await (const { data } of pages) {
    items.push(...data);
    read += 1;
    if (read === mostPages) break;
  }
  return items;
}

async function sendMany(id: string, count: number, word = ''): Promise<void> {
  for (let n = 1; n <= count; n++) {
    const body = { body: `${n} ${word}`.trim(), client_message_id: `${count}-${n}` };
    const { status } = await app.call('POST', `/v1/messaging/conversations/${id}/messages`, {
      token: ada.access_token,
      body,
    });
    if (status !== 201) throw new Error(`a message was answered ${status}`);
  }
}

function sequencesOf({ messages }: LiveConversation): (number | null)[] {
  return messages.map(({ sequence }) => sequence);
}

function attachmentsOf(message: TimelineMessage | undefined) {
  return message?.delivery === 'sent' && message.attachments?.length ? message.attachments : undefined;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** An XMLHttpRequest for Node: reports half of the bytes, then sends all of them. */
class FetchingXhr implements XhrLike {
  /** Requests that are to fail from now on. */
  static failures = 0;
  status = 0;
  readonly upload: XhrLike['upload'] = { onprogress: null };
  onload: (() => void) | null = null;
  onerror: (() => void) | null = null;
  onabort: (() => void) | null = null;
  readonly #headers: Record<string, string> = {};
  #method = '';
  #url = '';
  #isAborted = false;

  open(method: string, url: string): void {
    this.#method = method;
    this.#url = url;
  }

  setRequestHeader(name: string, value: string): void {
    this.#headers[name] = value;
  }

  send(body: Blob): void {
    queueMicrotask(() => {
      this.upload.onprogress?.({ loaded: body.size / 2 });
      if (this.#isAborted) return;
      if (FetchingXhr.failures-- > 0) this.onerror?.();
      else void this.#put(body);
    });
  }

  abort(): void {
    this.#isAborted = true;
    this.onabort?.();
  }

  async #put(body: Blob): Promise<void> {
    const { status } = await fetch(this.#url, { method: this.#method, headers: this.#headers, body });
    this.status = status;
    this.onload?.();
  }
}

/** Messages without events, as after a long absence. */
const INSERT_MESSAGES = {
  name: 'insert-many-messages',
  text: `
    INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, body, sender_id, author_id, changed_in)
    SELECT 'msg_absence_' || n, $4, $1, (SELECT max(sequence) FROM messages WHERE conversation_id = $1) + n,
           'chat', 'sent', 'internal', 'meanwhile', $3, $3, pg_current_xact_id()
    FROM generate_series(1, $2::int) AS n`,
};
