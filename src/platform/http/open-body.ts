/** A body whose end is not known when it begins: its owner writes it until one side ends it. */
export interface OpenBody {
  /** The first piece, which leaves with the head. */
  readonly start: Buffer;
  /** Means nothing to the reader of the body, wherever it stands between two pieces. */
  readonly filler: Buffer;
  /** A piece that means nothing to the reader, between any two pieces. */
  begin(answer: OpenAnswer): void;
  /** Called when the connection was lost or cut, but not after `OpenAnswer.end`. */
  gone(): void;
}

export function isOpenBody(body: unknown): body is OpenBody {
  return typeof body === 'object' && body !== null && 'begin' in body;
}

/** The part of uWebSockets.js's HttpResponse that takes a body of unknown length. */
export interface OpenSink {
  write(piece: Buffer): boolean;
  onWritable(resume: (offset: number) => boolean): unknown;
  cork(write: () => void): unknown;
}

/** The calls of an OpenAnswer to its exchange. */
export interface OpenListener {
  end(last: Buffer): void;
  abort(): void;
}

/**
 * Writes an open body in chunks. The library keeps what the kernel does not take, without a limit,
 * so one piece at a time is written and the next one waits for room. A client that takes nothing
 * of a piece for some ten seconds is cut by the library.
 */
export class OpenAnswer {
  /** Called when a piece that was not taken at once has left. */
  onRoom: () => void = () => {};
  readonly #sink: OpenSink;
  readonly #listener: OpenListener;
  readonly #filler: Buffer;
  #isOver = false;

  constructor(sink: OpenSink, listener: OpenListener, filler: Buffer) {
    this.#sink = sink;
    this.#listener = listener;
    this.#filler = filler;
    sink.onWritable(() => this.#drain());
  }

  /** Returns false if a part has not left yet: the next piece must wait for `onRoom`. */
  write(piece: Buffer): boolean {
    let isTaken = true;
    // Without a cork a chunk would be four packets.
    this.#sink.cork(() => {
      isTaken = this.#sink.write(piece);
    });
    return isTaken;
  }

  /** Ends the body with this piece, when nothing waits for room. */
  end(last: Buffer): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#listener.end(last);
  }

  /** Cuts the connection and discards what has not left. */
  abort(): void {
    this.#isOver = true;
    this.#listener.abort();
  }

  /**
   * Makes the library send what it has kept, as only a write does. Returns whether all of it left.
   */
  #drain(): boolean {
    if (this.#isOver) return true;
    const isTaken = this.write(this.#filler);
    if (isTaken) this.onRoom();
    return isTaken;
  }
}
