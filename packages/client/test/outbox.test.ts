/** What is written while the server is away is sent later: also by another client, and once. */

import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import {
  type Client,
  type ClientError,
  type ConnectOptions,
  connect,
  type LiveConversation,
  ParleyError,
} from '../index.ts';
import type { OutboxRecord, OutgoingMessage } from '../store/index.ts';
import { MemoryStore } from './memory-store.ts';
import { openNetwork } from './network.ts';
import { bodiesOf, byId, NAMES, OpenConversations } from './open-conversations.ts';

const app = await borrowTestApp(t);
const { account_id: account, users } = app.demo;
const conversations = new OpenConversations(app);

/** Clients of ada with one store, over a network to a server that can be away. */
class Place {
  readonly store: MemoryStore;
  /** The keys of messages in the order of requests, and of those that were accepted. */
  readonly posts: string[] = [];
  readonly answered: string[] = [];
  readonly errors: ClientError[] = [];
  readonly #network: Awaited<ReturnType<typeof openNetwork>>;

  static async open(t: Teardown, actor = users.ada.id): Promise<Place> {
    return new Place(await openNetwork(t, app.baseUrl), actor);
  }

  private constructor(network: Awaited<ReturnType<typeof openNetwork>>, actor: string) {
    this.#network = network;
    this.store = new MemoryStore(account, actor);
  }

  client(t: Teardown, options: Partial<ConnectOptions> = {}): Client {
    const counting: typeof fetch = async (input, init) => {
      const { client_message_id: key } = init?.method === 'POST' ? JSON.parse(String(init.body ?? '{}')) : {};
      if (key !== undefined) this.posts.push(key);
      const response = await fetch(input, init);
      if (key !== undefined && response.ok) this.answered.push(key);
      return response;
    };
    const { url } = this.#network;
    const base = { url, store: this.store, fetch: counting, ...options };
    const client = conversations.client(t, base);
    client.on('error', (error) => this.errors.push(error));
    return client;
  }

  away(): void {
    this.#network.target = 'http://127.0.0.1:1';
    this.#network.cut();
  }

  back(): void {
    this.#network.target = app.baseUrl;
  }

  async bodies(id: string): Promise<(string | null)[]> {
    const { body } = await app.call<{ data: LiveConversation['messages'] }>('GET', messagesOf(id), {
      token: users.ada.access_token,
    });
    return body.data.map((message) => message.body).reverse();
  }
}

function messagesOf(id: string): string {
  return `/v1/messaging/conversations/${id}/messages`;
}

function recordOf(
  conversation_id: string,
  key: string,
  request: OutgoingMessage['request'],
  created_at = new Date().toISOString(),
): OutboxRecord {
  return { key, conversation_id, request, created_at, failure: null };
}

t.test('it is shown and sent after a reload, also where no conversation is open', async (t) => {
  const place = await Place.open(t);
  const [first, second] = [await conversations.group('one'), await conversations.group('two')];
  place.away();
  const before = place.client(t);
  const lost = [
    before.conversation(first).send({ body: 'a1', client_message_id: 'a1' }),
    before.conversation(second).send('b1'),
    before.conversation(first).send('a2'),
  ];
  await until(() => place.store.records.length === 3, { what: 'the records' });
  t.strictSame(
    place.store.records.map(({ conversation_id, request }) => [conversation_id, request?.body]),
    [
      [first, 'a1'],
      [second, 'b1'],
      [first, 'a2'],
    ],
  );
  before.close();
  for (const one of lost) await t.rejects(one, { code: 'client_closed' });

  const after = place.client(t);
  const shown = after.conversation(first);
  await until(() => shown.messages.length === 2, { what: 'the echoes' });
  t.match(shown.messages, [
    { key: 'a1', delivery: 'pending', body: 'a1', id: null, sender: undefined },
    { delivery: 'pending', body: 'a2' },
  ]);
  void shown.send('a3');
  place.back();
  await until(() => place.store.records.length === 0, { what: 'an empty store' });
  await until(() => shown.messages.every(({ delivery }) => delivery === 'sent'), { what: 'all sent' });
  t.match(shown.messages[0], { key: 'a1', sender: { name: NAMES.ada } });
  t.strictSame(await place.bodies(first), ['a1', 'a2', 'a3']);
  t.strictSame(await place.bodies(second), ['b1']);
  t.strictSame(
    place.errors.filter(({ reason }) => reason === 'store'),
    [],
  );
});

