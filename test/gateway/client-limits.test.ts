import { SOCKET_LIMITS } from '@parley/protocol/socket/socket-limits.ts';
import t from 'tap';
import { ClientLimits } from '../../src/edge/gateway/session/client-limits.ts';

const { badFramesPerMinute: MOST } = SOCKET_LIMITS;

t.test('as many requests as a second has room for may come in one moment', async (t) => {
  for (const requestsPerSecond of [SOCKET_LIMITS.requestsPerSecond, 30, 7]) {
    const limits = { ...SOCKET_LIMITS, requestsPerSecond };
    for (const nowMs of [0, 7, 12_345, 98_765_432]) {
      const client = new ClientLimits();
      const asked = Array.from({ length: requestsPerSecond + 1 }, () => client.takeRequest(limits, nowMs));
      t.equal(asked.filter((waitMs) => waitMs === 0).length, requestsPerSecond, `at ${nowMs}`);
      const waitMs = asked.at(-1)!;
      t.ok(waitMs > 0, 'the next one waits');
      t.equal(client.takeRequest(limits, nowMs + waitMs), 0, 'and is accepted as late as it was told');
    }
  }
});

t.test('ten faults within any minute are too many', async (t) => {
  const client = new ClientLimits();
  const faultsAt = (...times: number[]) => times.map((ms) => client.addFault(SOCKET_LIMITS, ms));
  const once = (ms: number, count: number) => Array.from({ length: count }, () => ms);
  t.notOk(faultsAt(0).includes(true));
  t.notOk(faultsAt(...once(56_000, MOST - 2)).includes(true));
  t.notOk(faultsAt(60_001).includes(true), 'the first is more than a minute ago');
  t.strictSame(faultsAt(60_002), [true], 'over the end of a minute that began with the first');
});

t.test('those of every six seconds and more are let pass', async (t) => {
  const client = new ClientLimits();
  for (let n = 0; n < 100; n++) t.notOk(client.addFault(SOCKET_LIMITS, n * 6_700));
});
