import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ownAddresses } from './own-addresses.ts';
import type { Teardown } from './teardown.ts';

/** The address of the one server that may be requested. */
export const FRIEND = '127.0.0.2';

/** A server that may be requested, and others at the same port of addresses that may not. */
export interface Canaries {
  readonly port: number;
  /** The addresses of the canaries. */
  readonly addresses: readonly string[];
  /** Connections that reached a canary. */
  reached: number;
}

/** Starts the friend, which answers by `answer`, and the canaries. */
export async function startCanaries(t: Teardown, answer: RequestListener): Promise<Canaries> {
  const addresses = ownAddresses();
  for (;;) {
    const canaries: Canaries = { port: await listen(t, FRIEND, 0, answer), addresses, reached: 0 };
    const hit = () => {
      canaries.reached += 1;
    };
    try {
      for (const address of addresses) {
        await listen(t, address, canaries.port, (_, response) => response.end('canary'), hit);
      }
      return canaries;
    } catch (error) {
      // The port is free at the friend's address, and may be taken at another one.
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

async function listen(
  { teardown }: Teardown,
  address: string,
  port: number,
  answer: RequestListener,
  connected: () => void = () => {},
): Promise<number> {
  const server = createServer(answer);
  server.on('connection', connected);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, address, resolve);
  });
  teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
