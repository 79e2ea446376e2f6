/** How the bench opens sockets on servers of others, and what counts as a delivery. */

import t from 'tap';
import {
  BARE_DIALECT,
  FRAME_CLASSES,
  SOCKET_IO_DIALECT,
  socketIoRoomsDialect,
  topicsDialect,
} from '../../bench/lib/dialects.ts';
import { textFrame } from '../../bench/lib/websocket-frames.ts';

t.test('a socket of Socket.IO is live when its rooms are joined', async (t) => {
  const next = socketIoRoomsDialect('secret', ['a', 'b']).open()!;
  t.strictSame(next('0{"sid":"1","pingInterval":25000}'), textFrame('40{"token":"secret"}'));
  t.strictSame(next('40{"sid":"2"}'), textFrame('420["subscribe",["a","b"]]'));
  t.strictSame(next('2'), textFrame('3'), 'a heartbeat may come before');
  t.equal(next('430[2]'), 'live');
});

t.test('a socket that is refused, or may not join every room, is an error', async (t) => {
  const next = socketIoRoomsDialect('secret', ['a', 'b']).open()!;
  t.throws(() => next('44{"message":"unauthorized"}'), /refused: 44/);
  t.throws(() => next('430[1]'), /refused: 430\[1\]/);
});

t.test('events of Socket.IO are deliveries, its heartbeats pings', async (t) => {
  const classify = (text: string) =>
    SOCKET_IO_DIALECT.classify(Buffer.from(`xx${text}`), 2, Buffer.byteLength(text));
  t.equal(classify('42["message.created",{}]'), FRAME_CLASSES.delivery);
  t.equal(classify('430[2]'), FRAME_CLASSES.other, 'an acknowledgement');
  t.equal(classify('2'), FRAME_CLASSES.ping);
  t.equal(classify('4'), FRAME_CLASSES.other);
});

t.test('what a socket of ours counts, and that it answers a heartbeat', async (t) => {
  for (const [text, expected] of [
    ['{"type":"event","event":"message.created","data":{}}', FRAME_CLASSES.delivery],
    ['\t   {"type":"event","event":"message.pinned","data":{}}\t', FRAME_CLASSES.delivery],
    ['\t   {"type":"event","event":"inbox.changed","data":{}}\t', FRAME_CLASSES.other],
    ['{"type":"ping"}', FRAME_CLASSES.ping],
    ['{"type":"caught_up","conversation_id":"cnv_1"}', FRAME_CLASSES.caughtUp],
    ['{}', FRAME_CLASSES.other],
  ] as const) {
    const bytes = Buffer.from(`xx${text}`);
    t.equal(BARE_DIALECT.classify(bytes, 2, bytes.length - 2), expected, text);
  }
});

t.test('topics are named in the query', async (t) => {
  t.equal(topicsDialect(['cnv_1', 'cnv_2']).path, '/?cnv_1,cnv_2');
});
