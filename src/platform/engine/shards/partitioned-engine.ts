import type {
  Addition,
  Engine,
  FrameListener,
  Missed,
  NumberRequest,
  Subscription,
  Tally,
} from '../engine.ts';
import { partitionOf } from '../partitions.ts';
import type { RedisEngine } from '../redis/redis-engine.ts';

/**
 * An engine whose partitions are on several Redis, and may move from one to another. Each Redis
 * proves its own link, and its losses are reported for its channels alone.
 */
export class PartitionedEngine<Frame> implements Engine<Frame> {
  readonly nodeId: string;
  readonly #kept = new Set<Kept<Frame>>();
  readonly #missedListeners = new Set<(missed: Missed) => void>();
  #byPartition: readonly RedisEngine<Frame>[];
  #shards: readonly RedisEngine<Frame>[];

  constructor(
    nodeId: string,
    byPartition: readonly RedisEngine<Frame>[],
    shards: readonly RedisEngine<Frame>[] = [...new Set(byPartition)],
  ) {
    this.nodeId = nodeId;
    this.#byPartition = byPartition;
    this.#shards = shards;
  }

  get shards(): readonly RedisEngine<Frame>[] {
    return this.#shards;
  }

  /** The Redis of each partition. */
  get byPartition(): readonly RedisEngine<Frame>[] {
    return this.#byPartition;
  }

  shardOf(id: string): RedisEngine<Frame> {
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

  async subscribe(channel: string, listener: FrameListener<Frame>): Promise<Subscription> {
    const kept: Kept<Frame> = {
      channel,
      listener,
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

  tally(additions: readonly Addition[]): Promise<Tally[]> {
    return this.#byShard(
      additions,
      ({ key }) => key,
      (engine, some) => engine.tally(some),
    );
  }

  onMissed(listener: (missed: Missed) => void): () => void {
    const entry = (missed: Missed) => listener(missed);
    this.#missedListeners.add(entry);
    return () => this.#missedListeners.delete(entry);
  }

  /** Forgets all listeners. */
  async close(): Promise<void> {
    this.#missedListeners.clear();
    this.#kept.clear();
  }

  /** Reports what this Redis missed, while it has partitions. */
  protected follow(engine: RedisEngine<Frame>): void {
    engine.onMissed((missed) => {
      if (!this.shards.includes(engine)) return;
      const isOfIt = (channel: string) => this.shardOf(channel) === engine;
      this.#missed({ ...missed, channels: missed.channels ?? new ChannelsOf(this.#channels(), isOfIt) });
    });
  }

  /**
   * Places each partition on this Redis from now on. Resolves when the subscriptions have moved,
   * and frames published on the moved channels since `sinceMs` were reported. Other nodes do the
   * same at about the same time; meanwhile all nodes must be in doubt.
   */
  protected async move(
    byPartition: readonly RedisEngine<Frame>[],
    sinceMs: number,
    shards: readonly RedisEngine<Frame>[] = [...new Set(byPartition)],
  ): Promise<void> {
    const before = this.#byPartition;
    this.#byPartition = byPartition;
    this.#shards = shards;
    const hasMoved = (channel: string) => before[partitionOf(channel)] !== this.shardOf(channel);
    const moved = [...this.#kept].filter(({ channel }) => hasMoved(channel));
    for (const kept of moved) kept.settled = kept.settled.then(() => this.#settle(kept));
    await Promise.allSettled(moved.map(({ settled }) => settled));
    const channels = new ChannelsOf(this.#channels(), hasMoved);
    this.#missed({ reason: 'link', frames: 0, channels, sinceMs });
  }

  /** Subscribes on the present Redis of the channel, and leaves the former one. */
  async #settle(kept: Kept<Frame>): Promise<void> {
    for (;;) {
      const engine = this.shardOf(kept.channel);
      if (kept.engine === engine || kept.isOver) return;
      kept.engine = engine;
      const before = kept.subscription;
      // A replica, such as the former master, has the frames of its new master too.
      const listener: FrameListener<Frame> = (frame) => {
        if (kept.engine === engine && !kept.isOver) kept.listener(frame);
      };
      kept.subscription = await engine.subscribe(kept.channel, listener);
      before?.unsubscribe();
      if (kept.isOver) kept.subscription.unsubscribe();
    }
  }

  /** Asks each shard for its items, side by side; the answers are in the order of the items. */
  async #byShard<Item, Answer>(
    items: readonly Item[],
    idOf: (item: Item) => string,
    ask: (engine: RedisEngine<Frame>, some: readonly Item[]) => Promise<readonly Answer[]>,
  ): Promise<Answer[]> {
    const indexes = Map.groupBy(items.keys(), (index) => this.shardOf(idOf(items[index]!)));
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
interface Kept<Frame> {
  readonly channel: string;
  readonly listener: FrameListener<Frame>;
  engine: RedisEngine<Frame> | undefined;
  subscription: Subscription | undefined;
  isOver: boolean;
  /** Resolves when the subscription is on its channel's Redis. */
  settled: Promise<void>;
}

/** The channels with listeners here; `has` also knows channels without listeners. */
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
