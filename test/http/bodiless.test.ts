/**
 * The length of each answer, and that its connection serves the next request: for every method and
 * status that the server can answer, with every kind of body, at the server and through nginx.
 */

import { ERRORS } from '@parley/protocol/errors/errors.ts';
import t, { type Test } from 'tap';
import type { LimitedHandler } from '../../src/api/pipeline/public-routes.ts';
import type { HttpResponse } from '../../src/platform/http/connection.ts';
import { startNginx } from '../support/nginx.ts';
import { RawClient } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import { type Fixture, HEADER_LINES, serve } from './fixture.ts';

const TEXT = 'x'.repeat(3_000);
const BODIES = {
  none: () => null,
  empty: () => '',
  text: () => TEXT,
  bytes: () => Buffer.from(TEXT),
  source: () => ({
    size: TEXT.length,
    async *read() {
      yield Buffer.from(TEXT.slice(0, 1_000));
      yield Buffer.from(TEXT.slice(1_000));
    },
  }),
  open: () => ({
    start: Buffer.from(TEXT.slice(0, 1_000)),
    filler: Buffer.from('\n'),
    begin: (answer) => answer.end(Buffer.from(TEXT.slice(1_000))),
    gone: () => void released.add('open'),
  }),
} as const satisfies Readonly<Record<string, () => HttpResponse['body']>>;
const released = new Set<string>();

