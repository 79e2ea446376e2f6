import type { Bindable } from '../statement.ts';

/** Writes messages to Postgres one after the other into a buffer, which is reused. */
export class OutgoingBytes {
  #bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #length = 0;

  /** Passes all that was written so far to `send`, which returns whether it is done with it. */
  drainTo(send: (bytes: Buffer) => boolean): void {
    if (this.#length === 0) return;
    const isReusable = send(this.#bytes.subarray(0, this.#length)) && this.#bytes.length <= MAX_KEPT_BYTES;
    if (!isReusable) this.#bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    this.#length = 0;
  }

  /** Asks for a statement to be parsed and described. Drops an earlier statement of that name. */
  prepare(name: string, text: string): void {
    this.#reserve(3 * MESSAGE_BYTES + 9 * name.length + 3 * text.length);
    let start = this.#begin(CLOSE);
    this.#byte(STATEMENT);
    this.#cString(name);
    this.#end(start);
    start = this.#begin(PARSE);
    this.#cString(name);
    this.#cString(text);
    this.#int16(0);
    this.#end(start);
    start = this.#begin(DESCRIBE);
    this.#byte(STATEMENT);
    this.#cString(name);
    this.#end(start);
  }

  /** Asks for a prepared statement to be run with these values, in a transaction of its own. */
  execute(name: string, values: readonly Bindable[]): void {
    this.#reserve(MESSAGE_BYTES + 3 * name.length + 6 * values.length);
    const start = this.#begin(BIND);
    this.#byte(0);
    this.#cString(name);
    this.#formats(values);
    this.#int16(values.length);
    for (const value of values) this.#value(value);
    this.#int16(0);
    this.#end(start);
    this.#reserve(EXECUTE_AND_SYNC.length);
    this.#bytes.set(EXECUTE_AND_SYNC, this.#length);
    this.#length += EXECUTE_AND_SYNC.length;
  }

  /** Bytes are sent as such, everything else as text. */
  #formats(values: readonly Bindable[]): void {
    if (!values.some((value) => typeof value === 'object' && value !== null)) {
      this.#int16(0);
      return;
    }
    this.#int16(values.length);
    for (const value of values) this.#int16(typeof value === 'object' && value !== null ? 1 : 0);
  }

  #value(value: Bindable): void {
    if (value === null) {
      this.#reserve(VALUE_BYTES);
      this.#int32(-1);
    } else if (typeof value !== 'string') {
      this.#reserve(VALUE_BYTES + value.length);
      this.#int32(value.length);
      this.#bytes.set(value, this.#length);
      this.#length += value.length;
    } else {
      // Room for the worst case spares most texts the count of their bytes.
      const most = value.length < SHORT_TEXT ? 3 * value.length : Buffer.byteLength(value);
      this.#reserve(VALUE_BYTES + most);
      const at = this.#length;
      const length = this.#bytes.write(value, at + 4);
      this.#int32(length);
      this.#length = at + 4 + length;
    }
  }

  /** Makes room for that many bytes more. */
  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }

  #begin(kind: number): number {
    const start = this.#length;
    this.#bytes[start] = kind;
    this.#length = start + 5;
    return start;
  }

  #end(start: number): void {
    this.#bytes.writeInt32BE(this.#length - start - 1, start + 1);
  }

  #byte(value: number): void {
    this.#bytes[this.#length] = value;
    this.#length += 1;
  }

  #int16(value: number): void {
    this.#length = this.#bytes.writeUInt16BE(value, this.#length);
  }

  #int32(value: number): void {
    this.#length = this.#bytes.writeInt32BE(value, this.#length);
  }

  #cString(text: string): void {
    this.#length += this.#bytes.write(text, this.#length);
    this.#byte(0);
  }
}

const INITIAL_BYTES = 16 * 1024;
/** A buffer that a large value made larger than this is not kept. */
const MAX_KEPT_BYTES = 256 * 1024;
/** More than the fixed parts of any message. */
const MESSAGE_BYTES = 32;
/** A value's length, and the number behind the last value. */
const VALUE_BYTES = 6;
const SHORT_TEXT = 4 * 1024;

const BIND = 0x42;
const CLOSE = 0x43;
const DESCRIBE = 0x44;
const PARSE = 0x50;
/** The kind of object that Close and Describe refer to. */
const STATEMENT = 0x53;

/** Execute and Sync, for the unnamed portal without a row limit. */
const EXECUTE_AND_SYNC = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4]);
