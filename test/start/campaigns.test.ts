/** How `npm run campaign` finds campaigns, and what each reports. */

import { globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import t from 'tap';
import { BUSY_FILES, busy } from '../campaigns/busy.ts';
import { campaign, type Seeded } from '../campaigns/campaign.ts';
import { ROOT, runProgram } from './parley.ts';

const PIECES = ['account', 'campaign', 'queued-jobs', 'run', 'scheduled-messages'];

t.test('npm run campaign lists every file that exports a campaign', async (t) => {
  const { code, stderr } = await runProgram(process.execPath, ['test/campaigns/run.ts', 'unknown'], {});
  t.equal(code, 2);
  const [, names = ''] = /^usage: npm run campaign -- <(.+)> \[--seed N\]$/m.exec(stderr) ?? [];
  const wanted = globSync('test/campaigns/*.ts', { cwd: ROOT })
    .map((path) => basename(path, '.ts'))
    .filter((name) => !PIECES.includes(name));
  t.ok(wanted.length > 20);
  t.strictSame(names.split('|'), wanted.sort());
});

t.test('a campaign is given the word that it needs, and no other one', async (t) => {
  const usageOf = async (...args: string[]) => {
    const { code, stderr } = await runProgram(process.execPath, ['test/campaigns/run.ts', ...args], {});
    t.equal(code, 2, args.join(' '));
    return stderr;
  };
  const features = readdirSync(join(ROOT, 'src/features')).join('|');
  const wanted = `usage: npm run campaign -- without <${features}> [--seed N]\n`;
  for (const words of [[], ['unknown'], ['mail', 'push']])
    t.equal(await usageOf('without', ...words), wanted);
  t.equal(await usageOf('mail-parse', 'mail'), 'usage: npm run campaign -- mail-parse [--seed N]\n');
  t.match(await usageOf('sockets', 'mail'), / sockets \[streams\|[a-z|-]+\] \[--seed N\]\n$/, 'or none');

  const worded = campaign({
    words: ['one', 'two'],
    whole: (_seed, word) => ({ word }),
    run: async (_, { word }: Seeded & { readonly word: string }) => ({ problems: [], word }),
  });
  t.match(await worded.whole(t, 7, 'two'), { seed: 7, word: 'two' });
});

t.test('a campaign reports its seed and its first problems, whole and in short', async (t) => {
  const drawn: number[] = [];
  const counting = campaign({
    whole: (seed) => ({ problems: seed * 10 }),
    run: async (_, { problems }: Seeded & { readonly problems: number }, random) => {
      drawn.push(random.next());
      return { problems: Array.from({ length: problems }, (_, n) => `${n}`), asked: problems };
    },
  });
  t.match(await counting(t, { seed: 3, problems: 1 }), {
    seed: 3,
    asked: 1,
    seconds: Number,
    problems: ['0'],
  });
  const { seed, asked, problems } = await counting.whole(t, 7);
  t.strictSame([seed, asked, problems.length], [7, 70, 50]);
  await counting.whole(t, 7);
  t.equal(drawn[1], drawn[2], 'one seed draws the same');
});

t.test('the campaign of a busy machine names tests that exist', (t) => {
  for (const { path, failed } of BUSY_FILES) {
    // The tests that several engines pass are in a file beside theirs.
    const texts = [`${path}.test.ts`, ...globSync(`${dirname(path)}/contract.ts`, { cwd: ROOT })];
    const text = texts.map((it) => readFileSync(join(ROOT, it), 'utf8')).join();
    for (const name of failed.flat()) {
      const [words = ''] = name.split(/ \d+$/);
      t.ok(text.includes(`'${words}`) || text.includes(`\`${words}`), `${path}: ${name}`);
    }
  }
  t.end();
});

t.test('beside busy loops, a test that fails or is not there is a problem', async (t) => {
  const frame = 'a frame comes back as it was';
  const { rows, problems } = await busy(t, {
    seed: 1,
    testRuns: 2,
    fileRuns: 1,
    loops: 1,
    files: [
      { path: 'test/engine/frame-codec', failed: [frame, 'a name that no test has'] },
      { path: 'test/engine/no-such-file', failed: [] },
    ],
  });
  t.match(rows, [
    { test: frame, runs: 2, failures: 0 },
    { test: 'a name that no test has', runs: 2, failures: 2 },
    { test: '', runs: 1, failures: 0 },
    { file: 'test/engine/no-such-file', test: '', runs: 2, failures: 2 },
  ]);
  const missing = /^test\/engine\/no-such-file .*: exit 1/;
  t.match(problems, [/no test was run that is called a name/, /no test/, missing, missing]);
  t.equal(problems.length, 4);
});
