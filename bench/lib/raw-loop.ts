import { connect, type Socket } from 'node:net';
import { AnswerReader } from './answer-reader.ts';
import { type ClosedLoopOptions, type ClosedLoopReport, headersOf, SETTLE_MS } from './closed-loop.ts';
import { getRequest, postRequest } from './http-connections.ts';
import { LatencyHistogram } from './latency-histogram.ts';
import { bytesBehindUnique, writeUnique } from './unique-number.ts';

/**
 * Drives keep-alive sockets that write the same bytes again and read the status and the length of
 * the answers, at a fraction of autocannon's cost. Counts from SETTLE_MS on. Rejects if any answer
 * was not 2xx.
 */
export async function rawLoop(options: ClosedLoopOptions): Promise<ClosedLoopReport> {
  const { port, connections, durationMs, path, body } = options;
  const requests = Array.from({ length: connections }, (_, connection) => {
    const headers = headersOf(options, connection);
    return body === undefined
      ? getRequest(path(connection), headers)
      : postRequest(path(connection), headers, body);
  });
  const behind = body === undefined ? undefined : bytesBehindUnique(body);
  const loop = new Loop(durationMs, behind);
  const opened = await Promise.all(requests.map((request) => loop.connect(port, request)));
  try {
    await loop.run(opened);
  } finally {
    for (const connection of opened) connection.close();
  }
  return loop.report();
}

class Loop {
  readonly #durationMs: number;
  readonly #behind: number | undefined;
  readonly #latency = new LatencyHistogram();
  readonly #done = Promise.withResolvers<void>();
  #startMs = 0;
  #endedMs = 0;
  #counted = 0;
  #answered = 0;
  #open = 0;

  constructor(durationMs: number, behind: number | undefined) {
    this.#durationMs = durationMs;
    this.#behind = behind;
    // A connection may fail before run() awaits it.
    this.#done.promise.catch(() => undefined);
  }

  connect(port: number, request: Buffer): Promise<Connection> {
    return Connection.open(port, request, this);
  }

  /** Resolves when the time is over and every request is answered. */
  async run(connections: readonly Connection[]): Promise<void> {
    this.#startMs = performance.now() + SETTLE_MS;
    this.#open = connections.length;
    const patience = setTimeout(
      () => this.fail(new Error(`${this.#open} requests were not answered`)),
      SETTLE_MS + this.#durationMs + PATIENCE_MS,
    );
    for (const connection of connections) this.#send(connection);
    try {
      await this.#done.promise;
    } finally {
      clearTimeout(patience);
    }
  }

  fail(error: Error): void {
    this.#done.reject(error);
  }

  answered(connection: Connection, status: number): void {
    if (status < 200 || status > 299) {
      this.fail(new Error(`a request was answered ${status}`));
      return;
    }
    const nowMs = performance.now();
    this.#answered += 1;
    if (nowMs > this.#startMs + this.#durationMs) {
      this.#open -= 1;
      if (this.#open === 0) this.#done.resolve();
      return;
    }
    if (nowMs >= this.#startMs) {
      this.#counted += 1;
      this.#endedMs = nowMs;
      this.#latency.recordUs((nowMs - connection.sentAtMs) * 1_000);
    }
    this.#send(connection);
  }

  report(): ClosedLoopReport {
    const { p50, p99 } = this.#latency.percentiles();
    return {
      perSecond: (this.#counted * 1_000) / (this.#endedMs - this.#startMs),
      p50Ms: p50 / 1_000,
      p99Ms: p99 / 1_000,
      answered: this.#answered,
    };
  }

  #send(connection: Connection): void {
    if (this.#behind !== undefined) writeUnique(connection.request, connection.request.length - this.#behind);
    connection.send();
  }
}

const PATIENCE_MS = 20_000;
/** One buffer for all sockets: bytes are examined before the next read. */
const READ_BUFFER = Buffer.allocUnsafe(256 * 1_024);

class Connection {
  readonly request: Buffer;
  sentAtMs = 0;
  readonly #socket: Socket;

  static open(port: number, request: Buffer, loop: Loop): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const reader = new AnswerReader();
      const socket = connect({
        host: '127.0.0.1',
        port,
        noDelay: true,
        onread: {
          buffer: READ_BUFFER,
          callback: (length, buffer) => {
            try {
              const status = reader.read(buffer as Buffer, length);
              if (status !== undefined) loop.answered(connection, status);
            } catch (error) {
              loop.fail(error as Error);
            }
            return true;
          },
        },
      });
      const connection = new Connection(socket, request);
      socket.once('connect', () => resolve(connection));
      socket.on('error', (error) => {
        reject(error);
        loop.fail(error);
      });
      socket.on('close', () => loop.fail(new Error('the server closed a connection')));
    });
  }

  private constructor(socket: Socket, request: Buffer) {
    this.#socket = socket;
    this.request = request;
  }

  send(): void {
    this.sentAtMs = performance.now();
    this.#socket.write(this.request);
  }

  close(): void {
    this.#socket.destroy();
  }
}
