import { ApiError } from '../protocol/errors.ts';

/** The source of the bytes, which can be paused. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/**
 * A request's body as it arrives, for a reader that does not want all of it in memory. It has one reader: iteration ends
 * with the last byte, or throws ApiError `client_closed_request` if that never arrives. A reader slower than the client
 * makes the client wait; memory then holds MAX_WAITING_BYTES and what the kernel had already accepted.
 */
export class BodyStream implements AsyncIterable<Buffer> {
  readonly #flow: Flow;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isPaused = false;
  #state: 'coming' | 'whole' | 'broken' | 'unwanted' = 'coming';
  #wake: (() => void) | undefined;

  constructor(flow: Flow) {
    this.#flow = flow;
  }

  /** The stream owns `bytes` from now on. */
  push(bytes: Buffer, last: boolean): void {
    if (this.#state !== 'coming') return;
    if (bytes.length > 0) this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (last) this.#state = 'whole';
    else if (this.#waitingBytes > MAX_WAITING_BYTES) this.#pause();
    this.#wake?.();
  }

  /** The client is gone. */
  break(): void {
    if (this.#state === 'coming') this.#state = 'broken';
    this.#wake?.();
  }

  /** Nothing reads the body any further; bytes that still arrive are discarded. */
  abandon(): void {
    if (this.#state === 'unwanted') return;
    this.#state = 'unwanted';
    this.#waiting.length = 0;
    this.#resume();
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    try {
      for (;;) {
        const bytes = this.#waiting.shift();
        if (bytes !== undefined) {
          // Its reader may have given the memory back.
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
      if (this.#state !== 'whole')
        throw new ApiError('client_closed_request', 'The connection closed before the body was complete.');
    } finally {
      this.abandon();
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
