/** The versions of Node that run Parley, and the answer to all others. */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import t from 'tap';
import { lockedPackages } from '../support/lock-file.ts';
import { copyCheckout } from './checkout.ts';
import { freshDirectory, ROOT, runProgram } from './parley.ts';

const { problemsOf } = createRequire(import.meta.url)(join(ROOT, 'bin/runtime.cjs')) as {
  problemsOf(platform: string, version: string, stripsTypes: boolean): string[];
};

t.test('which machines and Nodes will do', async (t) => {
  t.strictSame(problemsOf('linux', process.versions.node, true), []);
  t.strictSame(problemsOf('darwin', '22.18.0', true), []);
  for (const [version, stripsTypes] of [
    ['20.20.2', false],
    ['22.4.0', false],
    ['24.1.0', true],
  ] as const) {
    const problems = problemsOf('linux', version, stripsTypes);
    t.equal(problems.length, 2);
    t.match(problems[0], `This is Node ${version}, and Parley needs Node ${process.versions.node}`);
    t.match(problems[1], /npm rebuild node --ignore-scripts=false/);
  }
  t.match(problemsOf('win32', '22.23.3', true), [/Windows/, /WSL/]);
  t.match(
    await runProgram(process.execPath, ['bin/runtime.cjs'], {}),
    { code: 0, stderr: '' },
    'as preinstall',
  );
});

t.test('a Node that does not run TypeScript is answered in two lines', async (t) => {
  const { code, stdout, stderr } = await runProgram(
    process.execPath,
    ['--no-experimental-strip-types', join(ROOT, 'bin/parley.cjs'), 'start'],
    {},
  );
  t.match({ code, stdout }, { code: 1, stdout: '' });
  t.match(stderr, /^parley: This is Node .*\nparley: Run "npm rebuild node .*\n$/);
});

t.test(
  'package.json allows the scripts of packages that have one, which npm 12 does not run else',
  async (t) => {
    const { allowScripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const withScript = Object.entries(lockedPackages(ROOT))
      .filter(([path, { hasInstallScript }]) => path !== '' && hasInstallScript)
      .map(([path]) => [path.replace(/^.*node_modules\//, ''), true] as const);
    t.strictSame(allowScripts, Object.fromEntries(withScript));
  },
);

// With install scripts off the pinned Node is not there, and npm runs whichever it finds.
const stranger = otherNode();
t.test('npm start by another Node', { skip: stranger === undefined && 'there is none here' }, async (t) => {
  const directory = copyCheckout(t);
  rmSync(join(directory, 'node_modules/node'), { recursive: true });
  rmSync(join(directory, 'node_modules/.bin/node'));
  const bin = freshDirectory(t);
  symlinkSync(stranger ?? '', join(bin, 'node'));
  const PATH = [
    bin,
    process.env.PATH?.split(delimiter).filter((path) => !path.includes('node_modules')),
  ].flat();
  const { code, stderr } = await runProgram('npm', ['start'], { PATH: PATH.join(delimiter) }, directory);
  t.equal(code, 1);
  const said = stderr.split('\n').filter((line) => line.startsWith('parley: '));
  t.equal(said.length, 2, stderr);
  t.notMatch(stderr, /ERR_UNKNOWN_FILE_EXTENSION|\n {4}at /, 'no stack');
});

/** A Node of another major version that is installed on this machine. */
function otherNode(): string | undefined {
  const candidates = (process.env.PATH ?? '').split(delimiter).map((path) => join(path, 'node'));
  return [...candidates, '/usr/bin/node', '/usr/local/bin/node'].filter(existsSync).find((path) => {
    const version = spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout;
    return version.startsWith('v') && !version.startsWith('v22.');
  });
}
