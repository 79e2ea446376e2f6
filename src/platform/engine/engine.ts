/**
 * The port between nodes: it carries frames, counts sequences and proves its own link. It knows
 * nothing of its frames but how they become bytes. MemoryEngine (one process), RedisEngine (many),
 * SeveralRedis and RedisCluster (over several of the former) implement it, and one contract suite
 * tests them (test/engine/contract.ts).
 *
 * Callers may rely on:
 * - **Delivery.** A published frame reaches every listener of its channel on every node at most
 *   once. Frames that are lost between nodes, on a link that breaks or on one that stays up, are
 *   reported by `onMissed` and read from Postgres; `wholeMs` does not pass them before they are
 *   reported. While this link or that of another node is away, the report comes once a second.
 * - **Local first.** Listeners on the publishing node are called synchronously, before `publish`
 *   returns its promise, whatever the state of the link. One exception keeps the order: a frame
 *   published from inside a listener of the same channel waits until the present one has reached
 *   every listener.
 * - **Order.** Frames of one channel published by one node arrive in the order of publishing.
 *   Between publishers there is no order; receivers order by fields of the frames. A failed publish
 *   may leave a gap, which is never filled later.
 * - **Subscriptions are counted.** The first listener of a channel subscribes the node, the last
 *   one to leave unsubscribes it. Every frame published after `subscribe` resolved arrives or is
 *   reported. Subscriptions outlive an outage, and begin in one, and are restored without the
 *   caller.
 * - **Counters** only grow while their store lives, and may vanish or rewind with it: a number from
 *   `reserve` is a proposal, and the unique key in Postgres decides. Numbers are exact below 2^53.
 *   A `reserve` that failed may have taken numbers, which are then lost.
 * - **Closed.** After `close` no listener is called any more, and every call rejects with
 *   EngineUnavailableError.
 *
 * Callers MUST register listeners that do not throw, since the engine catches nothing, and treat
 * every rejection as "the engine is away": an EngineUnavailableError, which comes within a second.
 */
export interface Engine<Frame> extends EngineShard {
  /** 12 random characters, new for every instance, by which the node ignores its own frames. */
  readonly nodeId: string;

  /** Its shards, which are lost and healed one by one. A single Redis is its own only shard. */
  readonly shards: readonly EngineShard[];

  /** Returns the shard that carries this channel, or counts this stream. */
  shardOf(id: string): EngineShard;

  /**
   * Everything that any node published before this moment (`performance.now()`, ms) has arrived
   * here or was reported by `onMissed`.
   */
  readonly wholeMs: number;

  /**
   * Calls `listener` with every frame of `channel` until `unsubscribe`. While the link is away, the
   * frames of this node arrive.
   */
  subscribe(channel: string, listener: FrameListener<Frame>): Promise<Subscription>;

  /**
   * Sends one frame to the channel's listeners on all nodes. Resolves when the broker has it, or
   * when a notice makes the other nodes read Postgres instead; local listeners got it even when it
   * rejects. Frames of one tick travel, and fail, together.
   */
  publish(channel: string, frame: Frame): Promise<void>;

  /**
   * Takes numbers off each stream's counter in one round trip. Returns, in the order of the claims,
   * the first of `count` consecutive numbers, or null if the counter is absent and the claim has no
   * `floor`. A claim with a floor first raises the counter to at least that.
   */
  reserve(claims: readonly NumberRequest[]): Promise<(number | null)[]>;

  /**
   * Adds to counts that all nodes share and that end with their window, and takes what a limit
   * leaves of them, in one round trip. It is meant for limits, where losing a count with its store
   * does no harm. Returns the tallies in the order of the additions.
   */
  tally(additions: readonly Addition[]): Promise<readonly Tally[]>;

  /**
   * Calls `listener` when frames may not have arrived: when the link was away and is proven again,
   * when frames that other nodes announced did not arrive, and once a second while a link is away.
   * Except for the last, all subscriptions are restored by then, and later losses are reported
   * again. Returns the function that unregisters.
   */
  onMissed(listener: (missed: Missed) => void): () => void;

