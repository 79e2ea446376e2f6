import { Worker } from 'node:worker_threads';
import type { ReadMail } from './read-mail.ts';

/** An answer: bytes of the source, or nothing, which ends it or says that something was taken. The first one starts a mail. */
export interface ToMailWorker {
  readonly bytes?: Uint8Array<ArrayBuffer>;
}

export type FromMailWorker =
  | { readonly kind: 'more' }
  | { readonly kind: 'header' | 'done'; readonly mail: ReadMail }
  | { readonly kind: 'begin'; readonly filename: string; readonly contentType: string }
  | { readonly kind: 'write'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'end' };

/** The thread of mail-worker.ts. It reads one mail at a time, and lives from mail to mail, since starting it costs more than most mails. */
export class MailThread {
  readonly #worker = new Worker(new URL('./mail-worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
  });
  readonly #messages: FromMailWorker[] = [];
  #wake: (() => void) | undefined;
  #hasEnded = false;
  #idle: NodeJS.Timeout | undefined;

  constructor() {
    this.#worker
      .on('message', (message: FromMailWorker) => {
        this.#messages.push(message);
        this.#wake?.();
      })
      // Its memory ran out.
      .on('error', () => this.#end())
      .on('exit', () => this.#end());
  }

  /** Whether it can read another mail. */
  get isAlive(): boolean {
    return !this.#hasEnded;
  }

  start(): void {
    clearTimeout(this.#idle);
    this.#worker.ref();
    this.answer({});
  }

  answer(message: ToMailWorker): void {
    this.#worker.postMessage(message, message.bytes === undefined ? [] : [message.bytes.buffer]);
  }

  /** Null: the thread has died, or was ended because it took too long. */
  async next(): Promise<FromMailWorker | null> {
    if (this.#messages.length === 0 && !this.#hasEnded) {
      const timer = setTimeout(() => void this.close(), STEP_MS);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      clearTimeout(timer);
      this.#wake = undefined;
    }
    return this.#messages.shift() ?? null;
  }

  /** Lets the process end meanwhile, and gives the memory back when no mail comes. `onEnd` is called then. */
  rest(): void {
    this.#worker.unref();
    this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    this.#end();
    await this.#worker.terminate();
  }

  #end(): void {
    this.#hasEnded = true;
    this.#wake?.();
  }
}

/** Several times what the largest text that is kept takes while it is sanitized. */
const HEAP_MB = 96;
const YOUNG_HEAP_MB = 8;
/** How long the thread may think about one piece of a mail. The slowest of the corpus takes a second. */
const STEP_MS = 20_000;
const IDLE_MS = 60_000;
