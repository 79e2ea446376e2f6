import { createHash } from 'node:crypto';
import { nanoid } from 'nanoid';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { PARTITIONS, partitionOf } from './channels.ts';
import type {
  Addition,
  Engine,
  FrameListener,
  Missed,
  Notices,
  NumberRequest,
  Subscription,
  Tally,
} from './engine.ts';
import { NODE_ID_BYTES } from './envelope.ts';
import type { Frame } from './frame.ts';
import type { RedisAddress } from './redis-address.ts';
import { RedisEngine } from './redis-engine.ts';

export interface SeveralRedisOptions {
  /** All that this node knows. */
  readonly addresses: readonly RedisAddress[];
  /** The names of those in use. */
  readonly used: readonly string[];
  readonly log: Logger;
  /** Of a Redis with this name. */
  readonly notices?: ((name?: string) => Notices) | undefined;
  readonly metrics?: Pick<Metrics, 'redisRoundTrip'>;
}

/**
 * The engine over several Redis: each has the channels and counters of some partitions, by a fixed
 * rule. Each proves its own link, and what is lost with one is reported for its channels alone.
 */
export class SeveralRedis implements Engine {
  readonly nodeId: string;
  readonly #known: ReadonlyMap<string, RedisEngine>;
  readonly #kept = new Set<Kept>();
  readonly #missedListeners = new Set<(missed: Missed) => void>();
  #used: readonly string[];
  #byPartition: readonly RedisEngine[];

  /** Rejects as RedisEngine.connect does if one cannot be used. */
  static async connect({
    addresses,
    used,
    log,
    notices,
    metrics,
  }: SeveralRedisOptions): Promise<SeveralRedis> {
    const nodeId = nanoid(NODE_ID_BYTES);
    const connecting = addresses.map(({ name, url }) =>
      RedisEngine.connect({
        ...{ url, nodeId, log: log.child({ redis: name }), notices: notices?.(name) },
        ...(metrics && { metrics }),
      }),
    );
    const settled = await Promise.allSettled(connecting);
    const known = new Map<string, RedisEngine>();
    for (const [index, result] of settled.entries()) {
      if (result.status === 'fulfilled') known.set(addresses[index]!.name, result.value);
    }
    if (known.size < addresses.length) await Promise.all([...known.values()].map((one) => one.close()));
    // Rejects with the reason.
    await Promise.all(connecting);
    return new SeveralRedis(nodeId, known, used);
  }

  private constructor(nodeId: string, known: ReadonlyMap<string, RedisEngine>, used: readonly string[]) {
    this.nodeId = nodeId;
    this.#known = known;
    this.#used = used;
    this.#byPartition = spread(used).map((name) => known.get(name)!);
    for (const engine of known.values()) {
      engine.onMissed((missed) => {
        if (!this.shards.includes(engine)) return;
        const isOfIt = (channel: string) => this.shardOf(channel) === engine;
        this.#missed({ ...missed, channels: missed.channels ?? new ChannelsOf(this.#channels(), isOfIt) });
      });
    }
  }

  get shards(): readonly RedisEngine[] {
    return this.#used.map((name) => this.#known.get(name)!);
  }

  shardOf(id: string): RedisEngine {
    return this.#byPartition[partitionOf(id)]!;
  }

  get healthy(): boolean {
    return this.shards.every(({ healthy }) => healthy);
  }

  get inDoubt(): boolean {
    return this.shards.some(({ inDoubt }) => inDoubt);
  }

  get wholeMs(): number {
    return Math.min(...this.shards.map(({ wholeMs }) => wholeMs));
  }

  async subscribe(channel: string, listener: FrameListener): Promise<Subscription> {
    const kept: Kept = {
      channel,
      listener: (frame) => {
        if (!kept.isOver) listener(frame);
      },
      engine: undefined,
      subscription: undefined,
      isOver: false,
      settled: Promise.resolve(),
    };
    this.#kept.add(kept);
    const unsubscribe = () => {
      kept.isOver = true;
      this.#kept.delete(kept);
      kept.subscription?.unsubscribe();
    };
    try {
      kept.settled = this.#settle(kept);
      await kept.settled;
    } catch (error) {
      unsubscribe();
      throw error;
    }
    return { unsubscribe };
  }

  publish(channel: string, frame: Frame): Promise<void> {
    return this.shardOf(channel).publish(channel, frame);
  }