t.test(
  'a reply is shown in its thread after a reload, and beside it that there is no connection',
  async (t) => {
    const place = await Place.open(t);
    const id = await conversations.group('group');
    const before = place.client(t);
    const question = await before.conversation(id).send('question');
    const asked = before.conversation(id).thread(question.id);
    await asked.opened;
    place.away();
    const lost = asked.send({ body: 'answer', client_message_id: 'answer' });
    await until(() => asked.snapshot.messages.length === 1, { what: 'the echo' });
    before.close();
    await t.rejects(lost, { code: 'client_closed' });
    t.match(place.store.records, [{ key: 'answer', request: { reply_to_message_id: question.id } }]);

    const after = place.client(t);
    const { connection } = after;
    const view = after.conversation(id);
    const thread = view.thread(question.id);
    await until(() => thread.snapshot.messages.length === 1, { what: 'the echo after the reload' });
    t.match(thread.snapshot.messages, [{ key: 'answer', delivery: 'pending', reply_to_id: question.id }]);
    t.match(view.messages, [{ key: 'answer', delivery: 'pending' }]);
    await until(() => connection.snapshot.error !== null, { what: 'the reason' });
    t.match(connection.snapshot, {
      error: { reason: 'network', willRetry: true },
      transport: null,
      unsent: 1,
    });
    place.back();
    await until(() => thread.snapshot.messages[0]?.delivery === 'sent', { what: 'the reply' });
    await thread.opened;
    await until(() => connection.snapshot.state === 'live', { what: 'live' });
    t.match(connection.snapshot, { error: null, unsent: 0 });
    await view.opened;
    t.match(thread.snapshot, { root: { body: 'question' }, messages: [{ key: 'answer', delivery: 'sent' }] });
    t.strictSame(bodiesOf(view), ['question', 'answer']);
    t.strictSame(await place.bodies(id), ['question', 'answer']);
  },
);

t.test('it was sent before the reload, and the answer was lost', async (t) => {
  const place = await Place.open(t);
  const id = await conversations.group('lost answer');
  const { body: message } = await app.call<{ id: string }>('POST', messagesOf(id), {
    token: users.ada.access_token,
    body: { body: 'ahoy', client_message_id: 'lost' },
  });
  await place.store.add(recordOf(id, 'lost', { body: 'ahoy', client_message_id: 'lost' }));
  const shown = place.client(t).conversation(id);
  const counts: number[] = [];
  shown.on('change', () => counts.push(shown.messages.length));
  await until(() => place.store.records.length === 0 && shown.messages.length === 1, { what: 'the message' });
  t.match(shown.messages, [{ id: message.id, delivery: 'sent' }]);
  t.ok(
    counts.every((count) => count <= 1),
    'never shown twice',
  );
  t.strictSame(await place.bodies(id), ['ahoy']);
});

t.test('what was refused stays with its reason until it is retried or discarded', async (t) => {
  const place = await Place.open(t);
  const id = await conversations.group('refused');
  const first = place.client(t).conversation(id);
  const refused = first.send({ body: 'x', client_message_id: 'x', reply_to_message_id: 'msg_none' });
  await t.rejects(refused, { name: 'ParleyError', param: 'reply_to_message_id' });
  place.away();
  const aborter = new AbortController();
  const aborted = first.send({ body: 'y', client_message_id: 'y' }, { signal: aborter.signal });
  await until(() => place.store.keys.includes('y'), { what: 'the record' });
  aborter.abort();
  await t.rejects(aborted, { name: 'AbortError' });
  await until(() => place.store.records.every(({ failure }) => failure), { what: 'both failures, stored' });
  t.equal(first.messages.length, 2);

  const second = place.client(t).conversation(id);
  await until(() => second.messages.length === 2, { what: 'both after the reload' });
  t.match(second.messages, [
    {
      key: 'x',
      delivery: 'failed',
      error: { name: 'ParleyError', param: 'reply_to_message_id' },
    },
    { key: 'y', delivery: 'failed', error: { name: 'AbortError' } },
  ]);
  t.ok((second.messages[0] as { error?: unknown }).error instanceof ParleyError);
  second.discard('x');
  await until(() => place.store.keys.join() === 'y', { what: 'its removal' });
  await until(() => first.messages.length === 1, { what: 'its removal, for the other client' });
  place.back();
  const retried = second.retry('y');
  await until(() => first.messages[0]?.delivery !== 'failed', { what: 'the retry, for the other client' });
  t.match(await retried, { body: 'y' });
  await until(() => place.store.records.length === 0, { what: 'an empty store' });
  await until(() => first.messages[0]?.delivery === 'sent', { what: 'the message, for the other client' });
  t.equal(first.messages[0]?.key, 'y');
  t.strictSame(await place.bodies(id), ['y']);
});

