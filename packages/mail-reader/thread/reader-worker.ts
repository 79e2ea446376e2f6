/** A thread that reads mails one by one (reader-thread.ts), so that no mail blocks the node. */

import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { type AttachmentSink, readMailBytes } from '../read-mail.ts';
import type { FromMailWorker, SharedPieces, ToMailWorker } from './reader-thread.ts';

if (parentPort === null) throw new Error('This module runs in a thread.');
const port = parentPort;
const { source, decoded }: SharedPieces = workerData;
/** The garbage of larger mails is collected at once, or the heap grows to several times that. */
const LARGE_MAIL_BYTES = 1024 * 1024;
/** A thread with a larger heap after a collection ends: a live one never returns its memory. */
const MAX_HEAP_BYTES = 48 * 1024 * 1024;
setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');
const out = Buffer.from(decoded);

/** Sends a message and waits for the answer, so bytes never accumulate between the threads. */
function ask(message: FromMailWorker): Promise<ToMailWorker> {
  const answer = nextMessage();
  port.postMessage(message);
  return answer;
}

function nextMessage(): Promise<ToMailWorker> {
  return new Promise((resolve) => void port.once('message', resolve));
}

/** Bytes of the current mail. */
let size = 0;

async function* pieces(): AsyncGenerator<Buffer> {
  size = 0;
  for (;;) {
    const answer = await ask({ kind: 'more' });
    if (answer.kind !== 'piece' || answer.size === 0) return;
    size += answer.size;
    yield Buffer.from(source, 0, answer.size);
  }
}

const sink: AttachmentSink = {
  begin: async ({ filename, contentType }) => void (await ask({ kind: 'begin', filename, contentType })),
  write: async (bytes) => {
    for (let at = 0; at < bytes.length; at += out.length) {
      await ask({ kind: 'write', size: bytes.copy(out, 0, at) });
    }
  },
  end: async () => void (await ask({ kind: 'end' })),
};

while ((await nextMessage()).kind === 'mail') {
  const mail = await readMailBytes(pieces(), sink, (header) =>
    port.postMessage({ kind: 'header', mail: header }),
  );
  if (size > LARGE_MAIL_BYTES) collectGarbage();
  const isLast = getHeapStatistics().total_heap_size > MAX_HEAP_BYTES;
  port.postMessage({ kind: 'done', mail, isLast });
  if (isLast) break;
}
port.close();
