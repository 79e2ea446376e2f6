/** The counter must count right wherever a read cuts a frame: nobody checks its figures again. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { BARE_DIALECT } from '../../bench/lib/dialects.ts';
import { RawSubscribers } from '../../bench/lib/raw-subscribers.ts';
import type { Teardown } from '../support/teardown.ts';
import { until } from '../support/until.ts';

/** Every way to write a length, and lengths on both sides of each border. */
const PAYLOAD_BYTES = [16, 125, 126, 127, 450, 65_535, 65_536, 70_000];

t.test('counts deliveries cut at any byte, and nothing else', async (t) => {
  const { subscribers, socket } = await connected(t);
  const frames = PAYLOAD_BYTES.flatMap((bytes) => [
    serverFrame(TEXT, typed('event', bytes)),
    serverFrame(TEXT, typed('reply', bytes)),
    serverFrame(TEXT, Buffer.from('{}')),
    serverFrame(TEXT, typed('event', bytes)),
  ]);
  const stream = Buffer.concat(frames);
  const sizes = [1, 2, 3, 5, 7, 11, 13, 450, 40_000];
  for (const size of sizes) {
    // Small pieces of the beginning only: one write a byte of all of it would take minutes.
    const cut = Math.min(stream.length, size * 2_000);
    for (let at = 0; at < cut; at += size) {
      socket.write(stream.subarray(at, Math.min(at + size, cut)));
      if (at % 16 === 0) await turn();
    }
    socket.write(stream.subarray(cut));
  }
  const expected = 2 * PAYLOAD_BYTES.length * sizes.length;
  await until(() => subscribers.deliveries >= expected, { what: `${expected} deliveries` });
  t.equal(subscribers.deliveries, expected);
  t.equal(subscribers.lost, 0);
});

t.test('answers heartbeats, and knows a socket that it lost', async (t) => {
  const { subscribers, socket } = await connected(t);
  socket.write(serverFrame(TEXT, typed('ping', 40)));
  const [answer]: [Buffer] = (await once(socket, 'data')) as [Buffer];
  t.equal(answer[0], 0x81, 'a whole text frame');
  t.equal(answer[1]! & 0x80, 0x80, 'masked, as a client has to');
  socket.destroy();
  await until(() => subscribers.lost === 1, { what: 'the lost socket' });
  t.equal(subscribers.deliveries, 0);
});

t.test('calls when a goal is reached', async (t) => {
  const { subscribers, socket } = await connected(t);
  socket.write(serverFrame(TEXT, typed('event', 100)));
  await subscribers.delivered(1, 1_000);
  await subscribers.delivered(1, 1_000);
  await t.rejects(subscribers.delivered(2, 50), /1 of 2 deliveries are missing/);
});

const TEXT = 1;

async function connected(t: Teardown): Promise<{ subscribers: RawSubscribers; socket: Socket }> {
  const { promise: socket, resolve } = Promise.withResolvers<Socket>();
  const server = createServer((socket) => {
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
      resolve(socket);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const subscribers = await RawSubscribers.open({ port, count: 1, dialect: BARE_DIALECT });
  t.teardown(() => {
    subscribers.close();
    server.close();
  });
  return { subscribers, socket: await socket };
}

function typed(type: string, bytes: number): Buffer {
  const beginning = `{"type":"${type}","pad":"`;
  return Buffer.from(`${beginning.padEnd(bytes - 2, 'x')}"}`);
}

function serverFrame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const header = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  header[0] = 0x80 | opcode;
  header[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (header.length === 4) header.writeUInt16BE(length, 2);
  if (header.length === 10) header.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([header, payload]);
}
