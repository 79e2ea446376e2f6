/**
 * The parts of live objects without a server: windows of lists, their reads, code that is loaded.
 */

import t, { type Test } from 'tap';
import { Random } from '../../../test/support/random.ts';
import { until } from '../../../test/support/until.ts';
import { ParleyError } from '../errors/parley-error.ts';
import { InboxReader } from '../inbox/inbox-reader.ts';
import { ListWindow } from '../lists/list-window.ts';
import { ReadLoop } from '../lists/read-loop.ts';
import type { FollowHost } from '../live/follow-host.ts';
import { LoadedObject, type Loading, type PartOwner } from '../live/loaded-object.ts';
import { PresenceTracker } from '../people/presence-tracker.ts';
import { ManualTiming } from './manual-timing.ts';

interface Item {
  readonly id: string;
  readonly at: string;
  readonly text: string;
}

t.test('a window holds what is not behind its end, whatever moves', async (t) => {
  const random = new Random(20_261_126);
  const keyOf = ({ at, id }: Item) => `${at} ${id}`;
  const all = new Map<string, Item>();
  const make = (id: string): Item => {
    return { id, at: String(random.below(1_000)).padStart(4, '0'), text: String(random.below(3)) };
  };
  for (let n = 0; n < 60; n++) all.set(`i${n}`, make(`i${n}`));
  const sorted = () => [...all.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? 1 : -1));
  const window = new ListWindow<Item>(keyOf);
  window.replace(sorted().slice(0, 20), 'next');
  let end = keyOf(sorted()[19]!);
  for (let step = 0; step < 2_000; step++) {
    const before = window.items;
    const known = new Map(before.map((item) => [item.id, item]));
    const id = `i${random.below(70)}`;
    const move = random.below(10);
    if (move === 0) {
      all.delete(id);
      window.delete(id);
    } else if (move === 1 && step % 50 === 0) {
      const page = sorted()
        .filter((item) => keyOf(item) < end)
        .slice(0, 5);
      window.append(page, 'next');
      if (page.length > 0) end = keyOf(page.at(-1)!);
    } else {
      const item = move < 4 ? { ...(all.get(id) ?? make(id)) } : make(id);
      all.set(id, item);
      window.put(item);
    }
    const expected = sorted().filter((item) => keyOf(item) >= end);
    if (JSON.stringify(window.items) !== JSON.stringify(expected)) t.fail(`step ${step}`);
    for (const item of window.items) {
      const was = known.get(item.id);
      if (was !== undefined && JSON.stringify(was) === JSON.stringify(item) && was !== item)
        t.fail('another object');
    }
    const isSame = JSON.stringify(before) === JSON.stringify(window.items);
    if (isSame !== (before === window.items)) t.fail(`step ${step}: ${isSame}`);
  }
  window.replace(sorted(), null);
  t.equal(window.items.length, all.size, 'without an end it holds everything');
});

t.test(
  'what changes while the whole is read is newer than the answer, and no state gets older',
  async (t) => {
    const item = (id: string, text: string, updated_at: string) => ({ id, at: id, text, updated_at });
    const window = new ListWindow(({ at }: ReturnType<typeof item>) => at, { isAscending: true });
    const shown = () => window.items.map(({ id, text }) => `${id}: ${text}`).join(', ');
    const answer = [item('a', 'one', '1'), item('b', 'one', '1')];
    window.replace(answer, null);
    const [first] = window.items;
    window.beginRead();
    window.put(item('a', 'two', '2'));
    window.delete('b');
    window.put(item('c', 'one', '1'));
    window.replace(answer, null);
    t.equal(shown(), 'a: two, c: one');
    window.put(first!);
    t.equal(shown(), 'a: two, c: one', 'an older state');
    window.replace(answer, null);
    t.equal(shown(), 'a: one, b: one', 'the changes were those of one read');
  },
);

t.test('reads are one after the other, gathered, and rest in between', async (t) => {
  const timing = new ManualTiming();
  const reads: PromiseWithResolvers<boolean>[] = [];
  const failures: string[] = [];
  const loop = new ReadLoop({
    timing,
    restMs: 1_000,
    read: () => {
      const read = Promise.withResolvers<boolean>();
      reads.push(read);
      return read.promise;
    },
    failed: ({ code }) => failures.push(code),
  });
  const settled = async (count: number) => {
    await until(() => timing.waits.length > 0, { what: 'the rest' });
    t.equal(reads.length, count);
  };
  loop.wake();
  loop.wake();
  t.equal(reads.length, 0, 'the rest of the burst is awaited');
  timing.end(30);
  t.equal(reads.length, 1);
  loop.wake();
  reads[0]!.resolve(false);
  await settled(1);
  timing.end(1_000);
  t.equal(reads.length, 2, 'what came meanwhile is read after a rest');
  reads[1]!.resolve(false);
  await settled(2);
  loop.wake(true);
  t.equal(reads.length, 3, 'an urgent one does not wait');
  reads[2]!.reject(new ParleyError('network', 'lost', { isTransient: true }));
  await settled(3);
  timing.end(5_000);
  t.equal(reads.length, 4, 'what may succeed later is tried again');
  reads[3]!.reject(new ParleyError('resource_not_found', 'There is none.'));
  await settled(4);
  timing.end(5_000);
  t.equal(reads.length, 4, 'a refusal is not');
  t.strictSame(failures, ['network', 'resource_not_found']);
  loop.wake(true);
  loop.close();
  reads[4]!.resolve(true);
  await until(() => true, { what: 'a moment' });
  loop.wake(true);
  t.equal(reads.length, 5, 'nothing is read after the end');
});

