/**
 * The store in IndexedDB, in a real browser: reloads, killed tabs, two tabs, sign-out, no space.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client/ai,
 * packages/client/react, src/core/installation, src/features/mail, src/platform/outbound.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { openNetwork } from '@parley/client/test/network.ts';
import { OpenConversations } from '@parley/client/test/open-conversations.ts';
import type { BrowserContext, Page } from 'playwright-core';
import { rolldown } from 'rolldown';
import t from 'tap';
import { startTestApp } from '../../support/app.ts';
import { startChromium } from '../../support/chromium.ts';
import type { Teardown } from '../../support/teardown.ts';
import { until } from '../../support/until.ts';

/** A page of a person's browser that has `chat` of store-page.ts. */
class Tab {
  readonly page: Page;
  readonly #config: object;

  constructor(page: Page, config: object) {
    this.page = page;
    this.#config = config;
  }

  async load(): Promise<void> {
    await this.page.goto(origin);
    await this.page.waitForFunction('"chat" in globalThis');
    await this.call('open', this.#config);
  }

  call<T = unknown>(method: string, ...args: readonly unknown[]): Promise<T> {
    return this.page.evaluate<T>(`chat.${method}(${args.map((arg) => JSON.stringify(arg)).join()})`);
  }

  list(name: 'errors' | 'posts'): Promise<string[]> {
    return this.page.evaluate<string[]>(`chat.${name}`);
  }

  /** Waits for the messages that are shown, as `delivery body`. */
  async shows(...expected: readonly string[]): Promise<void> {
    await this.has('shown', expected);
  }

  async stores(...expected: readonly string[]): Promise<void> {
    await this.has('stored', expected);
  }

  async has(method: 'shown' | 'stored', expected: readonly string[]): Promise<void> {
    let found: unknown;
    const isThere = async () => {
      found = await this.call(method);
      return JSON.stringify(found) === JSON.stringify(expected);
    };
    await until(isThere, { what: `${expected} as ${method}` }).catch((error: Error) => {
      throw new Error(`${error.message}, but ${JSON.stringify(found)}`);
    });
  }
}

interface Options {
  readonly actor?: string;
  readonly name?: string;
  readonly token?: string;
  readonly conversation?: string;
  /** Runs in the page before its own. */
  readonly script?: string;
}

/** A browser of ada with tabs, before a server that can be away. */
class Place {
  readonly context: BrowserContext;
  readonly conversation: string;
  readonly #network: Awaited<ReturnType<typeof openNetwork>>;

  static async open(t: Teardown): Promise<Place> {
    const [context, network, conversation] = await Promise.all([
      startChromium(t),
      openNetwork(t, app.baseUrl),
      conversations.group('group'),
    ]);
    return new Place(context, network, conversation);
  }

  private constructor(
    context: BrowserContext,
    network: Awaited<ReturnType<typeof openNetwork>>,
    conversation: string,
  ) {
    this.context = context;
    this.#network = network;
    this.conversation = conversation;
  }

