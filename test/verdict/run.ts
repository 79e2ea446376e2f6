/**
 * `node test/verdict/run.ts suite | everything | verdict [--part <n>]`: the work of `npm test`,
 * `npm run test:all` and `.ci/run`. A part that fails does not keep the others from running. The
 * last line is `N passed, N failed`, and the line before it says what each part took.
 */

import { resolve } from 'node:path';
import { baseCommit, changesSince, commitCount } from './changes.ts';
import { InputFinder } from './inputs.ts';
import { fixedLoopMs, measured } from './processor-time.ts';
import {
  describeFailures,
  describeTimes,
  errorLines,
  indented,
  type Part,
  summarizeFailures,
} from './report.ts';
import { type FileResult, ResultReader } from './results.ts';
import { filesForSecondRun, MOST_FLAKY } from './second-run.ts';
import { choose, PARTS } from './selection.ts';
import { longFiles, suiteFiles } from './sets.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const USAGE = 'node test/verdict/run.ts suite | everything | verdict [--part <n>]\n';

const [set = '', ...options] = process.argv.slice(2);
const parts: Part[] = [];
const results: FileResult[] = [];
/** Failures that no test file has, such as one of a compiler, and the errors of a crash. */
const failedChecks: string[] = [];
let passed = 0;
let failed = 0;

async function main(): Promise<void> {
  if (!['suite', 'everything', 'verdict'].includes(set)) {
    process.stderr.write(USAGE);
    process.exit(2);
  }
  const part = partAsked();
  const loopMs = fixedLoopMs();
  const installed = process.env.VERDICT_INSTALLED;
  // Not for what is tested.
  delete process.env.VERDICT_INSTALLED;
  if (installed !== undefined) {
    const [wall = 0, user = 0, system = 0] = installed.split(' ').map((seconds) => 1_000 * Number(seconds));
    parts.push({ name: 'install', wallMs: wall, processorMs: () => user + system });
  }
  if (set === 'verdict') {
    await check('types', ['npm', 'run', '-s', 'types']);
    await check('lint', ['npm', 'run', '-s', 'lint']);
  }
  await check('build', ['npm', 'run', '-s', 'build:tests']);
  results.push(...(await test('suite', suiteFiles(ROOT))));
  if (set === 'verdict') results.push(...(await test('long', chosenFiles(part), LONG_JOBS)));
  if (set === 'everything') results.push(...(await test('long', longFiles(ROOT), LONG_JOBS)));
  await secondRun();
  count();
  // Once more and short: whatever shows this output may have cut its middle.
  say(summarizeFailures(failedChecks, results));
  say(describeTimes(parts, loopMs, fixedLoopMs()));
  say(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 && passed > 0 ? 0 : 1);
}

/**
 * Long tests start nodes, clusters and browsers: more than two at a time wait for each other on two
 * cores.
 */
const LONG_JOBS = 2;

/** Runs one command as one test: silent when it is good, told in full when it is not. */
async function check(name: string, command: readonly [string, ...string[]]) {
  const output: Buffer[] = [];
  const { code, ...times } = await measured(command, {
    stdio: ['ignore', 'pipe', 'pipe'],
    onStart(child) {
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data) => output.push(data));
    },
  });
  parts.push({ name, ...times });
  if (code === 0) {
    passed += 1;
    say(`ok: ${name}`);
  } else {
    fail(`FAILED: ${name} (${command.join(' ')})`, `\n${Buffer.concat(output)}`);
  }
}

function fail(line: string, output = ''): void {
  failed += 1;
  failedChecks.push(line);
  say(`${line}${output}`);
}

