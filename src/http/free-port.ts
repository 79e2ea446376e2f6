import { createServer } from 'node:net';

/**
 * Rejects with one line where nobody can listen at this address. Asked before anything is started: a
 * database is not brought up, and its log not printed, for a server that cannot open its port.
 */
export function requireFreePort(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', ({ message }) => reject(new Error(`cannot listen on ${host}:${port}: ${message}`)));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}
