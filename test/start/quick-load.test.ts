/**
 * The results of loading that bin/quick-load.cjs keeps from one start to the next, and when they
 * serve.
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { copyCheckout } from './checkout.ts';
import { runProgram } from './parley.ts';

const SOURCE = 'src/app/main.ts';
const USAGE = 'usage: node src/app/main.ts';

t.test('a source without types serves while its content is the same', async (t) => {
  const checkout = copyCheckout(t);
  t.match(await help(checkout), { stdout: USAGE, stderr: /^$/ }, 'without a cache');
  const file = strippedFile(checkout);
  const kept = JSON.parse(readFileSync(file, 'utf8'));
  t.notMatch(kept[SOURCE].code, /: string/, 'it has no types');

  // What is kept is what runs.
  kept[SOURCE].code = kept[SOURCE].code.replace(USAGE, 'from the cache');
  writeFileSync(file, JSON.stringify(kept));
  t.match(await help(checkout), { stdout: 'from the cache' });

  change(checkout, (source) => source.replace(USAGE, 'changed'));
  t.match(await help(checkout), { stdout: 'changed' }, 'at the first start after the change');
  t.match(await help(checkout), { stdout: 'changed' }, 'from what that start kept');

  const config = JSON.parse(readFileSync(file, 'utf8'))['src/platform/config.ts'];
  writeFileSync(file, JSON.stringify({ 'src/gone.ts': config, [SOURCE]: config }));
  t.match(await help(checkout), { stdout: 'changed' }, 'an entry of another source does not serve');
  const names = Object.keys(JSON.parse(readFileSync(file, 'utf8')));
  t.notMatch(names, ['src/gone.ts'], 'nothing is kept of a source that is gone');
});

t.test('an error in a changed source is reported with its place', async (t) => {
  const checkout = copyCheckout(t);
  await help(checkout);
  change(checkout, () => 'const a: number = ;\n');
  t.match(await help(checkout), { code: 1, stderr: /Expression expected/ });
  change(checkout, () => `import './absent.ts';\n`);
  t.match(await help(checkout), {
    code: 1,
    stderr: /Cannot find module .*absent\.ts.* imported from .*main\.ts/,
  });
});

t.test('a cache that cannot be read or written changes nothing', async (t) => {
  const checkout = copyCheckout(t);
  for (const content of ['', 'null', '[]', '{"src/app/main.ts":null}', '{"src/app/main.ts":{"digest":7}}']) {
    mkdirSync(dirname(strippedFile(checkout)), { recursive: true });
    writeFileSync(strippedFile(checkout), content);
    t.match(
      await help(checkout),
      { code: 0, stdout: USAGE, stderr: /^$/ },
      `with ${content || 'an empty file'}`,
    );
  }
  rmSync(join(checkout, 'node_modules/.cache'), { recursive: true });
  writeFileSync(join(checkout, 'node_modules/.cache'), 'in the way');
  t.match(
    await help(checkout),
    { code: 0, stdout: USAGE, stderr: /^$/ },
    'with a file in place of the directory',
  );
  t.equal(readFileSync(join(checkout, 'node_modules/.cache'), 'utf8'), 'in the way');
});

t.test('a complete file takes the place of the one before', async (t) => {
  const checkout = copyCheckout(t);
  await Promise.all(Array.from({ length: 4 }, () => help(checkout)));
  t.strictSame(
    readdirSync(dirname(strippedFile(checkout))).filter((name) => name.startsWith('stripped')),
    [`stripped-${process.version}.json`],
    'four starts at once leave one file',
  );
  t.ok(JSON.parse(readFileSync(strippedFile(checkout), 'utf8'))[SOURCE]);
});

function help(checkout: string) {
  return runProgram(process.execPath, ['bin/parley.cjs', '--help'], {}, checkout);
}

function strippedFile(checkout: string): string {
  return join(checkout, 'node_modules/.cache/parley', `stripped-${process.version}.json`);
}

/** Replaces the file, which may be a link to that of this checkout. */
function change(checkout: string, edit: (source: string) => string): void {
  const path = join(checkout, SOURCE);
  const source = readFileSync(path, 'utf8');
  rmSync(path);
  writeFileSync(path, edit(source));
}
