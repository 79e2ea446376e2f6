import { TLSSocket } from 'node:tls';
import { Redis, type RedisOptions } from 'ioredis';
import { nanoid } from 'nanoid';
import type { Logger } from '../log.ts';
import { Channels } from './channels.ts';
import {
  type Addition,
  type Claim,
  type Engine,
  EngineUnavailableError,
  type FrameListener,
  type Subscription,
  type Tally,
} from './engine.ts';
import { decodeFrame, encodeFrame, type Frame } from './frame.ts';
import { Link } from './link.ts';
import { describe, isSlowness, withoutArguments, withoutSecrets } from './redis-errors.ts';
import { Subscriptions } from './subscriptions.ts';

export interface RedisEngineOptions {
  /** `redis://` or `rediss://`, Redis 7 or newer (sharded pub/sub). */
  readonly url: string;
  readonly log: Logger;
  /** How long `connect` tries again a Redis that is there and does not answer in time, in milliseconds. Default 10,000. */
  readonly patienceMs?: number;
}

/**
 * The engine of many nodes, over one Redis: a connection for commands, one for subscriptions.
 *
 * Frames travel on `parley:ch:{<channel>}` as 12 bytes of node id and the encoded frame, counters are
 * `parley:seq:{<stream>}`: the braces keep each on one shard of a cluster.
 */
export class RedisEngine implements Engine {
  readonly nodeId = nanoid(NODE_ID_BYTES);
  /** Of the Redis, such as `7.0.15`; null where INFO is not permitted. */
  serverVersion: string | null = null;
  readonly #prefix = Buffer.from(this.nodeId, 'latin1');
  readonly #proofChannel = `node:${this.nodeId}`;
  readonly #log: Logger;
  readonly #commands: Redis;
  readonly #subscriber: Redis;
  readonly #channels: Channels;
  readonly #subscriptions: Subscriptions;
  readonly #link: Link;
  #outbox: Outbox | undefined;
  #closing: Promise<void> | undefined;
  #lastError: Error | undefined;
  #undecodable = 0;
  #undecodableLoggedAt = Number.NEGATIVE_INFINITY;

  /**
   * Rejects with one line that says which Redis, why, and what to do: at once where it refuses, after `patienceMs`
   * where it does not answer in time, as on a busy machine.
   */
  static async connect(options: RedisEngineOptions): Promise<RedisEngine> {
    const deadlineMs = performance.now() + (options.patienceMs ?? PATIENCE_MS);
    for (;;) {
      const engine = new RedisEngine(options);
      let reason: Error;
      try {
        await engine.#open();
        return engine;
      } catch (error) {
        reason = engine.#lastError ?? withoutArguments(error);
        await engine.close();
      }
      if (isSlowness(reason) && performance.now() < deadlineMs) {
        options.log.warn({ err: reason }, 'Redis does not answer in time: trying again');
        continue;
      }
      throw new Error(
        `cannot use Redis at ${withoutSecrets(options.url)}: ${describe(reason)}; ` +
          `start Redis ${LEAST_REDIS} or newer there, or correct REDIS_URL, or unset it to run a single node without Redis`,
        { cause: reason },
      );
    }
  }

