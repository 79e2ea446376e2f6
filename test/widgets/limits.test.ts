/** The number of visitors that may begin (docs/contract.md#widgets). */

import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import t from 'tap';
import { createRateLimits } from '../../src/api/access/rate-limit.ts';
import { callsAt, startTestApp } from '../support/app.ts';
import { OPEN, visitorsOf } from './fixture.ts';

t.test('an address begins 30 visitors a minute', async (t) => {
  const app = await startTestApp(t, { PARLEY_RATE_LIMIT: '1000/60' });
  const { widget } = visitorsOf(app);
  const { call } = callsAt(app, NEWEST_VERSION);
  const path = `/v1/widgets/${(await widget()).id}/visitors`;
  const statuses: number[] = [];
  for (let n = 0; n < 31; n += 1) {
    const answer = await call('POST', path, { headers: OPEN, body: {} });
    statuses.push(answer.status);
    if (answer.status === 429) t.match(answer.headers.get('Retry-After'), /^\d+$/);
  }
  t.strictSame(statuses, [...Array.from({ length: 30 }, () => 201), 429]);
});

t.test('a widget begins 100 a minute, wherever they come from', async (t) => {
  const { visitors } = createRateLimits({ requests: 1_000, seconds: 60 });
  for (let n = 0; n < 100; n += 1) await visitors.consume('wgt_a');
  t.throws(() => visitors.consume('wgt_a'), /Too many requests/);
  t.ok(visitors.consume('wgt_b'));
  t.equal(createRateLimits(null).visitors.consume('wgt_a'), undefined);
});
