/**
 * A provider of language models for tests: the OpenAI chat-completions protocol over real HTTP.
 * Each request is answered by the next script that fits, and kept, so that tests see what the model
 * received.
 *
 *     const models = await ModelServer.start(t);
 *     models.reply('Hello there.');                                 // the next request, whichever model
 *     models.reply({ status: 429, retryAfterSeconds: 2 }, 'first');  // the next request to the model `first`
 *     models.otherwise(({ lastUserText }) => `You said ${lastUserText}`);
 *     const app = await startTestApp(t, models.env('first', 'second'));
 */

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import type { Teardown } from './teardown.ts';

/** The answer to one request. A string is sent as a text, all at once. */
export type Script = string | ModelReply;

export interface ModelReply {
  /** A string is cut into words; an array has the tokens. */
  readonly text?: string | readonly string[];
  /** Tool calls after the text; `arguments` that are a string are sent unchanged. */
  readonly calls?: readonly ScriptedCall[];
  /** Default: all at once. */
  readonly tokensPerSecond?: number;
  /** Delay before the first token; the response's head is sent at once. */
  readonly firstTokenMs?: number;
  /**
   * Waits before this token (from 0) until the promise settles, so that a test can look in between.
   */
  readonly hold?: { readonly at: number; readonly until: Promise<unknown> };
  /** Default: one a token, and 10 for the prompt. Null: the provider reports no usage. */
  readonly usage?: { readonly input: number; readonly output: number } | null;
  /** Default: `tool_calls` with calls, else `stop`. Null: the stream ends without a reason. */
  readonly finish?: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error' | null;
  /** Chunks before the text, unchanged; a string is written without `data:` and empty line. */
  readonly chunks?: readonly (object | string)[];
  /** False: no `[DONE]` at the end. */
  readonly isClosed?: false;
  /** Fails after this many tokens of text. */
  readonly breaks?: { readonly after: number; readonly how: Breakage };
  /** Any status but 200: an error body and no stream. */
  readonly status?: number;
  readonly retryAfterSeconds?: number;
}

/** `stall`: the connection stays open and silent. `cut`: it is reset. */
type Breakage = 'error' | 'malformed' | 'stall' | 'cut';

interface ScriptedCall {
  readonly name: string;
  readonly arguments: object | string;
  /** Default: `call_<n>`, unique. */
  readonly id?: string;
}

/** A request as it was received. */
export interface ModelRequest {
  readonly model: string;
  readonly body: ChatBody;
  readonly authorization: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly traceparent: string | undefined;
  /** The system prompt. */
  readonly instructions: string;
  readonly lastUserText: string;
  /** Names of the tools that were offered. */
  readonly tools: readonly string[];
  /**
   * Resolves when the answer is over: `complete`, or `aborted` if the caller closed the connection.
   */
  readonly over: Promise<'complete' | 'aborted'>;
}

interface ChatBody {
  readonly model: string;
  readonly messages: readonly {
    readonly role: 'system' | 'user' | 'assistant' | 'tool';
    readonly content: string | null;
    readonly tool_calls?: readonly {
      readonly id: string;
      readonly function: { readonly name: string; readonly arguments: string };
    }[];
    readonly tool_call_id?: string;
  }[];
  readonly tools?: readonly {
    readonly function: { readonly name: string; readonly description: string; readonly parameters: object };
  }[];
  readonly temperature?: number;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
}

/** Interval in milliseconds at which one timer advances all paced streams. */
const TICK_MS = 5;

export class ModelServer {
  readonly #server: Server;
  readonly #queue: { readonly script: Script; readonly model: string | undefined }[] = [];
  readonly #streams = new Set<Stream>();
  readonly #ticker: NodeJS.Timeout;
  #otherwise: (request: ModelRequest) => Script = () => NOTHING_SCRIPTED;
  #calls = 0;
  /** In the order of arrival. */
  readonly requests: ModelRequest[] = [];
  /** The base URL of the API: `http://127.0.0.1:<port>/v1`. */
  readonly url: string;

