/** The store of an app: a list over a storage that has values by their keys alone. */

import t from 'tap';
import type { Actor } from '../index.ts';
import { type AppStorage, openStore } from '../native/index.ts';
import type { OutboxNews, OutboxRecord } from '../store/index.ts';

/** A storage that a test can stop in the middle of a change, as an app that is killed. */
class Storage implements AppStorage {
  readonly values = new Map<string, string>();
  /** The changes that are left before the app is killed. */
  left = Number.POSITIVE_INFINITY;

  async getItem(key: string): Promise<string | null> {
    return this.values.get(key) ?? null;
  }

  async setItem(key: string, value: string): Promise<void> {
    this.#change();
    this.values.set(key, value);
  }

  async removeItem(key: string): Promise<void> {
    this.#change();
    this.values.delete(key);
  }

  #change(): void {
    if (this.left-- <= 0) throw new Error('killed');
  }
}

const account = 'acc_1';

t.test('records in the order of their additions, each replaced or removed by its key', async (t) => {
  const store = open('order');
  for (const key of ['a', 'b', 'c', 'b']) await store.add(record(key));
  t.strictSame(await keysOf(store), ['a', 'c', 'b']);
  await store.update({ ...record('a'), created_at: 'later' });
  await store.update(record('gone'));
  await store.remove('c');
  await store.remove('gone');
  t.match(await store.all(), [{ key: 'a', created_at: 'later' }, { key: 'b' }]);
  await store.clear();
  t.strictSame(await keysOf(store), []);
});

t.test('stores of one owner at once lose nothing, and tell each other', async (t) => {
  const storage = new Storage();
  const [one, two, other] = [open('both', storage), open('both', storage), open('other', storage)];
  const heard: OutboxNews['what'][] = [];
  const peers = one.join!(() => heard.push('connected'));
  const left = two.join!(({ what }) => heard.push(what));
  await Promise.all(Array.from({ length: 10 }, (_, n) => [one, two][n % 2]!.add(record(`${n}`))));
  t.equal((await one.all()).length, 10);
  t.strictSame(await keysOf(other), []);

  peers.tell({ what: 'kept', record: record('1') });
  await Promise.resolve();
  t.strictSame(heard, ['kept'], 'not to itself');
  left.leave();
  peers.tell({ what: 'connected' });
  await Promise.resolve();
  t.strictSame(heard, ['kept']);

  const turns: string[] = [];
  const { signal } = new AbortController();
  const work = (name: string) => async () => {
    turns.push(`${name} begins`);
    await Promise.resolve();
    turns.push(`${name} ends`);
  };
  await Promise.all([peers.alone('cnv_1', work('one'), signal), left.alone('cnv_1', work('two'), signal)]);
  t.strictSame(turns, ['one begins', 'one ends', 'two begins', 'two ends']);
  await t.rejects(peers.alone('cnv_1', work('late'), AbortSignal.abort(new Error('closed'))), {
    message: 'closed',
  });
});

t.test('an app that is killed in the middle of a change leaves no value behind', async (t) => {
  for (const [name, change] of Object.entries({
    add: (store: ReturnType<typeof open>) => store.add(record('b')),
    remove: (store: ReturnType<typeof open>) => store.remove('a'),
    clear: (store: ReturnType<typeof open>) => store.clear(),
  })) {
    const storage = new Storage();
    const store = open(`killed ${name}`, storage);
    await store.add(record('a'));
    storage.left = 1;
    await t.rejects(change(store), { message: 'killed' }, name);
    storage.left = Number.POSITIVE_INFINITY;
    t.strictSame(await keysOf(store), name === 'add' ? ['a'] : [], name);
    await store.clear();
    t.equal(storage.values.size, 0, name);
  }
});

t.test('a malformed value is named by its key, for the client to drop', async (t) => {
  const storage = new Storage();
  const store = open('malformed', storage);
  await store.add(record('a'));
  for (const [key] of storage.values) if (key.includes('"a"')) storage.values.set(key, '{');
  t.strictSame(await store.all(), [{ key: 'a' }]);
  for (const [key] of storage.values) if (!key.includes('"a"')) storage.values.set(key, '{');
  await store.add(record('b'));
  t.strictSame(await keysOf(store), ['b']);
});

t.test('a named store is of the first actor that connects, until it is cleared', async (t) => {
  const store = openStore({ storage: new Storage(), account, name: 'session' });
  const [ada, grace] = [{ id: 'usr_ada' } as Actor, { id: 'usr_grace' } as Actor];
  t.equal(await store.isOf(ada), true);
  await store.add(record('a'));
  t.equal(await store.isOf(grace), false);
  await store.clear();
  t.equal(await store.isOf(grace), true);
  t.equal(open('usr_ada').isOf(ada), true);
  t.equal(open('usr_ada').isOf(grace), false);
  t.throws(() => openStore({ storage: new Storage(), account }), { name: 'TypeError' });
});

function open(actor: string, storage: AppStorage = new Storage()) {
  return openStore({ storage, account, actor });
}

async function keysOf(store: ReturnType<typeof open>): Promise<string[]> {
  return (await store.all()).map(({ key }) => key);
}

function record(key: string): OutboxRecord {
  const request = { body: key, client_message_id: key };
  const created_at = '2026-01-01T00:00:00Z';
  return { key, conversation_id: 'cnv_1', request, created_at, failure: null } as OutboxRecord;
}