t.test('clients with one store send each message once, in one order, and all show it', async (t) => {
  const place = await Place.open(t);
  const id = await conversations.group('shared');
  place.away();
  const [one, two] = [place.client(t).conversation(id), place.client(t).conversation(id)];
  const sends = [];
  const expected: string[] = [];
  for (const [n, from] of [one, two, one, one, two].entries()) {
    sends.push(from.send({ body: `${n}`, client_message_id: `${n}` }));
    expected.push(`${n}`);
    await until(() => [one, two].every((view) => view.messages.length === n + 1), { what: `echo ${n}` });
  }
  t.strictSame([bodiesOf(one), bodiesOf(two)], [expected, expected]);
  place.back();
  const sent = await Promise.all(sends);
  t.strictSame(
    sent.map(({ body }) => body),
    expected,
  );
  for (const view of [one, two]) {
    await until(() => view.messages.every(({ delivery }) => delivery === 'sent'), { what: 'all sent' });
    t.strictSame(
      view.messages.map(({ key }) => key),
      expected,
    );
  }
  t.strictSame(await place.bodies(id), expected);
  t.strictSame(place.answered, expected, 'one accepted request for each');
});

t.test('a client that is closed in its turn leaves what it has to the next', async (t) => {
  const place = await Place.open(t);
  const id = await conversations.group('handed over');
  place.away();
  const [gone, next] = [place.client(t), place.client(t)];
  const view = next.conversation(id);
  const lost = gone.conversation(id).send('first');
  await until(() => view.messages.length === 1, { what: 'the echo' });
  const sent = view.send('second');
  gone.close();
  await t.rejects(lost, { code: 'client_closed' });
  t.match(view.messages, [{ delivery: 'pending' }, { delivery: 'pending' }]);
  place.back();
  await sent;
  t.strictSame(await place.bodies(id), ['first', 'second']);
});

t.test('a store may be for an own id of the actor', async (t) => {
  for (const [external_id, actor, isTaken] of [
    [null, 'ext:null', false],
    ['ada / ⚓', 'ext:grace', false],
    ['ada / ⚓', 'ext:ada / ⚓', true],
  ] as const) {
    const headers = { 'Service-Version': NEWEST_VERSION };
    await app.call('PATCH', `/v1/users/${users.ada.id}`, { body: { external_id }, headers });
    const place = await Place.open(t, actor);
    const id = await conversations.group('by own ids');
    await place.store.add(recordOf(id, 'kept', { body: 'kept', client_message_id: 'kept' }));
    const view = place.client(t).conversation(id);
    await view.opened;
    await view.send('more');
    t.strictSame(await place.bodies(id), isTaken ? ['kept', 'more'] : ['more'], actor);
    t.equal(place.errors.filter(({ reason }) => reason === 'store').length, isTaken ? 0 : 1);
  }
});

t.test('the store of another actor is neither shown nor sent nor changed', async (t) => {
  const place = await Place.open(t, users.grace.id);
  const id = await conversations.group('private');
  await place.store.add(recordOf(id, 'hers', { body: 'hers', client_message_id: 'hers' }));
  place.away();
  const client = place.client(t);
  const view = client.conversation(id);
  const sending = view.send({ body: 'mine', client_message_id: 'mine' });
  place.back();
  t.match(await sending, { body: 'mine', sender: { id: users.ada.id } });
  await until(() => place.store.keys.join() === 'hers', { what: 'the removal of the own record' });
  await view.send('another');
  t.strictSame(place.store.keys, ['hers']);
  t.strictSame(bodiesOf(view), ['mine', 'another']);
  t.strictSame(await place.bodies(id), ['mine', 'another']);
  t.equal(place.errors.filter(({ reason }) => reason === 'store').length, 1);
  t.throws(
    () => connect({ url: app.baseUrl, account: 'acc_other', token: 'x', store: place.store }),
    TypeError,
  );
});

