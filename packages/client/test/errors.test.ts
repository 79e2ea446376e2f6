/** The errors that the application receives: the `error` event. */

import { CLOSE_CODES } from '@parley/protocol/socket/close-codes.ts';
import t, { type Test } from 'tap';
import { until } from '../../../test/support/until.ts';
import { reasonOfEnd } from '../errors/client-error.ts';
import {
  CLIENT_ERRORS,
  type ClientError,
  type ClientErrorReason,
  type ConnectOptions,
  connect,
} from '../index.ts';
import { ManualTiming } from './manual-timing.ts';
import { ScriptedServer, type ScriptedSocket } from './scripted-server.ts';

t.test(
  'getToken that throws, rejects, hangs or returns no token: counted, until it returns one',
  async (t) => {
    const server = await ScriptedServer.start(t);
    const timing = new ManualTiming();
    const answers: (() => unknown)[] = [
      () => {
        throw new Error('signed out');
      },
      () => Promise.reject(new Error('no network')),
      () => undefined,
      () => 17,
      () => '',
      () => 'two\nlines',
      () => new Promise(() => {}),
      () => 'token',
    ];
    const getToken = () => answers.shift()?.() as string;
    const { client, errors } = open(t, server, { token: undefined, getToken, timing, mostWaitMs: 1_000 });
    const waits: number[] = [];
    for (const [count, message] of [
      'signed out',
      'no network',
      'no string, is empty or has blanks: undefined',
      'no string, is empty or has blanks: number',
      'empty or has blanks',
      'empty or has blanks',
      'did not answer within 10 s',
    ].entries()) {
      if (message.startsWith('did not')) {
        await until(() => answers.length === 1, { what: 'the call that hangs' });
        timing.end(10_000);
      }
      const failed = () => client.connection.snapshot.error;
      await until(() => failed()?.attempt === count + 1, { what: `the error "${message}"` });
      t.match(failed(), { reason: 'token_source', willRetry: true, message });
      t.ok(failed()?.error instanceof Error);
      await until(() => client.state === 'offline', { what: 'offline' });
      const [ms] = timing.waits;
      waits.push(ms!);
      timing.end(ms!);
    }
    t.match(errors, [{ reason: 'token_source', attempt: 1, message: 'signed out' }], 'one event');
    t.strictSame(waits, [125, 250, 500, 500, 500, 500, 500], 'longer each time, up to a bound');
    const socket = await server.socket(1);
    t.match(socket.frames, [{ type: 'authenticate', token: 'token' }]);
  },
);

t.test('one failure of getToken is reported once, also where a message waits for the token', async (t) => {
  const server = await ScriptedServer.start(t);
  const timing = new ManualTiming();
  const fail = Promise.withResolvers<string>();
  const getToken = () => fail.promise;
  const { client, errors } = open(t, server, { token: undefined, getToken, timing });
  const sent = client.send('cnv_1', 'ahoy');
  fail.reject(new Error('signed out'));
  await until(() => timing.waits.length === 2, { what: 'both waits' });
  t.equal(errors.length, 1);
  client.close();
  await t.rejects(sent, { code: 'client_closed' });
});

t.test('a url function that throws or returns no address', async (t) => {
  const server = await ScriptedServer.start(t);
  const answers: (() => string)[] = [
    () => {
      throw new Error('no file');
    },
    () => 'nowhere',
    () => `${server.url}/`,
  ];
  const url = () => answers.shift()?.() ?? server.url;
  const { errors } = open(t, server, { url, mostWaitMs: 10 });
  await server.socket(1);
  t.match(errors, [{ reason: 'url_source', willRetry: true, message: 'no file' }], 'once');
});

t.test("the server's error for a caller that it does not accept", async (t) => {
  const refusing = (code: string, param: string | null, close: number) => {
    return (socket: ScriptedSocket, frame: Parameters<ScriptedServer['welcome']>[1]) => {
      socket.refuse(frame, code, false, param);
      socket.close(close);
    };
  };
  for (const [welcome, reason] of [
    [refusing('expired_token', null, CLOSE_CODES.credentials_revoked.code), 'credential_rejected'],
    [
      refusing('resource_not_found', 'Service-Account', CLOSE_CODES.credentials_revoked.code),
      'account_rejected',
    ],
    [refusing('payment_required', null, CLOSE_CODES.forbidden.code), 'account_rejected'],
    [refusing('insufficient_permissions', null, CLOSE_CODES.forbidden.code), 'forbidden'],
    [refusing('api_version_invalid', 'version', CLOSE_CODES.version_unsupported.code), 'version_rejected'],
  ] as const) {
    const server = await ScriptedServer.start(t);
    server.welcome = welcome;
    const { client, errors } = open(t, server);
    const ended = new Promise((resolve) => client.on('end', resolve));
    await ended;
    t.match(errors, [{ reason, willRetry: false, error: { code: /^\w+$/ } }]);
    t.equal(client.state, 'offline');
  }
});

t.test('a renewable credential that is refused again and again: one error', async (t) => {
  const server = await ScriptedServer.start(t);
  server.welcome = (socket, frame) => {
    socket.refuse(frame, 'invalid_credentials');
    socket.close(CLOSE_CODES.credentials_revoked.code);
  };
  const { client, errors } = open(t, server, { token: undefined, getToken: () => 'stale', mostWaitMs: 10 });
  const { connection } = client;
  await until(() => (connection.snapshot.error?.attempt ?? 0) >= 3, { what: 'three tries' });
  t.match(errors, [{ reason: 'credential_rejected', willRetry: true, attempt: 1 }]);
  server.welcome = (socket) => socket.ready();
  await until(() => client.state === 'live', { what: 'live' });
  t.equal(connection.snapshot.error, null);
  server.sockets.at(-1)?.cut();
  await until(() => errors.length === 2, { what: 'the next error' });
  t.match(errors[1], { reason: 'network', attempt: 1 }, 'counted anew');
});

