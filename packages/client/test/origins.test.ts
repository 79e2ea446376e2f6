/** A page whose origin the server does not allow learns so, whichever way it connects. */

import t, { type Test } from 'tap';
import { WebSocket as NodeWebSocket } from 'ws';
import { createLog } from '../../../src/platform/log.ts';
import { startTestApp } from '../../../test/support/app.ts';
import { until } from '../../../test/support/until.ts';
import { type ClientError, type ConnectionEnd, connect, type PageEvents, type Transport } from '../index.ts';

const ALLOWED = 'https://app.example';
const OTHER = 'https://staging.example';
const lines: string[] = [];
const log = createLog('warn', { write: (line: string) => void lines.push(line) });
const app = await startTestApp(t, { PARLEY_ALLOWED_ORIGINS: ALLOWED }, log);
const { account_id: account, api_key: token } = app.demo;
const PAGE: PageEvents = { addEventListener() {}, removeEventListener() {} };

for (const transport of ['websocket', 'stream', 'poll'] as const) {
  t.test(transport, async (t) => {
    const { client, errors, ends } = open(t, OTHER, { transports: [transport] });
    await until(() => ends.length === 1, { what: 'the end' });
    t.match(errors.at(-1), {
      reason: 'origin_rejected',
      willRetry: false,
      message: new RegExp(`${OTHER} .*PARLEY_ALLOWED_ORIGINS`),
      error: { code: 'insufficient_permissions', param: 'Origin' },
    });
    t.match(client.connection.snapshot, { state: 'offline', error: errors.at(-1) });
    t.match(ends, [{ code: 4403 }]);
    await t.rejects(client.fetch('/v1/me'), { code: 'origin_rejected', status: 403 });
    await t.rejects(client.send(app.demo.conversations.group, 'ahoy'), { code: 'origin_rejected' });

    const allowed = open(t, ALLOWED, { transports: [transport] });
    await until(() => allowed.client.state === 'live', { what: 'the page of the other origin' });
    t.strictSame(allowed.errors, []);
  });
}

t.test('requests alone', async (t) => {
  const { client } = open(t, OTHER, { WebSocket: NeverOpen });
  await t.rejects(client.fetch('/v1/me'), { code: 'origin_rejected', message: OTHER });
});

t.test('a server that is not there is no refusal, and neither is a closed client', async (t) => {
  const away = open(t, OTHER, { url: 'http://127.0.0.1:9' });
  const failure = () => away.client.connection.snapshot.error;
  await until(() => (failure()?.attempt ?? 0) > 1, { what: 'two failures' });
  t.match(failure(), { reason: 'network', willRetry: true });
  t.equal(away.errors.length, 1, 'said once');
  const { client, errors } = open(t, OTHER, {});
  client.close();
  await t.rejects(client.fetch('/v1/me'), { code: 'client_closed' });
  t.strictSame(errors, []);
});

t.test('the server logs each origin once', async (t) => {
  const refused = lines.map((line) => JSON.parse(line)).filter(({ origin }) => origin !== undefined);
  t.strictSame(
    refused.map(({ origin }) => origin),
    [OTHER],
  );
  t.match(refused[0].msg, 'PARLEY_ALLOWED_ORIGINS');
});

interface Options {
  readonly url?: string;
  readonly transports?: readonly Transport[];
  readonly WebSocket?: typeof NodeWebSocket;
}

function open(t: Test, origin: string, options: Options) {
  class PageWebSocket extends NodeWebSocket {
    constructor(url: string) {
      super(url, { origin });
    }
  }
  const client = connect({
    url: app.baseUrl,
    account,
    token,
    mostWaitMs: 100,
    page: PAGE,
    fetch: fetchOf(origin),
    WebSocket: PageWebSocket,
    ...options,
  });
  t.teardown(() => client.close());
  const errors: ClientError[] = [];
  const ends: ConnectionEnd[] = [];
  client.on('error', (error) => errors.push(error));
  client.on('end', (end) => ends.push(end));
  return { client, errors, ends };
}

/** Fetches as the browser of a page does (Fetch standard, CORS). */
function fetchOf(origin: string): typeof fetch {
  return async (input, init = {}) => {
    const { headers = {}, method = 'GET' } = init;
    if (Object.keys(headers).length > 0) {
      const asked = { Origin: origin, 'Access-Control-Request-Method': method };
      const preflight = await fetch(input, { ...init, method: 'OPTIONS', body: null, headers: asked });
      if (preflight.headers.get('access-control-allow-methods')?.includes(method) !== true) {
        throw new TypeError('Failed to fetch');
      }
    }
    const answer = await fetch(input, {
      ...init,
      headers: { ...(headers as Record<string, string>), Origin: origin },
    });
    if ([origin, '*'].includes(answer.headers.get('access-control-allow-origin') ?? '')) return answer;
    throw new TypeError('Failed to fetch');
  };
}

/** A network that swallows sockets. */
class NeverOpen extends NodeWebSocket {
  constructor() {
    super('ws://127.0.0.1:9');
    this.addEventListener = () => {};
    this.on('error', () => {});
  }
}