  static async start(t: Teardown): Promise<ModelServer> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 4_096, resolve));
    const models = new ModelServer(server);
    t.teardown(() => models.close());
    return models;
  }

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    this.#ticker = setInterval(() => {
      const nowMs = performance.now();
      for (const stream of this.#streams) stream.advance(nowMs);
    }, TICK_MS);
    server.on('request', (request, response) => {
      this.#answer(request, response).catch((error: Error) => response.destroy(error));
    });
  }

  /**
   * Sets the answer to the next request, or, with `model`, to the next request to that model.
   * Requests take their scripts in order.
   */
  reply(script: Script, model?: string): this {
    this.#queue.push({ script, model });
    return this;
  }

  /** Sets the answer to requests without a script. Default: a 500. */
  otherwise(script: Script | ((request: ModelRequest) => Script)): this {
    this.#otherwise = typeof script === 'function' ? script : () => script;
    return this;
  }

  /** Returns an entry of PARLEY_MODELS. */
  choice(model = 'test-model', fields: Readonly<Record<string, unknown>> = {}) {
    return {
      provider: 'openai-compatible',
      base_url: this.url,
      api_key: 'test-key',
      model,
      ...fields,
    } as const;
  }

  /** Returns PARLEY_MODELS with a chain of these models for every tier. */
  env(...models: readonly string[]): { PARLEY_MODELS: string } {
    const chain = (models.length === 0 ? ['test-model'] : models).map((model) => this.choice(model));
    return { PARLEY_MODELS: JSON.stringify({ high: chain }) };
  }

  async close(): Promise<void> {
    clearInterval(this.#ticker);
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const over = new Promise<'complete' | 'aborted'>((resolve) => {
      response.on('close', () => resolve(response.writableFinished ? 'complete' : 'aborted'));
    });
    const body = JSON.parse(await readText(request)) as ChatBody;
    const asked = describe(body, request.headers, over);
    this.requests.push(asked);
    const script = this.#take(asked);
    const reply: ModelReply = typeof script === 'string' ? { text: script } : script;
    if (reply.status !== undefined && reply.status !== 200) return refuse(response, reply);
    const calls = (reply.calls ?? []).map((call) => ({ id: `call_${++this.#calls}`, ...call }));
    const stream = new Stream(response, reply, calls, body);
    this.#streams.add(stream);
    response.once('close', () => this.#streams.delete(stream));
    stream.advance(performance.now());
  }

  #take(request: ModelRequest): Script {
    const index = this.#queue.findIndex(({ model }) => model === undefined || model === request.model);
    const [next] = index === -1 ? [] : this.#queue.splice(index, 1);
    return next?.script ?? this.#otherwise(request);
  }
}

const NOTHING_SCRIPTED: ModelReply = { status: 500 };

function describe(
  body: ChatBody,
  { authorization, traceparent, 'accept-encoding': acceptEncoding }: IncomingHttpHeaders,
  over: ModelRequest['over'],
): ModelRequest {
  const textOf = (role: string) => body.messages.findLast((message) => message.role === role)?.content ?? '';
  return {
    model: body.model,
    body,
    authorization,
    acceptEncoding: acceptEncoding?.toString(),
    traceparent: traceparent?.toString(),
    instructions: textOf('system'),
    lastUserText: textOf('user'),
    tools: (body.tools ?? []).map((tool) => tool.function.name),
    over,
  };
}

function refuse(response: ServerResponse, { status = 500, retryAfterSeconds }: ModelReply): void {
  if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(retryAfterSeconds));
  response.writeHead(status, { 'Content-Type': 'application/json' });
  const type = status === 429 ? 'rate_limit_error' : 'server_error';
  response.end(JSON.stringify({ error: { message: 'scripted, with sk-secret in it', type, code: type } }));
}

/** One answer in progress. */
class Stream {
  readonly #response: ServerResponse;
  readonly #reply: ModelReply;
  readonly #calls: readonly (ScriptedCall & { readonly id: string })[];
  readonly #tokens: readonly string[];
  readonly #withUsage: boolean;
  /** The bytes before and after a token, made once: 200 streams run at 100 tokens a second. */
  readonly #before: string;
  readonly #startsAtMs: number;
  #paceSinceMs: number | undefined;
  #written = 0;
  #paceFrom = 0;
  #held: 'not yet' | 'held' | 'released' = 'not yet';
  #over = false;

