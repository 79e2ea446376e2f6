import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as send,
} from 'node:http';
import { type AddressInfo, connect as dial, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Teardown } from './teardown.ts';

/** Treatments of sockets and streams by proxies. */
export const BLOCKS = {
  /** Passes everything. */
  open: { upgrades: 'passed', answers: 'passed' },
  /** Answers upgrades with 403. */
  refusing: { upgrades: 'refused', answers: 'passed' },
  /** Forwards upgrades as plain requests, without the headers that make them upgrades. */
  stripping: { upgrades: 'stripped', answers: 'passed' },
  /** Holds answers back until they have ended, open ones too: streams never arrive. */
  buffering: { upgrades: 'refused', answers: 'buffered' },
  /** Takes upgrades and answers nothing. */
  'mute to sockets': { upgrades: 'unanswered', answers: 'passed' },
  /** Takes upgrades and requests for streams, and answers nothing. */
  mute: { upgrades: 'unanswered', answers: 'unanswered streams' },
} as const satisfies Readonly<Record<string, Blocked>>;

export type Block = keyof typeof BLOCKS;

interface Blocked {
  readonly upgrades: 'passed' | 'refused' | 'stripped' | 'unanswered';
  readonly answers: 'passed' | 'buffered' | 'unanswered streams';
}

/** An HTTP proxy between clients and one server, like those in networks that block sockets. */
export class BlockingProxy {
  readonly url: string;
  /** Number of requests and upgrades, by path. */
  readonly counts: Record<string, number> = {};
  /** The base URL of the server that new connections lead to. */
  target: string;
  /** Its treatment of new requests. */
  block: Block;
  readonly #connections: Set<Duplex>;

  static async start(t: Teardown, target: string, block: Block = 'open'): Promise<BlockingProxy> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    const connections = new Set<Duplex>();
    server.on('connection', (connection: Socket) => keep(connections, connection));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const proxy = new BlockingProxy(server, target, block, connections);
    t.teardown(() => {
      proxy.cut();
      server.close();
    });
    return proxy;
  }

  private constructor(server: Server, target: string, block: Block, connections: Set<Duplex>) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.target = target;
    this.block = block;
    this.#connections = connections;
    server.on('upgrade', (request, connection, head) => {
      connection.on('error', () => {});
      this.#count(request);
      this.#upgrade(request, connection, head);
    });
    server.on('request', (request, response) => {
      this.#count(request);
      this.#forward(request, response);
    });
  }

  cut(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  #count({ url = '' }: IncomingMessage): void {
    const path = url.split('?')[0]!;
    this.counts[path] = (this.counts[path] ?? 0) + 1;
  }

  #upgrade(request: IncomingMessage, near: Duplex, head: Buffer): void {
    switch (BLOCKS[this.block].upgrades) {
      case 'unanswered':
        return;
      case 'refused':
        near.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
        return;
      case 'stripped':
        this.#strip(request, near);
        return;
      case 'passed': {
        const { hostname, port } = new URL(this.target);
        const far = dial(Number(port), hostname, () => {
          far.write(`${request.method} ${request.url} HTTP/1.1\r\n${headText(request)}\r\n`);
          far.write(head);
          near.pipe(far).pipe(near);
        });
        keep(this.#connections, far);
        far.on('close', () => near.destroy());
        near.on('close', () => far.destroy());
      }
    }
  }

  #strip(request: IncomingMessage, near: Duplex): void {
    const { upgrade: _, connection: __, ...headers } = request.headers;
    const far = send(new URL(request.url ?? '/', this.target), { headers }, (answer) => {
      near.write(`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\n${headText(answer)}\r\n`);
      answer.pipe(near);
    });
    // It did not ask for an upgrade.
    far.on('upgrade', (_, connection) => {
      connection.destroy();
      near.destroy();
    });
    far.on('error', () => near.destroy());
    far.end();
  }

  #forward(request: IncomingMessage, response: ServerResponse): void {
    if (BLOCKS[this.block].answers === 'unanswered streams' && request.url === '/v1/realtime/streams') return;
    const options = { method: request.method, headers: request.headers, agent: false as const };
    const far = send(new URL(request.url ?? '/', this.target), options, (answer) => {
      void this.#deliver(answer, response).catch(() => response.destroy());
    });
    far.on('error', () => response.destroy());
    response.on('close', () => far.destroy());
    request.pipe(far);
  }

  /** Sends an answer on, piece by piece or once it is complete. */
  async #deliver(answer: IncomingMessage, response: ServerResponse): Promise<void> {
    const { 'transfer-encoding': _, ...headers } = answer.headers;
    response.writeHead(answer.statusCode ?? 502, headers);
    const held: Buffer[] = [];
    for await (const piece of answer) {
      held.push(piece);
      if (BLOCKS[this.block].answers !== 'buffered') response.write(Buffer.concat(held.splice(0)));
    }
    response.end(Buffer.concat(held));
  }
}

function headText({ rawHeaders }: IncomingMessage): string {
  let text = '';
  for (let n = 0; n < rawHeaders.length; n += 2) text += `${rawHeaders[n]}: ${rawHeaders[n + 1]}\r\n`;
  return text;
}

function keep(connections: Set<Duplex>, connection: Duplex): void {
  connections.add(connection);
  connection.on('error', () => {});
  connection.on('close', () => connections.delete(connection));
}
