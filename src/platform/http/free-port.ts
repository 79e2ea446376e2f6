import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Resolves with the port, or with a free one for 0. Rejects with one line if the server cannot
 * listen at this address. Called before anything starts, so that no database is started, and no log
 * printed, for a server that cannot open its port. A port in use has `patienceMs` to become free.
 */
export async function requireFreePort(host: string, port: number, patienceMs = 0): Promise<number> {
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    try {
      return await tryListening(host, port);
    } catch (cause) {
      const { message, code } = cause as NodeJS.ErrnoException;
      if (code !== 'EADDRINUSE' || performance.now() > deadlineMs)
        throw new Error(`cannot listen on ${host}:${port}: ${message}`, { cause });
      await delay(AGAIN_MS);
    }
  }
}

const AGAIN_MS = 100;

function tryListening(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen({ host, port, exclusive: true }, () => {
      const { port: found } = probe.address() as AddressInfo;
      probe.close(() => resolve(found));
    });
  });
}
