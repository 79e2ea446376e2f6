/** What a component reads: a resource, and a list by pages. */

import { h, render } from 'preact';
import t, { type Test } from 'tap';
import { until } from '../../../test/support/until.ts';
import { usePages } from '../hooks/pages.ts';
import { useResource } from '../hooks/resource.ts';

/** A page that may be out of sight. */
class Page extends EventTarget {
  hidden = false;
  followers = 0;

  override addEventListener(...given: Parameters<EventTarget['addEventListener']>): void {
    super.addEventListener(...given);
    this.followers += 1;
  }

  override removeEventListener(...given: Parameters<EventTarget['removeEventListener']>): void {
    super.removeEventListener(...given);
    this.followers -= 1;
  }
}

const page = new Page();
Object.assign(globalThis, { document: page });

t.test('a value stays until the next one, and an answer that comes too late is none', async (t) => {
  const reads: Read<string>[] = [];
  const shown = mounted(t, (key: string | null, version: number) =>
    useResource<string>(key, (signal, known) => asked(reads, signal, `${key} ${known}`), { version }),
  );
  shown.with(null, 1);
  t.match(shown.now, { value: null, problem: '' });
  t.equal(reads.length, 0, 'nothing is read without a key');
  shown.with('a', 1);
  await until(() => reads.length === 1, { what: 'the first read' });
  reads[0]!.resolve('one');
  await until(() => shown.now.value === 'one', { what: 'the value' });
  shown.with('a', 2);
  await until(() => reads.length === 2, { what: 'the read of another version' });
  t.equal(shown.now.value, 'one', 'it stays');
  reads[1]!.reject(new Error('Away.'));
  await until(() => shown.now.problem === 'Away.', { what: 'the failure' });
  t.equal(shown.now.value, 'one', 'it stays');
  void shown.now.reload();
  t.equal(reads[2]!.what, 'a one');
  shown.with('b', 2);
  t.match(shown.now, { value: null, problem: '' }, 'what is of another key is not shown');
  await until(() => reads.length === 4, { what: 'the read of the other key' });
  t.ok(reads[2]!.signal.aborted);
  reads[3]!.resolve('two');
  await until(() => shown.now.value === 'two', { what: 'the other value' });
  reads[2]!.resolve('late');
  const again = shown.now.reload();
  shown.now.set('three');
  reads[4]!.resolve('older');
  await again;
  await until(() => shown.now.value === 'three', { what: 'what a change has answered with' });
  void shown.now.reload();
  shown.end();
  await until(() => reads[5]!.signal.aborted, { what: 'the end of a read with its component' });
});

t.test('what goes on by itself is read again while the page is in sight', async (t) => {
  const reads: Read<string>[] = [];
  const shown = mounted(t, () =>
    useResource<string>('a', (signal) => asked(reads, signal), { isMoving: (value) => value === 'running' }),
  );
  shown.with();
  await until(() => reads.length === 1, { what: 'the first read' });
  reads[0]!.resolve('running');
  await until(() => shown.now.value === 'running', { what: 'the value' });
  await until(() => page.followers === 1, { what: 'what follows the page' });
  const turn = (hidden: boolean) => {
    page.hidden = hidden;
    page.dispatchEvent(new Event('visibilitychange'));
  };
  turn(true);
  t.equal(reads.length, 1, 'not behind another page');
  turn(false);
  t.equal(reads.length, 2);
  turn(false);
  t.equal(reads.length, 2, 'one after the other');
  reads[1]!.resolve('complete');
  await until(() => shown.now.value === 'complete', { what: 'the end' });
  await until(() => page.followers === 0, { what: 'the end of it' });
});

t.test('a list: a page that failed is asked for again, and another read keeps the rows', async (t) => {
  const reads: Read<PageOf>[] = [];
  const shown = mounted(t, (version: number) =>
    usePages('/first', (path, signal) => asked(reads, signal, path), { version }),
  );
  const answer = async (at: number, data: string[], next: string | null) => {
    await until(() => reads.length > at, { what: `read ${at}` });
    reads[at]!.resolve({ data, page_info: { next_page_url: next } });
  };
  const rows = (wanted: string) =>
    until(() => shown.now.items?.join(' ') === wanted, { what: `the rows ${wanted}` });
  shown.with(1);
  t.match(shown.now, { items: null, hasMore: false });
  await answer(0, ['a', 'b'], '/second');
  await rows('a b');
  void shown.now.more();
  reads[1]!.reject(new Error('Away.'));
  await until(() => shown.now.problem === 'Away.', { what: 'the failure' });
  t.match(shown.now, { items: ['a', 'b'], hasMore: true });
  void shown.now.more();
  await answer(2, ['c'], '/third');
  await rows('a b c');
  t.equal(shown.now.problem, '');
  shown.with(2);
  await answer(3, ['z', 'a'], '/second');
  await answer(4, ['b'], '/third');
  await rows('z a b');
  void shown.now.more();
  await answer(5, ['c'], null);
  await rows('z a b c');
  t.equal(shown.now.hasMore, false);
  t.strictSame(
    reads.map(({ what }) => what),
    ['/first', '/second', '/second', '/first', '/second', '/third'],
  );
});

interface PageOf {
  readonly data: readonly string[];
  readonly page_info: { readonly next_page_url: string | null };
}

interface Read<T> extends PromiseWithResolvers<T> {
  readonly signal: AbortSignal;
  readonly what: string;
}

function asked<T>(reads: Read<T>[], signal: AbortSignal, what = ''): Promise<T> {
  const read = { ...Promise.withResolvers<T>(), signal, what };
  reads.push(read);
  return read.promise;
}

/** Returns a component that calls a hook and draws nothing. */
function mounted<Shown, Arguments extends readonly unknown[]>(t: Test, hook: (...given: Arguments) => Shown) {
  const place = { nodeType: 1, childNodes: [], firstChild: null } as unknown as Parameters<typeof render>[1];
  let now: Shown | undefined;
  const Component = ({ given }: { readonly given: Arguments }) => {
    now = hook(...given);
    return null;
  };
  const end = () => render(null, place);
  t.teardown(end);
  return {
    get now(): Shown {
      return now!;
    },
    with: (...given: Arguments) => render(h(Component, { given }), place),
    end,
  };
}