  reserve(claims: readonly NumberRequest[]): Promise<(number | null)[]> {
    return this.#byShard(
      claims,
      ({ stream }) => stream,
      (engine, some) => engine.reserve(some),
    );
  }

  tally(additions: readonly Addition[]): Promise<readonly (Tally | undefined)[]> {
    return this.#byShard(
      additions,
      ({ key }) => key,
      async (engine, some): Promise<readonly (Tally | undefined)[]> => {
        const unknown = some.map(() => undefined);
        // The others do not wait for one that is away.
        return engine.healthy ? engine.tally(some).catch(() => unknown) : unknown;
      },
    );
  }

  onMissed(listener: (missed: Missed) => void): () => void {
    const entry = (missed: Missed) => listener(missed);
    this.#missedListeners.add(entry);
    return () => this.#missedListeners.delete(entry);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#known.values()].map((engine) => engine.close()));
    this.#missedListeners.clear();
    this.#kept.clear();
  }

  /**
   * Uses these from now on. Resolves when the subscriptions have moved, and what was published on
   * the moved channels since `sinceMs` has been reported. Other nodes do the same at about the same
   * time; meanwhile all of them must be in doubt.
   */
  async use(names: readonly string[], sinceMs: number): Promise<void> {
    const before = this.#byPartition;
    this.#used = names;
    this.#byPartition = spread(names).map((name) => this.#known.get(name)!);
    const hasMoved = (channel: string) => before[partitionOf(channel)] !== this.shardOf(channel);
    const moved = [...this.#kept].filter(({ channel }) => hasMoved(channel));
    for (const kept of moved) kept.settled = kept.settled.then(() => this.#settle(kept));
    await Promise.allSettled(moved.map(({ settled }) => settled));
    const channels = new ChannelsOf(this.#channels(), hasMoved);
    this.#missed({ reason: 'link', frames: 0, channels, sinceMs });
  }

  /** Subscribes where the channel is now, and leaves where it was. */
  async #settle(kept: Kept): Promise<void> {
    for (;;) {
      const engine = this.shardOf(kept.channel);
      if (kept.engine === engine || kept.isOver) return;
      kept.engine = engine;
      const before = kept.subscription;
      kept.subscription = await engine.subscribe(kept.channel, kept.listener);
      before?.unsubscribe();
      if (kept.isOver) kept.subscription.unsubscribe();
    }
  }

  /** Asks each shard for its items, side by side; the answers are in the order of the items. */
  async #byShard<Item, Answer>(
    items: readonly Item[],
    idOf: (item: Item) => string,
    ask: (engine: RedisEngine, some: readonly Item[]) => Promise<readonly Answer[]>,
  ): Promise<Answer[]> {
    const indexes = new Map<RedisEngine, number[]>();
    for (const [index, item] of items.entries()) {
      const engine = this.shardOf(idOf(item));
      const some = indexes.get(engine);
      if (some === undefined) indexes.set(engine, [index]);
      else some.push(index);
    }
    const answers: Answer[] = [];
    await Promise.all(
      [...indexes].map(async ([engine, some]) => {
        const ofShard = await ask(
          engine,
          some.map((index) => items[index]!),
        );
        for (const [place, index] of some.entries()) answers[index] = ofShard[place]!;
      }),
    );
    return answers;
  }

  *#channels(): Iterable<string> {
    for (const { channel } of this.#kept) yield channel;
  }

  #missed(missed: Missed): void {
    for (const listener of [...this.#missedListeners]) listener(missed);
  }
}

/** A subscription, which moves when its channel does. */
interface Kept {
  readonly channel: string;
  readonly listener: FrameListener;
  engine: RedisEngine | undefined;
  subscription: Subscription | undefined;
  isOver: boolean;
  /** Resolves when it is where its channel is. */
  settled: Promise<void>;
}

/** The channels with listeners here, of which `has` also knows those without. */
class ChannelsOf extends Set<string> {
  readonly #isOfIt: (channel: string) => boolean;

  constructor(channels: Iterable<string>, isOfIt: (channel: string) => boolean) {
    super();
    this.#isOfIt = isOfIt;
    for (const channel of channels) if (isOfIt(channel)) this.add(channel);
  }

  override has(channel: string): boolean {
    return this.#isOfIt(channel);
  }
}

/**
 * Returns for each partition the name that has it: the one with the highest hash of both. So the
 * order of the names does not matter, and a further name takes its share of each of the others.
 */
export function spread(names: readonly string[]): readonly string[] {
  return Array.from({ length: PARTITIONS }, (_, partition) => {
    const hashed = names.map((name) => {
      return { name, hash: createHash('sha256').update(`${partition} ${name}`).digest('hex') };
    });
    return hashed.reduce((one, other) => (other.hash > one.hash ? other : one)).name;
  });
}