  /** Sends what was published before. Never rejects, even without a link; may be called twice. */
  close(): Promise<void>;
}

/** The whole engine, or its part for some channels and streams. */
export interface EngineShard {
  /** True from a proof of the link until one fails or is overdue; always true in a MemoryEngine. */
  readonly healthy: boolean;

  /**
   * True while frames of other nodes may fail to arrive without a report: the link is away, its
   * proof is overdue, or another node says that it cannot publish. Earlier reads then hold for a
   * second at most.
   */
  readonly inDoubt: boolean;
}

/** Notices between nodes, by another way than the engine, while a node cannot publish. */
export interface Notices {
  /** The last moment (`performance.now()`) of which it is known that no node was cut off. */
  readonly clearMs: number;

  /** Whether a node is cut off, or a notice may have been overlooked. */
  readonly inDoubt: boolean;

  /**
   * Resolves once every node knows, or will know, that the frames of this moment do not reach it.
   * Rejects if it cannot be said.
   */
  say(): Promise<void>;
}

/** The notices about some of the partitions of names, in a Redis Cluster. */
export type NoticesOf = (partitions: () => readonly number[]) => Notices;

export type FrameListener<Frame> = (frame: Frame) => void;

/** The bytes of frames between nodes. Listeners of the publishing node get the frame itself. */
export interface FrameCodec<Frame> {
  /** Throws a RangeError on a frame that cannot be carried. */
  readonly encode: (frame: Frame) => Buffer;
  /**
   * Returns a frame that may have views of `bytes`. Throws a RangeError on anything but a whole
   * frame.
   */
  readonly decode: (bytes: Buffer) => Frame;
}

/** Frames that did not arrive, or may not have arrived. */
export interface Missed {
  /**
   * `link`: it was away. `frames`: they were lost on a link that stayed up. `silence`: another node
   * ended without a last announcement, or too many of its announcements were lost. `away`: this
   * link or that of another node is away, so that the same is reported again in a second.
   */
  readonly reason: 'link' | 'frames' | 'silence' | 'away';
  /** The affected channels, or undefined for any. `has` also knows channels without listeners. */
  readonly channels: ReadonlySet<string> | undefined;
  /** Number of frames known to be lost. */
  readonly frames: number;
  /**
   * Every frame published before this moment (`performance.now()`, ms) arrived. A reader of
   * Postgres subtracts the time between a commit and its publish.
   */
  readonly sinceMs: number;
}

export interface Subscription {
  /** Takes effect synchronously: the listener is not called again. */
  unsubscribe(): void;
}

export interface NumberRequest {
  /** Id of the counter's owner. */
  readonly stream: string;
  readonly count: number;
  /** The highest number known to be taken in Postgres. */
  readonly floor?: number;
}

export interface Addition {
  readonly key: string;
  /** Added whatever the total is; a negative number gives back. */
  readonly by: number;
  /** The `Tally.window` that `by` belongs to; `by` is ignored if another is open. Default: any. */
  readonly window?: number;
  /** After that, adds up to `most` as far as the total stays within `limit`. */
  readonly take?: { readonly most: number; readonly limit: number };
  /** Length of the window that this addition opens if none is open. */
  readonly windowMs: number;
}

export interface Tally {
  /** The total of all nodes in the open window. */
  readonly total: number;
  /** The part of `take` that was added. */
  readonly taken: number;
  /** Identifies the open window: the next one of this key has another number. */
  readonly window: number;
  /** Time until that window ends. */
  readonly leftMs: number;
}

/** The link is away or did not answer in time. The request may or may not have had its effect. */
export class EngineUnavailableError extends Error {
  constructor(cause?: unknown) {
    super('the engine is unavailable', { cause });
    this.name = 'EngineUnavailableError';
  }
}
