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

/** Ports of the admin server where none is set: Prometheus' own range of exporters begins there. */
const ADMIN_PORTS = { first: 9_464, count: 20 } as const;

/** Returns the first free port of ADMIN_PORTS, or undefined if all are in use. */
export async function freeAdminPort(host: string): Promise<number | undefined> {
  for (let port = ADMIN_PORTS.first; port < ADMIN_PORTS.first + ADMIN_PORTS.count; port++) {
    try {
      return await tryListening(host, port);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw cause;
    }
  }
  return undefined;
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
