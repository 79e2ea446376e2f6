/**
 * `.ci/run` itself, on a small project with planted tests: what it runs, forgives and counts.
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { freshDirectory, ROOT, runProgram } from '../start/parley.ts';
import { copySources } from '../support/copy-sources.ts';
import type { Teardown } from '../support/teardown.ts';

const PASSES = "import t from 'tap';\nt.pass('it works');\n";
const FAILS =
  "import t from 'tap';\nt.test('a rule', async (t) => { t.pass(); t.equal(1, 2, 'is kept'); });\n";

/** Fails in its first run, and passes in the next ones. */
const failsOnce = (name: string) => `import { existsSync, writeFileSync } from 'node:fs';
import t from 'tap';
const isFirst = !existsSync('${name}-ran');
writeFileSync('${name}-ran', '');
t.test('a rule', async (t) => t.notOk(isFirst, 'is kept'));
`;

t.test('a file that fails once is told as flaky, and fails nothing', async (t) => {
  const project = plant(t, {
    'test/steady.test.ts': PASSES,
    'test/first.test.ts': failsOnce('first'),
    'test/long/changed.test.ts': `${PASSES}// 'examples/changed.txt'\n`,
    'test/long/same.test.ts': PASSES,
  });
  const { code, stdout } = await run(project, '--part', '5');
  t.equal(code, 0, stdout);
  t.match(stdout, /\nflaky: test\/first.test.ts: a rule › is kept\n {4}\w/);
  t.match(stdout, '\n1 flaky\n');
  t.match(stdout, 'long: 1 of 2 files run, part 5 of 8');
  t.match(stdout, 'runs: test/long/changed.test.ts (changed: examples/changed.txt)');
  t.match(stdout, 'does not run: test/long/same.test.ts (no input changed; its turn is part 0)');
  const [times = '', last] = stdout.trimEnd().split('\n').slice(-2);
  // Types, lint, build, two files of the suite and a long one.
  t.equal(last, '6 passed, 0 failed');
  const part = String.raw`[\d.]+ s \([\d.]+ core-s\)`;
  const names = ['install', 'types', 'lint', 'build', 'suite', 'long', 'second run', '; in all'];
  t.match(
    times,
    new RegExp(
      `^time: ${names
        .map((name) => `${name} ${part}`)
        .join(', ')
        .replace(', ;', ';')}; a fixed loop took`,
    ),
  );
});

t.test('what is no matter of luck fails the verdict, and every kind is told', async (t) => {
  const project = plant(t, {
    'test/steady.test.ts': PASSES,
    'test/always.test.ts': FAILS,
    'test/crash.test.ts': "import t from 'tap';\nt.pass();\nprocess.kill(process.pid, 'SIGKILL');\n",
    'test/exits.test.ts': "import t from 'tap';\nt.test('a', async (t) => { t.pass(); process.exit(0); });\n",
    'test/missing.test.ts': "import './none.ts';\n",
    'test/hangs.test.ts':
      "import t from 'tap';\nt.test('b', () => new Promise(() => setInterval(() => {}, 1e3)));\n",
    'test/access/first.test.ts': failsOnce('access'),
    'test/seeded.test.ts': `import '../campaigns/random.ts';\n${failsOnce('seeded')}`.replace('../', './'),
    'test/campaigns/random.ts': '',
    'test/skipped.test.ts': "import t from 'tap';\nt.test('c', { skip: 'it rains' }, async () => {});\n",
  });
  const { code, stdout } = await run(project);
  t.equal(code, 1, stdout);
  for (const words of [
    'FAILED: test/always.test.ts: a rule › is kept',
    'FAILED: test/crash.test.ts: it was ended by SIGKILL',
    'FAILED: test/exits.test.ts: a › test unfinished',
    // A file that is ended for its time ends tap's run too, which may lose the file behind it.
    /FAILED: test\/missing\.test\.ts: it (ended with exit code 1 and without a summary|has no result)/,
    'FAILED: test/hangs.test.ts: it was ended by SIG',
    'FAILED: test/access/first.test.ts: a rule › is kept',
    'FAILED: test/seeded.test.ts: a rule › is kept',
    'skipped: test/skipped.test.ts: c: it rains',
    '\n0 flaky\n',
  ]) {
    t.match(stdout, words);
  }
  t.match(stdout, /time: .*\n[1-9]\d* passed, [1-9]\d* failed\n$/);
});

t.test('more than three flaky files fail it', async (t) => {
  const names = ['a', 'b', 'c', 'd'];
  const project = plant(
    t,
    Object.fromEntries(names.map((name) => [`test/${name}.test.ts`, failsOnce(name)])),
  );
  const { code, stdout } = await run(project);
  t.equal(code, 1, stdout);
  t.match(stdout, '4 flaky\nFAILED: more than 3 files are flaky');
});

t.test('a changed migration and a failed installation end it at once', async (t) => {
  const migration = plant(t, { 'migrations/0001_first.ts': 'changed\n' }, { '0001_first.ts': 'another' });
  t.match(await run(migration), {
    code: 1,
    stdout: /^migrations\/0001_first.ts was released and is changed: .*\n0 passed, 1 failed\n$/,
  });
  const lock = plant(t, { 'package-lock.json': '' });
  t.match(await run(lock), { code: 1, stdout: /npm (error|ERR).*\n0 passed, 1 failed\n$/s });
});

/** Returns a checkout with the verdict of this one, whose last commit changed one file. */
function plant(
  t: Teardown,
  files: Readonly<Record<string, string>>,
  released: Readonly<Record<string, string>> = {},
): string {
  const project = freshDirectory(t);
  const verdict = [
    '.ci',
    'test/verdict',
    'test/support/imports.ts',
    'test/support/lock-file.ts',
    'bench/lib/processor-time.ts',
  ];
  copySources(verdict, project, (path) => !path.endsWith('.test.ts'));
  const { tap } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const good = 'node --version';
  const settings = {
    type: 'module',
    scripts: {
      prepare: `ln -s ${join(ROOT, 'node_modules')} node_modules`,
      types: good,
      lint: good,
      'build:tests': good,
    },
    // The same plugins, for which tap is built, and without what our own tests load.
    tap: { ...tap, 'test-env': [], exclude: [], timeout: 30 },
  };
  const all = {
    'package.json': JSON.stringify(settings),
    'package-lock.json': JSON.stringify({ lockfileVersion: 3, requires: true, packages: { '': {} } }),
    '.gitignore': 'node_modules\n.tap\n*-ran\n',
    'migrations/.gitkeep': '',
    'test/db/released-migrations.json': JSON.stringify({ '.gitkeep': 'e3b0c44298fc1c14', ...released }),
    'test/pass.test.ts': PASSES,
    ...files,
  };
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  };
  for (const [path, text] of Object.entries(all)) write(path, text);
  const git = (when: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: project,
      env: { ...process.env, GIT_COMMITTER_DATE: when },
    });
  git('', 'init', '--quiet');
  write('examples/changed.txt', 'before');
  git('', 'add', '.');
  git(new Date(Date.now() - 2 * 86_400_000).toISOString(), 'commit', '--quiet', '--message=first');
  write('examples/changed.txt', 'after');
  git('', 'commit', '--quiet', '--all', '--message=second');
  return project;
}

function run(project: string, ...args: string[]) {
  return runProgram('bash', ['.ci/run', ...args], {}, project);
}
