import { connect, type Socket } from 'node:net';
import { type Dialect, FRAME_CLASSES, PEEK_BYTES } from './dialects.ts';
import { clientFrame, OPCODES, upgradeRequest } from './websocket-frames.ts';

export interface RawSubscribersOptions {
  readonly port: number;
  readonly count: number;
  readonly dialect: Dialect | ((index: number) => Dialect);
  /** Connections that are opened together. Default 50: no more than a server's backlog takes. */
  readonly atOnce?: number;
  /** Called at each delivery to a socket with the number of its earlier ones. */
  readonly onDelivery?: (ordinal: number) => void;
}

/**
 * Many WebSocket clients that only count: plain TCP connections whose frames are recognized by
 * their headers, one buffer for all reads, no allocation per frame. A counter that parsed the
 * frames would be slower than the server that it measures.
 */
export class RawSubscribers {
  /** Deliveries to all sockets together. */
  deliveries = 0;
  /**
   * Reads of the sockets: deliveries arrive several a read when the server or the kernel put them
   * together.
   */
  reads = 0;
  /** Conversations that have caught up. */
  caughtUp = 0;
  /** Heartbeats that were answered, of either kind. */
  pings = 0;
  /** Bytes of the heartbeats' payloads. */
  pingBytes = 0;
  /** Sockets that were closed by the server, or failed. */
  lost = 0;
  /** The first error about received bytes, which closed the socket. */
  failure: unknown;
  readonly onDelivery: ((ordinal: number) => void) | undefined;
  readonly #subscribers: Subscriber[] = [];
  #goal = Number.POSITIVE_INFINITY;
  #onGoal: () => void = () => undefined;

  /** Resolves when all sockets are live. Rejects with the refusal of the first one that failed. */
  static async open(options: RawSubscribersOptions): Promise<RawSubscribers> {
    const { port, count, dialect, atOnce = AT_ONCE, onDelivery } = options;
    const all = new RawSubscribers(onDelivery);
    try {
      for (let opened = 0; opened < count; opened += atOnce) {
        const batch = Array.from({ length: Math.min(atOnce, count - opened) }, (_, index) => {
          const own = typeof dialect === 'function' ? dialect(opened + index) : dialect;
          const subscriber = new Subscriber(port, own, all);
          all.#subscribers.push(subscriber);
          return subscriber.live;
        });
        await Promise.all(batch);
      }
      return all;
    } catch (error) {
      all.close();
      throw error;
    }
  }

  private constructor(onDelivery: ((ordinal: number) => void) | undefined) {
    this.onDelivery = onDelivery;
  }

  get count(): number {
    return this.#subscribers.length;
  }

