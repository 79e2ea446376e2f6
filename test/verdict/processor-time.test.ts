import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { until } from '../support/until.ts';
import { measured, ProcessTable } from './processor-time.ts';

/** Counts up, which takes some tenths of a second of a core. */
const WORK = 'for (( n = 0; n < 300000; n += 1 )); do :; done';
/**
 * Works in a session of its own that nobody waits for, tells its processor time in ticks, and stays
 * as long as that file does.
 */
const ADRIFT = (file: string) =>
  `setsid bash -c '${WORK}; cut -d" " -f14,15 /proc/$$/stat >${file}.new && mv ${file}.new ${file}; while [ -e ${file} ]; do sleep 0.1; done' &`;

t.test('what a command started counts, also what was killed or outlives it', async (t) => {
  const file = `${t.testdir()}/ticks`;
  const script = `${ADRIFT(file)} bash -c '${WORK}; kill -9 $$'; while [ ! -e ${file} ]; do sleep 0.05; done; ${WORK}`;
  const { code, processorMs } = await measured(['bash', '-c', script]);
  t.equal(code, 0);
  const adriftMs = ticksIn(file) * 10;
  if (processorMs() === null) return t.equal(process.platform === 'linux', false);
  t.ok(adriftMs > 0);
  // The two others do the same work; half of it is enough to tell that neither is missing.
  t.ok(processorMs()! > 2 * adriftMs, `${processorMs()} ms, of which one process took ${adriftMs}`);
  t.ok(processorMs()! < 30 * adriftMs + 1_000);
});

t.test('without control groups, the table of processes finds the same', { skip: noTable() }, async (t) => {
  const file = `${t.testdir()}/ticks`;
  const script = `${ADRIFT(file)} bash -c '${WORK}'; read -r`;
  const child = spawn('bash', ['-c', script], { stdio: ['pipe', 'ignore', 'inherit'] });
  const table = ProcessTable.follow(child.pid);
  t.teardown(() => {
    table?.end();
    child.kill('SIGKILL');
  });
  await until(() => exists(file) && (table?.processorMs() ?? 0) > 1.5 * ticksIn(file) * 10, {
    what: () => `half as much again as one of two processes took; ${table?.processorMs()} ms are counted`,
  });
  const before = table?.processorMs() ?? 0;
  child.stdin.end('\n');
  await once(child, 'close');
  table?.end();
  t.ok((table?.processorMs() ?? 0) >= before, 'what has ended still counts');
});

t.test('a child that was waited for counts once, and one that vanished counts', (t) => {
  const entry = (parent: number, ownMs: number, reapedMs = 0) => ({
    parent,
    session: 1,
    own: ownMs / 1_000,
    reaped: reapedMs / 1_000,
  });
  const table = new ProcessTable(10);
  const other = ['7 1', entry(1, 5_000)] as const;
  table.sample(new Map([other, ['10 1', entry(1, 100)], ['11 1', entry(10, 40)], ['12 1', entry(10, 20)]]));
  t.equal(Math.round(table.processorMs()), 160);
  // 11 was waited for. 12 left without a trace, or was waited for too: the parent's growth decides.
  table.sample(new Map([other, ['10 1', entry(1, 100, 40)]]));
  t.equal(Math.round(table.processorMs()), 160);
  // Its number is used again, by a stranger.
  table.sample(new Map([other, ['10 1', entry(1, 100, 40)], ['12 2', entry(1, 900)]]));
  t.equal(Math.round(table.processorMs()), 160);
  t.end();
});

function ticksIn(file: string): number {
  const [user = 0, system = 0] = readFileSync(file, 'utf8').trim().split(' ').map(Number);
  return user + system;
}

function exists(file: string): boolean {
  try {
    return readFileSync(file, 'utf8').length > 0;
  } catch {
    return false;
  }
}

function noTable(): string | false {
  return process.platform === 'linux' ? false : 'there is no /proc';
}
