/**
 * Decodes the body of a part, piece by piece (RFC 2045). Invalid input is skipped or kept, and
 * never an error. The result is valid until the next call; otherwise mail would leave twice its
 * size to the garbage collector.
 */
export interface TransferDecoder {
  write(bytes: Buffer): Buffer;
  end(): Buffer;
}

/** Returns the decoder for a value of Content-Transfer-Encoding. */
export function transferDecoder(encoding: string): TransferDecoder {
  const name = encoding.toLowerCase();
  if (name.includes('base64')) return new Base64Decoder();
  if (name.includes('quoted') || name.includes('printable')) return new QuotedPrintableDecoder();
  return { write: (bytes) => bytes, end: () => NOTHING };
}

const NOTHING = Buffer.alloc(0);
const [TAB, LF, CR, SPACE, EQUALS] = [0x09, 0x0a, 0x0d, 0x20, 0x3d];

/** Byte → its six bits, or SKIPPED for line breaks and all invalid bytes. */
const SIX_BITS = new Uint8Array(256).fill(0xff);
for (const [index, character] of [
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
].entries()) {
  SIX_BITS[character.charCodeAt(0)] = index;
}
const SKIPPED = 0xff;

class Base64Decoder implements TransferDecoder {
  readonly #memory = new Memory();
  #bits = 0;
  #count = 0;

  write(bytes: Buffer): Buffer {
    const decoded = this.#memory.take(Math.ceil((bytes.length * 3) / 4) + 3);
    let length = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (byte === EQUALS) {
        // Another piece may follow: some mailers encode a file in several pieces, each with
        // padding.
        length += this.#rest(decoded, length);
        continue;
      }
      const bits = SIX_BITS[byte] ?? SKIPPED;
      if (bits === SKIPPED) continue;
      this.#bits = (this.#bits << 6) | bits;
      this.#count += 1;
      if (this.#count < 4) continue;
      decoded[length++] = this.#bits >> 16;
      decoded[length++] = this.#bits >> 8;
      decoded[length++] = this.#bits;
      this.#bits = 0;
      this.#count = 0;
    }
    return decoded.subarray(0, length);
  }

  end(): Buffer {
    const decoded = Buffer.alloc(3);
    return decoded.subarray(0, this.#rest(decoded, 0));
  }

  /** Writes the bytes of an incomplete group of four characters, and returns their number. */
  #rest(decoded: Buffer, at: number): number {
    const [bits, count] = [this.#bits, this.#count];
    this.#bits = 0;
    this.#count = 0;
    if (count < 2) return 0;
    if (count === 2) {
      decoded[at] = bits >> 4;
      return 1;
    }
    decoded[at] = bits >> 10;
    decoded[at + 1] = bits >> 2;
    return 2;
  }
}

class QuotedPrintableDecoder implements TransferDecoder {
  readonly #memory = new Memory();
  /** A possible beginning of an escape or of a soft line break. */
  #carry: Buffer = NOTHING;

  write(bytes: Buffer): Buffer {
    return this.#decode(this.#carry.length === 0 ? bytes : Buffer.concat([this.#carry, bytes]), false);
  }

  end(): Buffer {
    return this.#decode(this.#carry, true);
  }

  #decode(bytes: Buffer, isLast: boolean): Buffer {
    const decoded = this.#memory.take(bytes.length);
    let length = 0;
    let at = 0;
    this.#carry = NOTHING;
    while (at < bytes.length) {
      const byte = bytes[at] as number;
      if (byte !== EQUALS) {
        decoded[length++] = byte;
        at += 1;
        continue;
      }
      const end = escapeEnd(bytes, at);
      if (end === undefined && !isLast) {
        this.#carry = Buffer.from(bytes.subarray(at));
        break;
      }
      const code = hexOf(bytes[at + 1]) * 16 + hexOf(bytes[at + 2]);
      if (end !== undefined && end > at) {
        at = end;
      } else if (code >= 0) {
        decoded[length++] = code;
        at += 3;
      } else {
        // An equals sign that was not encoded, or the last byte of a truncated mail.
        if (end !== undefined) decoded[length++] = byte;
        at += 1;
      }
    }
    return decoded.subarray(0, length);
  }
}

class Memory {
  #bytes = NOTHING;

  /** Returns at least `size` bytes, which are shared with the previous call. */
  take(size: number): Buffer {
    if (this.#bytes.length < size) this.#bytes = Buffer.allocUnsafe(size);
    return this.#bytes;
  }
}

/** Maximum blanks between a soft line break's equals sign and its end. */
const MAX_BLANKS = 80;

/** Returns the end of a soft line break, `at` if it is none, or undefined if undecided. */
function escapeEnd(bytes: Buffer, at: number): number | undefined {
  let end = at + 1;
  while (end < bytes.length && end - at < MAX_BLANKS && (bytes[end] === SPACE || bytes[end] === TAB))
    end += 1;
  if (end - at >= MAX_BLANKS) return at;
  if (bytes[end] === LF) return end + 1;
  if (bytes[end] === CR) {
    if (end + 1 >= bytes.length) return undefined;
    return bytes[end + 1] === LF ? end + 2 : end + 1;
  }
  if (end >= bytes.length) return undefined;
  return end === at + 1 && end + 1 >= bytes.length ? undefined : at;
}

/** Returns a hexadecimal digit's value, else one so negative that no sum of two is a byte. */
function hexOf(byte: number | undefined): number {
  if (byte === undefined) return -1_000;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1_000;
}
