import { connect, type Socket } from 'node:net';

/** A TCP connection that sends exactly the given bytes. */
export class RawClient {
  readonly socket: Socket;
  /** Everything received so far, one character a byte. */
  received = '';
  /** Resolves when the connection is over, in whatever way. */
  readonly closed: Promise<void>;
  #over = false;

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.socket.on('data', (data) => {
      this.received += data.toString('latin1');
    });
    // A reset is one way in which a connection may be cut.
    this.socket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      this.socket.once('close', () => {
        this.#over = true;
        resolve();
      });
    });
  }

  /** Whether the other side has ended the connection. */
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

  /** Statuses of the answers, in the order of arrival, without interim ones. */
  get statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map((match) => Number(match[1]));
  }

  /** `error.code` of the answers. */
  get codes(): string[] {
    return [...this.received.matchAll(/"error":\{"code":"(\w+)"/g)].map((match) => match[1]!);
  }
}
