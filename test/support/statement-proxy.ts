import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Teardown } from './teardown.ts';

/**
 * The fate of a statement and its connection. `cut before`: it is not passed on. `cut after`: it is
 * passed on, and nothing comes back. With a delay, `isLate`: the client loses the connection at
 * once, and Postgres gets the statement later.
 */
export type Fate =
  | 'pass'
  | 'cut before'
  | 'cut after'
  | { readonly delayMs: number; readonly isLate: boolean };

/** A statement on its way to Postgres. */
export interface PassingStatement {
  /** The text with the values of its parameters. */
  readonly text: string;
  /** Equal for statements of one connection, for notes of the test. */
  readonly session: object;
}

/**
 * A TCP proxy before Postgres that decides about each statement, so that a connection can be lost
 * at any statement. Knows the protocol without TLS.
 */
export class StatementProxy {
  /** URL of the database through this proxy. */
  readonly url: string;
  /** Decides about each statement, one after the other for each connection. */
  onStatement: (statement: PassingStatement) => Fate | Promise<Fate> = () => 'pass';
  readonly #connections = new Set<Connection>();

  static async start(t: Teardown, url: string): Promise<StatementProxy> {
    const server = createServer({ noDelay: true });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new StatementProxy(url, (server.address() as AddressInfo).port);
    const { hostname, port } = new URL(url);
    server.on('connection', (near) => {
      const far = connect({ host: hostname, port: Number(port), noDelay: true });
      const connection = new Connection(near, far, (statement) => proxy.onStatement(statement));
      proxy.#connections.add(connection);
      far.on('close', () => proxy.#connections.delete(connection));
    });
    t.teardown(() => {
      proxy.cut();
      server.close();
    });
    return proxy;
  }

  private constructor(url: string, port: number) {
    const own = new URL(url);
    own.hostname = '127.0.0.1';
    own.port = String(port);
    this.url = own.href;
  }

  /** Cuts all connections of clients; Postgres notices it at its next look. */
  cut(): void {
    for (const connection of this.#connections) connection.cut();
  }
}

class Connection {
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #decide: (statement: PassingStatement) => Fate | Promise<Fate>;
  readonly #session = {};
  #unread = Buffer.alloc(0);
  /** The messages of the incomplete statement. */
  #parts: Buffer[] = [];
  #isStarted = false;
  #isCut = false;
  #passing = Promise.resolve();

  constructor(near: Socket, far: Socket, decide: (statement: PassingStatement) => Fate | Promise<Fate>) {
    this.#near = near;
    this.#far = far;
    this.#decide = decide;
    for (const socket of [near, far]) socket.on('error', () => {});
    near.on('data', (bytes: Buffer) => this.#read(bytes));
    near.on('close', () => {
      // Passes earlier bytes on first.
      if (!this.#isCut) this.#then(async () => void far.end());
    });
    far.on('data', (bytes: Buffer) => void (this.#isCut || near.write(bytes)));
    far.on('close', () => near.destroy());
  }

  /** Cuts the client's connection at once, and Postgres's after the bytes sent so far. */
  cut(): void {
    this.#isCut = true;
    this.#near.resetAndDestroy();
    this.#far.end();
  }

  #read(bytes: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, bytes]);
    for (;;) {
      // The first message has no type.
      const head = this.#isStarted ? 1 : 0;
      if (this.#unread.length < head + 4) return;
      const length = head + this.#unread.readInt32BE(head);
      if (this.#unread.length < length) return;
      const message = this.#unread.subarray(0, length);
      this.#unread = this.#unread.subarray(length);
      this.#parts.push(message);
      const type = this.#isStarted ? String.fromCharCode(message[0]!) : '';
      this.#isStarted = true;
      if (PARTS.has(type)) continue;
      const whole = Buffer.concat(this.#parts.splice(0));
      if (ENDS.has(type)) this.#then(() => this.#pass(whole));
      else this.#then(async () => void this.#far.write(whole));
    }
  }

  #then(act: () => Promise<void>): void {
    this.#passing = this.#passing.then(async () => {
      if (!this.#isCut) await act();
    });
  }

  async #pass(bytes: Buffer): Promise<void> {
    const fate = await this.#decide({ text: bytes.toString('latin1'), session: this.#session });
    if (this.#isCut) return;
    if (fate === 'cut before') return this.cut();
    if (typeof fate === 'object') {
      if (fate.isLate) {
        this.#isCut = true;
        this.#near.resetAndDestroy();
      }
      await delay(fate.delayMs);
      if (fate.isLate) return void this.#far.end(bytes);
    }
    this.#far.write(bytes);
    if (fate === 'cut after') this.cut();
  }
}

/** Parse, Bind, Describe, Execute and Close, which a Sync ends. */
const PARTS: ReadonlySet<string> = new Set(['P', 'B', 'D', 'E', 'C']);
/** Sync and simple queries. */
const ENDS: ReadonlySet<string> = new Set(['S', 'Q']);
