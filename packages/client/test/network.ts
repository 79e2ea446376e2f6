import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import type { Teardown } from '../../../test/support/teardown.ts';

/** The network between a client and the gateways: forwards bytes to one of them, and can be cut. */
class Network {
  readonly url: string;
  /** The base URL of the gateway that new connections lead to. */
  target: string;
  readonly #sockets: Set<Socket>;

  constructor(url: string, target: string, sockets: Set<Socket>) {
    this.url = url;
    this.target = target;
    this.#sockets = sockets;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

export async function openNetwork(t: Teardown, target: string): Promise<Network> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const { hostname, port } = new URL(network.target);
    const far = dial(Number(port), hostname);
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    near.on('close', () => far.destroy());
    far.on('close', () => near.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const network = new Network(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, target, sockets);
  t.teardown(() => {
    network.cut();
    server.close();
  });
  return network;
}
