import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { nanoid } from 'nanoid';
import { Loop } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { Channels } from '../channels.ts';
import {
  type Addition,
  type Engine,
  EngineUnavailableError,
  type FrameCodec,
  type FrameListener,
  type Missed,
  type Notices,
  type NumberRequest,
  type Subscription,
  type Tally,
} from '../engine.ts';
import { ANNOUNCE_EVERY_MS, decodeAnnouncement, encodeAnnouncement } from '../losses/announcement.ts';
import { Arrivals } from '../losses/arrivals.ts';
import { type Counter, Departures } from '../losses/departures.ts';
import { NODE_ID_BYTES, openEnvelope, Sealer } from '../losses/envelope.ts';
import { bySlot, channelName, channelOf } from '../partitions.ts';
import { DroppedFrames } from './dropped-frames.ts';
import { isAnnouncements, type OwnChannels, ownChannels } from './own-channels.ts';
import { type RedisAddress, readRedisUrl } from './redis-address.ts';
import * as redis from './redis-connection.ts';
import { RedisLink } from './redis-link.ts';
import { inScripts, microseconds, RedisScripts } from './redis-scripts.ts';
import { Subscriptions } from './subscriptions.ts';
import { Warnings } from './warnings.ts';

export interface RedisEngineOptions<Frame> {
  /** One address of REDIS_URL; Redis 7 or newer (sharded publish/subscribe). */
  readonly url: string;
  readonly codec: FrameCodec<Frame>;
  /** The node's id, if this is one of several Redis. */
  readonly nodeId?: string;
  readonly log: Logger;
  /** Without them, a frame that Redis does not take is refused. */
  readonly notices?: Notices | undefined;
  readonly metrics?: Pick<Metrics, 'redisRoundTrip'>;
  /** Set for a master of a cluster. */
  readonly inCluster?: {
    /** The partitions that it has at first, at least one. */
    readonly partitions: readonly number[];
    /** Called when another master may have some of these. */
    readonly onStray: () => void;
  };
  /** Milliseconds of retries while Redis does not answer in time. Default 10,000. */
  readonly patienceMs?: number;
}

/** The engine of many nodes over one Redis, with connections for commands and for subscriptions. */
export class RedisEngine<Frame> implements Engine<Frame> {
  readonly nodeId: string;
  readonly shards = [this];
  /** Version of the Redis, such as `7.0.15`; null where INFO is not permitted. */
  serverVersion: string | null = null;
  #own: OwnChannels;
  readonly #inCluster: RedisEngineOptions<Frame>['inCluster'];
  readonly #codec: FrameCodec<Frame>;
  readonly #scripts: RedisScripts;
  readonly #log: Logger;
  readonly #commands: Redis;
  readonly #subscriber: Redis;
  readonly #channels: Channels<Frame>;
  readonly #subscriptions: Subscriptions;
  readonly #link: RedisLink;
  readonly #departures: Departures;
  readonly #uncounted: Sealer;
  readonly #arrivals = new Arrivals((missed) => this.#missed(missed));
  readonly #announcing: Loop;
  readonly #missedListeners = new Set<(missed: Missed) => void>();
  /** The `wholeMs` at which a connection was lost; Infinity while none is lost. */
  #wholeBeforeMs = Number.POSITIVE_INFINITY;
  /** Time at which `onMissed` was last called because a link is away. */
  #lookedMs = Number.NEGATIVE_INFINITY;
  readonly #notices: Notices | undefined;
  readonly #roundTrip: Metrics['redisRoundTrip'] | undefined;
  readonly #dropped: DroppedFrames;
  #sent = { proof: '', atMs: 0 };
  #outbox: Outbox | undefined;
  #isOpened = false;
  #closing: Promise<void> | undefined;
  #lastError: Error | undefined;
  readonly #warnings: Warnings;

  /**
   * Opens the engine. Rejects with one line that names the Redis, the reason and the remedy: at
   * once if Redis refuses, after `patienceMs` if it does not answer in time, as on a busy machine.
   */
  static async connect<Frame>(options: RedisEngineOptions<Frame>): Promise<RedisEngine<Frame>> {
    const deadlineMs = performance.now() + (options.patienceMs ?? PATIENCE_MS);
    const [address] = readRedisUrl(options.url) ?? [];
    if (address === undefined) throw new Error('REDIS_URL is no address of a Redis');
    for (;;) {
      const engine = new RedisEngine(options, address);
      let reason: Error;
      try {
        await engine.#open();
        return engine;
      } catch (error) {
        reason = engine.#lastError ?? redis.withoutArguments(error);
        await engine.close();
      }
      if (redis.isPassing(reason, address) && performance.now() < deadlineMs) {
        options.log.warn({ err: reason }, 'Redis does not answer in time: trying again');
        await delay(RETRY_MS);
        continue;
      }
      throw new Error(
        `cannot use Redis at ${address.shown}: ${redis.describe(reason)}; ` +
          `start Redis ${redis.MIN_REDIS} or newer there, or correct REDIS_URL, or unset it to run a single node without Redis`,
        { cause: reason },
      );
    }
  }

