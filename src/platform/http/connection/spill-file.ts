import { randomBytes } from 'node:crypto';
import { close, openSync, read, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const readFile = promisify(read);

/**
 * Bytes that wait on the disk, first in, first out. They are written synchronously, for a caller
 * that must get rid of them before it returns: half a MiB takes the page cache about 100 µs. The
 * file has no name, so that a killed process leaves nothing behind.
 */
export class SpillFile {
  readonly #file = openNameless();
  #written = 0;
  #read = 0;
  #isReading = false;
  #isClosed = false;

  /** Number of bytes that wait. */
  get size(): number {
    return this.#written - this.#read;
  }

  /** Throws the error of the file system if there is no room. */
  write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      at += writeSync(this.#file, bytes, at, bytes.length - at, this.#written + at);
    }
    this.#written += bytes.length;
  }

  /**
   * Returns the next bytes, which are in memory of their own; none if none wait. One call at a
   * time.
   */
  async read(): Promise<Buffer> {
    const memory = Buffer.allocUnsafeSlow(Math.min(this.size, PIECE_BYTES));
    this.#isReading = true;
    const { bytesRead } = await readFile(this.#file, memory, 0, memory.length, this.#read);
    this.#isReading = false;
    if (this.#isClosed) this.#close();
    this.#read += bytesRead;
    // What was read is written over, so that the file stays small beside a reader that keeps up.
    if (this.size === 0) this.#written = this.#read = 0;
    return memory.subarray(0, bytesRead);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (!this.#isReading) this.#close();
  }

  #close(): void {
    close(this.#file, () => {});
  }
}

const PIECE_BYTES = 256 * 1024;

function openNameless(): number {
  const path = join(tmpdir(), `parley-spill-${randomBytes(12).toString('hex')}`);
  const file = openSync(path, 'wx+', 0o600);
  unlinkSync(path);
  return file;
}
