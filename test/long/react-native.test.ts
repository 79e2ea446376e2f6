/**
 * The example for React Native: the packages of its lock file and the tarball of the SDK are
 * installed, its types are checked, and Metro and Hermes make its bundle. It runs no server.
 */

import { cpSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { freshDirectory, ROOT, runProgram } from '../start/parley.ts';
import { builtClient } from '../support/built-client.ts';

const directory = freshDirectory(t);
const EXAMPLE = join(ROOT, 'examples/react-native');
cpSync(EXAMPLE, directory, { recursive: true, filter: (path) => !path.includes('node_modules') });
cpSync(join(builtClient(), 'dist/served/package.tgz'), join(directory, 'parley-client.tgz'));

t.test('it is installed from its lock file, with the package that a server offers', async () => {
  const quiet = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  await npm('install', ...quiet, './parley-client.tgz');
});

t.test('its types, in which those of React Native fit the ports of the SDK', async () => {
  await npm('run', 'types');
});

t.test('Metro finds everything, and Hermes compiles it', async (t) => {
  await npm('run', 'bundle');
  const [bundle = ''] = globSync('out/_expo/static/js/android/*.hbc', { cwd: directory });
  t.ok(readFileSync(join(directory, bundle)).includes('parley-outbox'), 'the store is in it');
});

/** Runs npm in the folder without the variables of tap. */
async function npm(...args: readonly string[]): Promise<void> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(NODE_OPTIONS$|_?TAP)/.test(name));
  const quiet = { EXPO_OFFLINE: '1', EXPO_NO_TELEMETRY: '1', CI: '1' };
  const env = { ...Object.fromEntries(inherited), ...quiet };
  const { code, stdout, stderr } = await runProgram('npm', args, env, directory);
  if (code !== 0) throw new Error(`npm ${args.join(' ')}: ${stdout}${stderr}`);
}
