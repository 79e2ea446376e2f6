/** Bodies that are never whole in memory, in both directions. */

import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import type { PublicRoutes } from '../../src/api/pipeline/public-routes.ts';
import { BodyStream } from '../../src/platform/http/body-stream.ts';
import type { Connection } from '../../src/platform/http/connection.ts';
import type { ExchangeHost } from '../../src/platform/http/exchange.ts';
import { Exchange } from '../../src/platform/http/exchange.ts';
import { HeldAnswers } from '../../src/platform/http/held-answers.ts';
import { readHead } from '../../src/platform/http/request-head.ts';
import { EXCHANGE_LIMITS } from '../../src/platform/http/server.ts';
import { RawClient } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import { serve } from './fixture.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** A stream, and whether the client is asked to wait. */
function openStream() {
  const flow = { paused: false };
  const stream = new BodyStream({
    pause: () => {
      flow.paused = true;
    },
    resume: () => {
      flow.paused = false;
    },
  });
  return { stream, flow };
}

t.test('a body goes by in its order, whenever its pieces come', async (t) => {
  const { stream } = openStream();
  stream.push(Buffer.from('be'), false);
  const read = collect(stream);
  await turn();
  stream.push(Buffer.from('fo'), false);
  stream.push(Buffer.from('re'), false);
  await turn();
  stream.push(Buffer.alloc(0), true);
  t.equal(await read, 'before');
});

t.test('a client waits for a slow reader', async (t) => {
  const { stream, flow } = openStream();
  const piece = Buffer.alloc(64 * KIB, 'a');
  const pieces = stream[Symbol.asyncIterator]();
  for (let i = 0; i < 4; i++) stream.push(piece, false);
  t.equal(flow.paused, false, '256 KiB may wait');
  stream.push(piece, false);
  t.equal(flow.paused, true);
  for (let i = 0; i < 3; i++) await pieces.next();
  t.equal(flow.paused, true, 'not for a little room');
  await pieces.next();
  t.equal(flow.paused, false);
});

t.test('what arrives although the client is to wait', async (t) => {
  const { stream, flow } = openStream();
  const before = process.memoryUsage().arrayBuffers;
  // 50 pieces as a fast client's, each of which is written over by the next.
  const piece = Buffer.alloc(512 * KIB);
  let pushed = 0;
  const push = () => stream.push(piece.fill(pushed++), pushed === 50);
  for (let i = 0; i < 30; i++) push();
  t.ok(process.memoryUsage().arrayBuffers - before < 4 * MIB, 'does not wait in memory');
  t.equal(flow.paused, true);
  let length = 0;
  for await (const bytes of stream) {
    const wanted = Buffer.alloc(bytes.length);
    for (let at = 0; at < bytes.length; at++) wanted[at] = (length + at) / piece.length;
    if (!bytes.equals(wanted)) t.fail(`other bytes at ${length}`);
    length += bytes.length;
    // More arrives while what waits is being read.
    if (pushed < 50 && length > pushed * 200 * KIB) push();
  }
  t.equal(length, 50 * piece.length);
  t.equal(flow.paused, false);

  const abandoned = openStream();
  for (let i = 0; i < 4; i++) abandoned.stream.push(piece, false);
  const reading = abandoned.stream[Symbol.asyncIterator]();
  await reading.next();
  const second = reading.next();
  abandoned.stream.abandon();
  await second;
  await t.rejects(reading.next(), { message: 'The connection closed before the body was complete.' });
});

t.test('a client that goes away', async (t) => {
  const { stream } = openStream();
  stream.push(Buffer.from('half'), false);
  const read = collect(stream);
  await turn();
  stream.break();
  await t.rejects(read, { message: 'The connection closed before the body was complete.' });
  const late = openStream();
  late.stream.break();
  await t.rejects(collect(late.stream), { message: 'The connection closed before the body was complete.' });
  const whole = openStream();
  whole.stream.push(Buffer.from('whole'), true);
  whole.stream.break();
  t.equal(await collect(whole.stream), 'whole', 'after its last byte is its own business');
});

t.test('a reader that goes away lets the rest go by', async (t) => {
  const { stream, flow } = openStream();
  for (let i = 0; i < 9; i++) stream.push(Buffer.alloc(64 * KIB), false);
  t.equal(flow.paused, true);
  for await (const _ of stream) break;
  t.equal(flow.paused, false);
  stream.push(Buffer.alloc(9 * MIB), false);
  t.equal(flow.paused, false);
});

