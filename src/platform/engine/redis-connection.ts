import { TLSSocket } from 'node:tls';
import type { Redis, RedisOptions } from 'ioredis';

/**
 * No call waits for more than 500 ms, and none is queued for a connection that does not exist yet.
 */
export const CONNECTION = {
  lazyConnect: true,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: 500,
  connectTimeout: 500,
  disconnectTimeout: 50,
  // A Redis that is loading is asked again at least this often, whatever it says about the time
  // that it needs.
  maxLoadingRetryTime: 250,
  retryStrategy: (attempt: number) => Math.min(attempt * 50, 250),
  // A frame that is sent again after newer ones would break the order.
  autoResendUnfulfilledCommands: false,
  // ioredis does not await the answers, and an unhandled rejection ends the process when one times
  // out: Subscriptions does it.
  autoResubscribe: false,
} satisfies RedisOptions;

/**
 * Drops a connection at once; ioredis makes a new one. Resets the transport where it can: after a
 * plain close the kernel would still deliver the bytes that it holds, after frames that were sent
 * over the new connection.
 */
export function reset(connection: Redis): void {
  const { stream } = connection;
  // TLS has no reset, a Unix socket has no address, and a connection that is still being made has
  // sent nothing. While an end is under way libuv refuses a reset, and no `close` would follow.
  const isEnding = stream.writableEnded && !stream.writableFinished;
  if (stream instanceof TLSSocket || stream.remoteAddress === undefined || isEnding) stream.destroy();
  else stream.resetAndDestroy();
}

/** Resolves when the connection is closed for good. */
export function end(connection: Redis): Promise<void> {
  return new Promise((resolve) => {
    // Between attempts there is no connection whose end could be awaited.
    const idle = connection.status === 'reconnecting' || connection.status === 'end';
    connection.once('end', resolve);
    connection.disconnect();
    if (idle) resolve();
  });
}

/** Major version of the oldest Redis that has all features used here. */
export const LEAST_REDIS = 7;

/**
 * Returns the version of a Redis, such as `7.0.15`; null where INFO is not permitted. Rejects for
 * an older one, which has no sharded publish/subscribe and would refuse every frame.
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
