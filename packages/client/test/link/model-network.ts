import type { Random } from '../../../../test/support/random.ts';
import type { SocketConstructor, Transport } from '../../index.ts';
import type { SocketLike } from '../../link/connection.ts';
import { errorOf, type Frame, type ModelGateway, messageOf, Session } from './model-gateway.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The fate of a try over a transport; `cut` is behind its first frames. */
export type Passage = 'passed' | 'refused' | 'mute' | 'cut';

/** One socket or request of the client, as the client sees it. */
export interface Channel {
  readonly transport: Transport;
  readonly session: Session;
  /** The client was sent `ready` over it, or over the request before it. */
  isReady: boolean;
  /** The client has not closed it, nor does it know of its end. */
  isOpen: boolean;
  /** The client knows that its node goes away. */
  isGoing: boolean;
  /** Breaks it: the client notices at once, or by the silence. */
  cut(isSilent: boolean): void;
}

/**
 * The network between a client and the model's servers: sockets and requests with delays and
 * faults.
 */
export class ModelNetwork {
  readonly gateway: ModelGateway;
  readonly passages: Record<Transport | 'rest', Passage> = {
    websocket: 'passed',
    stream: 'passed',
    poll: 'passed',
    rest: 'passed',
  };
  /** Milliseconds that the opening of a connection takes at most. */
  openingMs = 40;
  /** Whether the platform refuses URLs of sockets. */
  isForbidden = false;
  /** How many connections the client has tried to open. */
  tries = 0;
  /** Called for each frame, right before the client has it; `close` is one too. */
  onFrame: (channel: Channel, frame: Frame) => void = () => {};
  readonly time: VirtualTime;
  readonly #random: Random;
  #channels: Channel[] = [];

  constructor(gateway: ModelGateway, random: Random) {
    this.gateway = gateway;
    this.time = gateway.time;
    this.#random = random;
  }

  /** The channels that are open. */
  get open(): readonly Channel[] {
    if (this.#channels.some(({ isOpen }) => !isOpen)) {
      this.#channels = this.#channels.filter(({ isOpen }) => isOpen);
    }
    return this.#channels;
  }

  add(channel: Channel): void {
    this.#channels.push(channel);
  }

  get WebSocket(): SocketConstructor {
    return socketsOf(this);
  }

  readonly fetch = ((input: string, init: RequestInit) => {
    const path = new URL(input).pathname;
    if (path.startsWith('/v1/realtime/'))
      return this.#realtime(path.endsWith('poll') ? 'poll' : 'stream', init);
    return this.#rest(new URL(input), init);
  }) as unknown as typeof fetch;

  latency(mostMs = 40): number {
    return 1 + this.#random.below(mostMs);
  }

  chance(of: number): boolean {
    return this.#random.next() < of;
  }

  #rest(url: URL, { signal }: RequestInit): Promise<object> {
    return new Promise((resolve, reject) => {
      const refused = () => reject(new TypeError('fetch failed'));
      signal?.addEventListener('abort', () => reject(signal.reason));
      const passage = this.passages.rest;
      if (passage === 'mute') return;
      this.time.happen(this.latency(), () => {
        const [, conversation = ''] = /conversations\/([^/]+)/.exec(url.pathname) ?? [];
        const after = Number(url.searchParams.get('after_sequence'));
        const head = this.gateway.headOf(conversation);
        const numbers = Array.from({ length: Math.max(0, head - after) }, (_, n) => after + 1 + n);
        const data = numbers.map((sequence) => messageOf(conversation, sequence).data);
        const list = { object: 'list', data, page_info: { has_next_page: false } };
        this.time.arrive(this.latency(), () =>
          passage === 'passed' ? resolve(answer(200, list)) : refused(),
        );
      });
    });
  }

  #realtime(transport: 'stream' | 'poll', { body, headers, signal }: RequestInit): Promise<object> {
    return new Promise((resolve, reject) => {
      const asked = JSON.parse(String(body)) as Asked;
      const token = (headers as Record<string, string>).authorization!.replace('Bearer ', '');
      if (asked.cursor === undefined) this.tries += 1;
      new Request(this, { transport, asked, token, resolve, reject, signal: signal! }).begin();
    });
  }
}

interface Asked {
  readonly subscribe?: readonly { readonly conversation_id: string; readonly after_sequence?: number }[];
  readonly cursor?: string;
  readonly conversations?: Readonly<Record<string, number>>;
  readonly wait_ms?: number;
}

