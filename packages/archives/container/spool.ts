import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ArchiveContent } from '../reader.ts';

/** A stretch of the spool. */
export interface Stretch {
  readonly at: number;
  readonly size: number;
}

/** A file in the scratch directory that is appended to, and read by stretches. */
export class Spool {
  readonly #file: FileHandle;
  readonly #path: string;
  #length = 0;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;

  private constructor(file: FileHandle, path: string) {
    this.#file = file;
    this.#path = path;
  }

  /** Makes a new file with a name of its own. */
  static async create(scratch: string): Promise<Spool> {
    const path = join(scratch, `spool-${crypto.randomUUID()}`);
    return new Spool(await open(path, 'wx+', 0o600), path);
  }

  get length(): number {
    return this.#length;
  }

  /** `bytes` must not be changed afterwards. */
  async append(bytes: Uint8Array): Promise<void> {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#length += bytes.length;
    if (this.#waitingBytes >= PIECE_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    const bytes = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (bytes.length > 0) await this.#file.appendFile(Buffer.concat(bytes));
  }

  content({ at, size }: Stretch): ArchiveContent {
    return { size, read: () => this.#read(at, at + size) };
  }

  async *#read(from: number, end: number): AsyncGenerator<Buffer> {
    await this.#flush();
    for (let at = from; at < end; ) {
      const { bytesRead, buffer } = await this.#file.read(
        Buffer.allocUnsafe(Math.min(PIECE_BYTES, end - at)),
        0,
        undefined,
        at,
      );
      if (bytesRead === 0) throw new Error('a file in the scratch directory was cut off');
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
    await rm(this.#path, { force: true });
  }
}

const PIECE_BYTES = 256 * 1024;
