/** Messages that the network or the server does not accept at once, on a manual clock. */

import t, { type Test } from 'tap';
import { until } from '../../../test/support/until.ts';
import { type Client, type ClientError, type ConnectOptions, connect } from '../index.ts';
import { ManualTiming } from './manual-timing.ts';
import { ScriptedServer } from './scripted-server.ts';

/** Limit of one attempt, for a connection whose peer has vanished. */
const TRY_MS = 30_000;

/** The requests that the client has made, for the test to answer. */
class Tries {
  readonly bodies: { readonly client_message_id: string }[] = [];
  readonly tokens: (string | null)[] = [];
  readonly #waiting: ((answer: Response | Error) => void)[] = [];

  readonly fetch: typeof fetch = (_, init) => {
    this.bodies.push(JSON.parse(String(init?.body)));
    this.tokens.push(new Headers(init?.headers).get('authorization'));
    return new Promise((resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
      this.#waiting.push((answer) => (answer instanceof Error ? reject(answer) : resolve(answer)));
    });
  };

  /** Requests that are not answered. */
  get open(): number {
    return this.#waiting.length;
  }

  /** Those that were given up. */
  forget(): void {
    this.#waiting.length = 0;
  }

  async answer(answer: Response | Error, index = 0): Promise<void> {
    await until(() => this.#waiting.length > index, { what: 'a request' });
    this.#waiting.splice(index, 1)[0]?.(answer);
  }
}

/** A socket that never opens. */
class Unopened {
  send(): void {}
  close(): void {}
  addEventListener(): void {}
}

/** Counts its listeners, as a page and as its document. */
class Counting extends EventTarget {
  count = 0;

  override addEventListener(type: string, listener: () => void): void {
    this.count += 1;
    super.addEventListener(type, listener);
  }

