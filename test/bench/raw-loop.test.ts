/** The raw generator: the ends of answers, numbers that never repeat, and refusals. */

import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { AnswerReader } from '../../bench/lib/answer-reader.ts';
import { rawLoop } from '../../bench/lib/raw-loop.ts';
import { UNIQUE } from '../../bench/lib/unique-number.ts';
import type { Teardown } from '../support/teardown.ts';

t.test('an answer is complete wherever reads cut it', async (t) => {
  const answer = Buffer.from('HTTP/1.1 201 Created\r\nContent-Length: 12\r\nX: y\r\n\r\n{"a":"bcdef"');
  for (let size = 1; size <= answer.length; size++) {
    const reader = new AnswerReader();
    for (let repeat = 0; repeat < 2; repeat++) {
      const statuses: (number | undefined)[] = [];
      for (let at = 0; at < answer.length; at += size) {
        const part = answer.subarray(at, at + size);
        statuses.push(reader.read(Buffer.concat([part, Buffer.alloc(9)]), part.length));
      }
      t.equal(statuses.pop(), 201);
      t.ok(statuses.every((status) => status === undefined));
    }
  }
});

t.test('a head without a length, and bytes behind an answer, are errors', async (t) => {
  const bare = Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
  t.throws(() => new AnswerReader().read(bare, bare.length), /no Content-Length/);
  const more = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab');
  t.throws(() => new AnswerReader().read(more, more.length), /more bytes/);
});

t.test('each request has a number of its own, on the connection that keeps to its path', async (t) => {
  const bodies: string[] = [];
  const paths = new Map<unknown, Set<string>>();
  const port = await serve(t, (request, response) => {
    const seen = paths.get(request.socket) ?? new Set();
    paths.set(request.socket, seen.add(`${request.url} ${request.headers.who}`));
    request.setEncoding('utf8').on('data', (text: string) => bodies.push(text));
    request.on('end', () => response.writeHead(201, { 'Content-Length': 2 }).end('{}'));
  });
  const report = await rawLoop({
    port,
    connections: 3,
    durationMs: 100,
    body: JSON.stringify({ id: `run-${UNIQUE}`, last: 'ü' }),
    path: (connection) => `/${connection}`,
    headers: (connection) => ({ who: `caller-${connection}` }),
  });
  t.equal(report.answered, bodies.length, 'every request that was sent is counted as answered');
  t.equal(new Set(bodies.map((text) => JSON.parse(text).id)).size, bodies.length);
  t.ok(bodies.every((text) => /^\{"id":"run-\d{12}","last":"ü"\}$/.test(text)));
  const callers = [...paths.values()].flatMap((seen) => [...seen]).sort();
  t.same(callers, ['/0 caller-0', '/1 caller-1', '/2 caller-2']);
});

t.test('a refusal ends the run', async (t) => {
  const port = await serve(t, (_, response) => response.writeHead(429, { 'Content-Length': 0 }).end());
  const run = rawLoop({ port, connections: 1, durationMs: 100, path: () => '/', headers: {} });
  await t.rejects(run, /answered 429/);
});

async function serve(t: Teardown, listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => void server.close());
  return (server.address() as AddressInfo).port;
}