  private constructor(
    { nodeId = nanoid(NODE_ID_BYTES), codec, log, notices, metrics, inCluster }: RedisEngineOptions<Frame>,
    address: RedisAddress,
  ) {
    this.nodeId = nodeId;
    this.#inCluster = inCluster;
    this.#codec = codec;
    this.#own = ownChannels(nodeId, inCluster?.partitions);
    this.#departures = new Departures(nodeId);
    this.#uncounted = new Sealer(nodeId, 0);
    this.#log = log;
    this.#dropped = new DroppedFrames(log);
    this.#warnings = new Warnings(log);
    this.#notices = notices;
    this.#roundTrip = metrics?.redisRoundTrip;
    const connection = (role: string) =>
      redis.connectionTo(address, `parley-${this.nodeId}-${role}`, () => this.#isOpened);
    this.#commands = connection('commands');
    this.#scripts = new RedisScripts(this.#commands, inCluster !== undefined);
    this.#subscriber = connection('subscriber');
    this.#channels = new Channels<Frame>((channel) => {
      this.#subscriptions.settle(channel).catch(() => {});
    });
    this.#subscriptions = new Subscriptions({
      wanted: (channel) => this.#own.all.has(channel) || this.#channels.has(channel),
      allWanted: () => [...this.#own.all, ...this.#channels.names()],
      join: (channels) => this.#join(channels),
      joined: (channels, atUs) => this.#arrivals.joined(channels, atUs),
      leave: (channels) => {
        this.#arrivals.left(channels);
        return this.#bySlot(channels, (names) => this.#subscriber.sunsubscribe(...names));
      },
    });
    this.#link = new RedisLink({
      connected: () => this.#commands.status === 'ready' && this.#subscriber.status === 'ready',
      prepare: () => this.#subscriptions.restore(),
      send: (proof) => this.#sendProof(proof),
      restart: () => {
        redis.reset(this.#commands);
        redis.reset(this.#subscriber);
      },
      recovered: (healthySinceMs) => {
        this.#warnings.clear();
        const sinceMs = Math.max(Math.min(healthySinceMs, this.#wholeBeforeMs), this.#lookedMs);
        this.#wholeBeforeMs = Number.POSITIVE_INFINITY;
        this.#missed({ reason: 'link', frames: 0, channels: undefined, sinceMs });
      },
      log,
    });
    this.#watch(this.#commands);
    this.#watch(this.#subscriber);
    this.#subscriber.on('close', () => this.#forget());
    // A slot has moved, and Redis has ended its subscriptions. A request to leave a channel may
    // have taken their notice for its answer: only on a new connection is the order of answers
    // sound.
    this.#subscriber.on('moved', () => {
      redis.reset(this.#subscriber);
      inCluster?.onStray();
    });
    this.#subscriber.on('smessageBuffer', (name: Buffer, message: Buffer) => this.#receive(name, message));
    this.#announcing = new Loop({
      intervalMs: ANNOUNCE_EVERY_MS,
      run: async () => {
        if (this.inDoubt) this.#look();
        if (!this.healthy) return;
        this.#arrivals.round();
        this.#announce();
      },
      onError: (error) => log.error({ err: error }, 'announcing frames failed'),
    });
  }

  shardOf(): this {
    return this;
  }

  get healthy(): boolean {
    return this.#link.healthy;
  }

  get inDoubt(): boolean {
    return this.#link.inDoubt || this.#notices?.inDoubt === true;
  }

  get wholeMs(): number {
    const { clearMs = Number.POSITIVE_INFINITY } = this.#notices ?? {};
    const heardMs = Math.min(this.#link.provenAtMs, this.#arrivals.wholeMs, this.#wholeBeforeMs, clearMs);
    return Math.max(heardMs, this.#lookedMs);
  }

  async subscribe(channel: string, listener: FrameListener<Frame>): Promise<Subscription> {
    if (this.#closing !== undefined) throw new EngineUnavailableError('closed');
    const subscription = this.#channels.add(channel, listener);
    try {
      await this.#subscriptions.settle(channel);
    } catch (error) {
      // It is restored before the link counts as whole again, and what it missed is then reported.
      this.#link.incomplete(redis.withoutArguments(error));
      this.#link.check();
    }
    return subscription;
  }

  publish(channel: string, frame: Frame): Promise<void> {
    if (this.#closing !== undefined) return Promise.reject(new EngineUnavailableError('closed'));
    // Fills the outbox first: a frame that a listener publishes in answer must not overtake it.
    const counter = this.#departures.counter(channel);
    const sent = this.#enqueue(counter.name, counter.seal(this.#codec.encode(frame)), counter);
    this.#channels.deliver(channel, frame);
    return sent;
  }

  reserve(claims: readonly NumberRequest[]): Promise<(number | null)[]> {
    return this.#answered(inScripts(claims, (some) => this.#scripts.reserve(some)));
  }

  tally(additions: readonly Addition[]): Promise<readonly Tally[]> {
    return this.#answered(inScripts(additions, (some) => this.#scripts.tally(some)));
  }

  /** Places these partitions of a cluster, at least one, here from now on. */
  place(partitions: readonly number[]): void {
    const before = this.#own;
    this.#own = ownChannels(this.nodeId, partitions, before.proof);
    // The proof under way may not come back.
    if (this.#own.proof !== before.proof) this.#link.broken(new Error('its partitions moved'));
    const own = [...before.all, ...this.#own.all];
    Promise.all(own.map((channel) => this.#subscriptions.settle(channel))).catch((error) =>
      this.#link.incomplete(redis.withoutArguments(error)),
    );
    this.#link.check();
  }

  /** Returns this server's answer about all servers of its cluster (CLUSTER NODES). */
  clusterNodes(): Promise<string> {
    return this.#commands.cluster('NODES') as Promise<string>;
  }

  onMissed(listener: (missed: Missed) => void): () => void {
    const entry = (missed: Missed) => listener(missed);
    this.#missedListeners.add(entry);
    return () => this.#missedListeners.delete(entry);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #open(): Promise<void> {
    await Promise.all([this.#commands.connect(), this.#subscriber.connect()]);
    this.serverVersion = await redis.requireVersion(this.#commands);
    await this.#scripts.rehearse(this.#own.proof);
    await this.#link.open();
    this.#isOpened = true;
    this.#announce();
  }

  async #close(): Promise<void> {
    await this.#announcing.close();
    // Frames that were published before are still sent. Only frames that Redis has answered are
    // announced, and after the last announcement no receiver looks for others.
    await this.#sentAll();
    if (this.healthy) {
      this.#announce({ isLast: true });
      await this.#sentAll();
    }
    const linkClosed = this.#link.close();
    await Promise.all([redis.end(this.#commands), redis.end(this.#subscriber)]);
    await linkClosed;
    this.#missedListeners.clear();
    this.#arrivals.forget();
    this.#channels.clear();
  }

  /** Resolves when Redis has answered everything before, or after one command's time. */
  async #sentAll(): Promise<void> {
    await this.#outbox?.sent.catch(() => {});
    if (this.#commands.status === 'ready') await this.#commands.ping().catch(() => {});
  }

  #watch(connection: Redis): void {
    // ioredis reports every attempt of its retries; the two lines of the link say enough.
    const note = (error: Error) => {
      // A sentinel has said more.
      if (this.#lastError !== undefined && /^All sentinels/.test(error.message)) return;
      this.#lastError = redis.withoutArguments(error);
      this.#log.debug({ err: this.#lastError }, 'redis connection');
      this.#report(error);
    };
    connection.on('error', note);
    connection.on('sentinelError', note);
    connection.on('close', () =>
      this.#link.broken(this.#lastError ?? new Error('the connection to Redis closed')),
    );
    // ioredis gives up if it hears of a new master while it asks for the address of one.
    connection.on('end', () => setTimeout(() => this.#connectAgain(connection), RETRY_MS).unref());
    let earlier: string | undefined;
    connection.on('ready', () => {
      this.#lastError = undefined;
      const remote = redis.remoteOf(connection);
      if (earlier !== undefined && remote !== earlier) this.#moved();
      earlier = remote;
      this.#link.check();
    });
  }

  #connectAgain(connection: Redis): void {
    // `connect` tries again by itself before the engine is open.
    if (!this.#isOpened || this.#closing !== undefined) return;
    connection.connect().catch(() => {});
  }

  /**
   * Handles a connection that leads to another server. Other nodes may stay on the former server
   * for seconds, because a sentinel names it or they know no better, and would not hear frames that
   * are published here.
   */
  #moved(): void {
    // If it cannot be said, Postgres is away, and no right is read.
    this.#notices?.say().catch(() => {});
  }

  /**
   * Adds the message to the frames of this tick, which leave in one write and share the promise.
   * `counter` has numbered the message.
   */
  #enqueue(name: string, message: Buffer, counter?: Counter): Promise<void> {
    if (this.#outbox === undefined) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      this.#outbox = { departing: [], sent: promise };
      process.nextTick(() => this.#flush().then(resolve, reject));
    }
    const outbox = this.#outbox;
    outbox.departing.push({ name, message, counter, number: counter?.given ?? 0 });
    return outbox.sent;
  }

  async #flush(): Promise<void> {
    const { departing } = this.#outbox!;
    this.#outbox = undefined;
    try {
      await this.#answered(inScripts(departing, (some) => this.#send(some)));
    } catch (error) {
      const saying = this.#closing === undefined ? this.#notices?.say() : undefined;
      const isSaid = await saying?.then(
        () => true,
        () => false,
      );
      if (isSaid !== true) throw error;
    }
  }

  /** Rejects as the port says. */
  async #answered<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } catch (error) {
      this.#link.check();
      this.#report(error);
      throw new EngineUnavailableError(redis.withoutArguments(error));
    }
  }

  async #send(departing: readonly Departing[]): Promise<[]> {
    const names = departing.map(({ name }) => name);
    const messages = departing.map(({ message }) => message);
    const atUs = await this.#scripts.publish(names, messages);
    for (const { counter, number } of departing) {
      if (counter !== undefined) this.#departures.taken(counter, number, atUs);
    }
    return [];
  }

  #announce(options: { isLast?: boolean } = {}): void {
    const announcement = encodeAnnouncement(this.#departures.announce(options));
    // The next announcement covers a failed one.
    this.#enqueue(channelName(this.#own.announcements), this.#uncounted.seal(0, announcement)).catch(
      () => {},
    );
  }

  /** Resolves with a moment after the subscription, in microseconds of Redis's clock. */
  async #join(channels: readonly string[]): Promise<number> {
    try {
      await this.#bySlot(channels, (names) => this.#subscriber.ssubscribe(...names));
      this.#arrivals.joining(channels);
      return microseconds(await this.#commands.time());
    } catch (error) {
      this.#report(error);
      throw redis.withoutArguments(error);
    }
  }

  /** Sends one command for each slot, as a cluster requires. */
  #bySlot(channels: readonly string[], send: (names: string[]) => Promise<unknown>): Promise<unknown> {
    if (this.#inCluster === undefined) return send(channels.map(channelName));
    return Promise.all(bySlot(channels).map((some) => send(some.map(channelName))));
  }

  /** Reports a failure whose remedy is another server of the cluster, or an operator. */
  #report(error: unknown): void {
    if (redis.isStray(error)) this.#inCluster?.onStray();
    else if (this.#isOpened && redis.isRefusal(error)) this.#warnings.add(error, 'Redis refuses this node');
  }

  #forget(): void {
    this.#wholeBeforeMs = this.wholeMs;
    this.#subscriptions.forget();
    this.#arrivals.forget();
  }

  /** Makes listeners read from Postgres all that may have come since the last time. */
  #look(): void {
    const sinceMs = this.wholeMs;
    this.#lookedMs = performance.now();
    this.#missed({ reason: 'away', frames: 0, channels: undefined, sinceMs });
  }

  #missed(missed: Missed): void {
    if (missed.frames > 0 || missed.reason === 'silence')
      this.#log.warn(describeMissed(missed), 'frames of other nodes were lost');
    for (const listener of [...this.#missedListeners]) listener(missed);
  }

  #sendProof(proof: string): void {
    this.#sent = { proof, atMs: performance.now() };
    // A failure needs no other handling: the proof does not come back, which the link watches.
    this.#commands
      .spublish(channelName(this.#own.proof), this.#uncounted.seal(0, Buffer.from(proof)))
      .catch((error) => this.#report(error));
  }

  #receive(name: Buffer, message: Buffer): void {
    const channel = channelOf(name);
    try {
      const { publisherId, incarnation, number, content } = openEnvelope(message);
      if (publisherId === this.nodeId) {
        // The node's own frames were delivered when they were published.
        if (channel === this.#own.proof) this.#proofArrived(content.toString('latin1'));
      } else if (isAnnouncements(channel)) {
        this.#arrivals.announcement(publisherId, decodeAnnouncement(content));
      } else {
        const frame = this.#codec.decode(content);
        this.#arrivals.frame(publisherId, channel, incarnation, number);
        this.#channels.deliver(channel, frame);
      }
    } catch (error) {
      this.#dropped.add(channel, error);
    }
  }

  #proofArrived(proof: string): void {
    const { proof: sent, atMs } = this.#sent;
    if (proof === sent) this.#roundTrip?.observe((performance.now() - atMs) / 1_000);
    this.#link.arrived(proof);
  }
}

interface Outbox {
  readonly departing: Departing[];
  readonly sent: Promise<void>;
}

interface Departing {
  readonly name: string;
  readonly message: Buffer;
  readonly counter: Counter | undefined;
  readonly number: number;
}

const PATIENCE_MS = 10_000;
/** Milliseconds between attempts to connect that ioredis does not make by itself. */
const RETRY_MS = 100;

function describeMissed({ reason, frames, channels }: Missed): object {
  return { reason, frames, channels: channels === undefined ? 'all' : [...channels].slice(0, 10) };
}
