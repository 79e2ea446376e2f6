import type { FileBytes } from '../storage.ts';

/** The bytes of a picture do not follow its format. */
export class UnreadablePicture extends Error {}

/**
 * Reads a file from its beginning to its end, piece by piece, and keeps nothing that is skipped.
 */
export class PictureReader {
  readonly size: number;
  readonly #pieces: AsyncIterator<Buffer>;
  #piece: Buffer = Buffer.alloc(0);
  /** The place of the next byte in the piece. */
  #at = 0;
  #position = 0;
  #parts = 0;

  constructor(file: FileBytes) {
    this.size = file.size;
    this.#pieces = file.read({ isTransient: true })[Symbol.asyncIterator]();
  }

  /** The place of the next byte in the file. */
  get position(): number {
    return this.#position;
  }

  /** Returns at most the first bytes, and passes over none. Only at the beginning of the file. */
  async peek(count: number): Promise<Buffer> {
    while (this.#piece.length < Math.min(count, this.size)) {
      const before = Buffer.from(this.#piece);
      await this.#next();
      this.#piece = Buffer.concat([before, this.#piece]);
    }
    return this.#piece.subarray(0, count);
  }

  /**
   * Returns the place at which a part of the picture begins, its next byte. Throws
   * UnreadablePicture where there are so many that reading them would take seconds.
   */
  beginPart(): number {
    this.#parts += 1;
    if (this.#parts > MOST_PARTS) throw new UnreadablePicture('The picture has too many parts.');
    return this.#position;
  }

  /** Returns the next bytes. Throws UnreadablePicture if the file has fewer. */
  async take(count: number): Promise<Buffer> {
    this.#require(count);
    const taken = Buffer.allocUnsafe(count);
    for (let done = 0; done < count; ) {
      if (this.#at === this.#piece.length) await this.#next();
      const copied = this.#piece.copy(taken, done, this.#at);
      done += copied;
      this.#advance(copied);
    }
    return taken;
  }

  /** Passes over bytes. Throws UnreadablePicture if the file has fewer. */
  async skip(count: number): Promise<void> {
    this.#require(count);
    for (let left = count; left > 0; ) {
      if (this.#at === this.#piece.length) await this.#next();
      const passed = Math.min(left, this.#piece.length - this.#at);
      left -= passed;
      this.#advance(passed);
    }
  }

  /**
   * Passes over everything up to a byte of the first value and one behind it that ends the search.
   * Returns that one, or undefined if the file ends before.
   */
  async skipPast(first: number, endsWith: (second: number) => boolean): Promise<number | undefined> {
    let isBehindFirst = false;
    while (this.#position < this.size) {
      if (this.#at === this.#piece.length) await this.#next();
      while (this.#at < this.#piece.length) {
        if (isBehindFirst) {
          const byte = this.#piece[this.#at]!;
          this.#advance(1);
          if (endsWith(byte)) return byte;
          isBehindFirst = byte === first;
        } else {
          const found = this.#piece.indexOf(first, this.#at);
          isBehindFirst = found !== -1;
          this.#advance((isBehindFirst ? found + 1 : this.#piece.length) - this.#at);
        }
      }
    }
    return undefined;
  }

  /** Passes over blocks that each have their length in one byte before them, up to an empty one. */
  async skipBlocks(): Promise<void> {
    for (;;) {
      this.#require(1);
      if (this.#at === this.#piece.length) await this.#next();
      const length = this.#piece[this.#at]!;
      this.#advance(1);
      if (length === 0) return;
      if (this.#at + length <= this.#piece.length) this.#advance(length);
      else await this.skip(length);
    }
  }

  /** Releases the file. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
  }

  #require(count: number): void {
    if (this.#position + count > this.size) throw new UnreadablePicture('The picture ends too early.');
  }

  #advance(count: number): void {
    this.#at += count;
    this.#position += count;
  }

  async #next(): Promise<void> {
    const { value, done } = await this.#pieces.next();
    if (done) throw new UnreadablePicture('The picture is shorter than its size says.');
    this.#piece = value;
    this.#at = 0;
  }
}

/** A PNG of 100 MB in the pieces of libpng has 13,000. */
const MOST_PARTS = 100_000;
