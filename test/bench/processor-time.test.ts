/** Processor time from /proc: of a process, and of a family whose members end. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import t from 'tap';
import { cpuSeconds, familySeconds, parseStat, startMeter } from '../../bench/lib/processor-time.ts';
import { until } from '../support/until.ts';

t.test('reads the fields of a process whose name has spaces and parentheses', async (t) => {
  const stat = '42 (a (b) c) S 7 42 42 0 -1 4194304 1 2 3 4 150 50 30 20 20 0 1 0 9 1000 100';
  t.same(parseStat(stat), { own: 2, reaped: 0.5, parent: 7, session: 42, startedAt: 9 });
});

t.test('time of children counts while they run and when they have ended', async (t) => {
  const parent = fork(join(import.meta.dirname, 'working-family.ts'));
  t.teardown(() => parent.kill('SIGKILL'));
  const before = cpuSeconds(parent.pid!) * 1e6;
  const used = startMeter({ servers: [{ pid: parent.pid! }], postgres: { postgresPid: parent.pid! } });
  // The child works for half a second of processor time, and waits.
  await once(parent, 'message');
  const whileItRuns = familySeconds(parent.pid!);
  t.ok(whileItRuns >= cpuSeconds(parent.pid!) + 0.5, `${whileItRuns} s with the child`);
  parent.send('end');
  await once(parent, 'message');
  await until(() => familySeconds(parent.pid!) >= whileItRuns, { what: 'the time of the child that ended' });
  const { node = 0, postgres = 0, generator = -1 } = used(1);
  const ofHead = cpuSeconds(parent.pid!) * 1e6;
  for (const figure of [postgres, node])
    t.ok(figure >= ofHead - before + 0.49e6, `${figure} µs of the family, ${ofHead - before} µs of its head`);
  t.ok(generator >= 0);
});
