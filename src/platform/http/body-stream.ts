import { randomBytes } from 'node:crypto';
import { close, openSync, read, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ApiError } from '@parley/protocol/errors/errors.ts';

/** Takes a body as a whole. */
export interface BodyReceiver {
  bodyArrived(text: string): void;
  /** `invalid_format` (no UTF-8), `payload_too_large` or `request_timeout`. */
  bodyFailed(error: ApiError): void;
}

export interface Flow {
  pause(): void;
  resume(): void;
}

/**
 * A request's body as it arrives, for a reader that does not want all of it in memory. It has one
 * reader: iteration ends with the last byte, or throws ApiError `client_closed_request` if that
 * never arrives, `service_unavailable` if there is no room for waiting bytes. A reader slower than
 * the client makes the client wait. Memory then holds MAX_WAITING_BYTES and one piece. Later bytes
 * wait on the disk, because the library goes on reading a paused connection while each read fills
 * its buffer of 512 KiB: from a fast client, 48 of the 50 pieces of a mail of 25 MiB arrive after
 * the pause.
 */
export class BodyStream implements AsyncIterable<Buffer> {
  readonly #flow: Flow;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** The bytes that follow `#waiting`. */
  #spill: SpillFile | undefined;
  #isPaused = false;
  #state: 'coming' | 'whole' | 'broken' | 'unwanted' = 'coming';
  #failure: ApiError | undefined;
  #wake: (() => void) | undefined;

  constructor(flow: Flow) {
    this.#flow = flow;
  }

  /** Adds `bytes`, which need to be valid during the call only. */
  push(bytes: Uint8Array, last: boolean): void {
    if (this.#state !== 'coming') return;
    if (this.#waitingBytes > MAX_WAITING_BYTES || this.#hasSpilled) this.#spillOver(bytes);
    else if (bytes.length > 0) this.#waiting.push(Buffer.from(bytes));
    this.#waitingBytes += bytes.length;
    if (last && this.#state === 'coming') this.#state = 'whole';
    else if (this.#waitingBytes > MAX_WAITING_BYTES) this.#pause();
    this.#wake?.();
  }

  /** Ends the stream with an error, because the client is gone. */
  break(): void {
    if (this.#state === 'coming') this.#state = 'broken';
    this.#wake?.();
  }

  /** Discards the bytes that still arrive, because nothing reads them. */
  abandon(): void {
    if (this.#state === 'unwanted') return;
    this.#state = 'unwanted';
    this.#waiting.length = 0;
    this.#spill?.close();
    this.#spill = undefined;
    this.#resume();
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    try {
      for (;;) {
        const bytes = await this.#next();
        if (bytes !== undefined) {
          // The reader may have given the memory back.
          const { length } = bytes;
          yield bytes;
          this.#waitingBytes -= length;
          if (this.#waitingBytes <= MAX_WAITING_BYTES / 2) this.#resume();
        } else if (this.#state === 'coming') {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          this.#wake = undefined;
        } else break;
      }
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#state !== 'whole')
        throw new ApiError('client_closed_request', 'The connection closed before the body was complete.');
    } finally {
      this.abandon();
    }
  }

  /** Returns undefined if nothing waits. */
  async #next(): Promise<Buffer | undefined> {
    const bytes = this.#waiting.shift();
    return bytes === undefined && this.#hasSpilled ? this.#spill?.read() : bytes;
  }

  get #hasSpilled(): boolean {
    return this.#spill !== undefined && this.#spill.size > 0;
  }

  #spillOver(bytes: Uint8Array): void {
    try {
      this.#spill ??= new SpillFile();
      this.#spill.write(bytes);
    } catch (cause) {
      this.#failure = new ApiError(
        'service_unavailable',
        'There is no room left for the body. Try again later.',
        {
          retryAfterS: 30,
          cause,
        },
      );
      this.#state = 'broken';
    }
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#flow.pause();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#flow.resume();
  }
}

const MAX_WAITING_BYTES = 256 * 1024;

const readFile = promisify(read);

/**
 * Bytes that wait on the disk, first in, first out. Writes are synchronous, because callers must
 * get rid of the bytes before they return: the page cache takes half a MiB in about 100 µs. The
 * file has no name, so a killed process leaves nothing behind.
 */
class SpillFile {
  readonly #file = openNameless();
  #written = 0;
  #read = 0;
  #isReading = false;
  #isClosed = false;

  /** Bytes that wait. */
  get size(): number {
    return this.#written - this.#read;
  }

  /** Throws the file system's error if there is no room. */
  write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      at += writeSync(this.#file, bytes, at, bytes.length - at, this.#written + at);
    }
    this.#written += bytes.length;
  }

  /** Returns the next bytes in memory of their own, or none if none wait. One call at a time. */
  async read(): Promise<Buffer> {
    const memory = Buffer.allocUnsafeSlow(Math.min(this.size, PIECE_BYTES));
    this.#isReading = true;
    const { bytesRead } = await readFile(this.#file, memory, 0, memory.length, this.#read);
    this.#isReading = false;
    if (this.#isClosed) this.#close();
    this.#read += bytesRead;
    // The read part is overwritten, so the file stays small if the reader keeps up.
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
