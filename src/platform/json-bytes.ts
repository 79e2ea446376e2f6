const INITIAL_BYTES = 64 * 1_024;
/** Bytes of UTF-8 for a unit of UTF-16. */
const MAX_BYTES_A_UNIT = 3;

/**
 * Collects pieces of a JSON text as bytes. A text that is put together as a string is copied once
 * more before it is encoded, which was a tenth of the bytes that a send allocates.
 *
 * There is one collector in a process: what is begun must be ended in the same call.
 */
export class JsonBytes {
  static readonly #only = new JsonBytes();
  #bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #length = 0;

  /** Begins a text. Drops an earlier text that was not ended because a piece failed. */
  static begin(): JsonBytes {
    JsonBytes.#only.#length = 0;
    return JsonBytes.#only;
  }

  add(text: string): void {
    const most = this.#length + text.length * MAX_BYTES_A_UNIT;
    if (most > this.#bytes.length) this.#grow(most);
    this.#length += this.#bytes.write(text, this.#length);
  }

  takeBack(bytes: number): void {
    this.#length -= bytes;
  }

  /** Returns a copy of the bytes. */
  end(): Buffer {
    const copy = Buffer.allocUnsafe(this.#length);
    this.#bytes.copy(copy, 0, 0, this.#length);
    if (this.#bytes.length > INITIAL_BYTES) this.#bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    return copy;
  }

  #grow(most: number): void {
    const larger = Buffer.allocUnsafeSlow(2 * most);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
