/** Typing, presence and read positions, with and without a connection. */

import { CLOSE_CODES } from '@parley/protocol/socket/close-codes.ts';
import t from 'tap';
import type { Teardown } from '../../../test/support/teardown.ts';
import { until } from '../../../test/support/until.ts';
import { type Client, connect, type RequestOp } from '../index.ts';
import { ScriptedServer } from './scripted-server.ts';

const TYPING = { conversation_id: 'cnv_1', state: 'start' } as const;

t.test('before there is a connection: it waits for one', async (t) => {
  const server = await ScriptedServer.start(t);
  server.refusing = true;
  const client = open(t, server);
  const typing = client.request('typing', TYPING, { timeoutMs: 60_000 });
  await until(() => client.state === 'offline', { what: 'a first failure' });
  server.refusing = false;
  await typing;
  t.match(await (await server.socket(1)).ask('typing'), TYPING);
});

t.test('a connection that ends before the answer: it is repeated on the next', async (t) => {
  const server = await ScriptedServer.start(t);
  const client = open(t, server);
  const first = await server.socket(1);
  server.answer = (socket, frame) => {
    if (socket === first) socket.cut();
    else socket.reply(frame, { unread: 3 });
  };
  t.match(await client.request('mark_read', { conversation_id: 'cnv_1', sequence: 7 }), { unread: 3 });
  t.match((await server.socket(2)).asked('mark_read'), [{ conversation_id: 'cnv_1', sequence: 7 }]);
});

t.test('typing waits for its conversation, which the server has to know of first', async (t) => {
  const server = await ScriptedServer.start(t);
  server.answer = (socket, frame) => {
    if (frame.type !== 'subscribe') socket.acknowledge(frame);
    else socket.reply(frame, { conversation_id: 'cnv_1', head_sequence: 0 });
  };
  const client = open(t, server);
  const socket = await server.socket(1);
  client.subscribe('cnv_1', { onMessage() {} });
  const typing = client.request('typing', TYPING, { timeoutMs: 60_000 });
  await client.request('mark_read', { conversation_id: 'cnv_1', sequence: 1 });
  t.strictSame(socket.asked('typing'), []);
  socket.caughtUp('cnv_1', 0);
  await typing;
  t.equal(socket.asked('typing').length, 1);
});

t.test('presence is declared again on each new connection, once it was accepted', async (t) => {
  const server = await ScriptedServer.start(t);
  const client = open(t, server);
  (await server.socket(1)).cut();
  const second = await server.socket(2);
  t.strictSame(second.asked('presence'), [], 'not of its own accord');
  await client.request('presence', { status: 'online' });
  await client.request('presence', { status: 'away' });
  second.cut();
  const third = await server.socket(3);
  await third.ask('presence');
  t.match(third.asked('presence'), [{ status: 'away' }]);
  third.say({ type: 'goaway', reconnect_in_ms: 1, deadline_ms: 60_000, reason: 'stopping' });
  t.match(await (await server.socket(4)).ask('presence'), { status: 'away' });
});

t.test('it ends with a refusal, an abort, its timeout, or close()', async (t) => {
  const server = await ScriptedServer.start(t);
  const client = open(t, server);
  await server.socket(1);
  server.answer = (socket, frame) => socket.refuse(frame, 'insufficient_permissions');
  await t.rejects(client.request('typing', TYPING), {
    name: 'ParleyError',
    error: { code: 'insufficient_permissions' },
  });
  server.answer = () => {};
  await t.rejects(client.request('typing', TYPING, { timeoutMs: 1 }), { name: 'TimeoutError' });
  const signal = AbortSignal.abort(new Error('changed my mind'));
  await t.rejects(client.request('typing', TYPING, { signal }), { message: 'changed my mind' });
  const pending = client.request('typing', TYPING);
  client.close();
  await t.rejects(pending, { code: 'client_closed' });
  await t.rejects(client.request('typing', TYPING), { code: 'client_closed' });
});

t.test('a client that has given up', async (t) => {
  const server = await ScriptedServer.start(t);
  const client = open(t, server);
  const socket = await server.socket(1);
  server.answer = () => socket.close(CLOSE_CODES.forbidden.code);
  await t.rejects(client.request('typing', TYPING), { code: 'connection_ended', error: null });
  await t.rejects(client.request('typing', TYPING), { code: 'connection_ended', error: null });
});

t.test('frames that the client handles itself', async (t) => {
  const client = open(t, await ScriptedServer.start(t));
  const request = client.request('subscribe' as RequestOp, TYPING);
  await t.rejects(request, { name: 'TypeError', message: /typing,mark_read,presence/ });
});

function open(t: Teardown, { url }: ScriptedServer): Client {
  const client = connect({
    url,
    account: 'acc_1',
    token: 'token',
    mostWaitMs: 20,
    transports: ['websocket'],
  });
  t.teardown(() => client.close());
  return client;
}
