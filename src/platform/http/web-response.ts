import type { HttpResponse } from './connection.ts';
import type { OpenAnswer, OpenBody } from './open-body.ts';

/** An answer that a handler of the Fetch standard made. */
export interface WebAnswer extends HttpResponse {
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Turns a Response into an answer. Server-sent events are written as they come, at the client's
 * pace; any other body is read as a whole.
 */
export async function answerOf(response: Response): Promise<WebAnswer> {
  const { status, body } = response;
  const headers = Object.fromEntries([...response.headers].filter(([name]) => !FRAMING.has(name)));
  if (body === null) return { status, headers, body };
  const contentType = response.headers.get('content-type') ?? 'application/json';
  const isOpen = contentType.startsWith(EVENTS);
  const sent = isOpen ? new EventStream(body) : Buffer.from(await response.arrayBuffer());
  return { status, headers, body: sent, contentType };
}

const EVENTS = 'text/event-stream';

/** Headers that say how a body is sent, which the connection decides. */
const FRAMING: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'content-type',
  'keep-alive',
  'transfer-encoding',
]);

/** Server-sent events of a stream; each of its pieces is whole events. */
class EventStream implements OpenBody {
  readonly start = COMMENT;
  readonly filler = COMMENT;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #isGone = false;
  #wake: (() => void) | undefined;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
  }

  begin(answer: OpenAnswer): void {
    answer.onRoom = () => this.#wake?.();
    this.#copy(answer).catch(() => answer.abort());
  }

  gone(): void {
    this.#isGone = true;
    this.#wake?.();
    // The owner of the stream hears of it by its request's signal, too.
    this.#reader.cancel().catch(() => {});
  }

  async #copy(answer: OpenAnswer): Promise<void> {
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (this.#isGone) return;
      if (done) break;
      if (answer.write(Buffer.from(value))) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      if (this.#isGone) return;
    }
    answer.end(NOTHING);
  }
}

/** Readers skip an event without fields. */
const COMMENT = Buffer.from(':\n\n');
const NOTHING = Buffer.alloc(0);