  /** Makes all sockets stop reading. */
  stall(): void {
    for (const subscriber of this.#subscribers) subscriber.stall();
  }

  /**
   * Calls `call` once, when `deliveries` has reached `goal`; at once if it has. Replaces an earlier
   * call.
   */
  whenDelivered(goal: number, call: () => void): void {
    this.#goal = goal;
    this.#onGoal = call;
    this.counted(0);
  }

  /** Resolves when `deliveries` has reached `goal`; rejects when it has not after `patienceMs`. */
  delivered(goal: number, patienceMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(
          new Error(
            `${goal - this.deliveries} of ${goal} deliveries are missing, ${this.lost} sockets lost`,
            { cause: this.failure },
          ),
        );
      }, patienceMs);
      this.whenDelivered(goal, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  close(): void {
    for (const subscriber of this.#subscribers) subscriber.close();
  }

  /** Called by the subscribers after each read. */
  counted(deliveries: number): void {
    this.deliveries += deliveries;
    this.reads += 1;
    if (this.deliveries < this.#goal) return;
    this.#goal = Number.POSITIVE_INFINITY;
    this.#onGoal();
  }
}

const AT_ONCE = 50;
const HANDSHAKE_MS = 20_000;
const MAX_HEADER_BYTES = 10;
const EMPTY_PONG = clientFrame(OPCODES.pong, Buffer.alloc(0));
/** One buffer for all sockets: bytes are counted before the next read. */
const READ_BUFFER = Buffer.allocUnsafe(256 * 1_024);

class Subscriber {
  readonly live: Promise<void>;
  readonly #dialect: Dialect;
  readonly #all: RawSubscribers;
  readonly #socket: Socket;
  /** Bytes from before the socket was live; undefined from then on. */
  #opening: Opening | undefined;
  /** Bytes of the present frame's payload that are still to come. */
  #skip = 0;
  /** The beginning of a frame that was cut off by the end of a read. */
  readonly #carry = new Uint8Array(MAX_HEADER_BYTES + PEEK_BYTES);
  #carried = 0;
  #deliveries = 0;
  #delivered = 0;
  #closed = false;

  constructor(port: number, dialect: Dialect, all: RawSubscribers) {
    this.#dialect = dialect;
    this.#all = all;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => reject(new Error('a socket was not live in time')), HANDSHAKE_MS);
    this.#opening = new Opening(dialect, (bytes) => this.#socket.write(bytes));
    this.live = promise.finally(() => clearTimeout(timer));
    this.#socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: {
        buffer: READ_BUFFER,
        callback: (length, buffer) => {
          try {
            this.#read(buffer, length, resolve);
          } catch (error) {
            all.failure ??= error;
            reject(error);
            this.#socket.destroy();
          }
          return true;
        },
      },
    });
    this.#socket.write(upgradeRequest(dialect.path, dialect.headers));
    this.#socket.on('error', (error) => reject(error));
    this.#socket.on('close', () => {
      if (this.#closed) return;
      this.#all.lost += 1;
      reject(new Error('a socket was closed by the server'));
    });
  }

  stall(): void {
    this.#socket.pause();
  }

  close(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  #read(buffer: Uint8Array, length: number, onLive: () => void): void {
    if (this.#opening === undefined) {
      this.#count(buffer, length);
    } else {
      const rest = this.#opening.read(Buffer.from(buffer.subarray(0, length)));
      if (rest === undefined) return;
      this.#opening = undefined;
      onLive();
      this.#count(rest, rest.length);
    }
    const deliveries = this.#deliveries;
    this.#deliveries = 0;
    this.#all.counted(deliveries);
  }

  #count(buffer: Uint8Array, length: number): void {
    let at = Math.min(this.#skip, length);
    this.#skip -= at;
    if (this.#carried > 0 && at < length) at = this.#countCarried(buffer, at, length);
    while (at < length) {
      const bytes = this.#frame(buffer, at, length - at);
      if (bytes === 0) {
        this.#carry.set(buffer.subarray(at, length));
        this.#carried = length - at;
        return;
      }
      this.#skip = Math.max(0, at + bytes - length);
      at += bytes;
    }
  }

  /**
   * Completes the header that the last read cut off; returns the end of the rest of the frame's
   * bytes.
   */
  #countCarried(buffer: Uint8Array, start: number, length: number): number {
    const carried = this.#carried;
    const added = Math.min(this.#carry.length - carried, length - start);
    this.#carry.set(buffer.subarray(start, start + added), carried);
    const bytes = this.#frame(this.#carry, 0, carried + added);
    if (bytes === 0) {
      this.#carried = carried + added;
      return length;
    }
    this.#carried = 0;
    const end = start + bytes - carried;
    this.#skip = Math.max(0, end - length);
    return Math.min(end, length);
  }

  /**
   * Reads the frame at `at` of which `available` bytes have arrived; returns its whole length, or 0
   * if too few have arrived.
   */
  #frame(bytes: Uint8Array, at: number, available: number): number {
    if (available < 2) return 0;
    const short = bytes[at + 1]! & 0x7f;
    const header = short < 126 ? 2 : short === 126 ? 4 : MAX_HEADER_BYTES;
    if (available < header) return 0;
    const payload = short < 126 ? short : payloadLength(bytes, at, header);
    if (available < header + Math.min(payload, PEEK_BYTES)) return 0;
    this.#take(bytes[at]! & 0x0f, bytes, at + header, payload);
    return header + payload;
  }

  #take(opcode: number, bytes: Uint8Array, start: number, length: number): void {
    if (opcode === OPCODES.text || opcode === OPCODES.binary) {
      const found = this.#dialect.classify(bytes, start, length);
      if (found === FRAME_CLASSES.delivery) {
        this.#deliveries += 1;
        this.#all.onDelivery?.(this.#delivered++);
      } else if (found === FRAME_CLASSES.ping) this.#pong(this.#dialect.pong, length);
      else if (found === FRAME_CLASSES.caughtUp) this.#all.caughtUp += 1;
    } else if (opcode === OPCODES.ping) {
      this.#pong(EMPTY_PONG, length);
    }
  }

  #pong(bytes: Buffer, pingBytes: number): void {
    this.#all.pings += 1;
    this.#all.pingBytes += pingBytes;
    this.#socket.write(bytes);
  }
}

/**
 * Returns the length of a payload. Header 4: 16 bits behind the first two bytes. Header 10: 64
 * bits, of which 32 suffice for any frame here.
 */
function payloadLength(bytes: Uint8Array, at: number, header: number): number {
  const last = at + header;
  const low = (bytes[last - 2]! << 8) | bytes[last - 1]!;
  return header === 4 ? low : bytes[last - 4]! * 2 ** 24 + bytes[last - 3]! * 2 ** 16 + low;
}

/** From the upgrade to the moment that a socket is live: rare, so it may allocate and parse. */
class Opening {
  readonly #write: (bytes: Buffer) => void;
  readonly #next: ReturnType<Dialect['open']>;
  #received = Buffer.alloc(0);
  #upgraded = false;

  constructor(dialect: Dialect, write: (bytes: Buffer) => void) {
    this.#write = write;
    this.#next = dialect.open();
  }

  /**
   * Returns the bytes behind the frame that made it live; undefined before. Throws for a refusal.
   */
  read(chunk: Buffer): Buffer | undefined {
    this.#received = Buffer.concat([this.#received, chunk]);
    if (!this.#upgraded && !this.#upgrade()) return undefined;
    if (this.#next === null) return this.#received;
    for (let text = this.#takeText(); text !== undefined; text = this.#takeText()) {
      const answer = this.#next(text);
      if (answer === 'live') return this.#received;
      if (answer === undefined) continue;
      const isLast = 'last' in answer;
      this.#write(isLast ? answer.last : answer);
      if (isLast) return this.#received;
    }
    return undefined;
  }

  #upgrade(): boolean {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const head = this.#received.toString('latin1', 0, end);
    if (!head.startsWith('HTTP/1.1 101')) throw new Error(`no upgrade: ${this.#received.toString()}`);
    this.#received = this.#received.subarray(end + 4);
    this.#upgraded = true;
    return true;
  }

  #takeText(): string | undefined {
    const bytes = this.#received;
    if (bytes.length < 2) return undefined;
    const short = bytes[1]! & 0x7f;
    const header = short < 126 ? 2 : short === 126 ? 4 : MAX_HEADER_BYTES;
    if (bytes.length < header) return undefined;
    const end = header + (short < 126 ? short : payloadLength(bytes, 0, header));
    if (bytes.length < end) return undefined;
    this.#received = bytes.subarray(end);
    const text = bytes.toString('utf8', header, end);
    if ((bytes[0]! & 0x0f) === OPCODES.close) throw new Error(`a socket was closed: ${text.slice(2)}`);
    return text;
  }
}
