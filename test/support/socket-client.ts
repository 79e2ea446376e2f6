import { CLOSE_CODES } from '@parley/protocol/socket/close-codes.ts';
import WebSocket from 'ws';
import type { Received } from './check-delivery.ts';
import type { Random } from './random.ts';
import { Shown } from './shown.ts';

export interface SocketClientOptions {
  /** Called at every connection: the URL and the headers. */
  readonly address: () => { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  readonly conversationIds: readonly string[];
  readonly random: Random;
}

interface Frame {
  readonly type: string;
  readonly event?: string;
  readonly ok?: boolean;
  readonly id?: string;
  readonly t?: number;
  readonly conversation_id?: string;
  readonly sequence?: number;
  readonly cursor?: string;
  readonly reason?: string;
  readonly reconnect_in_ms?: number;
  readonly error?: { readonly code: string };
  readonly data?: Readonly<Record<string, unknown>>;
}

/**
 * The simplest client that still receives everything: it reconnects whenever its socket ends, to
 * any node. It subscribes after its last number until it was live once; from then on it resumes
 * from the last cursor that it received while nothing was unsettled. A message that arrives twice,
 * on one socket or on two, is twice in its history.
 */
export class SocketClient {
  /** Received messages by conversation, in the order of arrival. */
  readonly history: ReadonlyMap<string, Received[]>;
  /** The state that results from the events of all its sockets. */
  readonly shown = new Shown();
  /** Frames that no server should send. */
  readonly problems: string[] = [];
  connections = 0;
  /** How often a node sent it back to the beginning of a conversation. */
  restarts = 0;
  readonly #options: SocketClientOptions;
  #socket: WebSocket | undefined;
  /**
   * Requests that this socket has not completed yet: ids of conversations, or RESUME. Empty if the
   * client is live.
   */
  readonly #unsettled = new Set<string>();
  /** The cursor to resume from; undefined if it was never live. */
  #cursor: string | undefined;
  /** The cursor of `ready`, from before the subscriptions. */
  #nextCursor = '';
  #awayMs = 0;
  #stopped = false;

  constructor(options: SocketClientOptions) {
    this.#options = options;
    this.history = new Map(options.conversationIds.map((id) => [id, []]));
    this.#connect();
  }

  /** Returns the last number of a conversation, or 0. */
  last(conversationId: string): number {
    return this.history.get(conversationId)?.at(-1)?.sequence ?? 0;
  }

  /** Whether it was live once, so that it must receive every change from then on. */
  get hasCursor(): boolean {
    return this.#cursor !== undefined;
  }

  /**
   * Ends the socket without a close frame. The client reconnects after `awayMs` at the earliest.
   */
  reset(awayMs = 0): void {
    this.#awayMs = awayMs;
    this.#socket?.terminate();
  }

  stop(): void {
    this.#stopped = true;
    this.reset();
  }

