import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { READING_LIMITS, type ReadingLimits } from '../mail-limits.ts';
import type { ReadMail, UnreadCause } from '../parsed-mail.ts';

/**
 * Memory shared by both threads, for one piece of the source and one of an attachment. Sending the
 * bytes would leave garbage on both sides: four times the size of the mail.
 */
export interface SharedPieces {
  readonly source: SharedArrayBuffer;
  readonly decoded: SharedArrayBuffer;
}

/** A mail to read, an answer, or the end. `size`: available bytes of the source; 0 is its end. */
export type ToMailWorker =
  | { readonly kind: 'mail' | 'taken' | 'end' }
  | { readonly kind: 'piece'; readonly size: number };

export type FromMailWorker =
  | { readonly kind: 'more' }
  | { readonly kind: 'header'; readonly mail: ReadMail }
  /** `isLast` means that the thread has grown, and ends. */
  | { readonly kind: 'done'; readonly mail: ReadMail; readonly isLast: boolean }
  | { readonly kind: 'begin'; readonly filename: string; readonly contentType: string }
  | { readonly kind: 'write'; readonly size: number }
  | { readonly kind: 'end' };

/**
 * The thread of reader-worker.ts. It reads one mail at a time and is reused, because starting it
 * costs more than most mails.
 */
export class ReaderThread {
  readonly #pieces: SharedPieces = {
    source: new SharedArrayBuffer(PIECE_BYTES),
    decoded: new SharedArrayBuffer(PIECE_BYTES),
  };
  readonly #worker: Worker;
  readonly #limits: ReadingLimits;
  readonly #messages: FromMailWorker[] = [];
  #wake: (() => void) | undefined;
  #hasEnded = false;
  /** Why it has ended in the middle of a mail. */
  #endedBy: UnreadCause = 'failure';
  /** Looks at the time and the memory of a mail that is being read. */
  #watch: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;

  /** `execArgv`: flags of Node for the thread, such as a module that is loaded first. */
  constructor(execArgv: readonly string[] = [], limits: ReadingLimits = READING_LIMITS) {
    this.#limits = limits;
    this.#worker = new Worker(new URL('./reader-worker.ts', import.meta.url), {
      workerData: this.#pieces,
      execArgv: [...execArgv],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    this.#worker
      .on('message', (message: FromMailWorker) => {
        this.#messages.push(message);
        this.#wake?.();
      })
      // It broke, or ran out of memory faster than the watch looks.
      .on('error', ({ code }: NodeJS.ErrnoException) => {
        this.#endedBy = code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'failure';
        this.#end();
      })
      .on('exit', () => this.#end());
  }

  /** Whether it can read another mail. */
  get isAlive(): boolean {
    return !this.#hasEnded;
  }

  /** Why a mail was not read to its end, once `next` has returned null. */
  get endedBy(): UnreadCause {
    return this.#endedBy;
  }

  /** Begins a mail, which may take as much as the limits say. */
  start(): void {
    clearTimeout(this.#idle);
    this.#worker.ref();
    this.#send({ kind: 'mail' });
    this.#watchMail();
  }

  /** Confirms that something was taken. */
  confirm(): void {
    this.#send({ kind: 'taken' });
  }

  /** Passes bytes of the source and returns how many. An empty buffer ends the source. */
  give(bytes: Buffer): number {
    const size = bytes.copy(Buffer.from(this.#pieces.source));
    this.#send({ kind: 'piece', size });
    return size;
  }

  /** Returns the bytes of an attachment, which are valid until the answer. */
  decoded(size: number): Buffer {
    return Buffer.from(this.#pieces.decoded, 0, size);
  }

  /** Returns null if the thread died, or was ended because the mail broke a limit. */
  async next(): Promise<FromMailWorker | null> {
    if (this.#messages.length === 0 && !this.#hasEnded) {
      const timer = setTimeout(() => this.#breakOff('time'), this.#limits.silentMs);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      clearTimeout(timer);
      this.#wake = undefined;
    }
    const message = this.#messages.shift() ?? null;
    if (message?.kind === 'done') {
      this.#endWatch();
      if (message.isLast) this.#end();
    }
    return message;
  }

  /** Lets the process exit, and frees the memory when no mail comes. */
  rest(): void {
    this.#worker.unref();
    this.#idle = setTimeout(() => {
      this.#end();
      // It ends by itself, and modules loaded first may store caches for the next start.
      this.#send({ kind: 'end' });
    }, IDLE_MS).unref();
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    this.#end();
    await this.#worker.terminate();
  }

  /** Watches time and memory, for which the thread is interrupted wherever it is. */
  #watchMail(): void {
    const worker = this.#worker;
    let before: NodeJS.CpuUsage | undefined;
    const look = async () => {
      before ??= await worker.cpuUsage();
      const { user, system } = await worker.cpuUsage(before);
      const { used_heap_size: heap, external_memory: buffers } = await worker.getHeapStatistics();
      if (watch !== this.#watch) return;
      if (user + system > this.#limits.processorMs * 1_000) this.#breakOff('time');
      else if (heap + buffers > this.#limits.memoryBytes) this.#breakOff('memory');
    };
    // A thread that has ended has no figures.
    const watch = setInterval(() => void look().catch(() => undefined), LOOK_MS);
    this.#watch = watch;
  }

  #breakOff(cause: UnreadCause): void {
    if (this.#hasEnded) return;
    this.#endedBy = cause;
    void this.close();
  }

  #send(message: ToMailWorker): void {
    this.#worker.postMessage(message);
  }

  #end(): void {
    this.#hasEnded = true;
    this.#endWatch();
    this.#wake?.();
  }

  #endWatch(): void {
    clearInterval(this.#watch);
    this.#watch = undefined;
  }
}

/**
 * MB of each half of the young generation of threads that start from now on. A Worker's own limit
 * has no effect in a process that was started with this flag, as nodes are: with their 32 MB, each
 * thread grew by 28 MB.
 */
setFlagsFromString('--max-semi-space-size=2');
/**
 * Never to be reached: V8 may end the whole process there instead of the thread, and the sender
 * would send the mail again. No program fills it between two looks.
 */
const HEAP_MB = 1_024;
/** Milliseconds between two looks at the time and the memory of a mail. */
const LOOK_MS = 50;
/** The size in which files are read. */
const PIECE_BYTES = 64 * 1024;
const IDLE_MS = 60_000;
