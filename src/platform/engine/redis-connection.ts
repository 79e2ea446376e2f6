import { TLSSocket } from 'node:tls';
import { Redis, type RedisOptions } from 'ioredis';
import type { RedisAddress } from './redis-address.ts';

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
  // A master that became a replica: the address now belongs to another server, or Sentinel knows
  // it.
  reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
} satisfies RedisOptions;

/** Every sentinel is listened to, since one may learn of a new master seconds after another. */
const SENTINEL = {
  failoverDetector: true,
  sentinelCommandTimeout: 500,
  sentinelReconnectStrategy: () => 1_000,
} satisfies RedisOptions;

/**
 * Makes a connection that is not open yet. Where Sentinel is asked for the master, it is asked
 * again before each attempt; once `isOpened`, until one answers.
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
  return typeof target === 'string' ? new Redis(target, options) : new Redis({ ...options, ...target });
}

/** Where the connection leads; undefined between two. */
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
 * Returns whether it may be over in a moment: a late answer, which ioredis or the link reported, or
 * a failover under way. Refusals have other texts.
 */
export function isPassing({ message }: Error, { isWatched }: RedisAddress): boolean {
  return (
    isWatched
      ? /timed out|ETIMEDOUT|no proof|lost meanwhile|ECONNREFUSED|closed|unreachable/
      : /timed out|ETIMEDOUT|no proof|lost meanwhile/
  ).test(message);
}

export function describe(reason: unknown): string {
  if (reason instanceof AggregateError) return reason.errors.map(describe).join(', ');
  return reason instanceof Error ? reason.message : String(reason);
}

/** Scripts that Redis runs as one step. */

/**
 * Publishes frames. It is a script, not a pipeline: ioredis spends 12 µs on every command, this 2
 * µs on every frame (measured, 64 frames of 450 bytes). It is sent whole each time, because EVALSHA
 * after a SCRIPT FLUSH would have to be sent again, after frames that came later. Returns when it
 * ran (TIME).
 */
export const PUBLISH = `
for i = 1, #KEYS do redis.call('SPUBLISH', KEYS[i], ARGV[i]) end
return redis.call('TIME')`;

/**
 * Adds to windows. KEYS: the windows. ARGV, five for each: the addition, the window to which it
 * belongs ('' for any), how many to take at most, the limit for that, and the length of a new
 * window. Returns for each the total, how many were taken, when the window ends, which identifies
 * it, and the milliseconds until then.
 */
export const TALLY = `
local tallies = {}
for i = 1, #KEYS do
  local key, at = KEYS[i], 5 * (i - 1)
  local by, window, most, limit = ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local ends = redis.call('PEXPIRETIME', key)
  if window ~= '' and tonumber(window) ~= ends then by = 0 end
  local total = redis.call('INCRBY', key, by)
  local taken = math.max(0, math.min(most, limit - total))
  if taken > 0 then total = redis.call('INCRBY', key, taken) end
  if ends < 0 then
    redis.call('PEXPIRE', key, ARGV[at + 5])
    ends = redis.call('PEXPIRETIME', key)
  end
  tallies[i] = { total, taken, ends, redis.call('PTTL', key) }
end
return tallies`;

/**
 * Takes numbers. KEYS: counters. ARGV, two for each: count and floor ('' for none). Returns the
 * first number of each, or nil. Numbers are exact below 2^53; a counter beyond it, or one that is
 * not a whole number, was set by hand and counts as absent.
 */
export const RESERVE = `
local first = {}
for i = 1, #KEYS do
  local count, floor = ARGV[2 * i - 1], ARGV[2 * i]
  local held = redis.pcall('GET', KEYS[i])
  local number = type(held) == 'string' and (held == '0' or string.find(held, '^[1-9]%d*$')) and tonumber(held)
  if number and number + count > 9007199254740991 then number = false end
  if not number and floor == '' then
    if held then redis.call('DEL', KEYS[i]) end
    first[i] = false
  else
    if not number or (floor ~= '' and number < tonumber(floor)) then redis.call('SET', KEYS[i], floor) end
    first[i] = redis.call('INCRBY', KEYS[i], count) - count + 1
  end
end
return first`;