t.test('a refreshed token that is refused', async (t) => {
  const server = await ScriptedServer.start(t);
  server.answer = (socket, frame) => {
    if (frame.type === 'refresh') socket.refuse(frame, 'invalid_credentials');
    else socket.acknowledge(frame);
  };
  const { errors } = open(t, server, { token: undefined, getToken: () => 'token' });
  const socket = await server.socket(1);
  socket.say({ type: 'auth_expiring', expires_at: '' });
  await until(() => errors.length === 1, { what: 'the error' });
  t.match(errors, [{ reason: 'credential_rejected', willRetry: true }]);
});

t.test('a connection that is lost, and one that moves', async (t) => {
  const server = await ScriptedServer.start(t);
  const { client, errors } = open(t, server, { mostWaitMs: 10 });
  const first = await server.socket(1);
  await until(() => client.state === 'live', { what: 'live' });
  first.say({ type: 'goaway', reconnect_in_ms: 1, deadline_ms: 60_000, reason: 'stopping' });
  const second = await server.socket(2);
  await until(() => first.closed, { what: 'the end of the first connection' });
  second.close(CLOSE_CODES.going_away.code);
  const third = await server.socket(3);
  t.strictSame(errors, [], 'a node that stops is no error');
  third.cut();
  const fourth = await server.socket(4);
  t.match(errors, [{ reason: 'network', willRetry: true, error: { code: 1006 } }]);
  fourth.close(CLOSE_CODES.overloaded.code, '{"retry_after_ms":1}');
  const fifth = await server.socket(5);
  t.match(errors.at(-1), { reason: 'server_busy', willRetry: true });
  fifth.sendText('no JSON');
  await server.socket(6);
  t.match(errors.at(-1), { reason: 'protocol', willRetry: true });
});

t.test('a page that is online again connects at once, unless the server asked for the wait', async (t) => {
  const server = await ScriptedServer.start(t);
  server.refusing = true;
  const page = new EventTarget();
  const held: number[] = [];
  const timing = {
    random: () => 0.5,
    // Waits between two tries never end by themselves.
    after(ms: number, work: () => void) {
      const isWait = ms >= 125 && ms < 9_000;
      if (isWait) held.push(ms);
      const timer = isWait ? undefined : setTimeout(work, ms);
      return () => clearTimeout(timer);
    },
  };
  const { client } = open(t, server, { page, timing });
  await until(() => held.length === 1 && client.state === 'offline', { what: 'the wait' });
  server.refusing = false;
  page.dispatchEvent(new Event('online'));
  const socket = await server.socket(1);
  socket.close(CLOSE_CODES.rate_limited.code, '{"retry_after_ms":3000}');
  await until(() => held.length === 2, { what: 'the wait that the server asked for' });
  page.dispatchEvent(new Event('online'));
  t.equal(client.state, 'offline');
  t.ok(held[1]! >= 3_000);
});

t.test('a listener that throws disturbs nothing', async (t) => {
  const server = await ScriptedServer.start(t);
  const thrown: unknown[] = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => thrown.push(error));
  t.teardown(() => {
    process.removeAllListeners('uncaughtException');
    for (const listener of listeners) process.on('uncaughtException', listener);
  });
  const { client } = open(t, server, { mostWaitMs: 10 });
  const silence = (['error', 'state'] as const).map((event) =>
    client.on(event, () => {
      throw new Error(event);
    }),
  );
  (await server.socket(1)).cut();
  await server.socket(2);
  await until(() => client.state === 'live', { what: 'live again' });
  await until(() => thrown.length >= 3, { what: 'the errors, uncaught' });
  for (const remove of silence) remove();
});

t.test('each close code has a reason of the table, or none', async (t) => {
  const quiet = Object.values(CLOSE_CODES).filter(({ code }) => {
    const reason = reasonOfEnd({ code, reason: '' });
    if (reason !== undefined) t.ok(reason in CLIENT_ERRORS, reason);
    return reason === undefined;
  });
  t.strictSame(
    quiet.map(({ code }) => code),
    [CLOSE_CODES.going_away.code, CLOSE_CODES.cursor_invalid.code],
  );
  const unknown: [number, ClientErrorReason][] = [
    [1006, 'network'],
    [4099, 'network'],
    [4199, 'server_busy'],
    [4299, 'credential_rejected'],
    [4499, 'protocol'],
  ];
  for (const [code, reason] of unknown) t.equal(reasonOfEnd({ code, reason: '' }), reason);
});

type Overrides = Partial<{ [K in keyof ConnectOptions]: ConnectOptions[K] | undefined }>;

function open(t: Test, server: ScriptedServer, overrides: Overrides = {}) {
  const options = {
    url: server.url,
    account: 'acc_1',
    token: 'token',
    transports: ['websocket'] as const,
    ...overrides,
  };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const client = connect(Object.fromEntries(given) as unknown as ConnectOptions);
  t.teardown(() => client.close());
  const errors: ClientError[] = [];
  client.on('error', (error) => errors.push(error));
  return { client, errors };
}