t.test('a connection is kept while what was streamed waits for its answer', async (t) => {
  const calls: string[] = [];
  const watched = new Set<Exchange>();
  const note = (name: string) => () => void calls.push(name);
  const unused = () => {
    throw new Error('nothing is answered here');
  };
  const connection: Connection = {
    pause: note('pause'),
    resume: note('resume'),
    close: unused,
    cork: unused,
    tryEnd: unused,
    end: unused,
    write: unused,
    writeStatus: unused,
    writeHeader: unused,
    endWithoutBody: unused,
    onWritable: unused,
    getWriteOffset: unused,
    getRemoteAddressAsText: unused,
  };
  const host: ExchangeHost = {
    limits: EXCHANGE_LIMITS,
    draining: false,
    closed: 0,
    held: new HeldAnswers({ perCredential: 0, total: 0 }),
    enter: () => {},
    watch: (exchange) => watched.add(exchange),
    finished: () => {},
  };
  const head = readHead({
    getCaseSensitiveMethod: () => 'POST',
    getUrl: () => '/',
    getQuery: () => undefined,
    forEach: (visit) => {
      visit('host', 'x');
      visit('content-length', '4');
    },
  });
  if (head instanceof Error) throw head;
  const exchange = new Exchange(host, connection, head, 'req_1');
  exchange.streamBody();
  exchange.receive(Uint8Array.from([1, 2]).buffer, false);
  t.notOk(watched.has(exchange), 'a client that stops in the middle is not kept');
  exchange.receive(Uint8Array.from([3, 4]).buffer, true);
  t.ok(watched.has(exchange));
  const nowMs = performance.now();
  for (const second of [1, 3, 5, 7, 10, 11]) exchange.expire(nowMs + second * 1_000);
  // The library cuts after 8 to 12 s, and begins anew after each pair.
  t.strictSame(calls, ['pause', 'resume', 'pause', 'resume']);
});

t.test('a source is read at the pace at which it is taken', async (t) => {
  const total = 64 * MIB;
  let produced = 0;
  let mostAhead = 0;
  let received = 0;
  async function* read() {
    while (produced < total) {
      produced += 64 * KIB;
      mostAhead = Math.max(mostAhead, produced - received);
      yield Buffer.alloc(64 * KIB, 'a');
    }
  }
  const { port } = await serve(t, { publicRoutes: sources({ '/big': { size: total, read } }) });
  const client = new RawClient(port);
  client.socket.removeAllListeners('data');
  client.socket.on('data', (piece) => {
    received += piece.length;
    client.socket.pause();
    setImmediate(() => client.socket.resume());
  });
  client.send('GET /big HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await client.closed;
  t.ok(received > total && received < total + 1_000, `${received}`);
  // The difference is in the kernel: the buffers of both ends.
  t.ok(mostAhead < 16 * MIB, `${mostAhead}`);
});

t.test('a source is let go when the client is', async (t) => {
  let ended = false;
  async function* read() {
    try {
      for (;;) yield Buffer.alloc(64 * KIB);
    } finally {
      ended = true;
    }
  }
  const fixture = await serve(t, { publicRoutes: sources({ '/endless': { size: 1e12, read } }) });
  const client = new RawClient(fixture.port);
  client.send('GET /endless HTTP/1.1\r\nHost: a\r\n\r\n');
  await until(() => client.received.length > MIB, { what: 'some of it' });
  client.destroy();
  await until(() => ended, { what: 'the source to be ended' });
  t.equal(fixture.server.pending, 0);
});

t.test('a source that fails, or has less than it announced, cuts the connection', async (t) => {
  async function* broken() {
    yield Buffer.from('some');
    throw new Error('the disk is gone');
  }
  async function* short() {
    yield Buffer.from('some');
  }
  const dead = (): AsyncIterable<Buffer> => ({
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('the disk was gone before')) }),
  });
  const routes = Object.entries({ broken, short, dead }).map(
    ([name, read]) => [`/${name}`, { size: 100, read }] as const,
  );
  const fixture = await serve(t, { publicRoutes: sources(Object.fromEntries(routes)) });
  for (const [path] of routes) {
    const client = new RawClient(fixture.port).send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await client.closed;
    t.notMatch(client.received, /some.{96}/, path);
  }
  t.equal(fixture.server.pending, 0);
  t.equal((await fetch(`${fixture.url}/healthz`)).status, 404, 'and serves on');
});

t.test('uploads are read as streams', async (t) => {
  const taken: string[] = [];
  const fixture = await serve(t, {
    publicRoutes: {
      '/plain': () => ({ status: 200, body: '{}' }),
      '/file': {
        get: () => ({ status: 200, body: '{}' }),
        async put({ body, contentLength, contentType }) {
          if (contentType === 'refused/at-once') return { status: 422, body: '{}' };
          const text = await collect(body);
          taken.push(`${contentType} ${contentLength} ${text.length}`);
          return { status: 204, body: null };
        },
      },
    },
  });
  const put = (path: string, type: string, length: number) =>
    fetch(`${fixture.url}${path}`, {
      method: 'PUT',
      headers: { 'Content-Type': type },
      body: new Uint8Array(length),
    });
  t.equal((await put('/plain', 'a/b', 1)).status, 405);
  t.equal((await put('/file', 'a/b', 0)).status, 204);
  t.equal((await put('/file', 'c/d', 3 * MIB)).status, 204, 'far beyond what a request may have');
  t.same(taken, ['a/b 0 0', `c/d ${3 * MIB} ${3 * MIB}`]);

  for (const length of [10, 200_000, 900_000]) {
    t.equal((await put('/file', 'refused/at-once', length)).status, 422, `${length} bytes`);
  }
  t.equal((await put('/file', 'a/b', 5)).status, 204, 'and serves on');
});

function sources(
  bodies: Readonly<Record<string, { size: number; read(): AsyncIterable<Buffer> }>>,
): PublicRoutes {
  return Object.fromEntries(
    Object.entries(bodies).map(([path, body]) => [path, () => ({ status: 200, body })]),
  );
}

async function collect(bytes: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}
