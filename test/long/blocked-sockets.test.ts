/**
 * The SDK finds out what a proxy blocks, in time and also while messages arrive.
 *
 * Without influence: OPERATION, ASIDE, PAGES, ANSWERS, packages/client/ai,
 * packages/client/react, src/core/installation, src/features/compliance, src/features/mail,
 * src/platform/outbound.
 */

import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { startTestApp } from '../support/app.ts';
import { type Block, BlockingProxy } from '../support/blocking-proxy.ts';
import { historyProblems } from '../support/check-delivery.ts';
import { SdkReader } from '../support/sdk-reader.ts';
import { storedMessages } from '../support/stored-messages.ts';
import { until } from '../support/until.ts';

// A stream that falls silent is noticed after ten seconds and one heartbeat.
const app = await startTestApp(t, { PARLEY_SOCKET_HEARTBEAT_MS: '1000' });
const { group } = app.demo.conversations;

t.test('each kind of proxy: what is left', async (t) => {
  const ways = { 'mute to sockets': 'stream', buffering: 'poll', mute: 'poll' } as const;
  const readers = await Promise.all(
    Object.entries(ways).map(async ([block, transport]) => {
      const { reader } = await read(t, block as Block);
      await until(() => reader.client.state === 'live', { what: `live through ${block}` });
      t.equal(reader.client.transport, transport, block);
      return reader;
    }),
  );
  for (let n = 0; n < 20; n++) await send(`kinds ${n}`);
  for (const reader of readers) await areSame(t, reader);
});

t.test('a proxy that behaves in another way while messages are sent', async (t) => {
  const { reader, proxy } = await read(t, 'open');
  await until(() => reader.client.state === 'live', { what: 'live' });
  t.equal(reader.client.transport, 'websocket');
  let isOver = false;
  const sending = (async () => {
    for (let n = 0; !isOver; n++) {
      await send(`changes ${n}`);
      await pause(25);
    }
  })();
  t.teardown(() => {
    isOver = true;
  });
  const becomes = async (transport: string, change: () => void) => {
    // The heartbeat of a transport that works is not the sign of a block.
    await pause(1_500);
    change();
    await until(() => reader.client.transport === transport && reader.client.state === 'live', {
      what: `${transport}; it is ${reader.client.transport}, ${reader.client.state}`,
      timeoutMs: 120_000,
    });
    const last = reader.last(group);
    await until(() => reader.last(group) > last + 5, { what: `messages over ${transport}` });
  };
  await becomes('stream', () => {
    proxy.block = 'refusing';
    proxy.cut();
  });
  // No connection is cut: what was open is held back from one moment on.
  await becomes('poll', () => {
    proxy.block = 'buffering';
  });
  isOver = true;
  await sending;
  await areSame(t, reader);
});

async function read(t: Test, block: Block) {
  const proxy = await BlockingProxy.start(t, app.baseUrl, block);
  const { account_id: account, users } = app.demo;
  const token = users.ada.access_token;
  const reader = new SdkReader({ url: () => proxy.url, account, token, conversationIds: [group] });
  t.teardown(() => reader.stop());
  return { reader, proxy };
}

async function send(body: string): Promise<void> {
  const path = `/v1/messaging/conversations/${group}/messages`;
  await app.call('POST', path, { body: { body, client_message_id: body } });
}

/** The reader has what is stored, each message once and in order. */
async function areSame(t: Test, reader: SdkReader): Promise<void> {
  const stored = (await storedMessages(app.databaseUrl, [group])).get(group)!;
  await until(() => reader.last(group) >= stored.at(-1)!.sequence, { what: 'the last message' });
  t.strictSame(historyProblems(reader.history.get(group)!, stored), []);
  t.strictSame(reader.problems, []);
}
