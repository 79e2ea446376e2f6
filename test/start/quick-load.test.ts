/** The results of loading that bin/quick-load.cjs keeps between starts, and when they are used. */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { copyCheckout } from './checkout.ts';
import { ROOT, runProgram } from './parley.ts';

const SOURCE = 'src/app/main.ts';
const USAGE = 'usage: node src/app/main.ts';
const checkout = copyCheckout(t);
const CACHE = join(checkout, 'node_modules/.cache');

t.test('a source without types serves while its content is the same', async (t) => {
  clear();
  t.match(await help(), { stdout: USAGE, stderr: /^$/ }, 'without a cache');
  const file = strippedFile();
  const kept = JSON.parse(readFileSync(file, 'utf8'));
  t.notMatch(kept[SOURCE].code, /: string/, 'it has no types');

  // What is kept is what runs.
  kept[SOURCE].code = kept[SOURCE].code.replace(USAGE, 'from the cache');
  writeFileSync(file, JSON.stringify(kept));
  t.match(await help(), { stdout: 'from the cache' });

  change((source) => source.replace(USAGE, 'changed'));
  t.match(await help(), { stdout: 'changed' }, 'at the first start after the change');
  t.match(await help(), { stdout: 'changed' }, 'from what that start kept');

  const config = JSON.parse(readFileSync(file, 'utf8'))['src/app/config.ts'];
  writeFileSync(file, JSON.stringify({ 'src/gone.ts': config, [SOURCE]: config }));
  t.match(await help(), { stdout: 'changed' }, 'an entry of another source does not serve');
  const names = Object.keys(JSON.parse(readFileSync(file, 'utf8')));
  t.notMatch(names, ['src/gone.ts'], 'nothing is kept of a source that is gone');
});

t.test('an error in a changed source is reported with its place', async (t) => {
  clear();
  await help();
  change(() => 'const a: number = ;\n');
  t.match(await help(), { code: 1, stderr: /Expression expected/ });
  change(() => `import './absent.ts';\n`);
  t.match(await help(), {
    code: 1,
    stderr: /Cannot find module .*absent\.ts.* imported from .*main\.ts/,
  });
});

t.test('a cache that cannot be read or written changes nothing', async (t) => {
  clear();
  for (const content of ['', 'null', '[]', '{"src/app/main.ts":null}', '{"src/app/main.ts":{"digest":7}}']) {
    mkdirSync(dirname(strippedFile()), { recursive: true });
    writeFileSync(strippedFile(), content);
    t.match(await help(), { code: 0, stdout: USAGE, stderr: /^$/ }, `with ${content || 'an empty file'}`);
  }
  rmSync(CACHE, { recursive: true });
  writeFileSync(CACHE, 'in the way');
  t.match(await help(), { code: 0, stdout: USAGE, stderr: /^$/ }, 'with a file in place of the directory');
  t.equal(readFileSync(CACHE, 'utf8'), 'in the way');
});

t.test('a complete file takes the place of the one before', async (t) => {
  clear();
  await Promise.all(Array.from({ length: 4 }, () => help()));
  t.strictSame(
    readdirSync(dirname(strippedFile())).filter((name) => name.startsWith('stripped')),
    [`stripped-${process.version}.json`],
    'four starts at once leave one file',
  );
  t.ok(JSON.parse(readFileSync(strippedFile(), 'utf8'))[SOURCE]);
});

/** Makes the checkout as it was before its first start. */
function clear(): void {
  rmSync(CACHE, { recursive: true, force: true });
  change(() => readFileSync(join(ROOT, SOURCE), 'utf8'));
}

function help() {
  return runProgram(process.execPath, ['bin/parley.cjs', '--help'], {}, checkout);
}

function strippedFile(): string {
  return join(CACHE, 'parley', `stripped-${process.version}.json`);
}

/** Replaces the file, which may be a link to that of this checkout. */
function change(edit: (source: string) => string): void {
  const path = join(checkout, SOURCE);
  const source = readFileSync(path, 'utf8');
  rmSync(path);
  writeFileSync(path, edit(source));
}
