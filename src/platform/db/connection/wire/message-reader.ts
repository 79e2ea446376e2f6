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
 * messages are not copied. One that arrives in several reads is copied once, into a buffer of its
 * length.
 */
export class MessageReader {
  readonly #receive: MessageReceiver;
  /** The message, or its header, that has not arrived whole, and the number of bytes it has. */
  #begun: Buffer | undefined;
  #filled = 0;

  constructor(receive: MessageReceiver) {
    this.#receive = receive;
  }

  /**
   * Reads a chunk, which may be used again when this returns. Throws an Error if the bytes are no
   * messages; the connection cannot be used any further then.
   */
  read(chunk: Buffer): void {
    let at = 0;
    while (this.#begun !== undefined && at < chunk.length) {
      const begun = this.#begun;
      const copied = chunk.copy(begun, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (this.#filled < begun.length) return;
      this.#begun = undefined;
      this.#readMessages(begun, 0);
    }
    this.#readMessages(chunk, at);
  }

  #readMessages(bytes: Buffer, start: number): void {
    let at = start;
    while (at < bytes.length) {
      const available = bytes.length - at;
      const length = available < HEADER_BYTES ? HEADER_BYTES : 1 + readLength(bytes, at + 1);
      if (available < length) {
        this.#begun = Buffer.allocUnsafe(length);
        this.#filled = bytes.copy(this.#begun, 0, at);
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
