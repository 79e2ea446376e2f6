import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import type { DeclaredStatus } from '@parley/protocol/resources/activity.ts';
import type { CommandFrame, Op } from '@parley/protocol/socket/commands.ts';
import type { EventFrame } from '@parley/protocol/socket/events.ts';
import type { ReplyFrame, ServerFrame } from '@parley/protocol/socket/server-frames.ts';
import { POLLS_PER_SECOND } from '@parley/protocol/socket/socket-limits.ts';
import type { CloseFrame, PollAnswer, PollBody } from '@parley/protocol/socket/streams.ts';
import type { ConnectionEnd } from '../../errors/connection-end.ts';
import { lost } from '../../errors/parley-error.ts';
import { Listeners } from '../../events/client-events.ts';
import { conversationPath } from '../../rest/paths.ts';
import { handled } from '../../timing/serial-queue.ts';
import { abortable } from '../abortable.ts';
import { FIRST_FRAME_MS, type SocketLike } from '../connection.ts';
import { answerOf, requestHeaders, type Server } from '../server.ts';
import type { Transport } from '../transport.ts';
import { dataOf } from './event-stream.ts';
import { endOf, endOfResume } from './http-end.ts';

export interface HttpSocketOptions extends Pick<Server, 'account' | 'version' | 'fetch' | 'timing'> {
  readonly transport: Exclude<Transport, 'websocket'>;
  /** The server's URL, without a trailing slash. */
  readonly base: string;
  readonly token: string;
  /** Sends a request over REST. Rejects with ParleyError. */
  readonly call: (
    path: string,
    options: { readonly method: 'POST'; readonly body: object },
  ) => Promise<object>;
}

type Frame = EventFrame | ServerFrame | ReplyFrame | CloseFrame;
type Request = { [O in Op]: CommandFrame<O> }[Op] | { readonly type: 'pong' };

type SocketEvents = {
  readonly message: readonly [event: { readonly data: unknown }];
  readonly close: readonly [event: ConnectionEnd];
  readonly error: readonly [];
};

/**
 * A socket over requests (docs/realtime.md#without-websockets): one request with a stream of
 * frames, or successive requests with lists of frames. The server keeps nothing between two
 * requests, so each request has the positions: the cursor, and by conversation the last number that
 * arrived. When the followed conversations change, the current request is aborted, and another one
 * begins where it ended. Frames may come again, as after a resume, and none is missing.
 */
export class HttpSocket implements SocketLike {
  readonly #options: HttpSocketOptions;
  readonly #listeners = new Listeners<SocketEvents>();
  /** The last number that arrived, by conversation that the server sends. */
  readonly #followed = new Map<string, number>();
  /** Unanswered requests to follow a conversation, by conversation. */
  readonly #joining = new Map<string, CommandFrame<'subscribe'>>();
  /** The conversations that the current request continues. */
  #continued: ReadonlySet<string> = new Set();
  /** Requests that have not caught up yet: ids of conversations, or RESUME. */
  #unsettled = new Set<string>();
  /** The id of a `resume` that the server has not answered. */
  #resumeId: string | undefined;
  /** Whether the other side asked for the current resume. */
  #isResuming = false;
  /** Everything before it has arrived; undefined until `ready`. */
  #cursor: string | undefined;
  /** The declared presence. */
  #presence: DeclaredStatus | undefined;
  #token: string;
  /** The token whose expiry was announced. */
  #expiring: string | undefined;
  /** The newest request; undefined once the socket is closed. */
  #request: AbortController | undefined;
  /** Cancels the next request. */
  #stopWaiting: (() => void) | undefined;

  constructor(options: HttpSocketOptions) {
    this.#options = options;
    this.#token = options.token;
    this.#open();
  }

  addEventListener<E extends keyof SocketEvents>(
    type: E,
    listener: (...args: SocketEvents[E]) => void,
  ): void {
    this.#listeners.add(type, listener);
  }

  close(): void {
    this.#request?.abort();
    this.#request = undefined;
    this.#stopWaiting?.();
  }

