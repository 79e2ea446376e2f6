/** Hostile networks: requests that can be read in two ways, aborts, and all kinds of slowness. */

import t, { type Test } from 'tap';
import { startNginx } from '../support/nginx.ts';
import { Random } from '../support/random.ts';
import { RawClient } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import { BIG, type Fixture, HEADER_LINES, HEADERS, serve } from './fixture.ts';
import { type HostileRequest, hostileRequests, LAST_REQUESTS, smuggledIn } from './hostile-requests.ts';

// Some tests wait for the library's ten seconds, each with a server of its own.
t.jobs = 8;

t.test('hostile requests, straight at the server', async (t) => {
  const fixture = await serve(t);
  const whole = hostileRequests('whole');
  const inPieces = hostileRequests('pieces');
  t.ok(whole.length >= 60, `${whole.length} of them`);

  const judge = async (request: HostileRequest & { readonly id: string }, client: RawClient) => {
    await client.closed;
    const { name, id } = request;
    const ran = fixture.handled.filter((line) => line.endsWith(`-${id}`));
    const statuses = client.statuses.join();
    t.same(ran, [], `${id} ${name}: nothing ran`);
    if (request.refusedBy === 'handler') t.equal(statuses, '400', `${id} ${name}: answered`);
    else t.match(statuses, /^(4\d\d|505)?$/, `${id} ${name}: refused by the library`);
    if (request.refusedBy === 'handler') t.same(client.codes, ['invalid_format']);
  };
  // Some are cut after ten silent seconds: all at once.
  await Promise.all([
    ...whole.map((request) => judge(request, open(fixture).send(request.head + request.rest))),
    ...inPieces.map((request) => judge(request, sendInPieces(fixture, request))),
    untilRefused(fixture),
  ]);
  await servesHonestly(t, fixture);
});

t.test('hostile requests through a real proxy', async (t) => {
  const fixture = await serve(t);
  const { port } = await startNginx(t, { upstreamPort: fixture.port });
  const proxied = { ...fixture, port, url: `http://127.0.0.1:${port}` };

  const requests = hostileRequests('proxied');
  const clients: RawClient[] = [];
  for (const request of requests) {
    clients.push(new RawClient(port).send(request.head + request.rest));
    // In between comes another client, to which the proxy gives the same connection.
    const id = `victim-${request.id}`;
    const answer = await fetch(`${proxied.url}/v1/things/${id}`, { headers: HEADERS });
    t.same(await answer.json(), { id }, `${request.name}: the next caller gets its own answer`);
  }

  // A request that the proxy turns into a correct one may run: then its sender, and no other
  // client, has the answer.
  const ran = (id: string) =>
    fixture.handled.filter((line) => line.endsWith(`-${id}`) && !line.includes('victim')).length;
  const granted = (client: RawClient) => client.statuses.filter((status) => status < 300).length;
  const isSettled = () => requests.every(({ id }, i) => ran(id) === granted(clients[i]!));
  await until(isSettled, { what: 'the last answers' }).catch(() => undefined);
  for (const [i, { id, name }] of requests.entries()) {
    t.equal(granted(clients[i]!), ran(id), `${name}: who asked was answered, once each`);
    clients[i]!.destroy();
  }
  await servesHonestly(t, proxied);
});

t.test('after a request that ends its connection nothing runs', async (t) => {
  const fixture = await serve(t);
  for (const last of LAST_REQUESTS) {
    const client = open(fixture).send(last + smuggledIn('x'));
    await client.closed;
    const alone = open(fixture).send(last);
    await alone.closed;
    t.equal(alone.statuses.length, 1);
  }
  t.same(
    fixture.handled.filter((line) => line.includes('smuggled')),
    [],
  );
  await servesHonestly(t, fixture);
});

