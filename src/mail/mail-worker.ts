/** A thread that reads mails, one after another (mail-thread.ts), so that no mail, however large or hostile, holds up the node. */

import { parentPort } from 'node:worker_threads';
import type { FromMailWorker, ToMailWorker } from './mail-thread.ts';
import { type AttachmentSink, readMailBytes } from './read-mail.ts';

if (parentPort === null) throw new Error('this module runs in a thread');
const port = parentPort;

/** Each message is answered before the next, so that bytes never pile up between the threads. */
function ask(message: FromMailWorker, transfer: ArrayBuffer[] = []): Promise<ToMailWorker> {
  const answer = nextMessage();
  port.postMessage(message, transfer);
  return answer;
}

function nextMessage(): Promise<ToMailWorker> {
  return new Promise((resolve) => void port.once('message', resolve));
}

async function* source(): AsyncGenerator<Buffer> {
  for (;;) {
    const { bytes } = await ask({ kind: 'more' });
    if (bytes === undefined) return;
    yield Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}

const sink: AttachmentSink = {
  begin: async ({ filename, contentType }) => void (await ask({ kind: 'begin', filename, contentType })),
  write: async (decoded) => {
    const bytes = new Uint8Array(decoded);
    await ask({ kind: 'write', bytes }, [bytes.buffer]);
  },
  end: async () => void (await ask({ kind: 'end' })),
};

for (;;) {
  await nextMessage();
  const mail = await readMailBytes(source(), sink, (header) =>
    port.postMessage({ kind: 'header', mail: header }),
  );
  port.postMessage({ kind: 'done', mail });
}