  send(text: string): void {
    const request = JSON.parse(text) as Request;
    switch (request.type) {
      case 'typing':
        this.#act(request, 'typing', { state: request.state });
        return;
      case 'mark_read':
        this.#act(request, 'mark-read', { sequence: request.sequence });
        return;
      case 'presence':
        this.#reply(request.id, {});
        if (request.status === this.#presence) return;
        this.#presence = request.status;
        break;
      case 'subscribe':
        this.#joining.set(request.conversation_id, request);
        break;
      case 'unsubscribe':
        this.#followed.delete(request.conversation_id);
        this.#joining.delete(request.conversation_id);
        this.#reply(request.id, {});
        break;
      case 'resume':
        this.#cursor = request.cursor;
        this.#resumeId = request.id;
        this.#isResuming = true;
        for (const [id, sequence] of Object.entries(request.conversations)) this.#followed.set(id, sequence);
        break;
      case 'refresh':
        this.#reply(request.id, {});
        if (request.token === this.#token) return;
        this.#token = request.token;
        break;
      default:
        // Each request has the credential in its headers, and a heartbeat needs no answer.
        return;
    }
    // The current request does not have these changes.
    this.#request?.abort();
    this.#openIn(GATHERING_MS);
  }

  get #isStream(): boolean {
    return this.#options.transport === 'stream';
  }

  #openIn(ms: number): void {
    if (this.#request === undefined) return;
    this.#stopWaiting ??= this.#options.timing.after(ms, () => {
      this.#stopWaiting = undefined;
      this.#open();
    });
  }

  #open(): void {
    this.#request?.abort();
    this.#request = new AbortController();
    this.#continued = new Set(this.#followed.keys());
    this.#unsettled = new Set([...this.#followed.keys(), ...this.#joining.keys()]);
    if (this.#cursor !== undefined) this.#unsettled.add(RESUME);
    const { signal } = this.#request;
    const frames = this.#isStream ? this.#stream(signal) : this.#poll(signal);
    frames.catch((failure: unknown) => {
      if (!signal.aborted) this.#failed(failure);
    });
  }

  /** Rejects when the stream ends. */
  async #stream(signal: AbortSignal): Promise<never> {
    const held = () => this.#end({ code: 1006, reason: 'The stream does not begin.' });
    const stopWatch = this.#options.timing.after(FIRST_FRAME_MS, held);
    try {
      const response = await this.#post('streams', {}, signal);
      if (!response.ok || !response.body) await answerOf(response);
      for await (const data of dataOf(response.body!)) {
        stopWatch();
        if (signal.aborted) break;
        this.#receive(JSON.parse(data));
      }
      throw new Error('The stream has ended.');
    } finally {
      stopWatch();
    }
  }

  /** Rejects if a request fails. */
  async #poll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const apart = abortable(signal, (resolve) => this.#options.timing.after(APART_MS, resolve));
      void handled(apart);
      // Pending requests need an answer at once, even if nothing was missed.
      const wait_ms = this.#cursor === undefined || this.#unsettled.size > 0 ? 0 : POLL_MS;
      const response = await this.#post('poll', { wait_ms }, signal);
      const answer = (await answerOf(response)) as PollAnswer;
      const frames = answer.frames as Frame[];
      const heartbeat: Frame = { type: 'ping', t: 0, cursor: answer.cursor, heads: {} };
      const close = frames.at(-1)?.type === 'close' ? [frames.pop()!] : [];
      for (const frame of [POLL_HELLO, ...frames, heartbeat, ...close]) {
        if (signal.aborted) return;
        this.#receive(frame);
      }
      await apart;
    }
  }

  #post(path: string, fields: PollBody, signal: AbortSignal): Promise<Response> {
    const { base, fetch } = this.#options;
    // Fields that are undefined are left out of the JSON.
    const subscribe = [...this.#joining.values()].map(({ conversation_id, after_sequence }) => ({
      conversation_id,
      after_sequence,
    }));
    const cursor = this.#cursor;
    const conversations = cursor === undefined ? undefined : Object.fromEntries(this.#followed);
    const body = { subscribe, cursor, conversations, presence: this.#presence, ...fields };
    return fetch(`${base}/v1/realtime/${path}`, {
      method: 'POST',
      headers: requestHeaders(this.#options, this.#token),
      body: JSON.stringify(body),
      signal,
    });
  }

  #receive(frame: Frame): void {
    switch (frame.type) {
      case 'hello':
        // Each request begins with a greeting.
        if (this.#cursor !== undefined) return;
        break;
      case 'ready':
        if (this.#cursor !== undefined) return;
        this.#cursor = frame.cursor;
        break;
      case 'reply':
        this.#answer(frame);
        return;
      case 'event':
        if (frame.event === 'message.created') this.#reach(frame.conversation_id, frame.sequence);
        break;
      case 'caught_up':
        this.#reach(frame.conversation_id, frame.sequence);
        this.#unsettled.delete(frame.conversation_id);
        break;
      case 'resync':
        this.#resync(frame);
        return;
      case 'resumed':
        this.#unsettled.delete(RESUME);
        this.#cursor = frame.cursor;
        this.#isResuming = false;
        break;
      case 'ping':
        if (this.#isStream && this.#unsettled.size > 0) {
          // Its cursor may skip frames that are still to come.
          this.#say({ ...frame, cursor: this.#cursor!, heads: {} });
          return;
        }
        this.#cursor = frame.cursor;
        break;
      case 'goaway':
        // The next poll reaches another node by itself.
        if (!this.#isStream) return;
        break;
      case 'auth_expiring':
        // Each request announces it again.
        if (this.#expiring === this.#token) return;
        this.#expiring = this.#token;
        break;
      case 'close':
        this.#end(frame);
        return;
    }
    this.#say(frame);
  }

  #resync(frame: Extract<ServerFrame, { type: 'resync' }>): void {
    const id = frame.conversation_id ?? '';
    this.#followed.delete(id);
    this.#unsettled.delete(id);
    // The other side does not know that it may have missed changes of older messages.
    const isGap = frame.reason === 'too_many' && this.#continued.has(id) && !this.#isResuming;
    this.#say(isGap ? { ...frame, reason: 'too_old' } : frame);
  }

  #reach(conversationId: string | undefined, sequence: number | undefined): void {
    const last = this.#followed.get(conversationId ?? '');
    if (last !== undefined) this.#followed.set(conversationId!, Math.max(last, sequence ?? 0));
  }

  /** Handles a reply, which names the conversation or RESUME. */
  #answer(reply: ReplyFrame): void {
    const name = reply.id ?? '';
    if (name === RESUME) {
      const id = this.#resumeId;
      this.#resumeId = undefined;
      if (!reply.ok) this.#end(endOfResume(reply.error as ErrorObject));
      else if (id !== undefined) this.#say({ ...reply, id });
      return;
    }
    const asked = this.#joining.get(name);
    if (asked === undefined) return;
    this.#joining.delete(name);
    if (reply.ok) {
      const { head_sequence } = reply.result as { readonly head_sequence: number };
      this.#followed.set(name, asked.after_sequence ?? head_sequence);
    } else this.#unsettled.delete(name);
    this.#say({ ...reply, id: asked.id });
  }

  #act({ id, conversation_id }: CommandFrame<'typing' | 'mark_read'>, action: string, body: object): void {
    const path = conversationPath(conversation_id, `/actions/${action}`);
    this.#options.call(path, { method: 'POST', body }).then(
      (result) => this.#reply(id, result),
      (failure: unknown) => {
        // Without an answer of the server, the request times out.
        const { error } = lost(failure);
        if (error !== null) this.#say({ type: 'reply', id, ok: false, error });
      },
    );
  }

  #reply(id: string, result: object): void {
    queueMicrotask(() => this.#say({ type: 'reply', id, ok: true, result }));
  }

  #say(frame: Frame): void {
    if (this.#request !== undefined) this.#listeners.emit('message', { data: frame });
  }

  #failed(failure: unknown): void {
    const { error, isTransient, retryAfterMs, param } = lost(failure);
    const culprit = [...this.#joining.keys()][Number(/^subscribe\[(\d+)\]/.exec(param ?? '')?.[1])];
    if (culprit !== undefined && error !== null) {
      // A malformed element, without which the others are followed.
      this.#answer({ type: 'reply', id: culprit, ok: false, error });
      this.#openIn(GATHERING_MS);
      return;
    }
    // A working connection waits as long as the server asks; its heartbeats are watched.
    if (this.#cursor !== undefined && error !== null && isTransient) this.#openIn(retryAfterMs ?? AGAIN_MS);
    else this.#end(endOf(failure));
  }

  #end(end: ConnectionEnd): void {
    if (this.#request === undefined) return;
    this.close();
    this.#listeners.emit('close', end);
  }
}

/** The name of the reply to the cursor of a request. */
const RESUME = 'resume';

/** Gathers the subscriptions of one moment into one request. */
const GATHERING_MS = 25;
/** Time between two polls, at half the allowed rate. */
const APART_MS = 2_000 / POLLS_PER_SECOND;
const AGAIN_MS = 1_000;
/** The longest wait of a poll on the server. */
const POLL_MS = 25_000;

/** The greeting that polls lack: their answers are the heartbeats. */
const POLL_HELLO = { type: 'hello', heartbeat_ms: POLL_MS } as Frame;
