import t from 'tap';
import { ResultReader } from './results.ts';

t.test('a failure is of the file that several ran together, by its path in the checkout', (t) => {
  const together = 'test/by-folder/client-1.test.ts';
  const file = 'packages/client/test/gaps.test.ts';
  const reader = new ResultReader([together], () => undefined);
  reader.write(
    Buffer.from(`TAP version 14
# Subtest: ${together}
    # Subtest: ${file}
        # Subtest: a gap is filled
            not ok 1 - should be equal
            1..1
        not ok 1 - a gap is filled
        1..1
    not ok 1 - ${file}
    1..1
not ok 1 - ${together}
1..1
`),
  );
  const [result] = reader.end();
  t.strictSame([...(result?.failures.keys() ?? [])], [file]);
  t.match(result?.failures.get(file)?.[0]?.name, /^a gap is filled/);
  t.end();
});
