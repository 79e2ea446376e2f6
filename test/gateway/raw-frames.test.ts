/** Frames of the WebSocket protocol without JSON, and frames that break its rules. */

import t from 'tap';
import { startNginx } from '../support/nginx.ts';
import { until } from '../support/until.ts';
import { Ground } from './fixture.ts';
import { PING, PONG, RawSocket, TEXT } from './raw-socket.ts';

const FLOOD = 20_000;

for (const [name, opcode] of [
  ['pings', PING],
  ['pongs', PONG],
] as const) {
  t.test(`${name} of the protocol count as requests`, async (t) => {
    const ground = await Ground.start(t);
    const few = await RawSocket.open(ground.port, ground.headers());
    for (let n = 0; n < 10; n++) few.frame(opcode, 'x');
    const socket = await RawSocket.open(ground.port, ground.headers());
    socket.flood(opcode, FLOOD);
    await until(() => socket.ended, { what: 'the end of the socket' });
    t.equal(socket.closeCode, 4100);
    t.ok(socket.pongs < FLOOD / 2, `${socket.pongs} were answered`);

    few.frame(TEXT, '{"type":"ping","id":"r1"}');
    await until(() => few.texts.some((text) => text.includes('"r1"')), { what: 'an answer' });
    t.equal(few.pongs, opcode === PING ? 10 : 0, 'who sends a few is served');
    few.socket.destroy();
  });
}

t.test('an unmasked frame is never a command, and its socket ends with the heartbeat', async (t) => {
  const ground = await Ground.start(t, { limits: { heartbeatMs: 500, pongMs: 500 } });
  const nginx = await startNginx(t, { upstreamPort: ground.port });
  const request = '{"type":"ping","id":"unmasked"}';
  for (const [name, port] of [
    ['direct', ground.port],
    ['behind nginx, which passes the bytes on', nginx.port],
  ] as const) {
    const socket = await RawSocket.open(port, ground.headers());
    socket.unmaskedFrame(TEXT, request);
    await until(() => socket.ended, { what: `the end of the socket, ${name}` });
    t.equal(socket.closeCode, 4002, name);
    t.notMatch(socket.texts.join('\n'), 'unmasked', name);

    // With bytes behind it the library takes the first four of the payload for the mask, and what
    // comes out is no JSON.
    const busy = await RawSocket.open(port, ground.headers());
    for (let n = 0; n < 50; n++) busy.unmaskedFrame(TEXT, request);
    await until(() => busy.ended, { what: `the end of the busy socket, ${name}` });
    t.notMatch(busy.texts.join('\n'), 'unmasked', name);
  }
});