interface Given {
  readonly transport: 'stream' | 'poll';
  readonly asked: Asked;
  readonly token: string;
  readonly signal: AbortSignal;
  resolve(response: object): void;
  reject(reason: unknown): void;
}

/** Frames to the client in their order, as late as the network likes. */
class Ordered {
  readonly #network: ModelNetwork;
  #lastAt = 0;

  constructor(network: ModelNetwork) {
    this.#network = network;
  }

  deliver(run: () => void, mostMs?: number): void {
    const { time } = this.#network;
    this.#lastAt = Math.max(this.#lastAt, time.now + this.#network.latency(mostMs));
    time.arrive(this.#lastAt - time.now, run);
  }
}

/** A stream, or a poll. */
class Request implements Channel {
  readonly transport: 'stream' | 'poll';
  readonly session: Session;
  isReady: boolean;
  isOpen = true;
  isGoing = false;
  readonly #network: ModelNetwork;
  readonly #given: Given;
  readonly #ordered: Ordered;
  /** Parts of a stream that the client has not read. */
  readonly #unread: (string | Error)[] = [];
  #read: (() => void) | undefined;
  /** The frames for the answer to a poll. */
  readonly #frames: Frame[] = [];
  #isAnswered = false;
  #isMute = false;

  constructor(network: ModelNetwork, given: Given) {
    this.#network = network;
    this.#given = given;
    this.#ordered = new Ordered(network);
    this.transport = given.transport;
    this.isReady = given.asked.cursor !== undefined;
    this.session = new Session(network.gateway, {
      send: (frame) => this.#send(frame),
      end: (code, reason) => this.#end({ type: 'close', code, reason }),
    });
    given.signal.addEventListener('abort', () => this.#aborted());
    network.add(this);
  }

  begin(): void {
    const passage = this.#network.passages[this.transport];
    if (passage === 'mute') this.#isMute = true;
    else if (passage === 'refused') this.cut(false);
    else
      this.#network.time.happen(this.#network.latency(this.#network.openingMs), () => {
        this.#serve();
        if (passage === 'cut') this.#network.time.happen(100, () => this.cut(false));
      });
  }

  cut(isSilent: boolean): void {
    this.session.forget();
    if (isSilent) this.#isMute = true;
    else this.#ordered.deliver(() => this.#fail(new TypeError('fetch failed')));
  }

  #serve(): void {
    const { asked, token } = this.#given;
    const { session } = this;
    const { gateway, time } = this.#network;
    if (session.isOver) return;
    if (!gateway.isValid(token)) {
      session.forget();
      this.#ordered.deliver(() => this.#respond(answer(401, { error: errorOf('invalid_credentials') })));
      return;
    }
    const isStream = this.transport === 'stream';
    if (isStream) {
      this.#ordered.deliver(() => this.#respond(this.#streamed()));
      session.hello();
    }
    if (!session.ready(token)) return;
    const all = Object.entries(asked.conversations ?? {});
    if (asked.cursor !== undefined && !session.resume('resume', Object.fromEntries(all))) return;
    for (const { conversation_id: id, after_sequence: after } of asked.subscribe ?? []) {
      session.subscribe(id, id, after);
    }
    if (isStream) time.happen(1_000, () => session.beat());
    else {
      const isNews = this.#frames.some(({ type }) => type === 'event' || type === 'resync');
      if (isNews) this.#answer();
      else time.happen(asked.wait_ms ?? 25_000, () => this.#answer());
    }
  }

