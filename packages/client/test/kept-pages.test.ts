/** What was read is shown again after a reload, before and without an answer of the server. */

import t from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import type { Client, ClientError, ConnectOptions, Inbox } from '../index.ts';
import { SYSTEM_TIMING } from '../timing/timing.ts';
import { MemoryPages } from './memory-pages.ts';
import { MemoryStore } from './memory-store.ts';
import { openNetwork } from './network.ts';
import { bodiesOf, OpenConversations } from './open-conversations.ts';

const app = await borrowTestApp(t);
const { account_id: account, users } = app.demo;
const conversations = new OpenConversations(app);

/** The waits before a page is written and read again. */
const SHORTER = new Set([1_000, 3_000]);
const TIMING: ConnectOptions['timing'] = {
  ...SYSTEM_TIMING,
  after: (ms, work) => SYSTEM_TIMING.after(SHORTER.has(ms) ? 50 : ms, work),
};

/** A device of ada that keeps pages, before a server that can be away. */
class Place {
  readonly pages = new MemoryPages();
  readonly errors: ClientError[] = [];
  readonly #visited = new Set<string>();
  readonly #network: Awaited<ReturnType<typeof openNetwork>>;

  static async open(t: Teardown): Promise<Place> {
    return new Place(await openNetwork(t, app.baseUrl));
  }

  private constructor(network: Awaited<ReturnType<typeof openNetwork>>) {
    this.#network = network;
  }

  client(t: Teardown, options: Partial<ConnectOptions> = {}, actor = users.ada.id): Client {
    const store = Object.assign(new MemoryStore(account, actor), { pages: this.pages.store() });
    const client = conversations.client(t, {
      url: this.#network.url,
      store,
      ...(TIMING && { timing: TIMING }),
      ...options,
    });
    client.on('error', (error) => this.errors.push(error));
    return client;
  }