t.test('a body that is too large is refused', async (t) => {
  const fixture = await serve(t);
  const send = async (length: number, sent: number) => {
    const client = open(fixture).send(noteHead(length));
    client.send(Buffer.alloc(sent, 'a'));
    await client.closed;
    t.same(client.statuses, [413], `${sent} of ${length} bytes`);
    t.same(client.codes, ['validation_failed']);
    const followed = open(fixture).send(noteHead(length));
    followed.send(Buffer.concat([Buffer.alloc(sent, 'a'), Buffer.from(smuggledIn('behind'))]));
    await followed.closed;
    t.ok(followed.statuses.every((status) => status === 413));
  };
  const announced = [256 * 1024 + 1, 300_000, 1_000_000, 10_000_000_000];
  await Promise.all(
    announced.flatMap((length) => [0, 100, Math.min(length, 10_000_000)].map((sent) => send(length, sent))),
  );
  const unknown = open(fixture).send(noteHead(300_000).replace('Bearer known', 'Bearer nobody'));
  await unknown.closed;
  t.same(unknown.statuses, [401], 'judged in its place');
  t.same(fixture.handled, []);
  t.equal(fixture.server.pending, 0);
  await servesHonestly(t, fixture);
});

t.test('a request that is refused by its head, with a body still to come', async (t) => {
  const fixture = await serve(t);
  const client = open(fixture).send(noteHead(200_000).replace('Bearer known', 'Bearer nobody'));
  client.send(Buffer.alloc(200_000, 'a'));
  await until(() => client.statuses.length === 1, { what: 'the refusal, behind the body' });
  t.same(client.statuses, [401]);
  client.send(`GET /v1/things/next HTTP/1.1\r\nHost: a\r\n${HEADER_LINES}\r\n`);
  await until(() => client.statuses.length === 2, { what: 'the answer to the next request' });
  t.same(client.statuses, [401, 200]);
  t.same(fixture.handled, ['GET next']);
  client.destroy();
});

t.test('a body that does not arrive whole in time', async (t) => {
  const fixture = await serve(t, { limits: { bodyMs: 150 } });
  for (const part of ['', '{', '{"text":"x"']) {
    const client = open(fixture).send(noteHead(12) + part);
    await client.closed;
    t.same(client.statuses, [408]);
    t.same(client.codes, ['request_timeout']);
  }
  const lookedUp = open(fixture).send(`${noteHead(12).replace('known', 'looked_up')}{`);
  await lookedUp.closed;
  t.same(lookedUp.statuses, [408]);
  t.same(fixture.handled, []);
  t.equal(fixture.server.pending, 0);
});

t.test("the wait for a body has the configured length, whatever the library's own timeout is", async (t) => {
  // It would have cut it after 12 s at the latest.
  const fixture = await serve(t, { limits: { bodyMs: 12_500 } });
  const client = open(fixture).send(`${noteHead(12)}{`);
  await client.closed;
  t.same(client.statuses, [408]);
});

t.test('a connection that is slow to send its first request, or its next one, is kept open', async (t) => {
  // The library would close it 8 to 12 s after its acceptance, under the request that its client
  // sends just then.
  const fixture = await serve(t, { limits: { idleMs: 60_000 } });
  const clients = Array.from({ length: 20 }, () => open(fixture));
  const halfSent = open(fixture).send('GET /v1/things/half HTTP/1.1\r\nHost: a\r\n');
  const used = open(fixture).send(thing('used'));
  await until(() => used.statuses.length === 1, { what: 'the first answer' });
  // Longer than the library waits: its clock ticks every 4 s, three times at most.
  await new Promise((resolve) => setTimeout(resolve, 14_000));
  t.notOk(clients.some(({ over }) => over));
  for (const [n, client] of clients.entries())
    client.send(n % 2 === 0 ? thing('late') : `${noteHead(12)}{"text":"x"}`);
  halfSent.send(`${HEADER_LINES}\r\n`);
  used.send(thing('again'));
  const all = [...clients, halfSent, used];
  await until(() => all.every(({ statuses, over }) => over || statuses.length > 0), { what: 'the answers' });
  await until(() => used.statuses.length === 2 || used.over, { what: 'the second answer' });
  t.same(
    clients.map(({ statuses }) => statuses),
    clients.map((_, n) => (n % 2 === 0 ? [200] : [201])),
  );
  t.same(halfSent.statuses, [200]);
  t.same(used.statuses, [200, 200]);
  for (const client of all) client.destroy();
});

