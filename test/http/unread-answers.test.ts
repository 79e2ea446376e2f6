/** Answers that are not read: how much stays in memory, as the server counts it. */

import t from 'tap';
import { RawClient } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import { BIG, HEADER_LINES, HEADERS, serve } from './fixture.ts';

t.jobs = 3;

const MIB = 1024 * 1024;
const ASK = `GET /v1/big HTTP/1.1\r\nHost: a\r\n${HEADER_LINES}\r\n`;

function lazyClient(port: number): RawClient {
  const client = new RawClient(port);
  client.socket.pause();
  return client.send(ASK);
}

t.test('a credential that holds too much is refused, others are not', async (t) => {
  const { port, url, server, metrics } = await serve(t, {
    heldLimits: { perCredential: 10 * MIB, total: 1024 * MIB },
    limits: { writeMs: 60_000 },
  });
  const clients: RawClient[] = [];
  while (server.held.total < 10 * MIB) {
    clients.push(lazyClient(port));
    const had = server.held.total;
    await until(() => server.held.total > had, { what: 'more bytes are held' });
  }
  t.match(await metrics.registry.metrics(), `parley_http_held_answer_bytes ${server.held.total}`);

  const refused = await fetch(`${url}/v1/things/x`, { headers: HEADERS });
  t.equal(refused.status, 503);
  t.ok(Number(refused.headers.get('retry-after')) > 0);
  t.match(await refused.json(), { error: { code: 'service_unavailable', is_transient: true } });
  const other = { ...HEADERS, Authorization: 'Bearer other' };
  t.equal((await fetch(`${url}/v1/things/x`, { headers: other })).status, 200);

  clients.shift()!.socket.resume();
  for (const client of clients) client.destroy();
  await until(() => server.held.total === 0, { what: 'nothing is held' });
  t.equal((await fetch(`${url}/v1/things/x`, { headers: HEADERS })).status, 200);
});

t.test('all together are bounded, whatever was let in at once', async (t) => {
  const limits = { perCredential: 10 * MIB, total: 15 * MIB };
  const { port, server } = await serve(t, { heldLimits: limits, limits: { writeMs: 60_000 } });
  const clients = Array.from({ length: 40 }, () => lazyClient(port));
  await until(() => clients.some(({ over }) => over) || server.held.total >= limits.perCredential, {
    what: 'the limit is met',
  });
  t.ok(server.held.total <= 2 * limits.perCredential + BIG.length, `${server.held.total} bytes`);
  for (const client of clients) client.destroy();
  await until(() => server.held.total === 0 && server.pending === 0, { what: 'nothing is held' });
});

t.test('a client that reads nothing is cut, a slow one is not', async (t) => {
  const { port, server } = await serve(t, { limits: { writeMs: 2_000 } });
  const lazy = lazyClient(port);
  const slow = lazyClient(port);
  await until(() => server.held.total > 0 && server.pending === 2, { what: 'answers are stuck' });
  // 400 kB five times a second: longer than the limit in all, and never as long without a byte.
  const reading = setInterval(() => slow.socket.read(400_000), 200);
  slow.socket.removeAllListeners('data');
  let bytes = 0;
  slow.socket.on('data', (data) => {
    bytes += data.length;
  });
  slow.socket.pause();
  await until(() => bytes > BIG.length || slow.over, { what: 'the slow client has it all' });
  clearInterval(reading);
  t.ok(bytes > BIG.length, `${bytes} bytes`);
  await until(() => server.pending === 0, { what: 'the lazy one is cut' });
  t.equal(server.held.total, 0);
  lazy.destroy();
  slow.destroy();
});