  /** Visits a conversation and the inbox until both are kept. */
  async visit(t: Teardown, id: string, ...bodies: readonly string[]): Promise<void> {
    const client = this.client(t);
    const [view, inbox] = [client.conversation(id), client.inbox()];
    await view.opened;
    await until(() => inbox.snapshot.status === 'ready', { what: 'the inbox' });
    for (const body of bodies) await view.send(body);
    await until(() => this.#isKept(id, bodies), { what: 'the pages' });
    this.#visited.add(id);
    for (const each of this.#visited)
      await until(() => this.pages.values.has(each), { what: 'what was kept before' });
    client.close();
  }

  #isKept(id: string, bodies: readonly string[]): boolean {
    const page = this.pages.values.get(id) ?? '';
    const names = [...this.pages.values.keys()];
    return bodies.every((body) => page.includes(body)) && names.some((name) => name.startsWith('inbox '));
  }

  away(): void {
    this.#network.target = 'http://127.0.0.1:1';
    this.#network.cut();
  }

  back(): void {
    this.#network.target = app.baseUrl;
  }
}

function titles({ snapshot }: Inbox): (string | null | undefined)[] {
  return snapshot.conversations.map(({ title }) => title);
}

t.test('offline, the last pages of the inbox and of a conversation are shown', async (t) => {
  const place = await Place.open(t);
  const id = await conversations.group('seen');
  await place.visit(t, id, 'one', 'two');
  place.away();
  const client = place.client(t);
  const [view, inbox] = [client.conversation(id), client.inbox()];
  await until(() => view.messages.length === 2 && titles(inbox).includes('seen'), { what: 'both' });
  t.strictSame(bodiesOf(view), ['one', 'two']);
  t.match(view.messages, [{ delivery: 'sent', sender: { id: users.ada.id } }, {}]);
  t.equal(view.snapshot.status, 'loading', 'none of it is from the server yet');
  t.match(client.actors.get(users.grace.id)?.name, 'Grace', 'names are known');
  const older = view.loadOlder();
  void view.send({ body: 'three', client_message_id: 'three' });
  await until(() => view.messages.length === 3, { what: 'the echo' });
  t.strictSame(bodiesOf(view), ['one', 'two', 'three'], 'behind what is kept');

  const other = client.conversation(await conversations.group('never seen'));
  place.back();
  await Promise.all([view.opened, older, other.opened]);
  await until(() => view.messages.every(({ delivery }) => delivery === 'sent'), { what: 'the message' });
  t.strictSame(bodiesOf(view), ['one', 'two', 'three']);
  await until(() => inbox.snapshot.status === 'ready', { what: 'the inbox' });
  t.strictSame(bodiesOf(other), []);
  await until(() => titles(inbox)[0] === 'seen', { what: 'the new order' });
});

t.test('what was deleted, redacted, added or taken away meanwhile', async (t) => {
  const place = await Place.open(t);
  const [id, closed, gone] = await Promise.all(
    ['open', 'closed', 'gone'].map((name) => conversations.group(name)),
  );
  await place.visit(t, id!, 'deleted text', 'redacted text', 'left');
  await place.visit(t, closed!, 'closed and deleted', 'closed and left');
  await place.visit(t, gone!, 'of a lost conversation');
  const grace = conversations.client(t, { as: 'grace' });
  const ada = conversations.client(t);
  const byBody = async (from: string) => {
    const view = ada.conversation(from);
    await view.opened;
    return [view, new Map(view.messages.map((message) => [message.body, message.id!]))] as const;
  };
  const [open, messages] = await byBody(id!);
  await open.delete(messages.get('deleted text')!);
  await open.redact(messages.get('redacted text')!, 'personal data');
  await grace.send(id!, 'written meanwhile');
  const [other, others] = await byBody(closed!);
  await other.delete(others.get('closed and deleted')!);
  await ada.conversations.delete(gone!);

  place.away();
  const client = place.client(t);
  const view = client.conversation(id!);
  const lost = client.conversation(gone!);
  await until(() => view.messages.length === 3 && lost.messages.length === 1, { what: 'what was kept' });
  const shown: string[] = [];
  view.on('change', () => shown.push(bodiesOf(view).join()));
  place.back();
  await view.opened;
  t.strictSame(bodiesOf(view), [null, null, 'left', 'written meanwhile']);
  await t.rejects(lost.opened, { code: 'resource_gone' });
  t.strictSame(lost.messages, []);
  await until(() => place.pages.has('written meanwhile'), { what: 'the page as it is now' });
  for (const words of ['deleted text', 'redacted text', 'closed and deleted', 'of a lost conversation']) {
    await until(() => !place.pages.has(words), { what: `the end of ${words}` });
  }
  await until(() => place.pages.has('closed and left'), { what: 'the conversation that is not open' });
  t.notOk(place.pages.has('closed and deleted'));
  t.strictSame(
    place.errors.filter(({ reason }) => reason === 'store'),
    [],
  );
});

t.test('after a reload the answer of a slow server replaces what is shown', async (t) => {
  const place = await Place.open(t);
  const id = await conversations.group('slow');
  await place.visit(t, id, 'early');
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const slow: typeof fetch = async (...request) => {
    await answered;
    return fetch(...request);
  };
  const client = place.client(t, { fetch: slow });
  const [view, inbox] = [client.conversation(id), client.inbox()];
  await until(() => view.messages.length === 1 && titles(inbox).includes('slow'), { what: 'both' });
  await until(() => client.state === 'live', { what: 'the connection' });
  await conversations.client(t, { as: 'grace' }).send(id, 'live');
  await until(() => view.messages.length === 2, { what: 'a message that arrives before the page' });
  t.strictSame(bodiesOf(view), ['early', 'live']);
  answer();
  await view.opened;
  t.strictSame(bodiesOf(view), ['early', 'live']);
});

t.test('another person sees nothing of it, and ends it', async (t) => {
  const place = await Place.open(t);
  const id = await conversations.group('private');
  await place.visit(t, id, 'hers alone');
  place.away();
  const token = users.grace.access_token;
  const client = place.client(t, { token });
  const [view, inbox] = [client.conversation(id), client.inbox()];
  await until(() => bodiesOf(view).includes('hers alone'), { what: 'the page: grace is said to be ada' });
  place.back();
  await until(() => place.pages.values.size === 0, { what: 'the end of it' });
  await until(() => inbox.snapshot.status === 'ready', { what: 'the inbox of grace' });
  await view.opened;
  client.close();
  t.equal(place.pages.values.size, 0, 'nothing of grace is kept for ada');
  t.equal(place.pages.removedOthers, 2, 'each client removes what others have left');
});

t.test('a clear ends it in open clients', async (t) => {
  const place = await Place.open(t);
  const id = await conversations.group('cleared');
  await place.visit(t, id, 'secret');
  place.away();
  const store = Object.assign(new MemoryStore(account, users.ada.id), { pages: place.pages.store() });
  const client = place.client(t, { store });
  const view = client.conversation(id);
  await until(() => view.messages.length === 1, { what: 'the page' });
  await store.clear();
  await until(() => place.pages.values.size === 0, { what: 'the end of it' });
  t.strictSame(bodiesOf(view), []);
  place.back();
  await view.opened;
  await view.send('later');
  view.close();
  t.equal(place.pages.values.size, 0);
});

t.test('the 401 of an ended session ends it', async (t) => {
  for (const renewal of ['fixed', 'renewed'] as const) {
    const place = await Place.open(t);
    const id = await conversations.group(renewal);
    await place.visit(t, id, 'of the session');
    const token = `${users.ada.access_token}x`;
    const fast: ConnectOptions['timing'] = {
      ...SYSTEM_TIMING,
      after: (ms, work) => SYSTEM_TIMING.after(ms === 10_000 ? 50 : ms, work),
    };
    const credential = renewal === 'fixed' ? { token } : { token: undefined as never, getToken: () => token };
    const client = place.client(t, { ...credential, timing: fast });
    await until(() => place.pages.values.size === 0, { what: `the end of it, ${renewal}` });
    await t.rejects(client.me(), { name: 'ParleyError', code: 'invalid_credentials' });
  }
});

t.test('a storage that fails, and its limits', async (t) => {
  const place = await Place.open(t);
  place.pages.isBroken = true;
  const id = await conversations.group('broken');
  const client = place.client(t);
  const view = client.conversation(id);
  await view.opened;
  await view.send('sent all the same');
  await until(() => place.errors.length > 0, { what: 'the error' });
  t.match(place.errors, [{ reason: 'store', willRetry: true }]);
  t.equal(place.errors.length, 1, 'said once');

  const pages = new MemoryPages();
  const store = pages.store(1_000);
  const items = (id: string, size: number) => [{ id, text: 'x'.repeat(size) }];
  const keep = async (name: string, size: number) => {
    await store.open(name);
    await store.write(name, items(name, size), () => true);
  };
  for (const name of ['a', 'b', 'c']) await keep(name, 300);
  t.strictSame([...pages.values.keys()].sort(), ['', 'a', 'b', 'c']);
  await store.open('a');
  await keep('d', 300);
  t.strictSame([...pages.values.keys()].sort(), ['', 'a', 'c', 'd'], 'the first that was opened goes');
  await keep('a', 2_000);
  t.strictSame([...pages.values.keys()].sort(), ['', 'c', 'd'], 'one that is too large by itself');
  await store.write('never opened', items('x', 1), () => true);
  await store.write('c', items('not wanted', 1), () => false);
  t.match(await store.open('c'), items('c', 300));
  t.equal(await store.open('never opened'), undefined);
  const many = new MemoryPages();
  for (let n = 0; n < 60; n++) await many.store().open(`${n}`);
  t.match(JSON.parse(many.values.get('')!).pages, { length: 50, 0: { name: '59' } });
});

t.test('another form of what is kept is dropped', async (t) => {
  const pages = new MemoryPages();
  const store = pages.store();
  const keep = async () => {
    await store.open('a');
    await store.write('a', [{ id: 'msg_1' }], () => true);
  };
  for (const other of [
    'text',
    '{}',
    '{"form":2,"text":"[]"}',
    '{"form":1,"text":"{"}',
    '{"form":1,"text":"[null]"}',
    '{"form":1,"text":"[{}]"}',
    '{"form":1}',
  ]) {
    await keep();
    pages.values.set('a', other === 'text' ? '"text"' : other);
    t.equal(await store.open('a'), undefined, other);
    t.notOk(pages.values.has('a'), other);
  }
  for (const other of ['"text"', '{"form":2,"pages":[]}', '{"form":1,"pages":[{}]}', '{"form":1}']) {
    await keep();
    pages.values.set('', other);
    t.equal(await store.open('a'), undefined, other);
    t.strictSame([...pages.values.keys()], [''], `${other}: and all pages with it`);
  }
});