t.test('a connection that brings no whole head ends with its time', async (t) => {
  const fixture = await serve(t, { limits: { idleMs: 1_500 } });
  const silent = open(fixture);
  const trickling = open(fixture).send('GET / HT');
  // Without an end: bytes do not give a head more time, on a new connection or between two
  // requests.
  const dripping = [
    open(fixture).send('GET / HTTP/1.1\r\nHost: a\r\nX: '),
    open(fixture).send(`${thing('used')}GET /`),
  ];
  const drip = setInterval(() => {
    for (const client of dripping) client.send('a');
  }, 50);
  t.teardown(() => clearInterval(drip));
  const used = open(fixture).send(thing('used'));
  const waiting = open(fixture).send(
    `POST /v1/waits HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n${HEADER_LINES}\r\n`,
  );
  await Promise.all([silent, trickling, used, ...dripping].map(({ closed }) => closed));
  clearInterval(drip);
  t.same(used.statuses, [200]);
  t.notOk(waiting.over, 'one that is waited for by its client stays');
  fixture.open();
  await until(() => waiting.statuses.length === 1, { what: 'its answer' });
  await waiting.closed;
});

t.test('a thousand requests one behind the other on few connections, with and without bodies', async (t) => {
  const fixture = await serve(t);
  const send = async (n: number) => {
    const path = `${fixture.url}/v1/things/${n}`;
    const asked = [
      () => fetch(path, { headers: HEADERS }),
      () => fetch(`${path}/notes`, { method: 'POST', headers: HEADERS, body: '{"text":"x"}' }),
      () => fetch(path, { method: 'DELETE', headers: HEADERS, body: '{}' }),
      () => fetch(`${fixture.url}/v1/nothing`, { headers: HEADERS }),
      () =>
        fetch(`${path}/notes`, { method: 'POST', headers: { ...HEADERS, Authorization: 'x' }, body: '{}' }),
    ][n % 5]!;
    const response = await asked();
    await response.text();
    return response.status;
  };
  for (let start = 0; start < 1_000; start += 20) {
    const statuses = await Promise.all(Array.from({ length: 20 }, (_, n) => send(start + n)));
    if (start === 0) t.same(statuses.slice(0, 5), [200, 201, 202, 404, 401]);
    if (statuses.some((status, n) => status !== statuses[n % 5])) t.fail(`${start}: ${statuses}`);
  }
  t.equal(fixture.server.pending, 0);
});

t.test('aborts in the middle of a request', async (t) => {
  const fixture = await serve(t);
  const text = `${noteHead(12)}{"text":"x"`;
  const clients = [1, 5, 30, 60, text.length - 5, text.length].map((length) =>
    open(fixture).send(text.slice(0, length)),
  );
  const truncated = open(fixture).send(text);
  truncated.socket.end();
  await truncated.closed;
  t.same(truncated.statuses, [], 'a half-closed connection is an abort');
  for (const client of clients) client.destroy();
  await until(() => fixture.server.pending === 0, { what: 'the server has noticed' });
  t.same(fixture.handled, []);

  const waiting = open(fixture).send(
    `POST /v1/waits HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n${HEADER_LINES}\r\n`,
  );
  await until(() => fixture.handled.length === 1, { what: 'the handler runs' });
  waiting.destroy();
  await until(() => fixture.server.pending === 0, { what: 'the server has noticed' });
  fixture.open();
  await servesHonestly(t, fixture);
});

