/** The command of the package: parts that are copied into a project. */

import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { freshDirectory, ROOT, runProgram } from '../../../test/start/parley.ts';
import { builtClient } from '../../../test/support/built-client.ts';

const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

t.test('npx copies a part with what it needs, and it compiles there', async (t) => {
  const directory = await project(t);
  const { code, stdout, stderr } = await add(directory, 'timeline', 'composer');
  t.equal(code, 0, stderr);
  t.match(stdout, /^src\/parley\/timeline\.tsx$/m);
  t.match(stdout, /^src\/parley\/words\.ts$/m, 'also what it imports');
  t.match(stdout, /^src\/parley\/parts\.css$/m);
  t.notMatch(stdout, /bell/, 'and nothing else');
  writeFileSync(join(directory, 'main.tsx'), MAIN);
  const checked = await runProgram(process.execPath, [TSC, '-p', directory], {});
  t.equal(checked.stdout, '');
});

t.test('it overwrites no change without --force', async (t) => {
  const directory = await project(t);
  await add(directory, 'bell', '--to', 'chat');
  const file = join(directory, 'chat/bell.tsx');
  const original = readFileSync(file, 'utf8');
  t.match(original, /^'use client';/);
  t.equal((await add(directory, 'bell', '--to', 'chat')).code, 0, 'what is the same is no change');
  writeFileSync(file, 'mine');
  const refused = await add(directory, 'bell', 'inbox', '--to', 'chat');
  t.equal(refused.code, 1);
  t.match(refused.stderr, /bell\.tsx of chat would be lost.*--force/);
  t.equal(readFileSync(file, 'utf8'), 'mine');
  t.throws(() => readFileSync(join(directory, 'chat/inbox.tsx')), 'nothing is written');
  t.equal((await add(directory, 'bell', '--to', 'chat', '--force')).code, 0);
  t.equal(readFileSync(file, 'utf8'), original);
});

t.test('it says which parts there are', async (t) => {
  const directory = await project(t);
  t.match(await add(directory, 'sidebar'), { code: 1, stderr: /There is no part sidebar.*timeline/ });
  t.match(await add(directory), { code: 1, stderr: /^Usage/ });
});

/** Installs the packed tarball. */
async function project(t: Test): Promise<string> {
  const directory = freshDirectory(t);
  const compilerOptions = {
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    jsx: 'react-jsx',
    types: [],
    strict: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
  };
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }));
  const place = join(directory, 'node_modules/@parley/client');
  for (const folder of [place, join(directory, 'node_modules/@types'), join(directory, 'src')]) {
    mkdirSync(folder, { recursive: true });
  }
  const tarball = join(builtClient(), 'dist/served/package.tgz');
  await promisify(execFile)('tar', ['-xzf', tarball, '-C', place, '--strip-components=1']);
  for (const name of ['react', '@types/react', 'csstype', '@types/prop-types']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(directory, 'node_modules', name));
  }
  const bin = join(directory, 'node_modules/.bin');
  mkdirSync(bin);
  const { bin: commands } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'));
  for (const [name, file] of Object.entries<string>(commands)) {
    // As npm does.
    chmodSync(join(place, file), 0o755);
    symlinkSync(join(place, file), join(bin, name));
  }
  return directory;
}

function add(directory: string, ...args: readonly string[]) {
  return runProgram('npx', ['--offline', '@parley/client', 'add', ...args], {}, directory);
}

const MAIN = `
import { Composer } from './src/parley/composer';
import { Timeline } from './src/parley/timeline';

export const page = (
  <main>
    <Timeline conversationId="cnv_1" locale="de" />
    <Composer conversationId="cnv_1" />
  </main>
);
`;