  #send(frame: Frame): void {
    if (this.transport === 'poll') {
      this.#frames.push(frame);
      if (frame.type === 'event') this.#network.time.happen(0, () => this.#answer());
    } else this.#ordered.deliver(() => this.#chunk(frame));
  }

  #end(frame: Frame): void {
    if (this.transport === 'poll') {
      this.#frames.push(frame);
      this.#answer();
      return;
    }
    this.#ordered.deliver(() => this.#chunk(frame));
    this.#ordered.deliver(() => this.#fail(new TypeError('terminated')));
  }

  #answer(): void {
    if (this.#isAnswered || !this.isOpen) return;
    this.#isAnswered = true;
    this.session.forget();
    const cursor = this.#network.gateway.nextCursor();
    this.#ordered.deliver(() => {
      if (this.#isMute || !this.isOpen) return;
      // The client ends the connection at a resume that was refused, and reads no further.
      const refused = this.#frames.findIndex(({ type, ok }) => type === 'reply' && ok === false);
      const read = refused === -1 ? this.#frames : this.#frames.slice(0, refused);
      for (const frame of read) this.#network.onFrame(this, frame);
      this.isOpen = false;
      this.#respond(answer(200, { frames: this.#frames, cursor }));
    });
  }

  #chunk(frame: Frame): void {
    if (this.#isMute || !this.isOpen) return;
    this.#network.onFrame(this, frame);
    if (frame.type === 'ready') this.isReady = true;
    if (frame.type === 'close') this.isOpen = false;
    this.#unread.push(`data: ${JSON.stringify(frame)}\n\n`);
    this.#read?.();
  }

  #fail(error: Error): void {
    if (this.#isMute) return;
    this.isOpen = false;
    this.#unread.push(error);
    this.#read?.();
    this.#given.reject(error);
  }

  #respond(response: object): void {
    if (this.#isMute) return;
    if ((response as { readonly status: number }).status !== 200) this.isOpen = false;
    this.#given.resolve(response);
  }

  #streamed(): object {
    const read = () =>
      new Promise((resolve, reject) => {
        this.#read = () => {
          const next = this.#unread.shift();
          if (next === undefined) return;
          this.#read = undefined;
          if (next instanceof Error) reject(next);
          else resolve({ done: false, value: ENCODER.encode(next) });
        };
        this.#read();
      });
    return { ...answer(200, {}), body: { getReader: () => ({ read }) } };
  }

  #aborted(): void {
    this.isOpen = false;
    this.session.forget();
    const error = new DOMException('aborted', 'AbortError');
    this.#unread.push(error);
    this.#read?.();
    this.#given.reject(error);
  }
}

const ENCODER = new TextEncoder();

function answer(status: number, body: object): object {
  const text = async () => JSON.stringify(body);
  return { ok: status === 200, status, headers: { get: () => null }, text, body: {} };
}

/** Returns the class WebSocket of a platform in this network. */
function socketsOf(network: ModelNetwork): SocketConstructor {
  const { time } = network;
  return class implements SocketLike, Channel {
    readonly transport = 'websocket' as const;
    readonly session: Session;
    isReady = false;
    isOpen = true;
    isGoing = false;
    readonly #listeners = new Map<string, ((event: never) => void)[]>();
    readonly #ordered = new Ordered(network);
    #lastSentAt = 0;
    #isMute = false;

    constructor() {
      if (network.isForbidden) throw new Error('mixed content');
      network.tries += 1;
      this.session = new Session(network.gateway, {
        send: (frame) => this.#ordered.deliver(() => this.#message(frame)),
        end: (code, reason) => this.#ordered.deliver(() => this.#closed(code, reason)),
      });
      network.add(this);
      const passage = network.passages.websocket;
      if (passage === 'mute') this.#isMute = true;
      else if (passage === 'refused') this.cut(false);
      else
        time.happen(network.latency(network.openingMs), () => {
          this.session.hello();
          if (passage === 'cut') time.happen(100, () => this.cut(false));
        });
    }

    send(text: string): void {
      if (!this.isOpen) throw new Error('a frame for a socket that is closed');
      if (this.#isMute) return;
      this.#lastSentAt = Math.max(this.#lastSentAt, time.now + network.latency());
      time.happen(this.#lastSentAt - time.now, () => this.session.receive(JSON.parse(text)));
    }

    close(): void {
      this.isOpen = false;
      time.happen(network.latency(), () => this.session.forget());
      this.#ordered.deliver(() => this.#emit('close', { code: 1000, reason: '' }));
    }

    addEventListener(type: string, listener: (event: never) => void): void {
      this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
    }

    cut(isSilent: boolean): void {
      this.session.forget();
      if (isSilent) this.#isMute = true;
      else this.#ordered.deliver(() => this.#closed(1006, ''));
    }

    #message(frame: Frame): void {
      if (this.#isMute || !this.isOpen) return;
      network.onFrame(this, frame);
      if (frame.type === 'ready') this.isReady = true;
      this.#emit('message', { data: frame.type === 'garbled' ? '{' : JSON.stringify(frame) });
    }

    #closed(code: number, reason: string): void {
      if (this.#isMute || !this.isOpen) return;
      network.onFrame(this, { type: 'close', code, reason });
      this.isOpen = false;
      if (code === 1006) this.#emit('error', {});
      this.#emit('close', { code, reason });
    }

    #emit(type: string, event: object): void {
      for (const listener of this.#listeners.get(type) ?? []) listener(event as never);
    }
  } as unknown as SocketConstructor;
}