  override removeEventListener(type: string, listener: () => void): void {
    this.count -= 1;
    super.removeEventListener(type, listener);
  }
}

class Page extends Counting {
  readonly document = Object.assign(new Counting(), { visibilityState: 'visible' });
}

t.test('tried until it is answered, with one client_message_id', async (t) => {
  const { client, tries, errors, timing } = open(t);
  const sent = client.send('cnv_1', 'ahoy');
  for (const [answer, waitMs, reason] of [
    [new TypeError('fetch failed'), 125, 'network'],
    [refusal(503, 'service_unavailable', true), 250, 'server_busy'],
    [refusal(500, 'internal_error', true), 500, 'server_error'],
    [new Response('<h1>Bad gateway</h1>', { status: 502 }), 1_000, 'server_error'],
    [new Response('<h1>Sign in to the network</h1>'), 2_000, 'protocol'],
    [new Response('', { status: 429 }), 4_000, 'server_busy'],
    [new TypeError('fetch failed'), 7_500, 'network'],
    [new TypeError('fetch failed'), 7_500, 'network'],
  ] as const) {
    await tries.answer(answer);
    await until(() => timing.waits.includes(waitMs), { what: `${waitMs} ms; got ${timing.waits}` });
    t.match(client.connection.snapshot.error, { reason, willRetry: true });
    timing.end(waitMs);
  }
  await tries.answer(message());
  t.match(await sent, { id: 'msg_1' });
  t.strictSame(
    errors.map(({ reason }) => reason),
    ['network', 'server_busy', 'server_error', 'protocol'],
    'each reason once',
  );
  const ids = new Set(tries.bodies.map(({ client_message_id }) => client_message_id));
  t.equal(tries.bodies.length, 9);
  t.equal(ids.size, 1);
  t.match([...ids][0], /^[0-9a-f]{32}$/);
  t.strictSame(timing.waits, [], 'nothing is left behind');

  const named = client.send('cnv_1', { body: 'ahoy', client_message_id: 'mine' });
  await tries.answer(new TypeError('fetch failed'));
  await until(() => timing.waits.includes(125), { what: 'the wait' });
  timing.end(125);
  await tries.answer(message());
  await named;
  t.strictSame(
    tries.bodies.slice(-2).map(({ client_message_id }) => client_message_id),
    ['mine', 'mine'],
  );
});

t.test('a wait that the server requested is kept, even when the network returns', async (t) => {
  const page = new Page();
  const { client, tries, timing } = open(t, { page });
  const sent = client.send('cnv_1', 'ahoy');
  await tries.answer(refusal(429, 'rate_limit_exceeded', true, '7'));
  await until(() => timing.waits.includes(7_000), { what: 'the wait of Retry-After' });
  page.dispatchEvent(new Event('online'));
  t.strictSame(timing.waits, [7_000]);
  timing.end(7_000);
  await until(() => timing.waits.includes(125), { what: 'the jitter behind it' });
  page.dispatchEvent(new Event('online'));
  await tries.answer(message());
  await sent;
});

t.test('a page that is online, hidden or shown sends at once', async (t) => {
  const page = new Page();
  const { client, tries, timing } = open(t, { page });
  const sent = client.send('cnv_1', 'ahoy');
  for (const [waitMs, wake] of [
    [125, () => page.dispatchEvent(new Event('online'))],
    [250, () => page.document.dispatchEvent(new Event('visibilitychange'))],
  ] as const) {
    await tries.answer(new TypeError('fetch failed'));
    await until(() => timing.waits.includes(waitMs), { what: 'the wait' });
    wake();
  }
  await tries.answer(message());
  await sent;
  client.close();
  t.strictSame(page.count + page.document.count, 0, 'close() removes the listeners');
});

t.test('a connection that is there again sends at once', async (t) => {
  const server = await ScriptedServer.start(t);
  server.refusing = true;
  const held: (() => void)[] = [];
  const timing = {
    random: () => 0.5,
    // Waits between attempts end only when the test ends them.
    after(ms: number, work: () => void) {
      const isWait = ms < 5_000 && ms >= 125;
      if (isWait) held.push(work);
      const timer = isWait ? undefined : setTimeout(work, ms);
      return () => clearTimeout(timer);
    },
  };
  const { client, tries } = open(t, { url: server.url, WebSocket, timing });
  const sent = client.send('cnv_1', 'ahoy');
  await tries.answer(new TypeError('fetch failed'));
  await until(() => client.state === 'offline' && held.length === 2, { what: 'both waits' });
  server.refusing = false;
  // The link's wait alone, whichever came first: the message's own is never ended.
  for (const work of held) if (client.state === 'offline') work();
  await tries.answer(message());
  await sent;
});

t.test('a request that is never answered is given up and repeated', async (t) => {
  const { client, tries, timing, errors } = open(t);
  const sent = client.send('cnv_1', 'ahoy');
  await until(() => timing.waits.includes(TRY_MS), { what: 'the limit of a try' });
  timing.end(TRY_MS);
  await until(() => timing.waits.includes(125), { what: 'the wait' });
  t.match(errors, [{ reason: 'network', error: { name: 'TimeoutError' } }]);
  timing.end(125);
  tries.forget();
  await tries.answer(message());
  await sent;
});

t.test('it ends with an abort, its timeout, or close()', async (t) => {
  const { client, tries, timing } = open(t);
  const aborter = new AbortController();
  const aborted = client.send('cnv_1', 'ahoy', { signal: aborter.signal });
  const overdue = client.send('cnv_1', 'ahoy', { timeoutMs: 60_000 });
  const closed = client.send('cnv_1', 'ahoy');
  await until(() => tries.open === 3, { what: 'all three' });
  aborter.abort(new Error('changed my mind'));
  await t.rejects(aborted, { message: 'changed my mind' });
  timing.end(60_000);
  await t.rejects(overdue, { name: 'TimeoutError' });
  await tries.answer(new TypeError('fetch failed'), 2);
  await until(() => timing.waits.includes(125), { what: 'the wait' });
  client.close();
  await t.rejects(closed, { code: 'client_closed' });
  await t.rejects(client.send('cnv_1', 'ahoy'), { code: 'client_closed' });
  t.strictSame(timing.waits, [], 'nothing is left behind');
});

t.test('a definite refusal is rejected at once', async (t) => {
  const { client, tries, errors } = open(t);
  for (const [answer, status] of [
    [refusal(404, 'resource_not_found', false), 404],
    [refusal(422, 'validation_failed', false), 422],
    [new Response('<h1>Forbidden</h1>', { status: 403 }), 403],
    [refusal(401, 'api_key_revoked', false), 401],
  ] as const) {
    const sent = client.send('cnv_1', 'ahoy');
    await tries.answer(answer);
    await t.rejects(sent, { name: 'ParleyError', status });
  }
  t.strictSame(errors, []);
});

t.test('a token that was refused is replaced once', async (t) => {
  let asked = 0;
  const { client, tries, errors } = open(t, { token: undefined, getToken: () => `token${++asked}` });
  const sent = client.send('cnv_1', 'ahoy');
  await tries.answer(refusal(401, 'expired_token', false));
  await tries.answer(message());
  await sent;
  t.strictSame(tries.tokens, ['Bearer token1', 'Bearer token2']);
  t.match(errors, [{ reason: 'credential_rejected', willRetry: true, error: { code: 'expired_token' } }]);

  const refused = client.send('cnv_1', 'ahoy');
  await tries.answer(refusal(401, 'invalid_credentials', false));
  await tries.answer(refusal(401, 'invalid_credentials', false));
  await t.rejects(refused, { name: 'ParleyError', message: 'invalid_credentials' });
  t.equal(asked, 3);
});

type Overrides = Partial<{ [K in keyof ConnectOptions]: ConnectOptions[K] | undefined }>;

/** A client whose requests the test answers; its socket never opens. */
function open(t: Test, overrides: Overrides = {}) {
  const timing = new ManualTiming();
  const tries = new Tries();
  const options = {
    url: 'http://parley.test',
    account: 'acc_1',
    token: 'token',
    fetch: tries.fetch,
    WebSocket: Unopened,
    transports: ['websocket'],
    timing,
    ...overrides,
  };
  const client: Client = connect(
    Object.fromEntries(
      Object.entries(options).filter(([, value]) => value !== undefined),
    ) as unknown as ConnectOptions,
  );
  t.teardown(() => client.close());
  const errors: ClientError[] = [];
  client.on('error', (error) => errors.push(error));
  return { client, timing: quiet(timing), tries, errors };
}

/** Without the watch over the socket that never opens and the limit of a try. */
function quiet(timing: ManualTiming) {
  return {
    get waits() {
      return timing.waits.filter((ms) => ms !== 10_000);
    },
    end: (ms: number) => timing.end(ms),
  };
}

function message(): Response {
  return Response.json({ id: 'msg_1', object: 'chat_message' }, { status: 201 });
}

function refusal(status: number, code: string, isTransient: boolean, retryAfter?: string): Response {
  const headers = retryAfter === undefined ? {} : { 'Retry-After': retryAfter };
  return Response.json(
    { error: { code, message: code, is_transient: isTransient, param: null } },
    { status, headers },
  );
}
