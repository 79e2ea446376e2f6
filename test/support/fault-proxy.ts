import { connect, createServer, type Server, type Socket } from 'node:net';
import { Random } from './random.ts';
import { type Pushed, pushedMessage, RespSplitter } from './resp.ts';

export interface FaultProxyOptions {
  /** The address that connections are forwarded to. */
  readonly target: { readonly host?: string; readonly port: number };
  /** Default: a free port on 127.0.0.1. */
  readonly port?: number;
  /** Seed of all random choices. Default 1. */
  readonly seed?: number;
  /** Initial faults; each can be changed while connections are open. */
  readonly faults?: Partial<Faults>;
}

export interface Faults {
  /** Milliseconds by which every byte is delayed, in either direction. Order is kept. */
  delayMs: number;
  /** Milliseconds between two cuts, each of one random connection; 0: none. */
  cutEveryMs: number;
  /**
   * The probability, from 0 to 1, that a chunk is the last to pass. Its connection then stays open
   * and silent, in both directions, as if a peer or a router had disappeared.
   * (TCP never loses a single chunk: what it cannot deliver it never delivers.)
   */
  dropRate: number;
  /**
   * Milliseconds for which a message pushed by Redis (`message`, `smessage`) is held while later
   * messages pass; 0: not at all; Infinity: it is dropped, and the connection stays open. A
   * connection that opens while this is undefined is not inspected.
   */
  holdMs: ((pushed: Pushed, random: Random) => number) | undefined;
}

/**
 * A TCP proxy that breaks its connections, for tests, campaigns and client authors
 * (`npm run faults`). Random choices depend on the seed and on how the bytes arrive.
 */
export class FaultProxy {
  readonly faults: Faults;
  /**
   * Connections that were cut, were refused or fell silent, messages that were overtaken or
   * dropped.
   */
  readonly counts = { cut: 0, refused: 0, dropped: 0, held: 0, lost: 0 };
  readonly #target: FaultProxyOptions['target'];
  readonly #server: Server;
  readonly #random: Random;
  readonly #connections = new Set<Connection>();
  #paused: Direction[] = [];
  #refusing = false;
  #cutTimer: NodeJS.Timeout | undefined;