  async tab({ script, ...of }: Options = {}): Promise<Tab> {
    const { account_id: account, users } = app.demo;
    const { id: actor, access_token: token } = users.ada;
    const { conversation } = this;
    const config = { url: this.#network.url, account, actor, token, conversation, ...of };
    const page = await this.context.newPage();
    if (script !== undefined) await page.addInitScript(script);
    const tab = new Tab(page, config);
    await tab.load();
    return tab;
  }

  away(): void {
    this.#network.target = 'http://127.0.0.1:1';
    this.#network.cut();
  }

  back(): void {
    this.#network.target = app.baseUrl;
  }

  async bodies(id = this.conversation): Promise<(string | null)[]> {
    const path = `/v1/messaging/conversations/${id}/messages`;
    const { access_token: token } = app.demo.users.ada;
    const { body } = await app.call<{ data: { body: string | null }[] }>('GET', path, { token });
    return body.data.map((message) => message.body).reverse();
  }
}

const bundle = await rolldown({ input: join(import.meta.dirname, 'store-page.ts'), platform: 'browser' });
const { output } = await bundle.generate({ format: 'es', codeSplitting: false });
await bundle.close();
const scripts = new Map<string, string>(
  output.flatMap((one) => (one.type === 'chunk' ? [[`/${one.fileName}`, one.code] as const] : [])),
);
const server = createServer((request, response) => {
  const script = scripts.get(request.url ?? '');
  response.setHeader('content-type', script === undefined ? 'text/html' : 'text/javascript');
  response.end(script ?? '<!doctype html><script type="module" src="/store-page.js"></script>');
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
t.teardown(() => void server.close());
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const app = await startTestApp(t, { PARLEY_ALLOWED_ORIGINS: origin });
const conversations = new OpenConversations(app);

/** Ends the process of a tab, which closes nothing. */
async function kill({ page }: Tab): Promise<void> {
  const crashed = page.waitForEvent('crash');
  await page.goto('chrome://crash').catch(() => undefined);
  await crashed;
}

const WITHOUT_LOCKS = `Object.defineProperty(navigator, 'locks', { value: undefined })`;

const WITHOUT_INDEXED_DB = {
  absent: `Object.defineProperty(globalThis, 'indexedDB', { value: undefined })`,
  forbidden: `Object.defineProperty(globalThis, 'indexedDB', {
    get() { throw new DOMException('denied', 'SecurityError'); },
  })`,
  refused: `indexedDB.open = () => {
    const request = { error: new DOMException('private', 'InvalidStateError') };
    queueMicrotask(() => request.onerror());
    return request;
  }`,
  blocked: `indexedDB.open = () => {
    const request = {};
    queueMicrotask(() => request.onblocked());
    return request;
  }`,
};

const READ_ALL = `(async () => {
  const found = [];
  const answer = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  for (const { name } of await indexedDB.databases()) {
    const database = await answer(indexedDB.open(name));
    for (const store of database.objectStoreNames) {
      found.push(await answer(database.transaction(store).objectStore(store).getAll()));
    }
    database.close();
  }
  return JSON.stringify(found);
})()`;

const WRITE_MALFORMED = `(async () => {
  const answer = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  const database = await answer(indexedDB.open('parley-outbox'));
  const records = database.transaction('records', 'readwrite').objectStore('records');
  await answer(records.put({
    owner: ['${app.demo.account_id}', '${app.demo.users.ada.id}'],
    key: 'malformed',
    record: 'text',
  }));
  database.close();
})()`;

t.test('written offline, then the tab is reloaded and killed', async (t) => {
  const place = await Place.open(t);
  const other = await conversations.group('other');
  place.away();
  const tab = await place.tab();
  await tab.call('send', '1', '2');
  await tab.call('sendTo', other, 'elsewhere');
  await tab.stores('1', '2', 'elsewhere');
  await tab.load();
  await tab.shows('pending 1', 'pending 2');
  await tab.call('send', '3');
  await tab.shows('pending 1', 'pending 2', 'pending 3');
  await kill(tab);

  const later = await place.tab();
  await later.shows('pending 1', 'pending 2', 'pending 3');
  place.back();
  await later.shows('sent 1', 'sent 2', 'sent 3');
  await later.stores();
  t.strictSame(await place.bodies(), ['1', '2', '3']);
  t.strictSame(await place.bodies(other), ['elsewhere'], 'its conversation was not opened again');
  t.strictSame((await later.list('posts')).sort(), ['1', '2', '3', 'elsewhere']);
  t.strictSame(await later.list('errors'), []);
});

for (const [locks, options] of Object.entries({ 'Web Locks': {}, leases: { script: WITHOUT_LOCKS } })) {
  t.test(`two tabs send each message once, in one order, with ${locks}`, async (t) => {
    const place = await Place.open(t);
    place.away();
    const [one, two] = [await place.tab(options), await place.tab(options)];
    const expected: string[] = [];
    for (const [n, tab] of [one, two, two, one].entries()) {
      await tab.call('send', `${n}`);
      expected.push(`${n}`);
      for (const each of [one, two]) await each.shows(...expected.map((body) => `pending ${body}`));
    }
    place.back();
    for (const each of [one, two]) await each.shows(...expected.map((body) => `sent ${body}`));
    t.strictSame(await place.bodies(), expected);
    t.strictSame([...(await one.list('posts')), ...(await two.list('posts'))].sort(), expected);
    t.strictSame([await one.list('errors'), await two.list('errors')], [[], []]);
    await one.stores();
  });
}

t.test('a tab that is killed in its turn leaves what it has to the other', async (t) => {
  const place = await Place.open(t);
  const [one, two] = [await place.tab(), await place.tab()];
  await one.call('send', '0');
  await two.shows('sent 0');
  place.away();
  // The connection has named the caller, so it is the turn of this one until it is gone.
  await one.call('send', '1');
  await two.shows('sent 0', 'pending 1');
  await kill(one);
  await two.call('send', '2');
  place.back();
  await two.shows('sent 0', 'sent 1', 'sent 2');
  t.strictSame(await place.bodies(), ['0', '1', '2']);
});

t.test('what was refused stays until it is discarded, in every tab', async (t) => {
  const place = await Place.open(t);
  const tab = await place.tab();
  await tab.call('refused');
  await tab.load();
  const two = await place.tab();
  for (const each of [tab, two]) {
    await each.shows('failed x');
    t.strictSame(await each.call('reasons'), ['ParleyError']);
  }
  await tab.call('discard', 'x');
  await two.shows();
  await two.stores();
});

t.test('after the sign-out nothing is left, and another person sees nothing before it', async (t) => {
  const place = await Place.open(t);
  place.away();
  const [one, two] = [await place.tab(), await place.tab()];
  await one.call('send', 'secret');
  await two.shows('pending secret');
  const { id: actor, access_token: token } = app.demo.users.grace;
  const grace = await place.tab({ actor, token });
  await grace.stores();
  await grace.call('send', 'hers');
  await grace.shows('pending hers');
  await one.call('signOut');
  await two.shows();
  t.notMatch(await grace.page.evaluate(READ_ALL), 'secret', 'in no object store');
  place.back();
  await grace.shows('sent hers');
  t.strictSame(await place.bodies(), ['hers']);
});

t.test('a store by a name of the page belongs to the person who used it first', async (t) => {
  const place = await Place.open(t);
  const name = 'the one at the desk';
  const first = await place.tab({ name });
  await first.call('send', 'first');
  await first.shows('sent first');
  place.away();
  await first.call('send', 'secret');
  await first.stores('secret');
  await first.load();
  await first.shows('pending secret');
  await first.page.close();
  place.back();
  const { access_token: token } = app.demo.users.grace;
  const other = await place.tab({ name, token });
  await other.call('send', 'hers');
  await until(async () => (await place.bodies()).includes('hers'), { what: 'the message of the other' });
  t.notMatch(await other.call('shown'), 'secret');
  t.strictSame(await place.bodies(), ['first', 'hers'], 'nothing of the first person');
  await other.page.close();
  const again = await place.tab({ name });
  await until(async () => (await place.bodies()).includes('secret'), { what: 'what was kept' });
  await again.call('signOut');
  t.notMatch(await again.page.evaluate(READ_ALL), app.demo.users.ada.id, 'nor whose it was');
});

/** Each breaks the database before what is sent first is kept. */
const FAILS_ONCE = {
  'the browser has closed the database': `
    const { transaction } = IDBDatabase.prototype;
    let closed;
    IDBDatabase.prototype.transaction = function (...args) {
      closed ??= this;
      if (this !== closed) return transaction.apply(this, args);
      throw new DOMException('The database connection is closing.', 'InvalidStateError');
    }`,
  'an open that fails': `
    const { open } = IDBFactory.prototype;
    IDBFactory.prototype.open = () => {
      IDBFactory.prototype.open = open;
      const request = { error: new DOMException('Connection to Indexed Database server lost.', 'UnknownError') };
      queueMicrotask(() => request.onerror());
      return request;
    }`,
  'an open that is answered late': `
    const { open } = IDBFactory.prototype;
    IDBFactory.prototype.open = (...args) => {
      IDBFactory.prototype.open = open;
      const request = {};
      setTimeout(() => {
        const opening = indexedDB.open(...args);
        opening.onupgradeneeded = () => Object.assign(request, { result: opening.result }).onupgradeneeded();
        opening.onsuccess = () => request.onsuccess();
      }, 6_000);
      return request;
    }`,
};

for (const [name, script] of Object.entries(FAILS_ONCE)) {
  t.test(`after ${name} messages are kept again`, async (t) => {
    const place = await Place.open(t);
    place.away();
    const tab = await place.tab({ script });
    const kept: string[] = [];
    await until(
      async () => {
        const body = `${kept.length}`;
        kept.push(body);
        await tab.call('send', body);
        return (await tab.call<string[]>('stored').catch((): string[] => [])).includes(body);
      },
      { what: 'a message that is kept' },
    );
    const unkept = (await tab.list('errors')).filter((error) => error.includes(' '));
    const keys = new Set(unkept.map((error) => error.split(' ')[0]));
    const expected = kept.filter((body) => !keys.has(body));
    await tab.stores(...expected);
    await tab.page.close();
    const later = await place.tab();
    await later.shows(...expected.map((body) => `pending ${body}`));
    place.back();
    await later.stores();
  });
}

t.test(
  'without IndexedDB, without space, with a malformed record: sent, and said for each message',
  async (t) => {
    const place = await Place.open(t);
    for (const [name, script] of Object.entries(WITHOUT_INDEXED_DB)) {
      const tab = await place.tab({ script, conversation: await conversations.group(name) });
      await tab.call('send', `${name} 1`, `${name} 2`);
      await tab.shows(`sent ${name} 1`, `sent ${name} 2`);
      const errors = await tab.list('errors');
      t.match(errors, [/^\w+$/, new RegExp(`^${name} 1 `), new RegExp(`^${name} 2 `)], name);
      t.equal(errors.length, 3, name);
      await tab.page.close();
    }
    const tab = await place.tab();
    await tab.call('signOut');
    await tab.page.evaluate(WRITE_MALFORMED);
    await tab.load();
    await tab.stores();
    await until(async () => (await tab.list('errors')).join() === 'TypeError', {
      what: 'the malformed record',
    });

    const small = await Place.open(t);
    const [page] = small.context.pages();
    const devtools = await small.context.newCDPSession(page!);
    await devtools.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1 });
    const full = await small.tab();
    await full.call('send', '1', '2');
    await full.shows('sent 1', 'sent 2');
    const ofMessages = (await full.list('errors')).filter((error) => error.includes(' '));
    t.strictSame(ofMessages, ['1 QuotaExceededError', '2 QuotaExceededError']);
  },
);

t.test(
  'offline after a reload: the last pages, and a change that waits; nothing after the sign-out',
  async (t) => {
    const place = await Place.open(t);
    const tab = await place.tab();
    await tab.call('openInbox');
    await tab.call('send', 'read before');
    await tab.shows('sent read before');
    const found = () => tab.page.evaluate<string>(READ_ALL);
    await until(async () => /inbox [^]*read before/.test(await found()), { what: 'the pages' });
    place.away();
    await tab.call('edit', 'changed offline');
    await until(async () => /"kind":"edit"/.test(await found()), { what: 'the change' });
    await kill(tab);

    const later = await place.tab();
    await later.call('openInbox');
    await until(async () => JSON.stringify(await later.call('shown')).includes('changed offline'), {
      what: 'the page with the change',
    });
    await until(async () => (await later.call<string[]>('titles')).includes('group'), { what: 'the inbox' });
    place.back();
    await later.stores();
    await until(async () => (await place.bodies()).join() === 'changed offline', {
      what: 'the change, sent',
    });

    const two = await place.tab();
    await until(async () => JSON.stringify(await two.call('shown')).includes('changed offline'), {
      what: 'it',
    });
    const { id: actor, access_token: token } = app.demo.users.grace;
    const grace = await place.tab({ actor, token });
    await grace.call('openInbox');
    for (const each of [later, two]) await each.call('signOut');
    await until(
      async () => !(await grace.page.evaluate<string>(READ_ALL)).includes(`${app.demo.users.ada.id}"],`),
      {
        what: 'nothing of ada',
      },
    );
    await grace.call('signOut');
    await until(async () => !(await grace.page.evaluate<string>(READ_ALL)).includes('changed offline'), {
      what: 'nothing at all',
    });
  },
);
