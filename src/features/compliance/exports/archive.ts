import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';

/** A file of an archive, as its manifest lists it. */
export interface ArchivedFile {
  readonly path: string;
  readonly bytes: number;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
}

/**
 * Writes a zip archive as a stream: one file after the other, each with its hash, with a few 64 KiB
 * pieces in memory. `bytes` must be read meanwhile, because `add` waits for the reader.
 */
export class ArchiveWriter {
  readonly #zip = new ZipFile();
  readonly #failure = Promise.withResolvers<never>();
  #source: Readable | undefined;

  constructor() {
    this.#zip.on('error', (error: Error) => this.abort(error));
    // The stream may fail before its reader has begun.
    this.#zip.outputStream.on('error', () => undefined);
    // The caller of `add` gets the failure.
    this.#failure.promise.catch(() => undefined);
  }

  get bytes(): AsyncIterable<Buffer> {
    return this.#zip.outputStream as AsyncIterable<unknown> as AsyncIterable<Buffer>;
  }

  /** Resolves when the file is in the archive; rejects with an error of `source` or the archive. */
  async add(
    path: string,
    source: AsyncIterable<Buffer>,
    { compress }: { compress: boolean },
  ): Promise<ArchivedFile> {
    const digest = createHash('sha256');
    let bytes = 0;
    async function* counted() {
      for await (const piece of source) {
        digest.update(piece);
        bytes += piece.length;
        yield piece;
      }
    }
    const stream = Readable.from(counted(), { objectMode: false, highWaterMark: PIECE_BYTES });
    this.#source = stream;
    const ended = new Promise<void>((resolve, reject) => {
      stream.once('end', resolve);
      stream.on('error', reject);
    });
    ended.catch(() => undefined);
    this.#zip.addReadStreamLazy(path, { compress, mtime: EPOCH, forceDosTimestamp: true }, (take) =>
      take(null, stream),
    );
    await Promise.race([ended, this.#failure.promise]);
    return { path, bytes, sha256: digest.digest('hex') };
  }

  end(): void {
    this.#zip.end();
  }

  /** Breaks off the archive: its reader and the current `add` get the error. */
  abort(error: Error): void {
    this.#failure.reject(error);
    this.#source?.destroy();
    (this.#zip.outputStream as Readable).destroy(error);
  }
}

const PIECE_BYTES = 64 * 1024;
/** Files in the archive have no meaningful times. */
const EPOCH = new Date('2000-01-01T00:00:00Z');
