import { connect, type Socket } from 'node:net';

/** One TCP connection that says exactly what it is told to. */
export class RawClient {
  readonly socket: Socket;
  /** All that was received so far, a character a byte. */
  received = '';
  /** Resolves when the connection is over, however it ended. */
  readonly closed: Promise<void>;
  #over = false;

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.socket.on('data', (data) => {
      this.received += data.toString('latin1');
    });
    // A reset is one of the ways in which a connection may be cut.
    this.socket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      this.socket.once('close', () => {
        this.#over = true;
        resolve();
      });
    });
  }

  /** Whether the other side has ended it. */
  get over(): boolean {
    return this.#over;
  }

  send(text: string | Buffer): this {
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text);
    return this;
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Statuses of the answers, in the order in which they came, without interim ones. */
  get statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map((match) => Number(match[1]));
  }

  /** `error.code` of the answers. */
  get codes(): string[] {
    return [...this.received.matchAll(/"error":\{"code":"(\w+)"/g)].map((match) => match[1]!);
  }
}
