import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import t from 'tap';
import { Random } from '../support/random.ts';
import { changedPackages } from './changes.ts';
import { InputFinder } from './inputs.ts';
import { choose, isInput, PARTS } from './selection.ts';
import { longFiles } from './sets.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const finder = new InputFinder(ROOT);
const LONG = new Map(longFiles(ROOT).map((file) => [file, finder.inputsOf(file)]));

function selectedFor(path: string): string[] {
  return [...LONG].filter(([, inputs]) => isInput(inputs, { path })).map(([file]) => file);
}

/** A source file → tests of test/long/ that must run when it changes, and one that need not. */
const EXPECTED: Readonly<Record<string, readonly [runs: readonly string[], rests?: string]>> = {
  'packages/console/timeline/rows.ts': [
    ['by-folder/console-1', 'by-folder/console-2', 'by-folder/console-3', 'by-folder/console-4'],
    'restore',
  ],
  'packages/widget/readable-on.ts': [['by-folder/widgets'], 'client/react'],
  'packages/client/react/index.ts': [
    ['client/react', 'react', 'fresh-projects', 'by-folder/console-1'],
    'restore',
  ],
  'packages/client/store/index.ts': [
    ['client/store', 'by-folder/console-1', 'by-folder/widgets'],
    'left-out',
  ],
  'src/core/messages/timeline/write-path.ts': [
    ['two-nodes', 'faults/agents', 'faults/postgres', 'other-versions', 'postgres-failover'],
    'faults/links',
  ],
  'src/edge/gateway/stream/open-stream.ts': [
    ['sockets', 'two-nodes', 'slow-readers', 'answer-nodes', 'by-folder/console-1'],
    'faults/links',
  ],
  'src/platform/engine/redis/redis-engine.ts': [
    ['faults/links', 'faults/redis', 'redis-tls', 'sentinel-tls', 'other-versions'],
  ],
  'src/platform/db/connection/primary.ts': [['postgres-failover', 'poolers', 'restore'], 'faults/links'],
  'src/features/mail/incoming/accept.ts': [['mail-in', 'imap-poller', 'by-folder/console-1'], 'restore'],
  'src/features/import/job/walk.ts': [['import-kills', 'by-folder/console-1'], 'version-before'],
  'src/app/supervisor/supervisor.ts': [['supervisor'], 'client/store'],
  'src/features/cells/account-move.ts': [['cells'], 'version-before'],
};

const pathOf = (name: string) => `test/long/${name}.test.ts`;

t.test('what a source file can change is selected', (t) => {
  for (const [path, [runs, rests]] of Object.entries(EXPECTED)) {
    t.equal(globSync(path, { cwd: ROOT }).length, 1, path);
    const selected = selectedFor(path);
    for (const name of runs) t.ok(selected.includes(pathOf(name)), `${path}: ${name}`);
    if (rests === undefined) continue;
    t.ok(LONG.has(pathOf(rests)), rests);
    t.notOk(selected.includes(pathOf(rests)), `${path}: not ${rests}`);
  }
  t.end();
});

const SEED = 44;

t.test(`of 200 source files none selects nothing (seed ${SEED})`, (t) => {
  const random = new Random(SEED);
  const files = globSync('{src,packages}/**/*.{ts,tsx,css,js}', {
    cwd: ROOT,
    exclude: ['**/dist/**', '**/dist-*/**', 'packages/*/test/**'],
  }).sort();
  t.ok(files.length > 1_000);
  const drawn = new Set<string>();
  while (drawn.size < 200) drawn.add(random.pick(files));
  t.strictSame(
    [...drawn].filter((path) => selectedFor(path).length === 0),
    [],
  );
  t.end();
});

t.test('what no list names is an input of all; documents are of those alone that read them', (t) => {
  for (const path of ['package.json', 'new-folder/file.txt', '.npmrc']) {
    t.equal(selectedFor(path).length, LONG.size, path);
  }
  const nodes = [...LONG].filter(([, { startsNode }]) => startsNode).map(([file]) => file);
  t.strictSame(selectedFor('migrations/0099_new.ts'), nodes);
  t.strictSame(
    selectedFor('src/new-wing/file.ts'),
    nodes.filter((file) => !LONG.get(file)?.runsEarlier),
  );
  t.ok(selectedFor('LICENSE').length < LONG.size);
  t.ok(selectedFor('docs/operations.md').length < LONG.size);
  t.ok(selectedFor('test/support/until.ts').length > 20);
  t.strictSame(selectedFor('test/verdict/run.ts'), ['test/long/verdict.test.ts']);
  t.end();
});

t.test('each file comes up once in all parts together, unless it changed', (t) => {
  const changed = { path: 'test/long/chat-page.js' };
  const parts = Array.from({ length: PARTS }, (_, part) => choose(LONG, [changed], part));
  const times = (file: string) =>
    parts.filter((choices) => choices.some((one) => one.file === file && one.runs)).length;
  for (const [file, { runsEarlier }] of LONG) {
    t.equal(times(file), file === 'test/long/ai-chat.test.ts' ? PARTS : runsEarlier ? 0 : 1, file);
  }
  for (const choices of parts) t.equal(choices.length, LONG.size);
  t.end();
});

t.test('a changed package is an input of those that need it', (t) => {
  const lock = (versions: Readonly<Record<string, string>>) => ({
    '': { dependencies: { pg: '1' }, devDependencies: { 'playwright-core': '1', tap: '1' } },
    'node_modules/pg': { version: versions.pg ?? '1', dependencies: { 'pg-pool': '1' } },
    'node_modules/pg-pool': { version: versions['pg-pool'] ?? '1' },
    'node_modules/playwright-core': { version: versions['playwright-core'] ?? '1' },
    'node_modules/tap': { version: versions.tap ?? '1' },
  });
  const selected = (versions: Readonly<Record<string, string>>) => {
    const changes = changedPackages(lock({}), lock(versions));
    t.equal(changes.length, Object.keys(versions).length);
    return [...LONG]
      .filter(([, inputs]) => changes.some((change) => isInput(inputs, change)))
      .map(([file]) => file);
  };
  const nodes = [...LONG].filter(([, { startsNode }]) => startsNode).map(([file]) => file);
  t.strictSame(
    nodes.filter((file) => !selected({ 'pg-pool': '2' }).includes(file)),
    [],
  );
  const browsers = selected({ 'playwright-core': '2' });
  t.ok(browsers.some((file) => file.includes('console')));
  t.notOk(browsers.includes('test/long/restore.test.ts'));
  t.equal(selected({ tap: '2' }).length, LONG.size, 'what runs every test');
  t.strictSame(selected({}), []);
  t.end();
});
