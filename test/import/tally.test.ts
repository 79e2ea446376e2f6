/** An import's record of what it left out, over several tries. */

import t from 'tap';
import type { LastRemark, RemarkRow } from '../../src/features/import/imports/remarks.ts';
import { Tally } from '../../src/features/import/job/tally.ts';

/** Skips, tries again after every `every` skips, and returns the stored remarks. */
function stored(reasons: readonly string[], every: number): RemarkRow[] {
  const rows = new Map<string, RemarkRow & { count: number }>();
  const last = (): LastRemark[] =>
    [...Map.groupBy(rows.values(), ({ reason }) => reason).values()].map((of) => {
      const { type, reason, record, item } = of.at(-1)!;
      return { type, reason, record, item, remarks: of.length };
    });
  let tally = new Tally('imp_1', {});
  for (const [record, reason] of reasons.entries()) {
    if (record % every === 0 && record > 0) {
      for (const row of tally.takeRemarks()) rows.set(`${row.record} ${row.item}`, { ...row });
      for (const { record, item, count } of tally.takeAdditions()) {
        rows.get(`${record} ${item}`)!.count += count;
      }
      tally = new Tally('imp_1', {});
      tally.goOn(last());
    }
    tally.skip('messages', record, { reason, detail: reason, place: String(record) });
  }
  for (const row of tally.takeRemarks()) rows.set(`${row.record} ${row.item}`, { ...row });
  for (const { record, item, count } of tally.takeAdditions()) rows.get(`${record} ${item}`)!.count += count;
  return [...rows.values()];
}

t.test('the thousandth remark of a reason counts all further ones, in one try and in many', async (t) => {
  const reasons = Array.from({ length: 5_000 }, (_, index) => (index % 5 === 0 ? 'rare' : 'usual'));
  const whole = stored(reasons, 1_000_000);
  const of = (reason: string) => whole.filter((row) => row.reason === reason);
  t.strictSame([of('rare').length, of('usual').length], [1_000, 1_000]);
  t.strictSame(of('usual').at(-1)!.count, 3_001);
  t.strictSame(stored(reasons, 7), whole);
  t.strictSame(stored(reasons, 1_249), whole);
});

t.test('many reasons together are bounded as well, and each has one remark', async (t) => {
  const reasons = Array.from({ length: 40_000 }, (_, index) => `reason ${index % 20}`);
  const rows = stored([...reasons, ...Array.from({ length: 300 }, (_, index) => `late ${index % 30}`)], 999);
  t.ok(rows.length <= 10_000, `${rows.length}`);
  t.equal(new Set(rows.map(({ reason }) => reason)).size, 50);
  t.equal(
    rows.reduce((sum, { count }) => sum + count, 0),
    40_300,
  );
});
