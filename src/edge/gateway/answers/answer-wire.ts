import type { CloseFrame } from '@parley/protocol/socket/streams.ts';
import type { OpenAnswer, OpenBody } from '../../../platform/http/open-body.ts';
import type { Session } from '../session/session.ts';
import type { Wire } from '../session/session-state.ts';
import type { OwnTopics, Receiver } from '../stream/own-topics.ts';

/** The form that frames have in the body of an answer. */
export interface Framing extends Pick<OpenBody, 'start' | 'filler'> {
  /** Returns the bytes of a frame, or undefined if it is left out. */
  frame(bytes: Buffer): readonly Buffer[] | undefined;
  /** Returns the end of a body that is complete or that the server closes. */
  end(close?: CloseFrame): Buffer;
}

export interface AnswerWireOptions extends WireListener {
  readonly answer: OpenAnswer;
  readonly framing: Framing;
  readonly topics: OwnTopics;
  /** Untaken bytes above which no published frame is taken. */
  readonly maxBytes: number;
}

export interface WireListener {
  /** Called when a part of the queue has left. */
  readonly left?: () => void;
  /** Called when `complete` has ended the body. */
  readonly complete?: () => void;
  /** Called once, when the body has ended in any way. */
  readonly over?: () => void;
}

/**
 * The body of an HTTP answer as the wire of a session. Queued frames leave together at the end of
 * the turn, as many as the client takes.
 */
export class AnswerWire implements Wire, Receiver {
  /** Its client cannot answer heartbeats. */
  readonly isOneWay = true;
  readonly #options: AnswerWireOptions;
  readonly #topics = new Set<string>();
  #session: Session | undefined;
  /** Each frame with the bytes around it. */
  #queue: (readonly Buffer[])[] = [];
  #queuedBytes = 0;
  /** The bytes of the piece that has not left as a whole. */
  #waitingBytes = 0;
  #isFlushing = false;
  /** The body is complete, and frames are dropped. */
  #isDeaf = false;
  #isOver = false;

  constructor(options: AnswerWireOptions) {
    this.#options = options;
    options.answer.onRoom = () => {
      this.#waitingBytes = 0;
      this.#flush();
    };
  }

  /** Must be called before the first frame. */
  carry(session: Session): void {
    this.#session = session;
  }

  send(bytes: Buffer): number {
    const parts = this.#isDeaf || this.#isOver ? undefined : this.#options.framing.frame(bytes);
    if (parts === undefined) return SENT;
    this.#queue.push(parts);
    this.#queuedBytes += lengthOf(parts);
    if (!this.#isFlushing) {
      this.#isFlushing = true;
      setImmediate(() => {
        this.#isFlushing = false;
        this.#flush();
      });
    }
    return QUEUED;
  }

  /** Takes a published frame unless the client is too slow, as the library does for a socket. */
  receive(bytes: Buffer): void {
    if (this.getBufferedAmount() > this.#options.maxBytes) this.#session?.dropped();
    else this.send(bytes);
  }

  cork(work: () => void): void {
    work();
  }

  end(code: number, reason: string): void {
    const { answer, framing } = this.#options;
    if (!this.#isDeaf && !this.#isOver) answer.end(framing.end({ type: 'close', code, reason }));
    this.gone();
  }

  /** Ends a complete body whose bytes have all left. The session stays open until `gone`. */
  complete(): void {
    if (this.#isDeaf || this.#isOver) return;
    this.#isDeaf = true;
    this.#options.answer.end(this.#options.framing.end());
    this.#options.complete?.();
    this.#options.over?.();
  }

  close(): void {
    if (this.#isDeaf) this.gone();
    else this.#options.answer.abort();
  }

  /** Ends the session. Must be called when the connection is gone. */
  gone(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const topic of this.#topics) this.#options.topics.unsubscribe(topic, this);
    this.#queue = [];
    this.#session?.wireClosed();
    if (!this.#isDeaf) this.#options.over?.();
  }

  getBufferedAmount(): number {
    return this.#isOver ? 0 : this.#queuedBytes + this.#waitingBytes;
  }

  /** Frames of this turn leave at its end, as a socket's do. */
  get heldBytes(): number {
    return this.#waitingBytes === 0 ? 0 : this.getBufferedAmount();
  }

  subscribe(topic: string): boolean {
    this.#topics.add(topic);
    this.#options.topics.subscribe(topic, this);
    return true;
  }

  unsubscribe(topic: string): boolean {
    this.#options.topics.unsubscribe(topic, this);
    return this.#topics.delete(topic);
  }

  isSubscribed(topic: string): boolean {
    return this.#topics.has(topic);
  }

  getTopics(): string[] {
    return [...this.#topics];
  }

  #flush(): void {
    if (this.#isDeaf || this.#isOver) return;
    while (this.#waitingBytes === 0 && this.#queue.length > 0) {
      const piece = this.#take();
      if (!this.#options.answer.write(piece)) this.#waitingBytes = piece.length;
    }
    this.#session?.wireDrained();
    this.#options.left?.();
  }

  /** Returns the next frames as one piece. */
  #take(): Buffer {
    let bytes = 0;
    let count = 0;
    while (count < this.#queue.length && bytes < PIECE_BYTES) bytes += lengthOf(this.#queue[count++]!);
    this.#queuedBytes -= bytes;
    return Buffer.concat(this.#queue.splice(0, count).flat(), bytes);
  }
}

function lengthOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

const QUEUED = 0;
const SENT = 1;
/** The library copies the part of a piece that the kernel does not take. */
const PIECE_BYTES = 64 * 1024;