/** Runs test files, each in a process of its own, and says a line when one has ended. */
async function test(name: string, files: readonly string[], jobs?: number): Promise<readonly FileResult[]> {
  if (files.length === 0) return [];
  const reader = new ResultReader(files, ({ file, seconds, failures, crash }) => {
    const isGood = crash === undefined && failures.size === 0;
    say(`${isGood ? 'ok    ' : 'FAILED'} ${seconds.toFixed(1).padStart(6)} s  ${file}`);
  });
  const errors: Buffer[] = [];
  const options = ['--reporter=tap', ...(jobs === undefined ? [] : [`--jobs=${jobs}`])];
  const { code, ...times } = await measured(['tap', ...options, ...files], {
    stdio: ['ignore', 'pipe', 'pipe'],
    onStart(child) {
      child.stdout?.on('data', (data) => reader.write(data));
      child.stderr?.on('data', (data) => errors.push(data));
    },
  });
  parts.push({ name, ...times });
  const found = reader.end();
  say(describeFailures(found));
  const isCrash = found.some(({ crash }) => crash !== undefined);
  const isUntold = code !== 0 && !isCrash && found.every(({ failures }) => failures.size === 0);
  if (isUntold) fail(`FAILED: tap ended with exit code ${code}, and no file says why`);
  if ((isCrash || isUntold) && errors.length > 0) {
    // A crash says why on standard error alone.
    const text = Buffer.concat(errors).toString();
    say(`standard error of ${name}:\n${text}`);
    failedChecks.push(...errorLines(text).map((line) => `  standard error of ${name}: ${line}`));
  }
  return found;
}

/** Returns the part of the unchanged long tests whose turn it is, or that the caller asks for. */
function partAsked(): number {
  const at = options.indexOf('--part');
  if (at === -1) return commitCount(ROOT) % PARTS;
  const asked = Number(options[at + 1]);
  if (Number.isInteger(asked) && asked >= 0 && asked < PARTS) return asked;
  process.stderr.write(`--part takes a number from 0 to ${PARTS - 1}.\n`);
  process.exit(2);
}

/** Returns the long tests to run; says which do, which do not, and why. */
function chosenFiles(part: number): string[] {
  const finder = new InputFinder(ROOT);
  const inputs = new Map(longFiles(ROOT).map((file) => [file, finder.inputsOf(file)]));
  const base = baseCommit(ROOT);
  if (base === undefined) {
    say('long: all run, since no commit is older than a day to compare with');
    return [...inputs.keys()];
  }
  const choices = choose(inputs, changesSince(ROOT, base), part);
  const chosen = choices.filter(({ runs }) => runs);
  say(
    `long: ${chosen.length} of ${choices.length} files run, part ${part} of ${PARTS}; changed means since ${base.slice(0, 8)}`,
  );
  for (const { file, runs, why } of choices) say(`  ${runs ? 'runs' : 'does not run'}: ${file} (${why})`);
  return chosen.map(({ file }) => file);
}

/** Files that fail once more stay failures; others are told as flaky. */
async function secondRun(): Promise<void> {
  const again = filesForSecondRun(results, ROOT);
  if (again.length === 0) return;
  const second = await test('second run', again, 1);
  const good = new Set(
    second
      .filter(({ crash, failures }) => crash === undefined && failures.size === 0)
      .map(({ file }) => file),
  );
  for (const [index, result] of results.entries()) {
    const failures = new Map(result.failures);
    for (const [file, [first]] of result.failures) {
      if (!good.has(file) || result.crash !== undefined) continue;
      failures.delete(file);
      say(`flaky: ${file}: ${first?.name}\n${indented(first?.diagnostics ?? '')}`);
    }
    results[index] = { ...result, failures };
  }
  say(`${good.size} flaky`);
  if (good.size > MOST_FLAKY) {
    fail(`FAILED: more than ${MOST_FLAKY} files are flaky`);
  }
}

/** Every assertion counts once; so does a process that ended without telling all. */
function count(): void {
  for (const result of results) {
    passed += result.passed;
    failed += (result.crash === undefined ? 0 : 1) + [...result.failures.values()].flat().length;
    for (const name of result.skipped) say(`skipped: ${result.file}: ${name}`);
  }
}

function say(text: string): void {
  if (text !== '') process.stdout.write(`${text}\n`);
}

process.chdir(ROOT);
await main();
