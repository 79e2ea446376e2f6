/**
 * Works of the bench have figures, for ours and for every control, in blocks of a fraction of a
 * second.
 *
 * Without influence: OPERATION, ASIDE, PAGES, src/features/mail.
 */

import t from 'tap';
import { Runner } from '../../bench/lib/runner.ts';
import { TIMINGS } from '../../bench/lib/work.ts';
import { WORKS } from '../../bench/works.ts';
import { findProgram } from '../support/debian-program.ts';

/**
 * Those with a control of their own, of a size that a test can bear. The others measure by windows
 * of their own, or with up to a million rows, and take minutes each.
 */
const NAMES = ['p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p10', 'webhooks'];

await findProgram({
  names: ['pgbench'],
  package: 'postgresql',
  advice: 'the bench needs pgbench (Debian and Ubuntu: apt-get install postgresql)',
});

for (const work of WORKS.filter(({ name }) => NAMES.includes(name))) {
  t.test(`${work.name}: ${work.title}`, async (t) => {
    const said: string[] = [];
    const runner = new Runner({
      results: t.testdir(),
      fingerprint: null,
      say: (line) => void said.push(line),
    });
    const { rows, failed } = await runner.run([work], { full: false, afresh: true, timing: TIMINGS.brief });
    t.strictSame(failed, [], said.join('\n'));
    t.ok(rows.length > 0);
    for (const { work: row, ours } of rows) t.notMatch(ours, /NaN|undefined/, row);
  });
}
