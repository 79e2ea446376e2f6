import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';
import type { Teardown } from './teardown.ts';

/**
 * A load balancer like those that operators put in front of their nodes. Passes each connection to
 * the next node in turn that accepts it, and knows nothing of its bytes except whether it begins as
 * a WebSocket.
 */
export class Balancer {
  readonly url: string;
  /** Arrival times of each WebSocket's handshake, on the clock of `performance.now()`. */
  readonly handshakes: number[] = [];
  readonly #server: Server;
  /** Returns the base URLs; called at each connection. */
  readonly #nodes: () => readonly string[];
  /** The node of each open connection that began as a WebSocket. */
  readonly #sockets = new Map<Socket, string>();
  readonly #open = new Set<Socket>();
  #turn = 0;

  static async start(t: Teardown, nodes: () => readonly string[]): Promise<Balancer> {
    const server = createServer({ noDelay: true }, (near) => balancer.#take(near));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', BACKLOG, resolve));
    const balancer = new Balancer(server, nodes);
    t.teardown(() => {
      for (const near of balancer.#open) near.destroy();
      server.close();
    });
    return balancer;
  }

  private constructor(server: Server, nodes: () => readonly string[]) {
    this.#server = server;
    this.#nodes = nodes;
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Returns the number of WebSockets that a node has through this balancer. */
  socketsOf(node: string): number {
    return [...this.#sockets.values()].filter((other) => other === node).length;
  }

  #take(near: Socket): void {
    this.#open.add(near);
    near.on('error', () => {});
    near.on('close', () => {
      this.#open.delete(near);
      this.#sockets.delete(near);
    });
    near.once('data', (first: Buffer) => {
      near.pause();
      const isSocket = first.toString('latin1').startsWith(HANDSHAKE);
      if (isSocket) this.handshakes.push(performance.now());
      const nodes = this.#nodes();
      const start = this.#turn++ % nodes.length;
      this.#connect(near, { first, isSocket, nodes: [...nodes.slice(start), ...nodes.slice(0, start)] });
    });
  }

  #connect(near: Socket, { nodes: [node, ...others], ...opening }: Opening): void {
    if (node === undefined || near.destroyed) {
      near.destroy();
      return;
    }
    const { hostname, port } = new URL(node);
    const far = dial({ host: hostname, port: Number(port), noDelay: true });
    const refused = () => this.#connect(near, { nodes: others, ...opening });
    far.once('error', refused);
    far.once('connect', () => {
      far.off('error', refused);
      far.on('error', () => {});
      if (opening.isSocket && !near.destroyed) this.#sockets.set(near, node);
      far.write(opening.first);
      near.pipe(far).pipe(near);
      near.on('close', () => far.destroy());
      far.on('close', () => near.end());
    });
  }
}

interface Opening {
  readonly first: Buffer;
  readonly isSocket: boolean;
  /** The nodes still to try, in this order. */
  readonly nodes: readonly string[];
}

const HANDSHAKE = 'GET /v1/realtime';
const BACKLOG = 1_024;
