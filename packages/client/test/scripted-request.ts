import type { IncomingMessage, ServerResponse } from 'node:http';

export interface RequestBody {
  readonly subscribe?: readonly { readonly conversation_id: string; readonly after_sequence?: number }[];
  readonly cursor?: string;
  readonly conversations?: Readonly<Record<string, number>>;
  readonly presence?: string;
  readonly wait_ms?: number;
}

/** A request for a stream or a poll, which the test answers. */
export class ScriptedRequest {
  readonly transport: 'stream' | 'poll';
  readonly headers: IncomingMessage['headers'];
  readonly body: RequestBody;
  /** The client has what it wanted, or went away. */
  closed = false;
  readonly #response: ServerResponse;
  readonly #name: string;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { body, name }: { body: string; name: string },
  ) {
    this.transport = request.url === '/v1/realtime/streams' ? 'stream' : 'poll';
    this.headers = request.headers;
    this.body = JSON.parse(body);
    this.#response = response;
    this.#name = name;
    response.on('close', () => {
      this.closed = true;
    });
  }

  /** As a server with nothing new: a stream stays open, a poll that waits too. */
  acknowledge(missed: readonly object[] = []): void {
    const frames = [...this.#opening(), ...this.#replies(), ...missed, ...this.#settled()];
    if (this.transport === 'stream') for (const frame of frames) this.say(frame);
    else if (this.body.wait_ms === 0 || missed.length > 0) this.answer(frames);
  }

  /** Writes one frame to a stream. */
  say(frame: object): void {
    this.sendText(`data: ${JSON.stringify(frame)}\n\n`);
  }

  /** Writes a part of a stream; the first one behind padding, as the server does. */
  sendText(text: string): void {
    if (!this.#response.headersSent) {
      this.#response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      this.#response.write(`:${' '.repeat(2_048)}\n\n`);
    }
    this.#response.write(text);
  }

  /** Ends a stream, as a proxy does. */
  end(): void {
    this.#response.end();
  }

  /** Cuts the connection. */
  cut(): void {
    this.#response.destroy();
  }

  /** Answers a poll. */
  answer(frames: readonly object[], cursor = this.#name): void {
    this.#response.writeHead(200, { 'content-type': 'application/json' });
    this.#response.end(JSON.stringify({ frames, cursor }));
  }

  /** `code` undefined: a proxy's page, without Parley's error object. */
  refuse(status: number, code?: string, { param = null as string | null, retryAfterS = 0 } = {}): void {
    const error = { code, message: code, is_transient: status === 429 || status >= 500, param };
    const retryAfter = retryAfterS === 0 ? {} : { 'retry-after': String(retryAfterS) };
    this.#response.writeHead(status, { 'content-type': 'application/json', ...retryAfter });
    this.#response.end(code === undefined ? '<h1>Blocked</h1>' : JSON.stringify({ error }));
  }

  #opening(): object[] {
    const ready = { type: 'ready', actor: {}, account_id: 'acc_1', cursor: this.#name, expires_at: null };
    const hello = {
      type: 'hello',
      connection_id: this.#name,
      server_time: '',
      heartbeat_ms: 25_000,
      max_frame_bytes: 65_536,
    };
    return this.transport === 'stream' ? [hello, ready] : [ready];
  }

  #replies(): object[] {
    const { cursor, subscribe = [] } = this.body;
    const resumed = cursor === undefined ? [] : [{ type: 'reply', id: 'resume', ok: true, result: {} }];
    const joined = subscribe.map(({ conversation_id, after_sequence = 0 }) => {
      const result = { conversation_id, head_sequence: after_sequence };
      return { type: 'reply', id: conversation_id, ok: true, result };
    });
    return [...resumed, ...joined];
  }

  #settled(): object[] {
    const { cursor, conversations = {}, subscribe = [] } = this.body;
    const joined = subscribe.map(({ conversation_id, after_sequence = 0 }) => [
      conversation_id,
      after_sequence,
    ]);
    const caughtUp = [...Object.entries(conversations), ...joined].map(([conversation_id, sequence]) => {
      return { type: 'caught_up', conversation_id, sequence };
    });
    return [...caughtUp, ...(cursor === undefined ? [] : [{ type: 'resumed', cursor: this.#name }])];
  }
}

/** The frame of a message of `cnv_1`. */
export function messageFrame(sequence: number, conversationId = 'cnv_1'): object {
  const at = `2026-11-21T06:00:00.${String(sequence).padStart(6, '0')}Z`;
  const data = {
    id: `msg_${sequence}`,
    sequence,
    body: `ahoy ${sequence}`,
    streaming_state: null,
    updated_at: at,
  };
  return { type: 'event', event: 'message.created', conversation_id: conversationId, sequence, at, data };
}
