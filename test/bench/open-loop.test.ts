/**
 * The generator proves itself: the effect of a stopped server on latency can be computed, and must
 * be visible.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { HttpConnections, postRequest } from '../../bench/lib/http-connections.ts';
import { openLoop } from '../../bench/lib/open-loop.ts';

const RATE_PER_SECOND = 500;
const DURATION_MS = 2_000;
const STOP_AFTER_MS = 500;
const STOP_MS = 500;
const CLOSE = 0.05;
/** A busy machine stops both of its own accord: then it is no measurement of this one stop. */
const ATTEMPTS = 8;

t.test('a server that stops for a while is charged for every request that would have arrived', async (t) => {
  const server = fork(join(import.meta.dirname, 'answering-server.ts'));
  t.teardown(() => server.kill('SIGKILL'));
  const [{ port }]: [{ port: number }] = (await once(server, 'message')) as [{ port: number }];
  const connections = await HttpConnections.open({ host: '127.0.0.1', port, size: 32 });
  t.teardown(() => connections.close());

  let measured = await measureStop(server, connections);
  for (let attempt = 1; attempt < ATTEMPTS && Math.abs(measured.off) >= CLOSE; attempt++) {
    measured = await measureStop(server, connections);
  }
  const { report, heldMs, analyticUs, off } = measured;
  t.equal(report.sent, (RATE_PER_SECOND * DURATION_MS) / 1_000, 'every request of the schedule was sent');
  t.equal(report.failed, 0, 'and answered');
  const { p50, p99, max } = report.latencyUs;
  t.ok(Math.abs(off) < CLOSE, `p99 ${p99} µs is within 5 % of ${Math.round(analyticUs)} µs`);
  t.ok(max >= heldMs * 950, 'the longest waited for the whole stop');
  t.ok(p50 < analyticUs / 4, 'most requests never met it');
});

/**
 * A schedule in whose middle the server is stopped, and how far its p99 is off what that comes to.
 */
async function measureStop(server: ChildProcess, connections: HttpConnections) {
  const request = postRequest('/', {}, '{}');
  const running = openLoop({
    ratePerSecond: RATE_PER_SECOND,
    durationMs: DURATION_MS,
    send: (_, done) => connections.send(request, (status) => done(status === 200)),
  });
  await delay(STOP_AFTER_MS);
  const stoppedMs = performance.now();
  server.kill('SIGSTOP');
  await delay(STOP_MS);
  server.kill('SIGCONT');
  const heldMs = performance.now() - stoppedMs;
  const report = await running;
  // A request due at the beginning of the stop waited for all of it, one due at its end not at all.
  // One in a hundred of all requests waited longer than the stop less a hundredth of the whole
  // time.
  const analyticUs = (heldMs - DURATION_MS / 100) * 1_000;
  return { report, heldMs, analyticUs, off: report.latencyUs.p99 / analyticUs - 1 };
}
