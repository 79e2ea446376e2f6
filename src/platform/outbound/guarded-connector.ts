import { isIP } from 'node:net';
import { buildConnector } from 'undici';
import type { AddressGuard } from './address-guard.ts';
import type { Target } from './outbound-url.ts';

/**
 * Returns how undici connects to `target`, whose literal address has passed
 * `guard.requireLiteral`: a look-up yields permitted addresses only, and the connected address is
 * checked once more before a request is written.
 */
export function guardedConnector(
  guard: AddressGuard,
  target: Target,
  signal?: AbortSignal,
): buildConnector.connector {
  const { host } = target;
  const lookup = guard.lookupFor(target, signal);
  const connect = buildConnector({ lookup, allowH2: false, timeout: CONNECT_MS });
  const place = { hostname: host, ...(isIP(host) === 0 && { servername: host }) };
  return (options, callback) => {
    connect({ ...options, ...place }, (...outcome) => {
      const [error, socket] = outcome;
      try {
        if (error === null) guard.requireConnected(socket, target);
        callback(...outcome);
      } catch (refusal) {
        socket?.destroy();
        callback(refusal as Error, null);
      }
    });
  };
}

/**
 * Milliseconds for a look-up and a connection: more than any caller waits. Callers have limits of
 * their own, for the whole of a request.
 */
const CONNECT_MS = 20_000;
