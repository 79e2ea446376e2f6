/** A body that is read while it is sent, for what should not lie in memory whole. */
export interface ByteSource {
  /** Of all of it. */
  readonly size: number;
  /** Called at most once; ended early (`return`) where the client goes away. */
  read(): AsyncIterable<Buffer>;
}

/** The slice of uWebSockets.js's HttpResponse that takes a body piece by piece. */
export interface Sink {
  tryEnd(body: Buffer, totalSize: number): [boolean, boolean];
  onWritable(resume: (offset: number) => boolean): unknown;
  getWriteOffset(): number;
  cork(write: () => void): unknown;
}

/** What a SourceSender tells its exchange. */
export interface SendingListener {
  /** Called once, before the first piece, to write what comes before the body. */
  head(): void;
  /** A piece was taken. */
  progress(): void;
  /** All of it was sent. The sink is dead when this is called. */
  done(): void;
}

/**
 * Sends a ByteSource at the pace at which the client takes it: a piece is read when the one before it has left
 * for the kernel, so one piece is in memory at a time.
 */
export class SourceSender {
  readonly #source: ByteSource;
  readonly #sink: Sink;
  readonly #listener: SendingListener;
  /** Nothing more is to be sent. */
  #isOver = false;
  /** The piece that is being sent, and where it stands in the whole. */
  #piece: Buffer = NOTHING;
  #start = 0;
  #taken: (() => void) | undefined;

  constructor(source: ByteSource, sink: Sink, listener: SendingListener) {
    this.#source = source;
    this.#sink = sink;
    this.#listener = listener;
    sink.onWritable((offset) => this.writeOn(offset));
  }

  /** Tries to send what is left of the piece. Returns whether the library may go on. */
  writeOn(offset: number): boolean {
    return this.#isOver || this.#write(offset);
  }

  /** Resolves when the source is let go: also where `stop` came before, or it was shorter than it said. */
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

  /** The connection is gone, or not ours any more. */
  stop(): void {
    this.#isOver = true;
    this.#taken?.();
  }

  /** Resolves when all of it was taken, or nothing more will be. */
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

  /** From `offset` of the whole on. Answers whether the library may go on. */
  #write(offset: number): boolean {
    const [ok, done] = this.#sink.tryEnd(this.#piece.subarray(offset - this.#start), this.#source.size);
    if (done) {
      this.stop();
      this.#listener.done();
    } else if (ok) this.#taken?.();
    return ok;
  }
}

const NOTHING = Buffer.alloc(0);
