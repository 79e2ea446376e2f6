import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import { CLOSE_BANDS, type NextStep } from '@parley/protocol/socket/close-codes.ts';
import type { EventFrame } from '@parley/protocol/socket/events.ts';
import type { ReplyFrame, ServerFrame } from '@parley/protocol/socket/server-frames.ts';
import { PONG_MS, REQUESTS_PER_SECOND } from '@parley/protocol/socket/socket-limits.ts';
import type { ConnectionEnd } from '../errors/connection-end.ts';
import { tried } from '../errors/tried.ts';
import type { Timing } from '../timing/timing.ts';
import type { Transport } from './transport.ts';
import type { Progress } from './transport-choice.ts';

/**
 * The part of a WebSocket that the SDK uses; the WebSockets of browsers and of Node have it, and
 * every other transport behaves like one.
 */
export interface SocketLike {
  /** Sends a text frame. */
  send(text: string): void;
  /** Closes the connection, normally by default. */
  close(code?: number, reason?: string): void;
  /** `message` and `close` are emitted with these fields, `error` before a `close`. */
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: ConnectionEnd) => void): void;
  addEventListener(type: 'error', listener: () => void): void;
}

/** The class WebSocket of a platform, or one of a package such as `ws`. */
export type SocketConstructor = new (url: string) => SocketLike;

/** Frames other than replies, the greeting and heartbeats. */
export type Incoming = EventFrame | ServerFrame;

interface ConnectionListener {
  /** In the order of arrival; includes `ready`. */
  received(connection: Connection, frame: Incoming): void;
  /** Called once, whichever side ended the connection. */
  ended(connection: Connection, end: ConnectionEnd): void;
}

export interface ConnectionOptions {
  readonly transport: Transport;
  /** A socket opened in this turn of the event loop. */
  readonly socket: SocketLike;
  /** Milliseconds until the first frame must have arrived. */
  readonly openingMs: number;
  /** The fields of the `authenticate` frame. */
  readonly credential: { readonly token: string; readonly account: string; readonly version: string };
  readonly timing: Timing;
  readonly listener: ConnectionListener;
}

/** It has neither field if the connection ended before the answer arrived. */
export interface CommandAnswer {
  readonly result?: object;
  readonly error?: ErrorObject;
}

/** One socket: authentication, replies, heartbeats, rate limit, and its end when silent. */
export class Connection {
  readonly transport: Transport;
  /** The feeds that it sends, which its owner keeps; whatever else it sends is for earlier ones. */
  readonly sending: Set<object> = new Set();
  readonly #options: ConnectionOptions;
  readonly #socket: SocketLike;
  readonly #replies = new Map<string, (answer: CommandAnswer) => void>();
  readonly #unsent: string[] = [];
  #requests = 0;
  /** Requests that may be sent now. Only a WebSocket is limited by the frame. */
  #allowance: number;
  #silenceMs: number;
  /** Written by the connection alone. */
  progress: Progress = 'unanswered';
  #stopWatch: () => void = () => {};
  #stopPace: (() => void) | undefined;
  #ended = false;
  /** Why the server refused the credential; its close frame follows. */
  #refusal: ErrorObject | undefined;

  constructor(options: ConnectionOptions) {
    const { transport, socket, openingMs } = options;
    this.#options = options;
    this.transport = transport;
    this.#socket = socket;
    this.#allowance = transport === 'websocket' ? BURST : Number.POSITIVE_INFINITY;
    this.#silenceMs = openingMs;
    this.#socket.addEventListener('message', ({ data }) => this.#receive(data));
    this.#socket.addEventListener('close', (end) => this.#end(end));
    // Node's WebSocket reports a failed handshake only here; others close without a code too.
    this.#socket.addEventListener('error', () => this.#end({ code: 1006, reason: 'The connection failed.' }));
    this.#watch();
  }

