import { TLSSocket } from 'node:tls';
import { Redis, type RedisOptions } from 'ioredis';
import type { RedisAddress } from './redis-address.ts';
import { SentinelConnector } from './redis-sentinels.ts';

/** Longest pause between two attempts to connect. */
const RETRY_MS = 250;

/** No call waits for more than 500 ms, and none is queued for a connection yet to be made. */
const CONNECTION = {
  lazyConnect: true,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: 500,
  connectTimeout: 500,
  disconnectTimeout: 50,
  // A loading Redis is asked again at least this often, whatever time it says it needs.
  maxLoadingRetryTime: RETRY_MS,
  retryStrategy: (attempt: number) => Math.min(attempt * 50, RETRY_MS),
  // A frame that is sent again after newer ones would break the order.
  autoResendUnfulfilledCommands: false,
  // Left to Subscriptions: in ioredis, an answer that times out is an unhandled rejection.
  autoResubscribe: false,
  // Otherwise each connection needs one more right.
  disableClientInfo: true,
  // A master that became a replica: the address now belongs to another server, or Sentinel knows
  // it.
  reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
} satisfies RedisOptions;

/** Every sentinel is listened to, since one may learn of a new master seconds after another. */
const SENTINEL = {
  Connector: SentinelConnector,
  failoverDetector: true,
  sentinelCommandTimeout: 500,
  sentinelReconnectStrategy: () => 1_000,
} satisfies RedisOptions;

/**
 * Makes a connection that is not open yet. Sentinels, if used, are asked for the master again
 * before each attempt; once `isOpened`, until one answers.
 */
export function connectionTo(
  { isWatched, target }: RedisAddress,
  connectionName: string,
  isOpened: () => boolean,
): Redis {
  const options = {
    ...CONNECTION,
    connectionName,
    ...(isWatched && { ...SENTINEL, sentinelRetryStrategy: () => (isOpened() ? RETRY_MS : null) }),
  };
  const connection =
    typeof target === 'string' ? new Redis(target, options) : new Redis({ ...options, ...target });
  // A TLS socket that refuses a certificate while it is being ended reports two errors. ioredis
  // listens to the first, and the second would end the process.
  connection.on('error', () => connection.stream?.on('error', () => {}));
  return connection;
}

/** Returns a server's answer about all servers of its cluster (CLUSTER NODES). */
export async function readClusterNodes(address: RedisAddress): Promise<string> {
  const connection = connectionTo(address, 'parley-slots', () => false);
  let reason: Error | undefined;
  connection.on('error', (error) => {
    reason = error;
  });
  try {
    await connection.connect();
    return (await connection.cluster('NODES')) as string;
  } catch (error) {
    throw withoutArguments(reason ?? error);
  } finally {
    await end(connection);
  }
}

/** Returns the address of the connected server; undefined between two connections. */
export function remoteOf({ stream }: Redis): string | undefined {
  return stream?.remoteAddress && `${stream.remoteAddress}:${stream.remotePort}`;
}

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
export const MIN_REDIS = 7;

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
  if (version === null || Number.parseInt(version, 10) >= MIN_REDIS) return version;
  throw new Error(`it is version ${version}, and Parley needs ${MIN_REDIS} or newer`);
}

/** Functions that put errors and addresses into a form that may be logged. */

/** Returns an error without its command's arguments, which may be secrets or message bodies. */
export function withoutArguments(error: unknown): Error {
  if (error instanceof Error && !('command' in error)) return error;
  return new Error(describe(error));
}

/**
 * Returns whether an error may be over in a moment: a late answer, which ioredis or the link
 * reported, or a failover under way. Refusals have other texts.
 */
export function isPassing({ message }: Error, { isWatched }: RedisAddress): boolean {
  return LATE.test(message) || (isWatched && AWAY.test(message));
}

const LATE = /timed out|ETIMEDOUT|no proof|lost meanwhile/;
const AWAY = /ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|closed|unreachable/;

/** Returns whether an operator has to mend an error: unlike a failover, it does not pass. */
export function isRefusal(error: unknown): boolean {
  return REFUSAL.test(describe(error));
}

const REFUSAL =
  /WRONGPASS|NOAUTH|NOPERM|user executing the script|certificate|cluster support disabled|it is version/;

/** Returns whether another server of the cluster may have the slot, now or in a moment. */
export function isStray(error: unknown): boolean {
  return /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|READONLY) |non local key/.test(describe(error));
}

export function describe(reason: unknown): string {
  if (reason instanceof AggregateError) return [...new Set(reason.errors.map(describe))].join(', ');
  return reason instanceof Error ? reason.message : String(reason);
}
