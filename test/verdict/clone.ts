/**
 * `npm run verdict [-- --part <n>] [-- --empty-cache]`: does the work of `.ci/run` after a push, on
 * a clone of HEAD in a scratch folder, without anything that was installed or built here.
 */

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
const args = process.argv.slice(2);

const dirty = execFileSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' });
if (dirty !== '') {
  process.stderr.write(`The verdict is on HEAD, and these files are not committed:\n${dirty}`);
  process.exit(2);
}
const scratch = mkdtempSync(join(tmpdir(), 'parley-verdict-'));
// Servers that end a few seconds after their tests may still write into it.
const removal = { recursive: true, force: true, maxRetries: 20, retryDelay: 500 };
process.once('exit', () => rmSync(scratch, removal));
// Documents that some checkouts have beside them.
const shared = join(ROOT, '../shared');
if (existsSync(shared)) symlinkSync(realpathSync(shared), join(scratch, 'shared'));
const clone = join(scratch, 'parley');
execFileSync('git', ['clone', '--quiet', ROOT, clone]);
const env = environment();
if (args.includes('--empty-cache')) env.npm_config_cache = join(scratch, 'npm-cache');
const run = spawn('bash', ['.ci/run', ...args.filter((arg) => arg !== '--empty-cache')], {
  cwd: clone,
  env,
  stdio: ['ignore', 'inherit', 'inherit'],
});
// Ctrl-C reaches all of them; this process ends last, and removes the folder.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void run.kill(signal));
run.once('close', (code) => process.exit(code ?? 1));

/** Returns the environment of the terminal: npm adds to it for a script of this checkout. */
function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_(?!config_)|npm_config_local|INIT_CWD)/.test(name),
  );
  const paths = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((path) => !path.endsWith('node_modules/.bin'));
  return { ...Object.fromEntries(own), PATH: paths.join(delimiter) };
}