t.test('between two polls inbox.changed may be lost: the list is read again from time to time', async (t) => {
  const paths: string[] = [];
  const page = { object: 'list', data: [], page_info: { next_page_url: null } };
  const timing = new ManualTiming();
  const host = hostOf(t, timing, (path) => {
    paths.push(path);
    return page;
  });
  const lists = () => paths.filter((path) => path.includes('order=activity')).length;
  const reader = new InboxReader(host, {}, () => {});
  for (let round = 1; round <= 3; round++) {
    await until(() => lists() === round && [15_000, 1_000].every((ms) => timing.waits.includes(ms)), {
      what: `read ${round}`,
    });
    timing.end(15_000);
    timing.end(1_000);
  }
  reader.close();
});

t.test('what was heard of a person while its presence was read is newer than the answer', async (t) => {
  const timing = new ManualTiming();
  const reading = Promise.withResolvers<object>();
  let hear: Parameters<FollowHost['onFrame']>[0] = () => {};
  const onFrame: FollowHost['onFrame'] = (listener) => {
    hear = listener;
    return () => {};
  };
  const tracker = new PresenceTracker({ ...hostOf(t, timing, () => reading.promise), onFrame });
  let shown: ReadonlyMap<string, string> = new Map();
  const part = tracker.follow(['act_1', 'act_2'], ({ presence = shown }) => {
    shown = presence;
  });
  timing.end(30);
  const data = { actor_id: 'act_1', status: 'online' };
  hear({ type: 'event', event: 'presence', conversation_id: 'cnv_1', at: '', data });
  const online = ['act_1', 'act_2'].map((actor_id) => ({ actor_id, status: 'away' }));
  reading.resolve({ data: online });
  await until(() => shown.size === 2, { what: 'the answer' });
  t.strictSame([...shown.values()], ['online', 'away']);
  part.close();
});

t.test('code that cannot be loaded is asked for again; closing before it is there is enough', async (t) => {
  interface Shown extends Loading {
    readonly value: number;
  }
  const timing = new ManualTiming();
  const loads: PromiseWithResolvers<{ close(): void }>[] = [];
  let set: PartOwner<Shown>['set'] = () => {};
  const closing = new AbortController();
  class Shelf extends LoadedObject<Shown, { close(): void }> {
    constructor() {
      super({ status: 'loading', error: null, value: 0 }, { timing, closing: closing.signal }, (owner) => {
        set = owner.set;
        const load = Promise.withResolvers<{ close(): void }>();
        loads.push(load);
        return load.promise;
      });
    }

    part(): Promise<unknown> {
      return this.loaded;
    }
  }
  const shelf = new Shelf();
  const changes: string[] = [];
  shelf.on('change', ({ what }) => changes.push(what));
  loads[0]!.reject(new TypeError('Failed to fetch dynamically imported module'));
  await until(() => shelf.snapshot.status === 'error', { what: 'the failure' });
  t.match(shelf.snapshot.error, { code: 'network', isTransient: true });
  timing.end(5_000);
  await until(() => loads.length === 2, { what: 'the second try' });
  let closed = 0;
  loads[1]!.resolve({ close: () => (closed += 1) });
  set({ status: 'ready', error: null });
  const { snapshot } = shelf;
  set({ status: 'ready', value: 0 });
  t.equal(shelf.snapshot, snapshot, 'the same reference until something changed');
  set({ value: 1 });
  t.match(shelf.snapshot, { status: 'ready', value: 1 });
  await until(() => changes.length === 5, { what: 'the changes' });
  t.strictSame(changes, ['status', 'error', 'status', 'error', 'value']);
  shelf.close();
  await until(() => closed === 1, { what: 'the end' });
  set({ value: 2 });
  t.equal(shelf.snapshot.value, 1, 'the snapshot stays as it was');

  const waiting = new Shelf();
  loads[2]!.reject(new TypeError('Failed to fetch dynamically imported module'));
  await until(() => waiting.snapshot.status === 'error', { what: 'its failure' });
  waiting.close();
  await t.rejects(waiting.part(), { code: 'client_closed' }, 'what waits for its code ends');

  const early = new Shelf();
  early.close();
  loads[3]!.resolve({ close: () => (closed += 1) });
  await until(() => closed === 2, { what: 'its end' });
  new Shelf();
  loads[4]!.resolve({ close: () => (closed += 1) });
  closing.abort();
  await until(() => closed === 3, { what: 'its end with the client' });
});

/** A client whose requests are answered by `answer`, and that follows nothing. */
function hostOf(t: Test, timing: ManualTiming, answer: (path: string) => object): FollowHost {
  return {
    fetch: async <T>(path: string) => (await answer(path)) as T,
    timing,
    closing: new AbortController().signal,
    actors: { get: () => undefined, onLearned: () => () => {} },
    actor: () => undefined,
    state: () => 'live',
    transport: () => 'poll',
    onState: () => () => {},
    onStale: () => () => {},
    onFrame: () => () => {},
    onTouched: () => () => {},
    onReading: () => () => {},
    subscribe: () => t.fail('no conversation is followed') as never,
  };
}