  constructor(
    response: ServerResponse,
    reply: ModelReply,
    calls: readonly (ScriptedCall & { readonly id: string })[],
    { model, stream_options }: ChatBody,
  ) {
    this.#response = response;
    this.#reply = reply;
    this.#calls = calls;
    const { text = '' } = reply;
    this.#tokens = typeof text === 'string' ? (text.match(/\s*\S+\s*$|\s*\S+/g) ?? []) : text;
    this.#withUsage = stream_options?.include_usage === true && reply.usage !== null;
    const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model };
    this.#before = `data: ${JSON.stringify(head).slice(0, -1)},`;
    this.#startsAtMs = performance.now() + (reply.firstTokenMs ?? 0);
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
    response.socket?.setNoDelay(true);
    response.write(this.#chunk('{"role":"assistant","content":""}'));
    for (const chunk of reply.chunks ?? []) {
      response.write(typeof chunk === 'string' ? chunk : `data: ${JSON.stringify(chunk)}\n\n`);
    }
  }

  /** Writes the tokens that are due. */
  advance(nowMs: number): void {
    if (this.#over || nowMs < this.#startsAtMs) return;
    const { breaks, hold } = this.#reply;
    const due = Math.min(this.#due(nowMs), breaks?.after ?? Infinity);
    let out = '';
    while (this.#written < due) {
      if (this.#written === hold?.at && this.#held !== 'released') break;
      out += this.#chunk(`{"content":${JSON.stringify(this.#tokens[this.#written++])}}`);
    }
    if (out !== '') this.#response.write(out);
    if (this.#written === hold?.at && this.#held !== 'released') this.#hold(hold.until);
    else if (breaks !== undefined && this.#written >= breaks.after) this.#break(breaks.how);
    else if (this.#written === this.#tokens.length) this.#end();
  }

  #due(nowMs: number): number {
    const { tokensPerSecond } = this.#reply;
    if (tokensPerSecond === undefined) return this.#tokens.length;
    this.#paceSinceMs ??= nowMs;
    const paced = this.#paceFrom + 1 + Math.floor(((nowMs - this.#paceSinceMs) * tokensPerSecond) / 1_000);
    return Math.min(this.#tokens.length, paced);
  }

  #hold(until: Promise<unknown>): void {
    if (this.#held !== 'not yet') return;
    this.#held = 'held';
    const release = () => {
      this.#held = 'released';
      this.#paceFrom = this.#written;
      this.#paceSinceMs = undefined;
      this.advance(performance.now());
    };
    until.then(release, release);
  }

  #break(how: Breakage): void {
    this.#over = true;
    if (how === 'stall') return;
    if (how === 'cut') {
      // What was written is sent before the connection is reset.
      this.#response.write(': \n\n', () => setImmediate(() => this.#response.socket?.resetAndDestroy()));
      return;
    }
    if (how === 'malformed') this.#response.write('data: {"choices":[{"delta":{"con\n\n');
    else
      this.#response.write('data: {"error":{"message":"sk-secret is overloaded","type":"server_error"}}\n\n');
    this.#response.write(this.#chunk('{"content":"after the break"}'));
    this.#response.end('data: [DONE]\n\n');
  }

  #end(): void {
    this.#over = true;
    const { finish = this.#calls.length > 0 ? 'tool_calls' : 'stop', usage } = this.#reply;
    let out = this.#calls.map((call, index) => this.#callChunks(call, index)).join('');
    if (finish !== null) out += this.#chunk('{}', finish);
    if (this.#withUsage) {
      const { input, output } = usage ?? { input: 10, output: this.#tokens.length };
      const counts = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
      out += `${this.#before}"choices":[],"usage":${JSON.stringify(counts)}}\n\n`;
    }
    this.#response.end(this.#reply.isClosed === false ? out : `${out}data: [DONE]\n\n`);
  }

  /** Returns a call as providers stream it: id and name first, then the arguments in pieces. */
  #callChunks({ id, name, arguments: args }: ScriptedCall & { readonly id: string }, index: number): string {
    const text = typeof args === 'string' ? args : JSON.stringify(args);
    const delta = (fields: object) => this.#chunk(JSON.stringify({ tool_calls: [{ index, ...fields }] }));
    const pieces = text.match(/[\s\S]{1,4096}/g) ?? [];
    return [
      delta({ id, type: 'function', function: { name, arguments: '' } }),
      ...pieces.map((piece) => delta({ function: { arguments: piece } })),
    ].join('');
  }

  #chunk(delta: string, finish: string | null = null): string {
    return `${this.#before}"choices":[{"index":0,"delta":${delta},"finish_reason":${JSON.stringify(finish)}}]}\n\n`;
  }
}
