import { lineEndOf } from '@parley/mail-reader/mime/line-ends.ts';

/** The bytes of a mail, whose head is available before the rest has arrived. */
export interface Arriving {
  /** The header section, or its first MAX_HEAD_BYTES if it is longer. */
  readonly head: Buffer;
  /** The whole mail including its head. Can be read once. */
  readonly bytes: AsyncIterable<Buffer>;
}

/** Reads `bytes` to the end of the header section: a mail is decided before it is stored. */
export async function readHead(bytes: AsyncIterable<Buffer>): Promise<Arriving> {
  const iterator = bytes[Symbol.asyncIterator]();
  // Grows by doubling, because a client may send byte by byte.
  let begun = Buffer.alloc(FIRST_BYTES);
  let size = 0;
  let end = -1;
  while (end === -1 && size < MAX_HEAD_BYTES) {
    const { done, value } = await iterator.next();
    if (done) break;
    if (size + value.length > begun.length) {
      begun = Buffer.concat([begun.subarray(0, size)], Math.max(2 * begun.length, size + value.length));
    }
    value.copy(begun, size);
    // The line end before the new piece may be half of the empty line.
    const from = Math.max(0, size - 3);
    size += value.length;
    end = endOfHead(begun.subarray(0, size), from);
  }
  const read = begun.subarray(0, size);
  return {
    head: read.subarray(0, Math.min(end === -1 ? size : end, MAX_HEAD_BYTES)),
    bytes: joined(read, iterator),
  };
}

/** Returns the unfolded values of the header fields with this name (in lower case), in order. */
export function headerValues(head: Buffer, name: string): string[] {
  const end = lineEndOf(head, true) === 'cr' ? '\r' : '\r*\n';
  const lines = head
    .toString('utf8')
    .replace(new RegExp(`${end}[ \\t]+`, 'g'), ' ')
    .split(new RegExp(end));
  return lines.flatMap((line) => {
    const colon = line.indexOf(':');
    const isNamed = colon !== -1 && line.slice(0, colon).trimEnd().toLowerCase() === name;
    return isNamed ? line.slice(colon + 1).trim() : [];
  });
}

/** More than any person's mail has. Recipients after it do not count. */
export const MAX_HEAD_BYTES = 256 * 1024;
const FIRST_BYTES = 16 * 1024;

/** Returns the end of the header section, or -1. */
function endOfHead(bytes: Buffer, from: number): number {
  const ends = EMPTY_LINES[lineEndOf(bytes, false) ?? 'usual']
    .map((line) => bytes.indexOf(line, from))
    .filter((at) => at !== -1);
  return ends.length === 0 ? -1 : Math.min(...ends);
}

const EMPTY_LINES = { usual: ['\r\n\r\n', '\n\n'], cr: ['\r\r'], 'cr-cr-lf': ['\n\r\r\n'] };

async function* joined(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void> {
  try {
    if (first.length > 0) yield first;
    for (;;) {
      const { done, value } = await rest.next();
      if (done) return;
      yield value;
    }
  } finally {
    await rest.return?.();
  }
}
