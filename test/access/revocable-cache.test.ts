import t from 'tap';
import { RevocableCache } from '../../src/api/access/revocable-cache.ts';
import { EVERYTHING } from '../../src/api/access/rights.ts';
import { MemoryEngine } from '../../src/platform/engine/memory-engine.ts';
import type { Teardown } from '../support/teardown.ts';
import { ManualClock, openRights } from './rows.ts';

interface Membership {
  readonly role: string;
}

/** The true values, the reads in progress, and a cache in front of them. */
async function openCache(t: Teardown, max = 100) {
  const rights = await openRights(new MemoryEngine(), t);
  const clock = new ManualClock(0);
  const truth = new Map<string, Membership>();
  const reads: { key: string; finish: (value?: Membership) => void; fail: (error: Error) => void }[] = [];
  const cache = new RevocableCache<Membership | undefined>({
    rights,
    max,
    now: clock.now,
    subjectsOf: (_, key) => key.split(':'),
    load: (key) =>
      new Promise((resolve, reject) => {
        // A read returns the value at its beginning, however long it takes.
        const seen = truth.get(key);
        reads.push({ key, finish: () => resolve(seen), fail: reject });
      }),
  });
  /** Lets the read that was begun last, or `n` before it, come back. */
  const read = async (key: string) => {
    const value = cache.get(key);
    reads.at(-1)?.finish();
    return value;
  };
  return { rights, clock, truth, reads, cache, read };
}

t.test('a cache takes no memory for its entries before it has one', async (t) => {
  const rights = await openRights(new MemoryEngine(), t);
  const load = async () => 'value';
  const bytes = () => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  const before = bytes();
  const caches = Array.from({ length: 50 }, () => {
    return new RevocableCache({ rights, load, subjectsOf: () => [], max: 100_000 });
  });
  t.ok(bytes() - before < 20_000_000, `${bytes() - before} bytes more`);
  t.strictSame(
    caches.map(({ size }) => size),
    caches.map(() => 0),
  );
  for (const cache of caches) cache.close();
});

t.test('a hit is synchronous and reads nothing', async (t) => {
  const { truth, reads, cache, read } = await openCache(t);
  truth.set('act_1:cnv_1', { role: 'member' });
  const value = await read('act_1:cnv_1');
  t.equal(cache.get('act_1:cnv_1'), value);
  t.equal(reads.length, 1);
});

t.test('concurrent callers share one read', async (t) => {
  const { truth, reads, cache } = await openCache(t);
  truth.set('act_1:cnv_1', { role: 'member' });
  const asked = Array.from({ length: 20 }, () => cache.get('act_1:cnv_1'));
  reads[0]?.finish();
  t.equal(new Set(await Promise.all(asked)).size, 1);
  t.equal(reads.length, 1);
});

t.test('a change of any subject drops what hangs on it, and nothing else', async (t) => {
  const { rights, truth, cache, read } = await openCache(t);
  const keys = ['act_1:cnv_1', 'act_1:cnv_2', 'act_2:cnv_1', 'act_2:cnv_2'];
  for (const key of keys) {
    truth.set(key, { role: 'member' });
    await read(key);
  }
  // Synchronously on the announcing node: no await between announcing and looking.
  const announced = rights.announce('cnv_1');
  t.equal(cache.size, 2);
  await announced;
  void rights.announce('act_2');
  t.equal(cache.size, 1);
  t.same(cache.get('act_1:cnv_2'), { role: 'member' });
  void rights.announce(EVERYTHING);
  t.equal(cache.size, 0);
});

t.test('a change during a read makes it read again, for all waiting callers', async (t) => {
  for (const subject of ['act_1', 'cnv_1', EVERYTHING]) {
    const { rights, truth, reads, cache } = await openCache(t);
    truth.set('act_1:cnv_1', { role: 'admin' });
    const early = cache.get('act_1:cnv_1');
    truth.set('act_1:cnv_1', { role: 'viewer' });
    await rights.announce(subject);
    const late = cache.get('act_1:cnv_1');
    reads[0]?.finish();
    // The first answer is thrown away, and a second read begun.
    while (reads.length < 2) await Promise.resolve();
    t.equal(cache.size, 0, subject);
    reads[1]?.finish();
    t.same(await Promise.all([early, late]), [{ role: 'viewer' }, { role: 'viewer' }], subject);
    t.same(cache.get('act_1:cnv_1'), { role: 'viewer' }, subject);
    t.equal(reads.length, 2, subject);
  }
});