t.test('without a store that works everything is sent, and an error names what is not kept', async (t) => {
  for (const broken of [['add'], ['all'], ['remove', 'update'], ['add', 'all', 'remove', 'update']]) {
    const place = await Place.open(t);
    place.store.failing = (method) =>
      broken.includes(method) ? new DOMException(method, 'QuotaExceededError') : undefined;
    const id = await conversations.group(broken.join());
    const view = place.client(t).conversation(id);
    const refused = view.send({ body: 'x', client_message_id: 'x', reply_to_message_id: 'msg_none' });
    const sent = [view.send('1'), view.send('2')];
    await t.rejects(refused, { name: 'ParleyError', param: 'reply_to_message_id' });
    await Promise.all(sent);
    t.strictSame(await place.bodies(id), ['1', '2'], broken.join());
    t.strictSame(bodiesOf(view), ['1', '2', 'x']);
    const told = place.errors.filter(({ reason }) => reason === 'store');
    const sentKeys = view.messages.map(({ key }) => key);
    const keys = broken.includes('add') ? ['x', ...sentKeys.filter((key) => key !== 'x')] : [];
    t.strictSame(
      told.flatMap(({ key }) => key ?? []),
      keys,
      broken.join(),
    );
    t.equal(told.length - keys.length, broken.join() === 'add' ? 0 : 1, 'anything else is said once');
    for (const one of told) {
      t.match(one, {
        willRetry: true,
        error: { name: 'QuotaExceededError' },
        message: /what waits may be lost/,
      });
    }
  }
});

t.test('malformed and old records go, drafts are not kept', async (t) => {
  const place = await Place.open(t);
  const id = await conversations.group('old');
  const aged = (days: number) => new Date(Date.now() - days * 24 * 3_600_000).toISOString();
  const records = [
    { key: 'broken', conversation_id: id, request: null, created_at: aged(0), failure: null },
    {
      key: 'other',
      conversation_id: id,
      request: { client_message_id: 'not it' },
      created_at: aged(0),
      failure: null,
    },
    null,
    recordOf(id, 'old', { body: 'old', client_message_id: 'old' }, aged(31)),
    recordOf(id, 'young', { body: 'young', client_message_id: 'young' }, aged(29)),
  ];
  place.store.records = records as OutboxRecord[];
  const client = place.client(t);
  await until(() => place.store.records.length === 1, { what: 'the removals' });
  t.strictSame(place.store.records, [null], 'what has no key cannot be removed');
  t.strictSame(await place.bodies(id), ['young']);
  t.equal(place.errors.filter(({ reason }) => reason === 'store').length, 1);
  place.store.records = [];

  place.away();
  const view = client.conversation(id);
  void view.send({ body: 'draft', mode: 'draft', channel: 'message', client_message_id: 'draft' });
  void view.send({ body: 'text', client_message_id: 'text' });
  await until(() => place.store.records.length > 0, { what: 'a record' });
  t.strictSame(place.store.keys, ['text']);
});

t.test('after a clear nothing is shown, sent or kept', async (t) => {
  const place = await Place.open(t);
  const id = await conversations.group('cleared');
  place.away();
  const [one, two] = [place.client(t).conversation(id), place.client(t).conversation(id)];
  const lost = one.send('secret');
  await until(() => two.messages.length === 1, { what: 'the echo' });
  await place.store.clear();
  await t.rejects(lost, { code: 'client_closed' });
  t.strictSame([bodiesOf(one), bodiesOf(two)], [[], []]);
  const late = two.send('later');
  t.equal(place.store.records.length, 0);
  place.back();
  await late;
  t.equal(place.store.records.length, 0);
  t.strictSame(await place.bodies(id), ['later']);
});