  #connect(): void {
    if (this.#stopped) return;
    const { url, headers } = this.#options.address();
    const socket = new WebSocket(url, { headers, handshakeTimeout: HANDSHAKE_MS });
    this.#socket = socket;
    socket.on('error', () => undefined);
    socket.on('close', (code, reason) => this.#comeBack(socket, code, reason.toString()));
    socket.on('message', (data: Buffer) => this.#receive(socket, JSON.parse(data.toString())));
  }

  #receive(socket: WebSocket, frame: Frame): void {
    // Ignores frames that are still buffered on a former socket.
    if (socket !== this.#socket) return;
    switch (frame.type) {
      case 'ready':
        this.connections += 1;
        this.#begin(socket, frame);
        break;
      case 'ping':
        sendFrame(socket, { type: 'pong', t: frame.t });
        // While a request is unsettled, a newer cursor would skip its missing frames.
        if (this.#unsettled.size === 0) this.#cursor = frame.cursor;
        break;
      case 'event':
        if (frame.event === 'message.created') this.#keep(frame);
        this.shown.receive(frame);
        break;
      case 'caught_up':
        if (this.#unsettled.delete(frame.conversation_id ?? '') && this.#unsettled.size === 0) {
          this.#cursor = this.#nextCursor;
        }
        break;
      case 'resumed':
        this.#unsettled.delete(RESUME);
        this.#cursor = frame.cursor;
        break;
      case 'reply':
        if (frame.ok === false) this.#refused(socket, frame);
        break;
      case 'resync':
        this.#startOver(socket, frame);
        break;
      case 'goaway':
        setTimeout(() => socket.close(), frame.reconnect_in_ms).unref();
        break;
    }
  }

  /**
   * Receives a conversation again from its first message. A node asks for this where a reader has
   * not caught up and the node had to forget what came meanwhile, as when an actor was renamed.
   */
  #startOver(socket: WebSocket, frame: Frame): void {
    const { conversation_id: id = '', reason } = frame;
    const history = this.history.get(id);
    this.restarts += 1;
    if (history === undefined || reason !== 'too_many' || this.restarts > MOST_RESTARTS) {
      this.problems.push(`resync: ${JSON.stringify(frame)}`);
      return;
    }
    history.length = 0;
    this.#unsettled.add(id);
    this.#ask(socket, id);
  }

  #begin(socket: WebSocket, { cursor = '' }: Frame): void {
    this.#unsettled.clear();
    this.#nextCursor = cursor;
    for (const id of this.#cursor === undefined ? this.history.keys() : [RESUME]) {
      this.#unsettled.add(id);
      this.#ask(socket, id);
    }
  }

  /** Sends a request, whose id is that of its conversation, or RESUME. */
  #ask(socket: WebSocket, id: string): void {
    if (id === RESUME) {
      const conversations = Object.fromEntries([...this.history.keys()].map((id) => [id, this.last(id)]));
      sendFrame(socket, { type: 'resume', id, cursor: this.#cursor, conversations });
    } else sendFrame(socket, { type: 'subscribe', id, conversation_id: id, after_sequence: this.last(id) });
  }

  #keep({ conversation_id: conversationId = '', sequence = 0, data }: Frame): void {
    const history = this.history.get(conversationId);
    if (history === undefined) {
      this.problems.push(`a message of ${conversationId}, which was not asked for`);
      return;
    }
    history.push({ sequence, id: String(data?.id) });
  }

  /** Handles a refusal: a node whose link or database is in doubt accepts no subscription. */
  #refused(socket: WebSocket, { id = '', error }: Frame): void {
    if (!TRANSIENT.has(error?.code ?? '')) this.problems.push(`${id} is refused: ${error?.code}`);
    else setTimeout(() => socket === this.#socket && this.#ask(socket, id), this.#jitterMs()).unref();
  }

  #comeBack(socket: WebSocket, code: number, reason: string): void {
    if (socket !== this.#socket || this.#stopped) return;
    if (code >= 4000 && !COMES_BACK.has(code)) {
      this.problems.push(`closed with ${code} ${reason}`);
      return;
    }
    setTimeout(() => this.#connect(), this.#awayMs + this.#jitterMs()).unref();
    this.#awayMs = 0;
  }

  #jitterMs(): number {
    return 20 + this.#options.random.below(200);
  }
}

/** Longer than a busy node takes, shorter than the wait for a node that has ended. */
const HANDSHAKE_MS = 60_000;

/** A node that sends readers back again and again is at fault. */
const MOST_RESTARTS = 5;

/** Id of the request that resumes all conversations. */
const RESUME = 'resume';

const TRANSIENT = new Set(['service_unavailable', 'rate_limit_exceeded']);

/** Close codes that a faultless socket may get. */
const COMES_BACK = new Set<number>(
  Object.values(CLOSE_CODES)
    .filter(({ next }) => next === 'reconnect' || next === 'wait')
    .map(({ code }) => code),
);

function sendFrame(socket: WebSocket, frame: object): void {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
}
