/**
 * `npm start` as a stranger meets it: its printed commands work when pasted, and nothing is left
 * when it ends.
 *
 * Without influence: src/app/admin, src/app/supervise.ts, src/app/supervisor,
 * packages/client/ai, packages/client/react, src/core/installation, src/core/registration,
 * src/edge/console, src/features/cells, src/features/compliance, src/features/identity,
 * src/features/import, src/features/search, src/features/widgets/frame, packages/widget,
 * src/api/documents/pages, src/core/documents, packages/ui.
 */

import { readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { DemoFile } from '../../src/app/demo.ts';
import { copyCheckout, isRoot, type Owner, UNPRIVILEGED } from '../start/checkout.ts';
import { isAlive, ROOT, type Running, runProgram, signalGroup, startParley } from '../start/parley.ts';
import { freePort } from '../support/free-port.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

// Most of the time each test waits for its own processes.
t.jobs = 2;

t.test('in a directory that its owner alone may enter', async (t) => {
  const directory = copyCheckout(t);
  const port = await freePort();
  const npmStart = () =>
    startParley(t, { PORT: String(port) }, { command: ['npm', 'start'], cwd: directory });
  let npm = npmStart();
  let lines = await welcomeOf(npm);

  const demo = demoFileIn(directory);
  t.equal(statSync(join(directory, '.data/demo.json')).mode & 0o777, 0o600);
  t.match(demo, { base_url: `http://127.0.0.1:${port}`, service_version: '1.4.harbor' });

  const tail = paste(t, lines.tail, directory);
  await tail.says(/^-- listening to cnv_/m);
  for (const sequence of [1, 2]) {
    const sent = await runProgram('sh', ['-c', lines.curl], {}, directory);
    t.match(JSON.parse(sent.stdout), { object: 'chat_message', status: 'sent', body: 'Hello', sequence });
    await tail.says(new RegExp(`^${sequence} Demo: Hello$`, 'm'));
  }

  t.comment('the example of docs/sdk.md');
  const example = paste(t, 'npx node examples/watch.ts', directory);
  await example.says(/^1 Hello\n2 Hello\n3 ahoy$/m);
  signalGroup(example.child, 'SIGTERM');
  await example.ended;

  t.comment('the approvals of docs/agents.md');
  const blocks = [...readFileSync(join(ROOT, 'docs/agents.md'), 'utf8').matchAll(/^```sh\n(.*?)^```$/gms)];
  const [setUp, raise, approve] = ['ask() {', 'newest() {', 'actions/continue'].map(
    (part) => blocks.find(([, text = '']) => text.includes(part))?.[1],
  );
  const approved = await runProgram('sh', ['-c', `${setUp}${approve}`], {}, directory);
  t.match(approved.stdout, /"status":"awaiting_approval".*"tool":"create_artifact"/s, approved.stderr);
  const { id, status } = JSON.parse(approved.stdout.trim().split('\n').at(-1) ?? '');
  t.match({ id, status }, { id: /^run_/, status: /^(pending|running|completed)$/ }, approved.stdout);

  t.comment('the event of docs/agents.md');
  const raised = await runProgram('sh', ['-c', `${setUp}${raise}`], {}, directory);
  t.match(
    raised.stdout,
    /"object":"agent_definition".*\n.*"object":"event","type":"order.created"/,
    raised.stderr,
  );

  t.comment('the mention of docs/agents.md: the answer is printed once it is complete');
  const mention = lines.curl.replace('"Hello"', '"@assistant how are you?"');
  await runProgram('sh', ['-c', mention], {}, directory);
  await tail.says(/^4 Demo: @assistant how are you\?$/m);
  await tail.says(/^5 Assistant: .*you\? are how @assistant$/m);

  t.comment('kill -9 of the server: npm ends, the next start goes on with what was there');
  const database = postgresIn(directory);
  process.kill(serverOf(npm), 'SIGKILL');
  await npm.ended;
  npm = npmStart();
  lines = await welcomeOf(npm);
  t.notOk(isAlive(database), "the first start's Postgres is gone");
  const { api_key, account_id, conversations, users } = demoFileIn(directory);
  t.strictSame({ api_key, account_id, conversations }, pick(demo), 'ids and key stayed');
  t.not(users.ada.access_token, demo.users.ada.access_token);
  await runProgram('sh', ['-c', lines.curl], {}, directory);
  await tail.says(/^6 Demo: Hello$/m);
  t.equal(tail.stdout.match(/^\d+ Demo: Hello$/gm)?.length, 3, 'each message once, over both connections');
  signalGroup(tail.child, 'SIGTERM');
  await tail.ended;

  t.comment('SIGTERM to npm alone, as a supervisor sends it');
  await endsWell(t, npm, directory, () => npm.child.kill('SIGTERM'));

  t.comment('kill -9 of npm: nobody tells the server, it notices');
  const orphaned = npmStart();
  await welcomeOf(orphaned);
  const server = serverOf(orphaned);
  const itsDatabase = postgresIn(directory);
  orphaned.child.kill('SIGKILL');
  await until(() => !isAlive(server) && !isAlive(itsDatabase), {
    what: 'the server ends without npm',
  });
});

t.test('npm start works in a fresh checkout of an ordinary user', async (t) => {
  const owner = isRoot ? UNPRIVILEGED : undefined;
  const directory = copyCheckout(t, owner);
  const port = await freePort();
  const npm = startParley(
    t,
    { PORT: String(port), HOME: directory },
    { command: as(owner, ['npm', 'start']), cwd: directory },
  );
  const { curl } = await welcomeOf(npm);
  const sent = await runProgram('sh', ['-c', curl], {}, directory);
  t.match(JSON.parse(sent.stdout), { object: 'chat_message', status: 'sent' });
  t.comment('Ctrl-C: SIGINT to the whole group, and once more by an impatient person');
  await endsWell(t, npm, directory, () => {
    signalGroup(npm.child, 'SIGINT');
    signalGroup(npm.child, 'SIGINT');
  });
});

/** The lines that the welcome asks to be pasted. */
async function welcomeOf(npm: Running): Promise<{ curl: string; tail: string }> {
  const [curl] = await npm.says(/^curl .*$/m);
  const [tail] = await npm.says(/^npm run -s tail .*$/m);
  return { curl, tail };
}

function paste(t: Teardown, line: string, cwd: string): Running {
  return startParley(t, {}, { command: ['sh', '-c', line], cwd });
}

async function endsWell(t: Test, npm: Running, directory: string, stop: () => void): Promise<void> {
  const gone = [serverOf(npm), postgresIn(directory)];
  stop();
  const { code, stderr } = await npm.ended;
  t.equal(code, 0, stderr);
  for (const pid of gone) t.notOk(isAlive(pid), `process ${pid} is gone`);
}

/** By npm's `exec`: its only child. */
function serverOf(npm: Running): number {
  const children = readFileSync(`/proc/${npm.child.pid}/task/${npm.child.pid}/children`, 'utf8');
  return Number(children.trim().split(' ')[0]);
}

function postgresIn(directory: string): number {
  const data = realpathSync(join(directory, '.data/postgres'));
  return Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
}

function demoFileIn(directory: string): DemoFile {
  return JSON.parse(readFileSync(join(directory, '.data/demo.json'), 'utf8'));
}

function pick({ api_key, account_id, conversations }: DemoFile) {
  return { api_key, account_id, conversations };
}

function as(owner: Owner | undefined, command: [string, ...string[]]): [string, ...string[]] {
  if (owner === undefined) return command;
  return ['setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', '--', ...command];
}
