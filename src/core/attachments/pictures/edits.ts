import type { FileBytes } from '../storage.ts';
import { UnreadablePicture } from './picture-reader.ts';

/** Bytes that take the place of those between two places of a file; the end is not included. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly bytes: Buffer;
}

/** Changes of a file, which is read and written piece by piece. */
export class Edits {
  readonly #edits: Edit[] = [];

  /** Throws UnreadablePicture where there are too many: no camera writes so many parts. */
  replace(from: number, to: number, bytes: Buffer): void {
    if (this.#edits.length === MOST_EDITS) throw new UnreadablePicture('The picture has too many parts.');
    if (to > from || bytes.length > 0) this.#edits.push({ from, to, bytes });
  }

  remove(from: number, to: number): void {
    this.replace(from, to, NOTHING);
  }

  get isEmpty(): boolean {
    return this.#edits.length === 0;
  }

  /** Returns how many bytes are lost between two places of the file. */
  lostBetween(begin: number, end: number): number {
    const within = this.#edits.filter(({ from }) => from >= begin && from < end);
    return within.reduce((sum, { from, to, bytes }) => sum + to - from - bytes.length, 0);
  }

  /** Returns the bytes of the file with the changes. */
  async *applyTo(file: FileBytes): AsyncGenerator<Buffer> {
    const edits = this.#edits.toSorted((one, other) => one.from - other.from);
    let position = 0;
    for await (const piece of file.read({ isTransient: true })) {
      const end = position + piece.length;
      while (position < end) {
        const [next] = edits;
        if (next === undefined || next.from >= end) {
          yield piece.subarray(piece.length - (end - position));
          position = end;
        } else if (next.from > position) {
          yield piece.subarray(piece.length - (end - position), piece.length - (end - next.from));
          position = next.from;
        } else {
          if (next.from === position && next.bytes.length > 0) yield next.bytes;
          position = Math.min(end, next.to);
          if (position === next.to) edits.shift();
        }
      }
    }
  }
}

const NOTHING = Buffer.alloc(0);
const MOST_EDITS = 1_000;