t.test('a row that appears during a read is found', async (t) => {
  const { rights, truth, reads, cache } = await openCache(t);
  const early = cache.get('act_1:cnv_1');
  truth.set('act_1:cnv_1', { role: 'member' });
  await rights.announce('cnv_1');
  reads[0]?.finish();
  while (reads.length < 2) await Promise.resolve();
  reads[1]?.finish();
  t.same(await early, { role: 'member' });
});

t.test('a change of something else during a read changes nothing', async (t) => {
  const { rights, truth, reads, cache } = await openCache(t);
  truth.set('act_1:cnv_1', { role: 'member' });
  const value = cache.get('act_1:cnv_1');
  await rights.announce('cnv_2');
  reads[0]?.finish();
  t.same(await value, { role: 'member' });
  t.equal(reads.length, 1);
});

t.test('past its age it is read again; while that fails, nothing is served', async (t) => {
  const { clock, truth, reads, cache, read } = await openCache(t);
  truth.set('act_1:cnv_1', { role: 'member' });
  await read('act_1:cnv_1');
  clock.nowMs = 29_999;
  t.same(cache.get('act_1:cnv_1'), { role: 'member' });
  clock.nowMs = 30_000;
  const again = cache.get('act_1:cnv_1') as Promise<unknown>;
  reads[1]?.fail(new Error('Postgres is away'));
  await t.rejects(again, /away/);
  t.equal(cache.size, 0);
  t.same(await read('act_1:cnv_1'), { role: 'member' });
});

t.test('its age counts from the beginning of the read', async (t) => {
  const { clock, truth, reads, cache } = await openCache(t);
  truth.set('act_1:cnv_1', { role: 'member' });
  const value = cache.get('act_1:cnv_1');
  clock.nowMs = 20_000;
  reads[0]?.finish();
  await value;
  clock.nowMs = 30_000;
  t.ok(cache.get('act_1:cnv_1') instanceof Promise);
});

t.test('absent rows are not cached, so made-up keys evict nothing', async (t) => {
  const { truth, cache, read } = await openCache(t, 10);
  truth.set('act_1:cnv_1', { role: 'member' });
  await read('act_1:cnv_1');
  for (let i = 0; i < 100; i++) t.equal(await read(`act_${i}:cnv_x`), undefined);
  t.equal(cache.size, 1);
});

t.test('it is bounded, and so is what it remembers about subjects', async (t) => {
  const { rights, truth, cache, read } = await openCache(t, 10);
  for (let i = 0; i < 100; i++) {
    truth.set(`act_${i}:cnv_1`, { role: 'member' });
    await read(`act_${i}:cnv_1`);
  }
  t.equal(cache.size, 10);
  t.ok(cache.get('act_99:cnv_1'), 'the latest are kept');
  // Entries that were pushed out are not in the way of those that came in their place.
  void rights.announce('act_0');
  t.equal(cache.size, 10);
  void rights.announce('cnv_1');
  t.equal(cache.size, 0);
});

t.test('a load that throws synchronously leaves nothing behind', async (t) => {
  const rights = await openRights(new MemoryEngine(), t);
  let broken = true;
  const cache = new RevocableCache<string>({
    rights,
    max: 10,
    subjectsOf: () => [],
    load: (key) => {
      if (broken) throw new Error('broken');
      return Promise.resolve(key);
    },
  });
  await t.rejects(Promise.resolve(cache.get('a')), /broken/);
  broken = false;
  t.equal(await cache.get('a'), 'a');
});

t.test('after close it receives nothing and holds nothing', async (t) => {
  const { rights, truth, cache, read } = await openCache(t);
  truth.set('act_1:cnv_1', { role: 'member' });
  await read('act_1:cnv_1');
  cache.close();
  t.equal(cache.size, 0);
  await rights.announce('act_1');
});
