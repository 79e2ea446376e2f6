/**
 * A body that arrives in pieces. Its memory grows with the bytes that were sent, not with the
 * announced length.
 */
export class Chunks {
  #buffer: Buffer;
  #length = 0;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
    this.#buffer = Buffer.allocUnsafe(Math.min(most, FIRST_BYTES));
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  add(bytes: Buffer): void {
    const length = this.#length + bytes.length;
    if (length > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.min(this.#most, Math.max(length, 2 * this.#buffer.length)));
      this.bytes.copy(grown);
      this.#buffer = grown;
    }
    bytes.copy(this.#buffer, this.#length);
    this.#length = length;
  }
}

/** Most bodies are smaller. */
const FIRST_BYTES = 16 * 1024;