  private constructor({ url, log }: RedisEngineOptions) {
    this.#log = log;
    this.#commands = new Redis(url, { ...CONNECTION, connectionName: `parley-${this.nodeId}-commands` });
    this.#subscriber = new Redis(url, { ...CONNECTION, connectionName: `parley-${this.nodeId}-subscriber` });
    this.#channels = new Channels((channel) => {
      this.#subscriptions.settle(channel).catch(() => {});
    });
    this.#subscriptions = new Subscriptions({
      wanted: (channel) => channel === this.#proofChannel || this.#channels.has(channel),
      allWanted: () => [this.#proofChannel, ...this.#channels.names()],
      join: async (channels) => {
        await this.#subscriber.ssubscribe(...channels.map(channelKey)).catch((error: unknown) => {
          throw withoutArguments(error);
        });
      },
      leave: (channels) => this.#subscriber.sunsubscribe(...channels.map(channelKey)),
    });
    this.#link = new Link({
      connected: () => this.#commands.status === 'ready' && this.#subscriber.status === 'ready',
      prepare: () => this.#subscriptions.restore(),
      send: (proof) => this.#sendProof(proof),
      restart: () => {
        reset(this.#commands);
        reset(this.#subscriber);
      },
      log,
    });
    this.#watch(this.#commands);
    this.#watch(this.#subscriber);
    this.#subscriber.on('close', () => this.#subscriptions.forget());
    this.#subscriber.on('smessageBuffer', (key: Buffer, message: Buffer) => this.#receive(key, message));
  }

  get healthy(): boolean {
    return this.#link.healthy;
  }

  async subscribe(channel: string, listener: FrameListener): Promise<Subscription> {
    if (this.#closing !== undefined) throw new EngineUnavailableError('closed');
    if (!this.healthy) throw new EngineUnavailableError(this.#lastError);
    const subscription = this.#channels.add(channel, listener);
    try {
      await this.#subscriptions.settle(channel);
    } catch (error) {
      subscription.unsubscribe();
      throw this.#unavailable(error);
    }
    return subscription;
  }

  publish(channel: string, frame: Frame): Promise<void> {
    if (this.#closing !== undefined) return Promise.reject(new EngineUnavailableError('closed'));
    // Into the outbox first: what a listener publishes in answer must not overtake it.
    const sent = this.#enqueue(channelKey(channel), Buffer.concat([this.#prefix, encodeFrame(frame)]));
    this.#channels.deliver(channel, frame);
    return sent;
  }

  async reserve(claims: readonly Claim[]): Promise<(number | null)[]> {
    const answers: Promise<(number | null)[]>[] = [];
    for (let start = 0; start < claims.length; start += MOST_PER_SCRIPT) {
      answers.push(this.#reserve(claims.slice(start, start + MOST_PER_SCRIPT)));
    }
    try {
      return (await Promise.all(answers)).flat();
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  async tally(additions: readonly Addition[]): Promise<readonly Tally[]> {
    if (additions.length === 0) return [];
    const answers: Promise<[total: number, leftMs: number][]>[] = [];
    for (let start = 0; start < additions.length; start += MOST_PER_SCRIPT) {
      answers.push(this.#tally(additions.slice(start, start + MOST_PER_SCRIPT)));
    }
    try {
      return (await Promise.all(answers)).flat().map(([total, leftMs]) => ({ total, leftMs }));
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  onRecovered(listener: (healthySinceMs: number) => void): () => void {
    return this.#link.onRecovered(listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #open(): Promise<void> {
    await Promise.all([this.#commands.connect(), this.#subscriber.connect()]);
    await this.#requireVersion();
    await this.#link.open();
  }

  /** An older Redis has no sharded publish/subscribe, and would refuse every frame. */
  async #requireVersion(): Promise<void> {
    const info = await this.#commands.info('server').catch((error: Error) => {
      if (error.message.includes('NOPERM')) return '';
      throw error;
    });
    this.serverVersion = /^redis_version:(\S+)/m.exec(info)?.[1] ?? null;
    if (this.serverVersion === null || Number.parseInt(this.serverVersion, 10) >= LEAST_REDIS) return;
    throw new Error(`it is version ${this.serverVersion}, and Parley needs ${LEAST_REDIS} or newer`);
  }

  async #close(): Promise<void> {
    // What was published before is still sent; a Redis that hangs is waited for no longer than a command.
    await this.#outbox?.sent.catch(() => {});
    if (this.#commands.status === 'ready') await this.#commands.ping().catch(() => {});
    const linkClosed = this.#link.close();
    await Promise.all([end(this.#commands), end(this.#subscriber)]);
    await linkClosed;
    this.#channels.clear();
  }

  #watch(connection: Redis): void {
    // ioredis tries again by itself and reports every attempt: the link's own two lines say enough.
    connection.on('error', (error) => {
      this.#lastError = withoutArguments(error);
      this.#log.debug({ err: this.#lastError }, 'redis connection');
    });
    connection.on('close', () =>
      this.#link.broken(this.#lastError ?? new Error('the connection to Redis closed')),
    );
    connection.on('ready', () => {
      this.#lastError = undefined;
      this.#link.check();
    });
  }

  /** All frames of one tick leave in one write; the promise is shared by them. */
  #enqueue(key: string, message: Buffer): Promise<void> {
    if (this.#outbox === undefined) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      this.#outbox = { keys: [], messages: [], sent: promise };
      process.nextTick(() => this.#flush().then(resolve, reject));
    }
    const outbox = this.#outbox;
    outbox.keys.push(key);
    outbox.messages.push(message);
    return outbox.sent;
  }

  async #flush(): Promise<void> {
    const { keys, messages } = this.#outbox!;
    this.#outbox = undefined;
    const answers: Promise<unknown>[] = [];
    for (let start = 0; start < keys.length; start += MOST_PER_SCRIPT) {
      const some = keys.slice(start, start + MOST_PER_SCRIPT);
      answers.push(
        this.#commands.eval(PUBLISH, some.length, ...some, ...messages.slice(start, start + MOST_PER_SCRIPT)),
      );
    }
    try {
      await Promise.all(answers);
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  async #reserve(claims: readonly Claim[]): Promise<(number | null)[]> {
    const keys = claims.map((claim) => `parley:seq:{${claim.stream}}`);
    const amounts = claims.flatMap((claim) => [claim.count, claim.floor ?? '']);
    return (await this.#commands.eval(RESERVE, keys.length, ...keys, ...amounts)) as (number | null)[];
  }

  async #tally(additions: readonly Addition[]): Promise<[total: number, leftMs: number][]> {
    const keys = additions.map(({ key }) => `parley:tally:{${key}}`);
    const amounts = additions.flatMap(({ by, windowMs }) => [by, Math.ceil(windowMs)]);
    return (await this.#commands.eval(TALLY, keys.length, ...keys, ...amounts)) as [number, number][];
  }

  #sendProof(proof: string): void {
    // A failure needs no handling: the proof stays out, which is what the link watches.
    this.#commands.spublish(channelKey(this.#proofChannel), `${this.nodeId}${proof}`).catch(() => {});
  }

  #receive(key: Buffer, message: Buffer): void {
    const channel = key.toString('utf8', CHANNEL_PREFIX.length, key.length - 1);
    if (message.toString('latin1', 0, NODE_ID_BYTES) === this.nodeId) {
      // An own frame was delivered when it was published.
      if (channel === this.#proofChannel) this.#link.arrived(message.toString('latin1', NODE_ID_BYTES));
      return;
    }
    let frame: Frame;
    try {
      frame = decodeFrame(message.subarray(NODE_ID_BYTES));
    } catch (error) {
      this.#dropped(channel, error);
      return;
    }
    this.#channels.deliver(channel, frame);
  }

  /** Says so at most once in ten seconds: whoever publishes one such frame publishes many. */
  #dropped(channel: string, error: unknown): void {
    this.#undecodable++;
    const now = performance.now();
    if (now - this.#undecodableLoggedAt < 10_000) return;
    this.#undecodableLoggedAt = now;
    this.#log.warn(
      { err: error, channel, frames: this.#undecodable },
      'frames that cannot be read were dropped',
    );
    this.#undecodable = 0;
  }

  #unavailable(cause: unknown): EngineUnavailableError {
    this.#link.check();
    return new EngineUnavailableError(withoutArguments(cause));
  }
}

interface Outbox {
  readonly keys: string[];
  readonly messages: Buffer[];
  readonly sent: Promise<void>;
}

/** Oldest Redis that has what is used here, by its major version. */
const LEAST_REDIS = 7;
const NODE_ID_BYTES = 12;
const PATIENCE_MS = 10_000;

/** No call waits for more than 500 ms, and none is kept for a connection that may come. */
const CONNECTION = {
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

/** 256 frames keep Redis busy for about half a millisecond; others wait that long. */
const MOST_PER_SCRIPT = 256;

/**
 * A script, not a pipeline: ioredis spends 12 µs on every command, this 2 µs on every frame (measured,
 * 64 frames of 450 bytes). Sent whole each time, because EVALSHA after a SCRIPT FLUSH has to be sent
 * again, behind frames that came later.
 */
const PUBLISH = `for i = 1, #KEYS do redis.call('SPUBLISH', KEYS[i], ARGV[i]) end`;

/** KEYS: windows. ARGV: addition and length of each. Returns the total of each and the milliseconds it has left. */
const TALLY = `
local tallies = {}
for i = 1, #KEYS do
  local total = redis.call('INCRBY', KEYS[i], ARGV[2 * i - 1])
  local left = redis.call('PTTL', KEYS[i])
  if left < 0 then
    left = tonumber(ARGV[2 * i])
    redis.call('PEXPIRE', KEYS[i], left)
  end
  tallies[i] = { total, left }
end
return tallies`;

/**
 * KEYS: counters. ARGV: count and floor ('' for none) of each. Returns the first number of each, or nil.
 * Numbers stay exact: below 2^53 they are, and what a counter holds beyond it, or what is not a whole
 * number at all, was put there by hand and counts as absent.
 */
const RESERVE = `
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

const CHANNEL_PREFIX = 'parley:ch:{';

function channelKey(channel: string): string {
  return `${CHANNEL_PREFIX}${channel}}`;
}

/**
 * Drops a connection at once; ioredis makes a new one. A reset where the transport has one: after a
 * plain close the kernel would still deliver what it holds, behind frames sent over the new connection.
 */
function reset(connection: Redis): void {
  const { stream } = connection;
  // TLS has none, a Unix socket has no address, and one that is still connecting has sent nothing. While an end is
  // under way libuv refuses one, and no `close` would follow.
  const isEnding = stream.writableEnded && !stream.writableFinished;
  if (stream instanceof TLSSocket || stream.remoteAddress === undefined || isEnding) stream.destroy();
  else stream.resetAndDestroy();
}

/** Resolves when the connection is closed for good. */
function end(connection: Redis): Promise<void> {
  return new Promise((resolve) => {
    // Between attempts there is no connection whose end could be waited for.
    const idle = connection.status === 'reconnecting' || connection.status === 'end';
    connection.once('end', resolve);
    connection.disconnect();
    if (idle) resolve();
  });
}