t.test('two hundred connections that end at some byte', async (t) => {
  const fixture = await serve(t);
  const random = new Random(2026);
  const body = JSON.stringify({ text: 'y'.repeat(2_000) });
  const text = `${noteHead(body.length)}${body}`.repeat(3);
  const before = Promise.all(
    Array.from({ length: 200 }, async () => {
      const client = open(fixture);
      const end = random.below(text.length + 1);
      for (let at = 0; at < end; ) {
        const next = Math.min(end, at + 1 + random.below(3_000));
        const piece = Buffer.from(text.slice(at, next));
        await new Promise((resolve) => client.socket.write(piece, resolve));
        at = next;
      }
      if (random.next() < 0.3) client.socket.resetAndDestroy();
      else client.destroy();
      await client.closed;
    }),
  );
  await before;
  await until(() => fixture.server.pending === 0, { what: 'the server has noticed' });
  t.ok(fixture.handled.every((line) => line === 'POST x'));
  await servesHonestly(t, fixture);
});

t.test('a client that never reads its answer', async (t) => {
  const fixture = await serve(t, { limits: { writeMs: 200 } });
  const ask = `GET /v1/big HTTP/1.1\r\nHost: a\r\n${HEADER_LINES}\r\n`;
  const lazy = open(fixture);
  lazy.socket.pause();
  lazy.send(ask);
  await until(() => fixture.server.pending === 1, { what: 'an answer that is stuck' });
  await until(() => fixture.server.pending === 0, { what: 'its time is over' });
  lazy.destroy();

  const greedy = open(fixture);
  greedy.socket.pause();
  greedy.send(ask);
  await until(() => fixture.server.pending === 1, { what: 'an answer that is stuck' });
  greedy.send(ask);
  await until(() => fixture.server.pending === 0, { what: 'asking on without reading' });
  greedy.destroy();

  const unhurried = await serve(t);
  const patient = await fetch(`${unhurried.url}/v1/big`, { headers: HEADERS });
  t.equal(await patient.text(), BIG, 'an answer of 8 MiB, whole');
  await servesHonestly(t, fixture);
});

function open({ port }: { readonly port: number }): RawClient {
  return new RawClient(port);
}

function thing(id: string): string {
  return `GET /v1/things/${id} HTTP/1.1\r\nHost: a\r\n${HEADER_LINES}\r\n`;
}

/** The head of an honest POST. */
function noteHead(length: number): string {
  return `POST /v1/things/x/notes HTTP/1.1\r\nHost: a\r\n${HEADER_LINES}Content-Length: ${length}\r\n\r\n`;
}

/** As a slow network would bring it: the head, then the rest byte by byte. */
function sendInPieces(fixture: Fixture, { head, rest }: HostileRequest): RawClient {
  const client = open(fixture).send(head);
  const sendNext = (at: number) => {
    if (at < rest.length && client.socket.writable) {
      client.socket.write(Buffer.from(rest[at]!, 'latin1'), () => sendNext(at + 1));
    }
  };
  client.socket.once('connect', () => sendNext(0));
  return client;
}

/** A head that comes a byte at a time is served or refused, and nothing else of it runs. */
async function untilRefused(fixture: Fixture): Promise<void> {
  const client = open(fixture);
  const text = `GET /v1/things/trickled HTTP/1.1\r\nHost: a\r\n${HEADER_LINES}\r\n`;
  for (const byte of text) {
    if (!client.socket.writable) break;
    await new Promise((resolve) => client.socket.write(byte, resolve));
  }
  await until(() => client.over || client.statuses.length === 1, { what: 'an answer' });
  client.destroy();
}

async function servesHonestly(t: Test, fixture: Fixture): Promise<void> {
  const response = await fetch(`${fixture.url}/v1/things/honest/notes`, {
    method: 'POST',
    headers: HEADERS,
    body: '{"text":"still there"}',
  });
  t.equal(response.status, 201);
  t.match(await response.json(), { body: { text: 'still there' } });
}
