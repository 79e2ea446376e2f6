import { TLSSocket } from 'node:tls';
import type { Redis, RedisOptions } from 'ioredis';

/** No call waits for more than 500 ms, and none is kept for a connection that may come. */
export const CONNECTION = {
  lazyConnect: true,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: 500,
  connectTimeout: 500,
  disconnectTimeout: 50,
  // A Redis that starts is asked again this often at most, whatever it says about how long it will load.
  maxLoadingRetryTime: 250,
  retryStrategy: (attempt: number) => Math.min(attempt * 50, 250),
  // A frame sent again after newer ones would break the order.
  autoResendUnfulfilledCommands: false,
  // ioredis does not wait for the answers, and dies of an unhandled rejection when one times out: Subscriptions does it.
  autoResubscribe: false,
} satisfies RedisOptions;

/**
 * Drops a connection at once; ioredis makes a new one. A reset where the transport has one: after a
 * plain close the kernel would still deliver what it holds, behind frames sent over the new connection.
 */
export function reset(connection: Redis): void {
  const { stream } = connection;
  // TLS has none, a Unix socket has no address, and one that is still connecting has sent nothing. While an end is
  // under way libuv refuses one, and no `close` would follow.
  const isEnding = stream.writableEnded && !stream.writableFinished;
  if (stream instanceof TLSSocket || stream.remoteAddress === undefined || isEnding) stream.destroy();
  else stream.resetAndDestroy();
}

/** Resolves when the connection is closed for good. */
export function end(connection: Redis): Promise<void> {
  return new Promise((resolve) => {
    // Between attempts there is no connection whose end could be waited for.
    const idle = connection.status === 'reconnecting' || connection.status === 'end';
    connection.once('end', resolve);
    connection.disconnect();
    if (idle) resolve();
  });
}

/** Oldest Redis that has what is used here, by its major version. */
export const LEAST_REDIS = 7;

/**
 * The version of a Redis, such as `7.0.15`; null where INFO is not permitted. Rejects for an older one, which has no
 * sharded publish/subscribe and would refuse every frame.
 */
export async function requireVersion(connection: Redis): Promise<string | null> {
  const info = await connection.info('server').catch((error: Error) => {
    if (error.message.includes('NOPERM')) return '';
    throw error;
  });
  const version = /^redis_version:(\S+)/m.exec(info)?.[1] ?? null;
  if (version === null || Number.parseInt(version, 10) >= LEAST_REDIS) return version;
  throw new Error(`it is version ${version}, and Parley needs ${LEAST_REDIS} or newer`);
}
