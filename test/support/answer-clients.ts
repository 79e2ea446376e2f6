import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import type { Teardown } from './teardown.ts';
import { until } from './until.ts';

/** A node, and the headers of a caller. */
export interface AnsweringNode {
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface AnswerFrame {
  readonly type: string;
  readonly id?: string | null;
  readonly ok?: boolean;
  readonly error?: ErrorObject;
  readonly event?: string;
  readonly conversation_id?: string;
  readonly sequence?: number;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** A refusal before the first frame. */
export interface Refusal {
  readonly status: number;
  readonly error: ErrorObject;
  readonly headers: IncomingMessage['headers'];
}

/** A stream that keeps every frame. */
export class StreamClient {
  readonly frames: AnswerFrame[] = [];
  /** Comments between the frames, without the padding at the start. */
  comments = 0;
  padding = 0;
  response: IncomingMessage | undefined;
  refused: Refusal | undefined;
  /** True when the body has ended, or was cut. */
  ended = false;
  /** Whether the body ended as a whole. */
  complete = false;
  readonly #request: ClientRequest;
  #text = '';

  constructor(node: AnsweringNode, body: object = {}) {
    this.#request = post(node, '/v1/realtime/streams', body);
    this.#request.on('error', () => {
      this.ended = true;
    });
    this.#request.on('response', (response) => {
      this.response = response;
      if (response.statusCode === 200) this.#read(response);
      else
        void whole(response).then((text) => {
          this.refused = refusalOf(response, text);
        });
    });
  }

  /** The code and reason of the last frame, if the server ended the stream. */
  get closed(): AnswerFrame | undefined {
    return this.frames.find(({ type }) => type === 'close');
  }

  /** Returns the first frame of a type (or that fits), now or later. */
  frame(which: string | ((frame: AnswerFrame) => boolean)): Promise<AnswerFrame> {
    const fits = typeof which === 'string' ? ({ type }: AnswerFrame) => type === which : which;
    return until(() => this.frames.find(fits), {
      what: () =>
        `a frame ${which}; got ${JSON.stringify(this.frames).slice(-2_000)} ${JSON.stringify(this.refused)}`,
    });
  }

  refusal(): Promise<Refusal> {
    return until(() => this.refused, { what: () => `a refusal; got ${JSON.stringify(this.frames)}` });
  }

  async ends(): Promise<void> {
    await until(() => this.ended, { what: 'the end of the stream' });
  }

  events(name: string): AnswerFrame[] {
    return this.frames.filter(({ event }) => event === name);
  }

  /** Stops reading; the kernels take some megabytes more. */
  pause(): void {
    this.response?.socket.pause();
  }

  resume(): void {
    this.response?.socket.resume();
  }

  close(): void {
    this.#request.destroy();
  }

  #read(response: IncomingMessage): void {
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      const messages = (this.#text + text).split('\n\n');
      this.#text = messages.pop()!;
      for (const message of messages) this.#take(message);
    });
    response.on('close', () => {
      this.ended = true;
      this.complete = response.complete && this.#text === '';
    });
    response.on('error', () => undefined);
  }

  #take(message: string): void {
    if (message.startsWith(':')) {
      if (this.frames.length === 0) this.padding += message.length;
      else this.comments += 1;
    } else if (/^data: .*$/.test(message)) this.frames.push(JSON.parse(message.slice('data: '.length)));
    else throw new Error(`not a message with one frame: ${message}`);
  }
}

export interface PollResult {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly frames: readonly AnswerFrame[];
  readonly cursor: string;
  readonly error: ErrorObject;
}

/** One poll. */
export class PollClient {
  /** Rejects if the answer is cut. */
  readonly answer: Promise<PollResult>;
  #text = '';

  constructor(node: AnsweringNode, body: object = {}) {
    this.answer = this.#read(post(node, '/v1/realtime/poll', body));
  }

  /** Waits until its caller is known, and publications are heard. */
  async begins(): Promise<void> {
    await until(() => this.#text.includes('"type":"ready"'), { what: () => `ready; got ${this.#text}` });
  }

  async #read(sent: ClientRequest): Promise<PollResult> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.on('response', resolve).on('error', reject);
    });
    response.setEncoding('utf8');
    for await (const part of response) this.#text += part;
    return { status: response.statusCode!, headers: response.headers, ...JSON.parse(this.#text) };
  }
}

/** Polls once. Rejects if the answer is cut. */
export function poll(node: AnsweringNode, body: object = {}): Promise<PollResult> {
  return new PollClient(node, body).answer;
}

/** Sends a body on a separate connection. */
function post({ baseUrl, headers }: AnsweringNode, path: string, body: object): ClientRequest {
  const text = JSON.stringify(body);
  const sent = request(`${baseUrl}${path}`, {
    method: 'POST',
    agent: false,
    headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text), ...headers },
  });
  sent.end(text);
  return sent;
}

export async function whole(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  for await (const part of response) text += part;
  return text;
}

function refusalOf({ statusCode, headers }: IncomingMessage, text: string): Refusal {
  return { status: statusCode!, headers, error: JSON.parse(text).error };
}

export interface PollerOptions {
  /** Called before each poll. */
  readonly node: () => AnsweringNode;
  /** The conversations to follow, each from this number on. */
  readonly conversations: Readonly<Record<string, number>>;
}

/**
 * A client that polls one answer after the other, from any node, and keeps every frame. Between two
 * polls it hears nothing; later it is sent only the contents of the database.
 */
export class Poller {
  readonly frames: AnswerFrame[] = [];
  /** Answers so far. */
  polls = 0;
  /** Statuses of refusals, and polls that were cut. */
  readonly failures: string[] = [];
  readonly #options: PollerOptions;
  readonly #last: Map<string, number>;
  #cursor: string | undefined;
  #stopped = false;

  /** It stops with the test, too: a failed test must not keep the process. */
  constructor(t: Teardown, options: PollerOptions) {
    t.teardown(() => this.stop());
    this.#options = options;
    this.#last = new Map(Object.entries(options.conversations));
    void this.#run();
  }

  get cursor(): string {
    return this.#cursor ?? '';
  }

  frame(fits: (frame: AnswerFrame) => boolean): Promise<AnswerFrame> {
    return until(() => this.frames.find(fits), {
      what: () =>
        `a frame; got ${JSON.stringify(this.frames).slice(-2_000)} ${this.polls} ${this.failures.slice(-5)}`,
    });
  }

  created(conversationId: string): (number | undefined)[] {
    return this.frames
      .filter(
        ({ event, conversation_id }) => event === 'message.created' && conversation_id === conversationId,
      )
      .map(({ sequence }) => sequence);
  }

  /** Stops asking; an awaited answer does not count. */
  stop(): void {
    this.#stopped = true;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        const conversations = Object.fromEntries(this.#last);
        const answer = await poll(this.#options.node(), { cursor: this.#cursor, conversations });
        if (this.#stopped) return;
        if (answer.status === 200) this.#take(answer);
        else await this.#failed(String(answer.status));
      } catch {
        await this.#failed('cut');
      }
    }
  }

  #take({ frames, cursor }: PollResult): void {
    this.polls += 1;
    this.#cursor = cursor;
    this.frames.push(...frames);
    for (const { event, conversation_id: id = '', sequence = 0 } of frames) {
      if (event === 'message.created') this.#last.set(id, Math.max(sequence, this.#last.get(id) ?? 0));
    }
  }

  async #failed(what: string): Promise<void> {
    this.failures.push(what);
    await delay(FAILED_MS);
  }
}

const FAILED_MS = 50;
