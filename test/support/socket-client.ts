import WebSocket from 'ws';
import { CLOSE_CODES } from '../../src/protocol/socket/close-codes.ts';
import type { Received } from './check-delivery.ts';
import type { Random } from './random.ts';
import { Shown } from './shown.ts';

export interface SocketClientOptions {
  /** Asked at every connection: where to, and with which headers. */
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
  readonly reconnect_in_ms?: number;
  readonly error?: { readonly code: string };
  readonly data?: Readonly<Record<string, unknown>>;
}

/**
 * A client as simple as one can be that still gets everything: it comes back whenever its socket ends, on whichever
 * node. It subscribes after the last number that it has until it was live once; from then on it resumes from the last
 * cursor that it got while nothing was under way. A message that comes twice on one socket stands in its history twice;
 * one that comes again on a later socket, from a node that is behind the one that it left, is only counted.
 */
export class SocketClient {
  /** What came, by conversation, in the order in which it came. */
  readonly history: ReadonlyMap<string, Received[]>;
  /** What the events of all its sockets add up to. */
  readonly shown = new Shown();
  /** What no server should say. */
  readonly problems: string[] = [];
  connections = 0;
  /** Messages that a later socket brought again. */
  again = 0;
  readonly #options: SocketClientOptions;
  #socket: WebSocket | undefined;
  /** By conversation: the last number that this socket brought. */
  readonly #brought = new Map<string, number>();
  /** What this socket has not answered yet: ids of conversations, or RESUME. Empty: the client is live. */
  readonly #unsettled = new Set<string>();
  /** Where it resumes from; undefined: it was never live. */
  #cursor: string | undefined;
  /** Of `ready`, from before the subscriptions. */
  #nextCursor = '';
  #awayMs = 0;
  #stopped = false;

  constructor(options: SocketClientOptions) {
    this.#options = options;
    this.history = new Map(options.conversationIds.map((id) => [id, []]));
    this.#connect();
  }

  /** How the last of a conversation is numbered; 0: none. */
  last(conversationId: string): number {
    return this.history.get(conversationId)?.at(-1)?.sequence ?? 0;
  }

  /** It was live once: it owes everything that changes from then on. */
  get hasCursor(): boolean {
    return this.#cursor !== undefined;
  }

  /** Ends the socket without a word. The client comes back, after that time at the earliest. */
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
    // What a socket still holds that was left is of no use to its client.
    if (socket !== this.#socket) return;
    switch (frame.type) {
      case 'ready':
        this.connections += 1;
        this.#begin(socket, frame);
        break;
      case 'ping':
        say(socket, { type: 'pong', t: frame.t });
        // While a resume is under way, nothing newer than where it began is safe.
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
        this.problems.push(`resync: ${JSON.stringify(frame)}`);
        break;
      case 'goaway':
        setTimeout(() => socket.close(), frame.reconnect_in_ms).unref();
        break;
    }
  }

  #begin(socket: WebSocket, { cursor = '' }: Frame): void {
    this.#brought.clear();
    this.#unsettled.clear();
    this.#nextCursor = cursor;
    for (const id of this.#cursor === undefined ? this.history.keys() : [RESUME]) {
      this.#unsettled.add(id);
      this.#ask(socket, id);
    }
  }

  /** The request's id is the conversation's, or RESUME. */
  #ask(socket: WebSocket, id: string): void {
    if (id === RESUME) {
      const conversations = Object.fromEntries([...this.history.keys()].map((id) => [id, this.last(id)]));
      say(socket, { type: 'resume', id, cursor: this.#cursor, conversations });
    } else say(socket, { type: 'subscribe', id, conversation_id: id, after_sequence: this.last(id) });
  }

  #keep({ conversation_id: conversationId = '', sequence = 0, data }: Frame): void {
    const history = this.history.get(conversationId);
    if (history === undefined) {
      this.problems.push(`a message of ${conversationId}, which was not asked for`);
      return;
    }
    const id = String(data?.id);
    const isNext = sequence > (this.#brought.get(conversationId) ?? 0);
    this.#brought.set(conversationId, sequence);
    if (isNext && history.some((known) => known.sequence === sequence && known.id === id)) {
      this.again += 1;
    } else history.push({ sequence, id });
  }

  /** A node whose link or database is in doubt takes no subscription. */
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

/** Longer than a node that is busy takes, shorter than one that is gone is waited for. */
const HANDSHAKE_MS = 60_000;

/** Id of the request that resumes all conversations. */
const RESUME = 'resume';

const TRANSIENT = new Set(['service_unavailable', 'rate_limit_exceeded']);

/** That a socket with nothing wrong with it may be closed with. */
const COMES_BACK = new Set<number>(
  Object.values(CLOSE_CODES)
    .filter(({ next }) => next === 'reconnect' || next === 'wait')
    .map(({ code }) => code),
);

function say(socket: WebSocket, frame: object): void {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
}
