import type { Test } from 'tap';
import { Runner } from '../../bench/lib/runner.ts';
import { TIMINGS } from '../../bench/lib/work.ts';
import { WORKS } from '../../bench/works.ts';

/** Runs a work in blocks of a fraction of a second: it has figures, for ours and every control. */
export async function runBriefly(t: Test, name: string): Promise<void> {
  const said: string[] = [];
  const runner = new Runner({
    results: t.testdir(),
    fingerprint: null,
    say: (line) => void said.push(line),
  });
  const works = WORKS.filter((work) => work.name === name);
  const { rows, failed } = await runner.run(works, { full: false, afresh: true, timing: TIMINGS.brief });
  t.strictSame(failed, [], said.join('\n'));
  t.ok(rows.length > 0);
  for (const { work, ours } of rows) t.notMatch(ours, /NaN|undefined/, work);
}
