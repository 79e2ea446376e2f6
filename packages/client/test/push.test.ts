/** Web push of the SDK against the real server; the browser's own part is as its standard says. */

import type { List } from '@parley/protocol/lists.ts';
import type { PushSubscription } from '@parley/protocol/resources/push-subscription.ts';
import t from 'tap';
import { borrowTestApp } from '../../../test/support/app.ts';
import type { Teardown } from '../../../test/support/teardown.ts';
import { type Client, connect } from '../index.ts';

const app = await borrowTestApp(t);
const { demo } = app;
const PATH = '/v1/messaging/push-subscriptions';
const KEYS = {
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
};

t.test('in Node it says what is missing', async (t) => {
  await t.rejects(open(t).push.register('/push-worker.js'), TypeError);
});

t.test('a browser is registered once, again under another key, and ended at sign-out', async (t) => {
  const browser = installBrowser(t);
  const client = open(t);
  const first = await client.push.register('/push-worker.js');
  t.strictSame(browser.workers, ['/push-worker.js']);
  t.match(browser.subscribed[0], { userVisibleOnly: true, applicationServerKey: /^[\w-]{87}$/ });
  t.match(await registered(), [{ id: first.id, endpoint: browser.endpoint }]);

  t.equal((await client.push.register('/push-worker.js')).id, first.id, 'at the next visit');
  t.equal(browser.subscribed.length, 1, 'with the same subscription');

  const kept = JSON.parse(browser.storage.get('parley.push')!);
  browser.storage.set('parley.push', JSON.stringify({ ...kept, keyId: 'another key' }));
  await client.push.register('/push-worker.js');
  t.equal(browser.subscribed.length, 2, 'the server had another key at the last visit');
  t.equal(browser.unsubscribed, 1);

  await client.push.unregister();
  t.equal(browser.unsubscribed, 2);
  t.strictSame(await registered(), []);
  t.equal(browser.storage.size, 0);
  await client.push.unregister();
});

t.test('it says what this browser is, for each person', async (t) => {
  const none = open(t);
  t.equal(await none.push.state(), 'unsupported');
  const browser = installBrowser(t);
  const grace = await live(open(t));
  const ada = await live(open(t, demo.users.ada.access_token));
  t.equal(await grace.push.state(), 'off');
  await grace.push.register('/push-worker.js');
  t.strictSame([await grace.push.state(), await ada.push.state()], ['on', 'off']);
  await ada.push.unregister();
  t.equal(await grace.push.state(), 'on', 'that of another person stays');

  await ada.push.register('/push-worker.js');
  t.equal(browser.unsubscribed, 1, 'a browser has one person');
  t.strictSame([await grace.push.state(), await ada.push.state()], ['off', 'on']);
  browser.permission = 'denied';
  t.equal(await ada.push.state(), 'denied');
});

async function live(client: Client): Promise<Client> {
  await new Promise<void>((resolve) => {
    client.on('state', (state) => state === 'live' && resolve());
  });
  return client;
}

async function registered(): Promise<readonly PushSubscription[]> {
  const { body } = await app.call<List<PushSubscription>>('GET', PATH, {
    token: demo.users.grace.access_token,
    headers: { 'Service-Version': '1.2.harbor' },
  });
  return body.data;
}

/** Sets the globals that a page has. */
function installBrowser(t: Teardown) {
  const storage = new Map<string, string>();
  const browser = {
    endpoint: 'https://push.example.com/send/page',
    storage,
    workers: [] as unknown[],
    subscribed: [] as object[],
    unsubscribed: 0,
    permission: 'granted',
  };
  let current: object | null = null;
  const worker = {
    pushManager: {
      getSubscription: async () => current,
      subscribe: async (options: object) => {
        browser.subscribed.push(options);
        current = {
          toJSON: () => ({ endpoint: browser.endpoint, expirationTime: null, keys: KEYS }),
          unsubscribe: async () => {
            browser.unsubscribed += 1;
            current = null;
            return true;
          },
        };
        return current;
      },
    },
  };
  const serviceWorker = {
    ready: Promise.resolve(worker),
    register: async (url: unknown) => browser.workers.push(url),
    getRegistration: async () => worker,
  };
  const localStorage = {
    getItem: (key: string) => storage.get(key) ?? null,
    setItem: (key: string, value: string) => storage.set(key, value),
    removeItem: (key: string) => storage.delete(key),
  };
  for (const [name, value] of Object.entries({
    navigator: { serviceWorker },
    localStorage,
    PushManager: class {},
    Notification: browser,
  })) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true });
    t.teardown(() => {
      if (before === undefined) Reflect.deleteProperty(globalThis, name);
      else Object.defineProperty(globalThis, name, before);
    });
  }
  return browser;
}

function open(t: Teardown, token = demo.users.grace.access_token): Client {
  const client = connect({
    url: app.baseUrl,
    account: demo.account_id,
    token,
  });
  t.teardown(() => client.close());
  return client;
}