const BODILESS = [204, 304];
const STATUSES = [
  ...new Set([200, 201, 202, 206, 302, 303, 307, 308, ...Object.values(ERRORS).map(({ status }) => status)]),
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'] as const;

const answer: LimitedHandler = async ({ path }) => {
  const [, , status, kind] = path.split('/') as [string, string, string, keyof typeof BODIES];
  return {
    status: Number(status),
    body: BODIES[kind](),
    contentType: 'text/plain',
    ...(status.startsWith('3') ? { headers: { Location: '/healthz' } } : {}),
  };
};

const json: LimitedHandler = async ({ path }) => ({
  status: 200,
  body: JSON.stringify({ text: 'x'.repeat(Number(path.split('/').at(-1))) }),
});

/** The head of an answer, and how long its body is; undefined while it is not complete. */
function firstAnswer(received: string, method: string) {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = received.slice(0, end);
  const rest = received.slice(end + 4);
  const lengths = [...head.matchAll(/^content-length: (\d+)$/gim)].map(([, digits]) => Number(digits));
  const isChunked = /^transfer-encoding: chunked$/im.test(head);
  const status = Number(head.slice(9, 12));
  const found = { status, head, lengths, isChunked };
  if (method === 'HEAD' || BODILESS.includes(status)) return { ...found, rest };
  if (!isChunked) return rest.length < lengths[0]! ? undefined : { ...found, rest: rest.slice(lengths[0]!) };
  const last = rest.indexOf('0\r\n\r\n');
  return last < 0 ? undefined : { ...found, rest: rest.slice(last + 5) };
}

interface Asked {
  readonly name: string;
  readonly method: string;
  readonly request: string;
  readonly status: number;
  /** Null: the answer may have none. */
  readonly length: number | null;
}

function ask(method: string, path: string, body = ''): string {
  if (method === 'GET' || method === 'HEAD')
    return `${method} ${path} HTTP/1.1\r\nHost: a\r\n${HEADER_LINES}\r\n`;
  const length = `Content-Length: ${body.length}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: a\r\n${HEADER_LINES}${length}\r\n${body}`;
}

function* everyAnswer(): Iterable<Asked> {
  for (const method of METHODS) {
    for (const status of STATUSES) {
      for (const kind of ['none', 'text'] as const) {
        const length = kind === 'none' ? 0 : TEXT.length;
        const request = ask(method, `/every/${status}/${kind}`);
        yield { name: `${method} ${status} ${kind}`, method, request, status, length };
      }
    }
    for (const status of BODILESS) {
      const request = ask(method, `/every/${status}/none`);
      yield { name: `${method} ${status}`, method, request, status, length: null };
    }
    for (const [kind, make] of Object.entries(BODIES)) {
      const request = ask(method, `/every/200/${kind}`, 'an unread body');
      const length = kind === 'open' ? null : Number(lengthOf(make()));
      yield { name: `${method} with a body, 200 ${kind}`, method, request, status: 200, length };
    }
  }
  for (const [method, path, status] of [
    ['HEAD', '/healthz', 200],
    ['HEAD', '/v1/things/x', 200],
    ['HEAD', '/v1/big', 200],
    ['HEAD', '/v1/nothing', 404],
    ['HEAD', '/v1/waits', 405],
    ['PATCH', '/v1/things/x', 405],
    ['PATCH', '/every/200/text', 405],
    ['OPTIONS', '/v1/things/x', 204],
    ['DELETE', '/v1/things/x', 202],
  ] as const) {
    yield { name: `${method} ${path}`, method, request: ask(method, path), status, length: null };
  }
}

function* someAnswers(): Iterable<Asked> {
  for (const asked of everyAnswer()) if ([200, 204, 302, 304, 404, 405].includes(asked.status)) yield asked;
}

function lengthOf(body: HttpResponse['body']): number | undefined {
  if (body === null) return 0;
  return typeof body === 'string' || Buffer.isBuffer(body)
    ? body.length
    : 'size' in body
      ? body.size
      : undefined;
}

const NEXT = ask('GET', '/healthz');

/** Sends the request, and another one on the same connection when it is answered. */
async function judge(t: Test, port: number, asked: Asked): Promise<void> {
  const { name, method, request, status, length } = asked;
  const client = new RawClient(port).send(request);
  await until(() => client.over || firstAnswer(client.received, method) !== undefined, { what: name });
  const found = firstAnswer(client.received, method);
  t.equal(found?.status, status, name);
  if (BODILESS.includes(status)) {
    t.strictSame([found?.lengths, found?.isChunked], [[], false], `${name}: no length`);
  } else if (length !== null) {
    // nginx passes a HEAD's length on, and announces that of other bodies itself.
    t.strictSame([found?.lengths, found?.isChunked], [[length], false], `${name}: one length`);
  } else if (method !== 'HEAD') {
    t.ok(found?.isChunked || found?.lengths.length === 1, `${name}: its end is announced`);
  }
  t.equal(found?.rest, '', `${name}: nothing behind it`);
  const before = client.received.length;
  client.send(NEXT);
  const next = () => firstAnswer(client.received.slice(before), 'GET');
  await until(() => client.over || next() !== undefined, { what: `${name}: the next answer` });
  t.equal(next()?.status, 200, `${name}: the connection serves the next request`);
  client.destroy();
}

function start(t: Test): Promise<Fixture> {
  const limited = { get: answer, post: answer, put: answer, delete: answer };
  return serve(t, {
    publicRoutes: { '/healthz': () => ({ status: 200, body: 'up' }), '/every/*': { limited } },
  });
}

t.test('every answer leaves the connection usable', async (t) => {
  const { port, server } = await start(t);
  await Promise.all([...everyAnswer()].map((asked) => judge(t, port, asked)));
  t.ok(released.has('open'), 'an open body that HEAD does not want is given back');
  await until(() => server.pending === 0, { what: 'nothing is pending' });
});

t.test('through a proxy that keeps its connection', async (t) => {
  const { port } = await startNginx(t, { upstreamPort: (await start(t)).port });
  for (const asked of everyAnswer()) await judge(t, port, asked);
});

t.test('a request that asks for it ends its connection', async (t) => {
  const { port } = await start(t);
  for (const asked of someAnswers()) {
    const client = new RawClient(port).send(
      asked.request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'),
    );
    await client.closed;
    const found = firstAnswer(client.received, asked.method);
    t.strictSame([found?.status, found?.rest], [asked.status, ''], asked.name);
  }
});

t.test('while the server drains every answer ends its connection', async (t) => {
  const { port, server } = await start(t);
  const clients = [...someAnswers()].map((asked) => ({ ...asked, client: new RawClient(port) }));
  for (const { client } of clients) client.send(NEXT);
  await until(() => clients.every(({ client }) => client.statuses.length === 1), {
    what: 'all are connected',
  });
  const drained = server.drain(60_000, 60_000);
  for (const { client, request, name } of clients) {
    client.send(request);
    // The end behind a body that leaves in pieces is the client's to make.
    if (/source|open/.test(name)) client.socket.end();
  }
  await drained;
  for (const { client, name, status } of clients) {
    await client.closed;
    t.strictSame(client.statuses, [200, status], name);
    t.match(client.received, /^connection: close\r$/im, `${name}: announced`);
  }
});

t.test('JSON is compressed for pages, and for them alone', async (t) => {
  const { port } = await serve(t, { publicRoutes: { '/json/*': { limited: { get: json, post: json } } } });
  const page = { 'Sec-Fetch-Site': 'same-origin', 'Accept-Encoding': 'gzip, br' };
  const ask = (path: string, headers: Record<string, string>, method = 'GET') =>
    fetch(`http://127.0.0.1:${port}${path}`, { method, headers });
  const large = '/json/5000';
  const packed = await ask(large, page);
  t.equal(packed.headers.get('content-encoding'), 'gzip');
  t.match(packed.headers.get('vary'), /Accept-Encoding/);
  t.equal((await packed.json()).text.length, 5_000);
  const plain: [what: string, answer: Response][] = [
    ['a program', await ask(large, { 'Accept-Encoding': 'gzip' })],
    ['a page that takes none', await ask(large, { ...page, 'Accept-Encoding': 'identity' })],
    ['a page that refuses it', await ask(large, { ...page, 'Accept-Encoding': 'gzip;q=0, identity' })],
    ['a short answer', await ask('/json/100', page)],
    ['an answer to POST', await ask(large, page, 'POST')],
  ];
  for (const [what, answer] of plain) {
    t.equal(answer.headers.get('content-encoding'), null, what);
    t.ok((await answer.json()).text.length >= 100, what);
  }
});
