/** The first bytes of the messages of Postgres read here (PostgreSQL, Message Formats). */
export const SERVER_MESSAGE = {
  bindComplete: 0x32,
  closeComplete: 0x33,
  commandComplete: 0x43,
  dataRow: 0x44,
  emptyQueryResponse: 0x49,
  errorResponse: 0x45,
  noData: 0x6e,
  noticeResponse: 0x4e,
  notificationResponse: 0x41,
  parameterDescription: 0x74,
  parameterStatus: 0x53,
  parseComplete: 0x31,
  readyForQuery: 0x5a,
  rowDescription: 0x54,
} as const;

/** Takes a message: its kind and its content in `bytes`, valid only until the receiver returns. */
export type MessageReceiver = (kind: number, bytes: Buffer, start: number, end: number) => void;

/**
 * Cuts the bytes of a connection into messages, in place: no object is made of a message, and whole
 * messages are not copied. One that arrives in several reads is joined once, when it is whole.
 */
export class MessageReader {
  readonly #receive: MessageReceiver;
  /** The reads of a message that is not whole yet, and how many bytes it lacks. */
  #parts: Buffer[] = [];
  #missing = 0;

  constructor(receive: MessageReceiver) {
    this.#receive = receive;
  }

  /**
   * `chunk` may be used again when this returns. Throws an Error when the bytes are no messages;
   * the connection cannot be used any further then.
   */
  read(chunk: Buffer): void {
    if (this.#parts.length === 0) {
      this.#readMessages(chunk);
      return;
    }
    this.#parts.push(Buffer.from(chunk));
    this.#missing -= chunk.length;
    if (this.#missing > 0) return;
    const joined = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#readMessages(joined);
  }

  #readMessages(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      const available = bytes.length - at;
      const length = available < HEADER_BYTES ? HEADER_BYTES : 1 + readLength(bytes, at + 1);
      if (available < length) {
        this.#parts.push(Buffer.from(bytes.subarray(at)));
        this.#missing = length - available;
        return;
      }
      this.#receive(bytes[at]!, bytes, at + HEADER_BYTES, at + length);
      at += length;
    }
  }
}

/** The kind and the length, which counts itself. */
const HEADER_BYTES = 5;

function readLength(bytes: Buffer, at: number): number {
  const length = bytes.readInt32BE(at);
  if (length < 4) throw new Error(`Postgres sent a message of ${length} bytes.`);
  return length;
}