t.test('changes that wait survive a reload, and are sent once and in order', async (t) => {
  const place = await Place.open(t);
  const id = await conversations.group('changes');
  const before = place.client(t);
  const view = before.conversation(id);
  const messages = [];
  for (const body of ['edited', 'deleted', 'liked', 'pinned']) messages.push(await view.send(body));
  const [edited, deleted, liked, pinned] = messages.map((message) => message.id);
  place.away();
  const lost = [
    view.edit(edited!, 'first'),
    view.send({ body: 'between', client_message_id: 'between' }),
    view.edit(edited!, 'second'),
    view.delete(deleted!),
    view.react(liked!, '👍'),
    view.unreact(liked!, '👍'),
    view.react(liked!, '🎉'),
    view.pin(pinned!),
  ].map((one) => (one as Promise<unknown>).catch((error: ParleyError) => error.code));
  await until(() => place.store.records.length === 8, { what: 'the records' });
  const shown = (one: LiveConversation) => [
    byId(one, edited!)?.body,
    byId(one, deleted!)?.deleted_at !== null,
    byId(one, liked!)
      ?.reactions?.map(({ emoji }) => emoji)
      .join(),
    byId(one, edited!)?.pending,
  ];
  t.strictSame(shown(view), ['second', true, '🎉', true]);
  t.equal(before.connection.snapshot.unsent, 1, 'messages alone count');
  before.close();
  t.strictSame(new Set(await Promise.all(lost)), new Set(['client_closed']));

  let isSlow = true;
  const keys: (string | null)[] = [];
  const client = place.client(t, {
    fetch: async (input, init) => {
      const isChange = init?.method !== 'GET' && !String(input).includes('presence');
      // The page is read while the changes wait.
      while (isSlow && isChange) await new Promise((resolve) => setTimeout(resolve, 5));
      if (isChange) keys.push(new Headers(init?.headers).get('idempotency-key'));
      return fetch(input, init);
    },
  });
  const after = client.conversation(id);
  const other = place.client(t).conversation(id);
  place.back();
  await after.opened;
  await until(() => shown(after).join() === 'second,true,🎉,true', { what: 'the changes after the reload' });
  isSlow = false;
  await until(() => place.store.records.length === 0, { what: 'an empty store' });
  await until(() => byId(after, edited!)?.pending === undefined, { what: 'the answers' });
  t.strictSame(shown(after), ['second', true, '🎉', undefined]);
  await until(() => other.snapshot.pins.length === 1, { what: 'the pin' });
  t.strictSame(shown(other), ['second', true, '🎉', undefined], 'also in the other tab');
  t.match(other.snapshot.pins, [{ message_id: pinned }]);
  t.equal(new Set(keys).size, keys.length, 'each has one key and one request');
  t.strictSame(await place.bodies(id), ['second', null, 'liked', 'pinned', 'between']);
});

t.test('a change that is refused after a reload stands on its message until it is settled', async (t) => {
  const place = await Place.open(t);
  const id = await conversations.group('refused changes');
  const { id: theirs } = await conversations.client(t, { as: 'grace' }).send(id, 'hers');
  const before = place.client(t);
  const view = before.conversation(id);
  await view.opened;
  const refused = view.edit(theirs, 'not mine');
  await t.rejects(refused, { name: 'ParleyError', code: 'insufficient_permissions' });
  await until(() => place.store.records.length === 0, { what: 'nothing: its caller has heard of it' });
  t.match(byId(view, theirs), { body: 'hers', failed: undefined });

  place.away();
  for (const body of ['again', 'once more']) view.edit(theirs, body).catch(() => {});
  await until(() => place.store.records.length === 2, { what: 'the records' });
  before.close();
  place.back();
  const after = place.client(t).conversation(id);
  await after.opened;
  const failed = () => byId(after, theirs)?.failed;
  await until(() => place.store.records.every(({ failure }) => failure), { what: 'the refusals' });
  t.match(byId(after, theirs), { body: 'hers', pending: undefined, failed: { error: { status: 403 } } });
  t.equal(byId(after, theirs)?.delivery, 'sent');
  const third = place.client(t).conversation(id);
  await third.opened;
  await until(() => byId(third, theirs)?.failed !== undefined, { what: 'the refusal after another reload' });
  await t.rejects(after.retry(failed()!.key), { code: 'insufficient_permissions' });
  await until(() => place.store.records.length === 1, { what: 'the end of the one' });
  after.discard(failed()!.key);
  await until(() => place.store.records.length === 0 && failed() === undefined, { what: 'the end of both' });
  await until(() => byId(third, theirs)?.failed === undefined, { what: 'the end, for the other client' });
  t.throws(() => third.discard('none'), TypeError);
});
