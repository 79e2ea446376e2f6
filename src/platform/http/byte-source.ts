/** A body that is read while it is sent, so it is never in memory as a whole. */
export interface ByteSource {
  /** In bytes. */
  readonly size: number;
  /** Called at most once. If the client goes away, the iteration is ended early (`return`). */
  read(): AsyncIterable<Buffer>;
}

export function isSource(body: unknown): body is ByteSource {
  return typeof body === 'object' && body !== null && 'read' in body;
}

/** The part of uWebSockets.js's HttpResponse that takes a body piece by piece. */
export interface Sink {
  tryEnd(body: Buffer, totalSize: number): [boolean, boolean];
  onWritable(resume: (offset: number) => boolean): unknown;
  getWriteOffset(): number;
  cork(write: () => void): unknown;
}

/** The calls of a SourceSender to its exchange. */
export interface SendingListener {
  /** Called once, before the first piece, to write the status and headers. */
  head(): void;
  /** Called when the client has taken a piece. */
  progress(): void;
}

/** Sends a ByteSource at the client's pace: the kernel takes a piece before the next is read. */
export class SourceSender {
  readonly #source: ByteSource;
  readonly #sink: Sink;
  readonly #listener: SendingListener;
  /** Whether nothing more will be sent. */
  #isOver = false;
  /** The piece being sent, and its offset in the whole body. */
  #piece: Buffer = NOTHING;
  #start = 0;
  #taken: (() => void) | undefined;

  constructor(source: ByteSource, sink: Sink, listener: SendingListener) {
    this.#source = source;
    this.#sink = sink;
    this.#listener = listener;
    sink.onWritable((offset) => this.writeOn(offset));
  }

  /** Tries to send the rest of the piece. Returns whether the library may go on. */
  writeOn(offset: number): boolean {
    return this.#isOver || this.#write(offset);
  }

  /** Resolves when the source is released, also after `stop` or if it was shorter than its size. */
  async run(): Promise<void> {
    let isFirst = true;
    for await (const piece of this.#source.read()) {
      if (this.#isOver) break;
      await this.#send(piece, isFirst);
      isFirst = false;
      if (this.#isOver) break;
      this.#listener.progress();
    }
  }

  /** Call it when the connection is gone or was handed over. */
  stop(): void {
    this.#isOver = true;
    this.#taken?.();
  }

  /** Resolves when all of the piece was taken, or nothing more will be. */
  async #send(piece: Buffer, withHead: boolean): Promise<void> {
    const taken = new Promise<void>((resolve) => {
      this.#taken = resolve;
    });
    this.#piece = piece;
    this.#sink.cork(() => {
      if (withHead) this.#listener.head();
      this.#start = this.#sink.getWriteOffset();
      this.#write(this.#start);
    });
    await taken;
  }

  /** Writes from `offset` of the whole body. Returns whether the library may go on. */
  #write(offset: number): boolean {
    const [ok, done] = this.#sink.tryEnd(this.#piece.subarray(offset - this.#start), this.#source.size);
    if (done) this.stop();
    else if (ok) this.#taken?.();
    return ok;
  }
}

const NOTHING = Buffer.alloc(0);

/** A body in pieces. Its memory grows with the bytes that arrive, not the announced length. */
export class Chunks {
  #buffer: Buffer;
  #length = 0;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
    this.#buffer = Buffer.allocUnsafe(Math.min(most, FIRST_BYTES));
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  add(bytes: Buffer): void {
    const length = this.#length + bytes.length;
    if (length > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.min(this.#most, Math.max(length, 2 * this.#buffer.length)));
      this.bytes.copy(grown);
      this.#buffer = grown;
    }
    bytes.copy(this.#buffer, this.#length);
    this.#length = length;
  }
}

/** Most bodies are smaller. */
const FIRST_BYTES = 16 * 1024;
