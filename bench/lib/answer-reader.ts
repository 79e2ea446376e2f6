/**
 * Finds the end of each answer on a connection with one request under way, by its Content-Length.
 * Looks at nothing but the status and the length, and copies nothing unless a read ends within the
 * head.
 */
export class AnswerReader {
  #status = 0;
  /** Bytes of the present answer that are still to come. */
  #missing = 0;
  #head: Buffer = EMPTY;

  /** Takes `length` bytes. Returns the status when they complete an answer. */
  read(bytes: Buffer, length: number): number | undefined {
    if (this.#missing > 0) this.#missing -= length;
    else if (!this.#begin(bytes, length)) return undefined;
    if (this.#missing < 0) throw new Error('more bytes came than an answer has');
    return this.#missing === 0 ? this.#status : undefined;
  }

  /** Returns false while the head is not complete. */
  #begin(bytes: Buffer, length: number): boolean {
    const received = bytes.subarray(0, length);
    const head = this.#head.length === 0 ? received : Buffer.concat([this.#head, received]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) {
      this.#head = Buffer.from(head);
      return false;
    }
    this.#head = EMPTY;
    this.#status = digits(head, STATUS_AT);
    // Servers differ in the case of its first letters.
    const lengthAt = head.indexOf('ength: ');
    if (lengthAt < 0 || lengthAt > end) throw new Error('an answer has no Content-Length');
    this.#missing = end + 4 + digits(head, lengthAt + 'ength: '.length) - head.length;
    return true;
  }
}

function digits(bytes: Buffer, start: number): number {
  let value = 0;
  for (let at = start; ; at++) {
    const digit = bytes[at]! - ZERO;
    if (!(digit >= 0 && digit <= 9)) return value;
    value = value * 10 + digit;
  }
}

const EMPTY = Buffer.alloc(0);
const STATUS_AT = 'HTTP/1.1 '.length;
const ZERO = '0'.charCodeAt(0);