  /** Resolves when it listens; rejects if the port is taken. */
  static async start(options: FaultProxyOptions): Promise<FaultProxy> {
    const proxy = new FaultProxy(options);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('error', reject);
      proxy.#server.listen(options.port ?? 0, '127.0.0.1', resolve);
    });
    proxy.#scheduleCut();
    return proxy;
  }

  private constructor({ target, seed = 1, faults }: FaultProxyOptions) {
    this.#target = target;
    this.#random = new Random(seed);
    this.faults = { delayMs: 0, cutEveryMs: 0, dropRate: 0, holdMs: undefined, ...faults };
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client));
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** Number of open connections. */
  get open(): number {
    return this.#connections.size;
  }

  /** Resets every connection, on both sides. New ones are accepted as before. */
  cut(): void {
    for (const connection of [...this.#connections]) this.#cut(connection);
  }

  /** Resets one random connection. */
  cutOne(): void {
    if (this.#connections.size > 0) this.#cut(this.#random.pick([...this.#connections]));
  }

  /** Stops all bytes in these directions, also of new connections; all connections stay open. */
  pause(directions: readonly Direction[] = ['up', 'down']): void {
    this.#paused = [...directions];
    for (const connection of this.#connections) connection.pause(this.#paused);
  }

  /** Forwards what `pause` has held, in order. */
  resume(): void {
    this.pause([]);
  }

  /** Cuts every connection and resets each new one until `accept`. */
  refuse(): void {
    this.#refusing = true;
    this.cut();
  }

  accept(): void {
    this.#refusing = false;
  }

  /** Resets all connections and stops listening. */
  async close(): Promise<void> {
    clearTimeout(this.#cutTimer);
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(client: Socket): void {
    if (this.#refusing) {
      this.counts.refused += 1;
      client.on('error', () => {});
      client.resetAndDestroy();
      return;
    }
    const { host = '127.0.0.1', port } = this.#target;
    const server = connect({ host, port, allowHalfOpen: true, noDelay: true });
    const connection = new Connection({
      client,
      server,
      faults: this.faults,
      counts: this.counts,
      random: this.#random,
      ended: () => this.#connections.delete(connection),
    });
    this.#connections.add(connection);
    connection.pause(this.#paused);
  }

  #cut(connection: Connection): void {
    this.counts.cut += 1;
    connection.reset();
  }

  /** Checks again every few milliseconds, so that `cutEveryMs` may change at any time. */
  #scheduleCut(sinceMs = performance.now()): void {
    this.#cutTimer = setTimeout(() => {
      const { cutEveryMs } = this.faults;
      const isDue = cutEveryMs > 0 && performance.now() - sinceMs >= cutEveryMs;
      if (isDue) this.cutOne();
      this.#scheduleCut(isDue ? performance.now() : sinceMs);
    }, LOOK_EVERY_MS);
    this.#cutTimer.unref();
  }
}

/** The way from the client to the target, or back. */
export type Direction = 'up' | 'down';

const LOOK_EVERY_MS = 10;

interface ConnectionOptions {
  readonly client: Socket;
  readonly server: Socket;
  readonly faults: Faults;
  readonly counts: { dropped: number; held: number; lost: number };
  readonly random: Random;
  readonly ended: () => void;
}

class Connection {
  readonly #options: ConnectionOptions;
  readonly #lanes: Readonly<Record<Direction, Lane>>;
  #isSilent = false;
  #over = false;

  constructor(options: ConnectionOptions) {
    const { client, server, faults } = options;
    this.#options = options;
    const splitter = faults.holdMs === undefined ? undefined : new RespSplitter();
    this.#lanes = {
      up: new Lane(client, server, faults, (chunk) => this.#pass('up', chunk)),
      down: new Lane(server, client, faults, (chunk) => {
        if (splitter === undefined || chunk === null) this.#pass('down', chunk);
        else for (const value of splitter.split(chunk)) this.#passValue(value);
      }),
    };
    for (const socket of [client, server]) {
      socket.on('error', () => this.#isSilent || this.reset());
      socket.on('close', () => this.#closed());
    }
  }

  pause(directions: readonly Direction[]): void {
    this.#lanes.up.setPaused(directions.includes('up'));
    this.#lanes.down.setPaused(directions.includes('down'));
  }

  reset(): void {
    const { client, server } = this.#options;
    for (const socket of [client, server]) {
      // A connecting socket has no peer to reset yet. A socket whose end is being sent cannot be
      // reset: Node leaks the handle that libuv refuses, and a process with such a handle spins
      // instead of exiting.
      const isEnding = socket.writableEnded && !socket.writableFinished;
      if (socket.connecting || isEnding) socket.destroy();
      else socket.resetAndDestroy();
    }
    this.#closed();
  }

  #pass(direction: Direction, chunk: Buffer | null): void {
    const { faults, counts, random } = this.#options;
    if (this.#isSilent) return;
    this.#isSilent = faults.dropRate > 0 && random.next() < faults.dropRate;
    if (this.#isSilent) counts.dropped += 1;
    this.#lanes[direction].put(chunk);
  }

  #passValue(value: Buffer): void {
    const { faults, counts, random } = this.#options;
    const pushed = pushedMessage(value);
    const holdMs = pushed === undefined ? 0 : (faults.holdMs?.(pushed, random) ?? 0);
    if (holdMs <= 0) {
      this.#pass('down', value);
      return;
    }
    if (holdMs === Number.POSITIVE_INFINITY) {
      counts.lost += 1;
      return;
    }
    counts.held += 1;
    // A connection that has closed by then has lost the message, like everything else in flight.
    setTimeout(() => !this.#over && this.#pass('down', value), holdMs).unref();
  }

  #closed(): void {
    const { client, server, ended } = this.#options;
    if (this.#over || !client.destroyed || !server.destroyed) return;
    this.#over = true;
    this.#lanes.up.stop();
    this.#lanes.down.stop();
    ended();
  }
}

/**
 * One direction of a connection: the queued chunks, in order, and the end of the stream after them.
 */
class Lane {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #faults: Faults;
  readonly #waiting: { readonly dueMs: number; readonly chunk: Buffer | null }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isPaused = false;

  /**
   * Calls `receive` with every chunk, or null for the end of the stream; it puts what is to pass.
   */
  constructor(from: Socket, to: Socket, faults: Faults, receive: (chunk: Buffer | null) => void) {
    this.#from = from;
    this.#to = to;
    this.#faults = faults;
    from.on('data', receive);
    from.on('end', () => receive(null));
    to.on('drain', () => from.resume());
  }

  put(chunk: Buffer | null): void {
    this.#waiting.push({ dueMs: performance.now() + this.#faults.delayMs, chunk });
    this.#flush();
  }

  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#flush();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#waiting.length = 0;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    if (this.#isPaused) return;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const inMs = next.dueMs - performance.now();
      if (inMs > 0) {
        this.#timer = setTimeout(() => this.#flush(), inMs);
        return;
      }
      this.#waiting.shift();
      if (next.chunk === null) this.#to.end();
      else if (!this.#to.write(next.chunk)) this.#from.pause();
    }
  }
}
