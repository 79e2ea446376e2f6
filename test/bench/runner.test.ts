/** Runs of works: what they keep, and how an interrupted full run goes on. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Row } from '../../bench/lib/row.ts';
import { Runner } from '../../bench/lib/runner.ts';
import type { Work } from '../../bench/lib/work.ts';

function row(work: string): Row {
  const processor = { ours: {}, control: {} };
  return { work, ours: '1', control: '2', ratio: null, processor, goal: null };
}

/**
 * Works that note which of their parts were measured, and whether what they started was released.
 */
class Bench {
  readonly measured: string[] = [];
  readonly released: string[] = [];
  broken: string | undefined;
  readonly #results: string;

  constructor(t: Test) {
    this.#results = t.testdir();
  }

  work(name: string, parts: readonly string[]): Work {
    return {
      name,
      title: name,
      run: async ({ part, disposer }) => {
        disposer.add(name, undefined, () => void this.released.push(name));
        for (const one of parts) {
          const { rows } = await part(one, async () => {
            if (one === this.broken) throw new Error('a server died');
            this.measured.push(one);
            return { rows: [row(one)], facts: { [one]: 1 } };
          });
          t.equal(rows[0]?.work, one, 'the part, measured now or before');
        }
      },
    };
  }

  runner(fingerprint: string | null = 'code'): Runner {
    return new Runner({ results: this.#results, fingerprint, say: () => undefined });
  }

  results(): { name: string; facts: object; rows: Row[] }[] {
    const names = readdirSync(this.#results).filter((name) => name !== 'unfinished.json');
    return names.map((name) => JSON.parse(readFileSync(join(this.#results, name), 'utf8')));
  }
}

const FULL = { scale: 'full', afresh: false } as const;

t.test('a full run goes on with the parts that are missing', async (t) => {
  const bench = new Bench(t);
  const works = [bench.work('p1', ['a']), bench.work('p2', ['b', 'c']), bench.work('p3', ['d'])];
  bench.broken = 'c';
  const first = await bench.runner().run(works, FULL);
  t.same(first.failed, ['p2']);
  t.same(bench.measured, ['a', 'b', 'd'], 'a work that fails does not end the run');
  t.same(bench.released, ['p1', 'p2', 'p3'], 'and what it started is gone');

  bench.broken = undefined;
  bench.measured.length = 0;
  const second = await bench.runner().run(works, FULL);
  t.same(bench.measured, ['c']);
  t.same(second.failed, []);
  t.same(
    second.rows.map(({ work }) => work),
    ['a', 'b', 'c', 'd'],
    'the table is whole',
  );
  const [p2] = bench.results().filter(({ name }) => name === 'p2');
  t.same(p2?.facts, { b: 1, c: 1 });
  t.same(
    p2?.rows.map(({ work }) => work),
    ['b', 'c'],
  );

  bench.measured.length = 0;
  await bench.runner().run(works, FULL);
  t.same(bench.measured, ['a', 'b', 'c', 'd'], 'a run that is complete is followed by a new one');
});

t.test('other code, and a run afresh, measure everything', async (t) => {
  const bench = new Bench(t);
  const works = [bench.work('p1', ['a', 'b'])];
  bench.broken = 'b';
  await bench.runner().run(works, FULL);
  await bench.runner('other code').run(works, FULL);
  await bench.runner('other code').run(works, { scale: 'full', afresh: true });
  t.same(bench.measured, ['a', 'a', 'a']);
});

t.test('short runs neither keep parts nor use them', async (t) => {
  const bench = new Bench(t);
  const works = [bench.work('p1', ['a', 'b'])];
  bench.broken = 'b';
  await bench.runner().run(works, { scale: 'short', afresh: false });
  await bench.runner().run(works, FULL);
  await bench.runner().run(works, { scale: 'short', afresh: false });
  t.same(bench.measured, ['a', 'a', 'a']);
});
