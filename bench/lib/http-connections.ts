import { connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';

/** The status of the answer; 0 where the connection failed. */
export type Answered = (status: number, body: Buffer) => void;

export interface HttpConnectionsOptions {
  readonly host: string;
  readonly port: number;
  readonly size: number;
  /** Over TLS. Default: not. */
  readonly secure?: boolean;
}

/**
 * Keep-alive connections that take requests as bytes, at a tenth of a general client's cost, so
 * that the generator leaves the machine to the server. One request at a time a connection; when all
 * are busy, requests wait in line. Understands answers with a Content-Length only.
 */
export class HttpConnections {
  readonly #all: Connection[];
  readonly #idle: Connection[];
  readonly #waiting: { readonly request: Buffer; readonly answered: Answered }[] = [];
  #firstWaiting = 0;

  /** Resolves when all are connected. */
  static async open({ host, port, size, secure = false }: HttpConnectionsOptions): Promise<HttpConnections> {
    const sockets = await Promise.all(Array.from({ length: size }, () => connected(host, port, secure)));
    return new HttpConnections(sockets);
  }

  private constructor(sockets: readonly Socket[]) {
    this.#all = sockets.map((socket) => new Connection(socket, (connection) => this.#next(connection)));
    this.#idle = [...this.#all];
  }

  /** Requests without an answer, in line or under way. */
  get pending(): number {
    return this.#all.length - this.#idle.length + this.#waiting.length - this.#firstWaiting;
  }

  send(request: Buffer, answered: Answered): void {
    // Takes the connection idle for longest, because servers cut idle ones after seconds.
    const connection = this.#idle.shift();
    if (connection === undefined) this.#waiting.push({ request, answered });
    else connection.send(request, answered);
  }

  close(): void {
    for (const connection of this.#all) connection.close();
  }

  #next(connection: Connection): void {
    const next = this.#waiting[this.#firstWaiting];
    if (next === undefined) {
      this.#idle.push(connection);
      return;
    }
    this.#firstWaiting += 1;
    // Shifting an array of thousands for each answer would cost more than the answer.
    if (this.#firstWaiting === SHIFT_AT) {
      this.#waiting.splice(0, SHIFT_AT);
      this.#firstWaiting = 0;
    }
    connection.send(next.request, next.answered);
  }
}

/** Returns a request with a JSON body, as bytes; `headers` add to those of every request. */
export function postRequest(
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  host = '127.0.0.1',
): Buffer {
  const all = { ...headers, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
  return Buffer.from(`${head('POST', path, host, all)}${body}`);
}

/** Returns a request without a body. */
export function getRequest(path: string, headers: Readonly<Record<string, string>>): Buffer {
  return Buffer.from(head('GET', path, '127.0.0.1', headers));
}

function head(
  method: string,
  path: string,
  host: string,
  headers: Readonly<Record<string, string | number>>,
): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${lines.join('')}\r\n`;
}

class Connection {
  readonly #socket: Socket;
  readonly #onFree: (connection: Connection) => void;
  #answered: Answered | undefined;
  #received: Buffer = EMPTY;
  #failed = false;

  constructor(socket: Socket, onFree: (connection: Connection) => void) {
    this.#socket = socket;
    this.#onFree = onFree;
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', () => this.#fail());
    socket.on('close', () => this.#fail());
  }

  send(request: Buffer, answered: Answered): void {
    if (this.#failed) {
      setImmediate(() => {
        answered(0, EMPTY);
        this.#onFree(this);
      });
      return;
    }
    this.#answered = answered;
    this.#socket.write(request);
  }

  close(): void {
    this.#answered = undefined;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    const received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = received.indexOf('\r\n\r\n');
    const head = headEnd < 0 ? '' : received.toString('latin1', 0, headEnd);
    const length = headEnd < 0 ? Number.NaN : Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    const bodyStart = headEnd + 4;
    if (headEnd < 0 || received.length < bodyStart + length) {
      this.#received = received;
      return;
    }
    this.#received = EMPTY;
    this.#finish(Number(head.slice(9, 12)), received.subarray(bodyStart, bodyStart + length));
  }

  #fail(): void {
    this.#failed = true;
    if (this.#answered !== undefined) this.#finish(0, EMPTY);
  }

  #finish(status: number, body: Buffer): void {
    const answered = this.#answered;
    this.#answered = undefined;
    answered?.(status, body);
    this.#onFree(this);
  }
}

const EMPTY = Buffer.alloc(0);
const SHIFT_AT = 1_000;

function connected(host: string, port: number, secure: boolean): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = secure
      ? connectSecurely({ host, port, servername: host })
      : connect({ host, port, noDelay: true });
    socket.setNoDelay(true);
    socket.once('error', reject);
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
