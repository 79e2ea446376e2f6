/** POST to hosts that accounts name: kept connections, odd responses, time, and addresses. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import t from 'tap';
import { AddressGuard, resolveName } from '../../src/platform/outbound/address-guard.ts';
import { GuardedPost, type PostRequest } from '../../src/platform/outbound/guarded-post.ts';
import { OutboundError, readOutboundUrl, targetOf } from '../../src/platform/outbound/outbound-url.ts';
import { freshDirectory } from '../start/parley.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

const PATIENCE_MS = 60_000;

const guard = new AddressGuard({
  allow: ['127.0.0.1'],
  resolve: async (name) => (name === 'open.test' ? ['127.0.0.1'] : ['127.0.0.2']),
});
const posts = new GuardedPost(guard);
t.teardown(() => posts.close());

/** Each request gets the next of these answers; the bytes of the requests are kept. */
class Script {
  readonly requests: string[] = [];
  readonly answers: (string | readonly string[] | null)[] = [];
  connections = 0;
  /** Called with the socket behind each answer. */
  afterAnswer: (socket: Socket) => void = () => {};

  serve(socket: Socket): void {
    this.connections += 1;
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      text += bytes.toString();
      const [head, length] = /^[\s\S]*?content-length: (\d+)\r\n\r\n/i.exec(text) ?? [];
      if (head === undefined || Buffer.byteLength(text) < head.length + Number(length)) return;
      this.requests.push(text);
      text = '';
      const answer = this.answers.shift();
      if (answer === null || answer === undefined) return;
      for (const piece of [answer].flat()) socket.write(piece);
      this.afterAnswer(socket);
    });
  }
}

t.test('a request as it is sent, and connections that are kept', async (t) => {
  const script = new Script();
  const url = await listen(t, script);
  const { post } = ownPosts(t);
  script.answers.push(OK, 'HTTP/1.1 204 No Content\r\n\r\n', chunked(['ab', 'cde']), OK);
  t.strictSame(await post(`${url}/hook?a=b%20c`, { headers: { 'webhook-id': 'evt_1' }, body: 'tïde' }), {
    status: 200,
    retryAfterMs: undefined,
  });
  t.equal(
    script.requests[0],
    `POST /hook?a=b%20c HTTP/1.1\r\nhost: ${new URL(url).host}\r\nconnection: keep-alive\r\n` +
      'User-Agent: Parley\r\nwebhook-id: evt_1\r\ncontent-length: 5\r\n\r\ntïde',
  );
  t.equal((await post(url)).status, 204);
  t.equal((await post(url, { body: Buffer.from([0xff]) })).status, 200, 'bytes');
  t.equal((await post(url)).status, 200);
  t.equal(script.connections, 1);

  script.answers.push(OK);
  await post(url, { scope: 'another' });
  t.equal(script.connections, 2, 'another scope has connections of its own');
  script.answers.push(OK, OK);
  await Promise.all([post(url), post(url)]);
  t.equal(script.connections, 3, 'two at a time need two');
});

t.test('a body that trickles ends its connection, not the delivery', async (t) => {
  const script = new Script();
  const url = await listen(t, script);
  const own = new GuardedPost(guard, { bodyMs: 100 });
  t.teardown(() => own.close());
  script.answers.push('HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n');
  let isClosed = false;
  script.afterAnswer = (socket) => {
    const drip = setInterval(() => socket.write('x'), 10);
    socket.once('close', () => {
      clearInterval(drip);
      isClosed = true;
    });
  };
  t.equal((await own.post(requestOf(url, {}))).status, 200);
  await until(() => isClosed, { what: 'the end of the connection' });
});

t.test('the beginning of a refusal is kept where it is asked for', async (t) => {
  const script = new Script();
  const url = await listen(t, script);
  const long = 'x'.repeat(600);
  const head = (status: number, length: number) =>
    `HTTP/1.1 ${status} No\r\nContent-Length: ${length}\r\n\r\n`;
  const refusalOf = async (...answer: readonly string[]) => {
    script.answers.push(answer);
    return (await posts.post({ ...requestOf(url, {}), keeps: { bytes: 500, from: 400 } })).beginning;
  };
  t.equal(await refusalOf(head(403, 8), 'Bad', 'Token'), 'BadToken');
  t.equal(await refusalOf(head(400, 0)), '');
  t.equal(await refusalOf(head(500, 1_200), long, long), long.slice(0, 500));
  t.equal(await refusalOf(head(200, 8), 'accepted'), undefined);
  script.answers.push([head(403, 8), 'BadToken']);
  t.equal((await post(url)).beginning, undefined, 'others do not wait for it');
  script.afterAnswer = (socket) => socket.destroySoon();
  t.equal(await refusalOf(head(403, 80), 'cut sh'), 'cut sh', 'the peer ends in the middle');
});