  /** Calls `answered` before any frame that arrived after the answer is read. */
  ask(op: string, fields: object, answered: (answer: CommandAnswer) => void): void {
    if (this.#ended) {
      answered({});
      return;
    }
    const id = String(++this.#requests);
    this.#replies.set(id, answered);
    this.#unsent.push(JSON.stringify({ type: op, id, ...fields }));
    this.#sendAllowed();
  }

  /** Ends soon unless the server answers. Requests over HTTP end by themselves. */
  check(): void {
    if (this.transport !== 'websocket') return;
    this.ask('ping', {}, () => {});
    this.#watch(FIRST_FRAME_MS);
  }

  /** Closes the socket, and reports that like any end. */
  close(code = 1000): void {
    if (this.#ended) return;
    this.#socket.close(code);
    this.#end({ code, reason: '' });
  }

  #receive(data: unknown): void {
    if (this.#ended) return;
    this.#watch();
    const frame = frameOf(data);
    if (frame === undefined) {
      this.close(UNREADABLE);
      return;
    }
    switch (frame.type) {
      case 'hello': {
        this.progress = 'answered';
        // One late heartbeat means a busy network, a longer silence a dead one.
        this.#silenceMs = frame.heartbeat_ms + PONG_MS;
        const { credential } = this.#options;
        this.ask('authenticate', credential, ({ error }) => {
          this.#refusal = error;
        });
        return;
      }
      case 'reply': {
        const id = frame.id ?? '';
        const answered = this.#replies.get(id);
        this.#replies.delete(id);
        answered?.(frame as CommandAnswer);
        return;
      }
      case 'ping':
        this.progress = 'proven';
        this.#socket.send(JSON.stringify({ type: 'pong', t: frame.t }));
        break;
    }
    this.#options.listener.received(this, frame);
  }

  /** Sends waiting requests within the rate, because refused ones count against the socket. */
  #sendAllowed(): void {
    while (this.#allowance > 0 && this.#unsent.length > 0) {
      this.#allowance -= 1;
      this.#socket.send(this.#unsent.shift()!);
    }
    if (this.#allowance >= BURST || this.#ended) return;
    this.#stopPace ??= this.#options.timing.after(1_000 / PACE_PER_SECOND, () => {
      this.#stopPace = undefined;
      this.#allowance += 1;
      this.#sendAllowed();
    });
  }

  /** Ends silent connections: a vanished peer may leave one open for minutes. */
  #watch(mostMs = this.#silenceMs): void {
    this.#stopWatch();
    this.#stopWatch = this.#options.timing.after(mostMs, () => {
      this.#socket.close();
      this.#end({ code: 1006, reason: 'The server fell silent.' });
    });
  }

  #end({ code, reason, error = this.#refusal }: ConnectionEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stopWatch();
    this.#stopPace?.();
    for (const answered of this.#replies.values()) answered({});
    this.#replies.clear();
    this.#options.listener.ended(this, { code, reason, ...(error && { error }) });
  }
}

/** Returns the frame, which all transports but the WebSocket have parsed. */
function frameOf(data: unknown): Incoming | ReplyFrame | undefined {
  return typeof data === 'string' ? tried(() => JSON.parse(data)) : (data as Incoming | ReplyFrame);
}

/** The close code, sent and reported, after a frame that is not JSON: the link is not trusted. */
export const UNREADABLE = 3000;

/** Milliseconds to the first frame: a proxy that is mute, or holds it back, raises no error. */
export const FIRST_FRAME_MS = 5_000;

/** Below the limit of a socket, because two clocks are involved and pongs count. */
const PACE_PER_SECOND = REQUESTS_PER_SECOND - 4;
const BURST = PACE_PER_SECOND / 2;

/**
 * Returns the client's next step after an end, by the band of its code
 * (docs/realtime.md#close-codes). `waitMs`: milliseconds that the server asks the client to wait,
 * or 0.
 */
export function afterClose({ code, reason }: ConnectionEnd): { next: NextStep; waitMs: number } {
  const next = CLOSE_BANDS[Math.floor(code / 100)] ?? 'reconnect';
  return { next, waitMs: next === 'wait' ? retryAfterOf(reason) : 0 };
}

function retryAfterOf(reason: string): number {
  const ms = tried((): unknown => JSON.parse(reason).retry_after_ms);
  return typeof ms === 'number' && ms >= 0 ? ms : DEFAULT_WAIT_MS;
}

/** A wait whose length the server does not say. */
export const DEFAULT_WAIT_MS = 1_000;
