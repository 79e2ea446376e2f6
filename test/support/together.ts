/**
 * Runs the test files of one directory in one process, one after another: loading the server takes
 * 1.5 s of processor time, most of the time of an ordinary file. The files are unchanged and also
 * run alone. Their import `tap` is a subtest here, so everything that a file sets up is torn down
 * before the next begins.
 */

import { readdirSync, statSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
// Imported before the hook, which slows down the loading of every module.
import { lendTestApp } from './app.ts';

/**
 * The callers are in test/by-folder/, whose name comes early in the alphabet: tap starts files in
 * that order, and these take the longest; for folders of test/long/ in test/long/by-folder/.
 * `directory`: from the root. `part`, `of`: every so many of its files, if one process would take
 * too long. package.json (tap, exclude) keeps its files from being run alone as well.
 */
export async function runTogether(directory: string, part = 1, of = 1): Promise<void> {
  const folder = join(import.meta.dirname, '../..', directory);
  lendTestApp(t);
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => ({ name, bytes: statSync(join(folder, name)).size }));
  // By size first, so that the parts take about the same time.
  files.sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
  const names = files.filter((_, index) => index % of === part - 1).map(({ name }) => name);
  for (const name of names.sort()) {
    const path = join(folder, name);
    await t.test(`${directory}/${name}`, async (subtest: Test) => {
      const { href } = pathToFileURL(path);
      subtests.set(href, subtest);
      await import(href);
    });
  }
}

/** Subtests that test files get for `tap`, by the URL of the file. */
export const subtests = new Map<string, Test>();

registerHooks({
  resolve(specifier, context, next) {
    const { parentURL } = context;
    if (specifier !== 'tap' || parentURL === undefined || !subtests.has(parentURL)) {
      return next(specifier, context);
    }
    const url = new URL('./together-tap.ts', import.meta.url);
    url.searchParams.set('of', parentURL);
    return { url: url.href, shortCircuit: true };
  },
});
