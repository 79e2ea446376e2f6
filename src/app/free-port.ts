import { createServer } from 'node:net';

/**
 * Rejects with one line if the server cannot listen at this address. Called before anything is
 * started, so that no database is started, and no log printed, for a server that cannot open its
 * port.
 */
export function requireFreePort(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', ({ message }) => reject(new Error(`cannot listen on ${host}:${port}: ${message}`)));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}
