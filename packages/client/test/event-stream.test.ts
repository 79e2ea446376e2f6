/** Frames in an event stream, however the network cuts it into pieces. */

import t from 'tap';
import { dataOf } from '../link/http/event-stream.ts';

const FRAMES = [
  { type: 'hello' },
  { type: 'event', body: 'Grüße, 世界 👋 data: \\n' },
  { type: 'ping', heads: {} },
];
const TEXT = `:${' '.repeat(2_048)}\n\n${FRAMES.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join(':\n\n')}`;

t.test('pieces of any size, also within a character', async (t) => {
  const bytes = new TextEncoder().encode(TEXT);
  for (const size of [1, 2, 3, 7, 100, bytes.length]) {
    const found: unknown[] = [];
    for await (const data of dataOf(inPieces(bytes, size))) found.push(JSON.parse(data));
    t.strictSame(found, FRAMES, `${size} bytes each`);
  }
});

t.test('what a proxy left of the last frame is none', async (t) => {
  const bytes = new TextEncoder().encode(TEXT.slice(0, -4));
  const found: string[] = [];
  for await (const data of dataOf(inPieces(bytes, 64))) found.push(data);
  t.equal(found.length, FRAMES.length - 1);
});

t.test('line ends of other servers', async (t) => {
  const found: unknown[] = [];
  const bytes = new TextEncoder().encode('data:{"a":1}\r\n\r\nevent: x\r\ndata: {"b":2}\r\n\r\n');
  for await (const data of dataOf(inPieces(bytes, 5))) found.push(JSON.parse(data));
  t.strictSame(found, [{ a: 1 }, { b: 2 }]);
});

function inPieces(bytes: Uint8Array, size: number): ReadableStream<Uint8Array> {
  let start = 0;
  return new ReadableStream({
    pull(controller) {
      if (start >= bytes.length) controller.close();
      else controller.enqueue(bytes.slice(start, start + size));
      start += size;
    },
  });
}