t.test('a refusal that never ends is answered with its beginning', async (t) => {
  const script = new Script();
  const url = await listen(t, script);
  script.answers.push(['HTTP/1.1 403 No\r\nContent-Length: 80\r\n\r\n', 'BadT']);
  const request = { ...requestOf(url, {}), keeps: { bytes: 500, from: 400 }, timeoutMs: 200 };
  t.match(await posts.post(request), { status: 403, beginning: 'BadT' });
  script.answers.push(['HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 80\r\n\r\n', 'accep']);
  const patient = { ...requestOf(url, {}), keeps: { bytes: 500, from: 200, waitMs: 50 } };
  const begun = { status: 200, beginning: 'accep', contentType: 'text/plain' };
  t.match(await posts.post(patient), begun, 'it does not wait for the rest');
});

t.test('what a connection is not kept behind', async (t) => {
  const odd: [name: string, answer: string | readonly string[]][] = [
    ['no length', 'HTTP/1.1 200 OK\r\n\r\nok'],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok'],
    ['close', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: Close\r\n\r\nok'],
    ['another coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
    ['a long body', `HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n${'x'.repeat(70_000)}`],
    ['more than its length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!'],
    ['an answer to nothing', `${OK}${OK}`],
    ['a chunk without a size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n'],
    [
      'endless chunks',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'4000\r\n'.padEnd(0x4008, 'x')}`,
    ],
  ];
  for (const [name, answer] of odd) {
    const script = new Script();
    const url = await listen(t, script);
    script.answers.push(answer, OK);
    t.equal((await post(url)).status, 200, name);
    t.equal((await post(url)).status, 200, name);
    t.equal(script.connections, 2, name);
  }
});

t.test('bodies and heads in pieces', async (t) => {
  const script = new Script();
  const url = await listen(t, script);
  const own = new GuardedPost(guard);
  t.teardown(() => own.close());
  for (const answer of [
    `HTTP/1.1 103 Early\r\nLink: a\r\n\r\n${OK}`,
    chunked(['x'.repeat(30_000), 'y', 'z'.repeat(300)]),
  ]) {
    script.answers.push([...answer.matchAll(/[\s\S]{1,7}/g)].map(([piece]) => piece));
    t.equal((await own.post(requestOf(url, {}))).status, 200);
    // The status is known before the body has been read, and only then is the connection free.
    await until(() => own.idleConnections === 1, { what: 'a body that was read to its end' });
  }
  script.answers.push(OK);
  await own.post(requestOf(url, {}));
  t.equal(script.connections, 1);
});

t.test('a failed post states its condition', async (t) => {
  const script = new Script();
  const url = await listen(t, script);
  const failures: [answer: string | null, expected: RegExp, timeoutMs?: number][] = [
    ['SSH-2.0-OpenSSH\r\n', /^external_service_error: This is not/],
    // Where such a response ends depends on who reads it.
    ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok', /^external_service_error: /],
    [
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      /^external_service_error: /,
    ],
    ['HTTP/1.1 101 Switching Protocols\r\n\r\n', /^external_service_error: /],
    [`${'HTTP/1.1 100 C\r\n\r\n'.repeat(20_000)}${OK}`, /^external_service_error: /],
    [`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}`, /^external_service_error: /],
    [null, /^timeout: /, 300],
    ['HTTP/1.1 200 OK\r\nX: ', /^timeout: /, 300],
  ];
  for (const [answer, expected, timeoutMs = PATIENCE_MS] of failures) {
    script.answers.push(answer);
    t.match(await failureOf(url, { timeoutMs }), expected);
  }
  script.answers.push('HTTP/1.1 200');
  script.afterAnswer = (socket) => socket.resetAndDestroy();
  t.match(await failureOf(url), /^connection_error: The connection failed: /);
  script.afterAnswer = (socket) => socket.end();
  script.answers.push('');
  t.match(await failureOf(url), /^connection_error: The connection failed: closed/);
  t.match(await failureOf('http://127.0.0.1:1/'), /^connection_error: The connection failed: ECONNREFUSED/);
});

t.test('a status is no failure here, and a redirect is not followed', async (t) => {
  const script = new Script();
  const url = await listen(t, script);
  script.answers.push(
    `HTTP/1.1 302 Found\r\nLocation: ${url}/elsewhere\r\nContent-Length: 0\r\n\r\n`,
    'HTTP/1.1 429 Slow\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n',
    `HTTP/1.1 503 Away\r\nRetry-After: ${new Date(Date.now() + 3_600_000).toUTCString()}\r\nContent-Length: 0\r\n\r\n`,
    `HTTP/1.1 503 Away\r\nRetry-After: ${'9'.repeat(20)}\r\nContent-Length: 0\r\n\r\n`,
    'HTTP/1.1 503 Away\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n',
  );
  t.strictSame(await post(url), { status: 302, retryAfterMs: undefined });
  t.strictSame(await post(url), { status: 429, retryAfterMs: 120_000 });
  const { retryAfterMs = 0 } = await post(url);
  t.ok(retryAfterMs > 3_000_000 && retryAfterMs <= 3_600_000);
  t.ok((await post(url)).retryAfterMs! > 3_600_000, 'a very long wait is one');
  t.strictSame(await post(url), { status: 503, retryAfterMs: undefined });
  t.equal(script.requests.length, 5);
  t.throws(() => readOutboundUrl('ftp://a.test/'), OutboundError);
});

t.test('a kept connection that its peer has closed', async (t) => {
  const script = new Script();
  const url = await listen(t, script);
  const { post } = ownPosts(t);
  // It is closed when the next request arrives: that one is sent again on a new connection.
  script.answers.push(OK, '');
  await post(url);
  script.afterAnswer = (socket) => {
    script.afterAnswer = () => {};
    socket.resetAndDestroy();
  };
  script.answers.push(OK);
  t.equal((await post(url)).status, 200);
  t.equal(script.connections, 2);
  t.equal(script.requests.length, 3);
});

t.test('a server of Node, many requests at a time', async (t) => {
  const bodies = new Set<string>();
  const server = createHttpServer((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      bodies.add(body);
      if (bodies.size % 2 === 0) response.write('in ');
      response.end('chunks');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  let next = 0;
  const worker = async () => {
    while (next < 1_000) {
      next += 1;
      const { status } = await post(url, { body: `${next} ${'é'.repeat(next)}` });
      if (status !== 200) throw new Error(`answered ${status}`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  t.equal(bodies.size, 1_000);
});

t.test('addresses are checked where they are connected to', async (t) => {
  const script = new Script();
  const url = await listen(t, script);
  const { port } = new URL(url);
  for (const host of ['127.0.0.2', '[::1]', '169.254.169.254', 'inside.test']) {
    t.match(await failureOf(`http://${host}:${port}/`), /^insufficient_permissions: /, host);
  }
  script.answers.push(OK);
  t.equal((await post(`http://open.test:${port}/`)).status, 200);
  t.equal(script.connections, 1);
});

t.test('https: a certificate for the name, and connections that are kept', async (t) => {
  const directory = freshDirectory(t);
  const [certFile, keyFile] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const request = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
  ];
  const names = ['-subj', '/CN=open.test', '-addext', 'subjectAltName=DNS:open.test'];
  execFileSync('openssl', [...request, ...names, '-keyout', keyFile, '-out', certFile], { stdio: 'pipe' });
  const cert = readFileSync(certFile, 'utf8');
  const server = createHttpsServer({ cert, key: readFileSync(keyFile) }, (request, response) => {
    request.resume().on('end', () => response.end('ok'));
  });
  let connections = 0;
  server.on('secureConnection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  t.match(await failureOf(`https://open.test:${port}/`), /^connection_error: .*DEPTH_ZERO_SELF_SIGNED_CERT/);
  const authorities = getCACertificates('default');
  setDefaultCACertificates([...authorities, cert]);
  t.teardown(() => setDefaultCACertificates(authorities));
  connections = 0;
  const { post } = ownPosts(t);
  t.equal((await post(`https://open.test:${port}/`, { body: 'x'.repeat(100_000) })).status, 200);
  t.equal((await post(`https://open.test:${port}/`)).status, 200);
  t.equal(connections, 1);
  t.match(await failureOf(`https://127.0.0.1:${port}/`), /^connection_error: .*ERR_TLS_CERT_ALTNAME_INVALID/);
  t.match(await failureOf(`https://inside.test:${port}/`), /^insufficient_permissions: /);
  t.equal(connections, 1);
});

t.test('a guarded post resolves names by DNS', async (t) => {
  const refuse = (code: string) => async () => {
    throw Object.assign(new Error(code), { code });
  };
  const [unknown, slow] = [refuse('ENOTFOUND'), refuse('ETIMEOUT')];
  const dns = { resolve4: async () => ['192.0.2.1'], resolve6: async () => ['2001:db8::1'] };
  const asDns = (answers: object) => answers as unknown as Parameters<typeof resolveName>[1];
  t.strictSame(await resolveName('a.test', asDns(dns)), ['192.0.2.1', '2001:db8::1']);
  t.strictSame(await resolveName('a.test', asDns({ ...dns, resolve6: slow })), ['192.0.2.1']);
  t.strictSame(await resolveName('a.test', asDns({ ...dns, resolve4: unknown })), ['2001:db8::1']);
  await t.rejects(resolveName('localhost', asDns({ resolve4: unknown, resolve6: slow })), {
    code: 'ETIMEOUT',
  });
  const local = await resolveName('localhost', asDns({ resolve4: unknown, resolve6: unknown }));
  t.ok(local.includes('127.0.0.1'), 'a name of this machine');
});

t.test('closing a guarded post ends its waiting requests', async (t) => {
  const script = new Script();
  const url = await listen(t, script);
  const own = new GuardedPost(guard);
  script.answers.push(null);
  const waiting = own.post(requestOf(url, {})).catch((error: OutboundError) => error.condition);
  while (script.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  own.close();
  t.equal(await waiting, 'connection_error');
});

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

function chunked(chunks: readonly string[]): string {
  const parts = chunks.map((chunk) => `${chunk.length.toString(16)};a=b\r\n${chunk}\r\n`);
  return `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${parts.join('')}0\r\nTrailer: a\r\n\r\n`;
}

async function listen({ teardown }: Teardown, script: Script): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    script.serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function requestOf(url: string, fields: Partial<PostRequest>): PostRequest {
  return {
    url: readOutboundUrl(url),
    scope: 'one',
    headers: {},
    body: 'x',
    timeoutMs: PATIENCE_MS,
    ...fields,
  };
}

function post(url: string, fields: Partial<PostRequest> = {}) {
  return posts.post(requestOf(url, fields));
}

/** Requests of a client of their own: each is done when its connection is free for the next one. */
function ownPosts({ teardown }: Teardown) {
  const own = new GuardedPost(guard);
  teardown(() => own.close());
  return {
    async post(url: string, fields: Partial<PostRequest> = {}) {
      const posted = await own.post(requestOf(url, fields));
      await until(() => own.idleConnections > 0, { what: 'a connection that is free' });
      return posted;
    },
  };
}

async function failureOf(url: string, fields: Partial<PostRequest> = {}): Promise<string> {
  try {
    return `was answered ${(await post(url, fields)).status}`;
  } catch (error) {
    return error instanceof OutboundError ? `${error.condition}: ${error.message}` : `threw ${error}`;
  }
}

t.test('a refused address names the way out to those who try a server, and to nobody else', async (t) => {
  for (const namesVariable of [true, false]) {
    const asked = new AddressGuard({ allow: [], namesVariable, resolve: async () => ['10.0.0.1'] });
    const messages = [
      messageOf(() => asked.requireLiteral(targetOf(new URL('http://127.0.0.1:3000')))),
      await new Promise<string>((resolve) => {
        const target = targetOf(new URL('https://inside.example'));
        asked.lookupFor(target)('inside.example', {}, (error) => resolve(String(error?.message)));
      }),
    ];
    for (const message of messages) {
      t.match(message, /^This address is not public\./);
      t.equal(message.includes('PARLEY_FETCH_ALLOW'), namesVariable);
    }
  }
});

function messageOf(act: () => void): string {
  try {
    act();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}
