/**
 * The part of Redis's protocol (RESP2 and RESP3) needed to find single pushed messages in a stream.
 */

/** A message that Redis pushes to a subscriber. */
export interface Pushed {
  readonly channel: string;
  readonly message: Buffer;
}

/** Splits a stream of replies into complete values; an incomplete value waits for the rest. */
export class RespSplitter {
  #pending: Buffer = Buffer.alloc(0);

  /**
   * Returns the values that `chunk` completes, byte for byte. Throws a RangeError on anything but
   * RESP.
   */
  split(chunk: Buffer): Buffer[] {
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const values: Buffer[] = [];
    let start = 0;
    for (let end = valueEnd(bytes, 0); end !== undefined; end = valueEnd(bytes, start)) {
      values.push(bytes.subarray(start, end));
      start = end;
    }
    this.#pending = bytes.subarray(start);
    return values;
  }
}

/** Returns undefined if the value is anything else, such as a reply to a command. */
export function pushedMessage(value: Buffer): Pushed | undefined {
  const head = /^[>*]3\r\n\$\d+\r\ns?message\r\n/.exec(value.toString('latin1', 0, 32))?.[0];
  if (head === undefined) return undefined;
  const channelEnd = valueEnd(value, head.length);
  if (channelEnd === undefined) return undefined;
  return {
    channel: text(value, head.length, channelEnd).toString(),
    message: text(value, channelEnd, value.length),
  };
}

/** Returns the content of the bulk string from `start` to `end`. */
function text(bytes: Buffer, start: number, end: number): Buffer {
  return bytes.subarray(bytes.indexOf('\r\n', start) + 2, end - 2);
}

/** Returns the end of the value at `start`; undefined if it is beyond the bytes. */
function valueEnd(bytes: Buffer, start: number): number | undefined {
  const lineEnd = bytes.indexOf('\r\n', start);
  if (lineEnd === -1) return undefined;
  const type = String.fromCharCode(bytes[start] ?? 0);
  const after = lineEnd + 2;
  if (LINES.has(type)) return after;
  const length = Number(bytes.toString('latin1', start + 1, lineEnd));
  const isBulk = BULKS.has(type);
  const values = AGGREGATES[type];
  if (!Number.isInteger(length) || (!isBulk && values === undefined)) {
    throw new RangeError(`not RESP: ${JSON.stringify(bytes.toString('latin1', start, lineEnd))}`);
  }
  // RESP2's null.
  if (length < 0) return after;
  if (isBulk) return after + length + 2 <= bytes.length ? after + length + 2 : undefined;
  let end: number | undefined = after;
  // An attribute precedes its value.
  const count = length * (values ?? 0) + (type === '|' ? 1 : 0);
  for (let n = 0; n < count && end !== undefined; n++) end = valueEnd(bytes, end);
  return end;
}

/** Types whose value is their line: strings, errors, numbers, null, booleans. */
const LINES = new Set(['+', '-', ':', '_', ',', '#', '(']);
/** Types whose line contains the number of bytes that follow. */
const BULKS = new Set(['$', '!', '=']);
/** Types whose line contains the number of entries that follow, with the values of each entry. */
const AGGREGATES: Readonly<Record<string, number>> = { '*': 1, '>': 1, '~': 1, '%': 2, '|': 2 };
