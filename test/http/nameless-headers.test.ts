/**
 * The library shows no header behind a line `: x`: the effects of such headers, and the defence.
 */

import t from 'tap';
import { startNginx } from '../support/nginx.ts';
import { RawClient } from '../support/raw-client.ts';
import { until } from '../support/until.ts';
import { HEADER_LINES, serve } from './fixture.ts';

t.jobs = 3;

const HIDDEN = `GET /v1/things/hidden HTTP/1.1\r\nHost: a\r\n${HEADER_LINES}\r\n`;
const NOTE = '{"text":"x"}';
const CHUNK = `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`;

interface Variant {
  readonly head: string;
  /** The body as a reader of the hidden header sees it. */
  readonly body: string;
}

const post = (shown: string, hidden: string) =>
  `POST /v1/things/first/notes HTTP/1.1\r\nHost: a\r\n${HEADER_LINES}${shown}: x\r\n${hidden}\r\n`;
const get = (path: string, hidden: string) =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\n${HEADER_LINES}: x\r\n${hidden}\r\n`;

const VARIANTS: Readonly<Record<string, Variant>> = {
  'a length, and chunks hidden': {
    head: post('Content-Length: 4\r\n', 'Transfer-Encoding: chunked\r\n'),
    body: CHUNK,
  },
  'a length, and a longer one hidden': {
    head: post(`Content-Length: ${NOTE.length}\r\n`, `Content-Length: ${NOTE.length + HIDDEN.length}\r\n`),
    body: NOTE + HIDDEN,
  },
  'a hidden length': { head: post('', `Content-Length: ${HIDDEN.length}\r\n`), body: HIDDEN },
  'hidden chunks': { head: post('', 'Transfer-Encoding: chunked\r\n'), body: CHUNK },
  'a hidden length of a GET': {
    head: get('/v1/things/first', `Content-Length: ${HIDDEN.length}\r\n`),
    body: HIDDEN,
  },
  'a hidden length of a public GET': {
    head: get('/healthz', `Content-Length: ${HIDDEN.length}\r\n`),
    body: HIDDEN,
  },
};

t.test('requests in the same read after such a request never run', async (t) => {
  const { port, handled } = await serve(t);
  for (const [name, { head, body }] of Object.entries(VARIANTS)) {
    const client = new RawClient(port).send(head + body);
    await client.closed;
    t.notOk(handled.includes('GET hidden'), name);
  }
});

t.test('later requests do not run if the body shows it, or could have been hidden', async (t) => {
  const { port, handled } = await serve(t);
  for (const name of ['a length, and chunks hidden', 'a hidden length', 'hidden chunks']) {
    const { head, body } = VARIANTS[name]!;
    const client = new RawClient(port).send(head + body.slice(0, 4));
    client.send(body.slice(4));
    await client.closed;
    t.notOk(handled.includes('GET hidden'), name);
  }
});

// Documented limit (src/platform/http/DECISIONS.md#headers-behind-one-without-a-name): the library
// gives no sign of the header without a name.
t.test('later requests after one that looks complete run', async (t) => {
  for (const name of [
    'a length, and a longer one hidden',
    'a hidden length of a GET',
    'a hidden length of a public GET',
  ]) {
    const { port, handled } = await serve(t);
    const { head, body } = VARIANTS[name]!;
    const client = new RawClient(port).send(head + body.slice(0, -HIDDEN.length));
    await until(() => client.statuses.length === 1, { what: 'the first answer' });
    client.send(HIDDEN);
    await until(() => client.statuses.length === 2, { what: 'the answer to what was hidden' });
    t.ok(handled.includes('GET hidden'), name);
    client.destroy();
  }
});

t.test('nginx in front refuses them all', async (t) => {
  const { port: upstreamPort, handled } = await serve(t);
  const { port } = await startNginx(t, { upstreamPort });
  for (const [name, { head, body }] of Object.entries(VARIANTS)) {
    const client = new RawClient(port).send(head + body);
    await client.closed;
    t.same(client.statuses, [400], name);
  }
  t.same(handled, []);
});

// Documented limit (src/platform/http/DECISIONS.md#pipelined-requests): the library cuts the
// connection before this server sees the second request.
t.test('requests that do not wait for the answer before them', async (t) => {
  const { port, handled, open } = await serve(t);
  open();
  const waits = `POST /v1/waits HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n${HEADER_LINES}\r\n`;
  for (const text of [waits, HIDDEN.replace('hidden', 'piped')]) {
    const before = handled.length;
    const client = new RawClient(port).send(text.repeat(3));
    await client.closed;
    t.same(client.statuses, []);
    t.equal(handled.length, before + 1, 'the first one has run');
  }

  const proxy = await startNginx(t, { upstreamPort: port });
  const client = new RawClient(proxy.port).send(waits.repeat(3));
  await until(() => client.statuses.length === 3, { what: 'three answers' });
  t.same(client.statuses, [200, 200, 200], 'nginx sends them one by one');
  client.destroy();
});
