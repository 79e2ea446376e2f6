import type { Frame } from './frame.ts';

/**
 * The port between nodes: carries frames, counts sequences, proves its own link. Two implementations,
 * MemoryEngine (one process) and RedisEngine (many), behind one contract suite
 * (test/engine/contract.ts).
 *
 * What callers may rely on:
 * - **Delivery.** A published frame reaches every listener of its channel on every node at most once.
 *   What is lost between nodes, on a link that breaks or on one that stays up, is reported by `onMissed`
 *   and read from Postgres; `wholeMs` does not pass it before it is reported.
 * - **Local first.** Listeners on the publishing node are called synchronously, before `publish`
 *   returns its promise, whatever the state of the link. One exception keeps the order: a frame published
 *   from inside a listener of the same channel waits until the present one has reached every listener.
 * - **Order.** Frames of one channel published by one node arrive in the order of publishing. Between
 *   publishers there is no order; frames carry what receivers order by. A failed publish may leave a
 *   hole; it is never made up for later.
 * - **Subscriptions are counted.** The first listener of a channel subscribes the node, the last one
 *   to leave unsubscribes it. When `subscribe` resolves, whatever is published from then on arrives.
 *   Subscriptions outlive an outage and come back by themselves.
 * - **Counters** only grow while their store lives, and may vanish or rewind with it: a number from
 *   `reserve` is a proposal, the unique key in Postgres decides. Numbers are exact below 2^53. Of a
 *   `reserve` that failed, numbers may be taken and lost.
 * - **Closed.** After `close` nobody is called any more and every call rejects with EngineUnavailableError.
 *
 * What callers MUST do: catch nothing thrown by listeners (listeners must not throw); treat every
 * rejection as "the engine is away": EngineUnavailableError, within a second, never later.
 */
export interface Engine {
  /** 12 random characters, new for every instance; frames of this node that come back are not delivered twice. */
  readonly nodeId: string;

  /** True from the last proof of the link until a proof fails or is overdue. A MemoryEngine is always healthy. */
  readonly healthy: boolean;

  /**
   * Whatever any node published before this moment (`performance.now()` ms) has arrived here or was reported by
   * `onMissed`.
   */
  readonly wholeMs: number;

  /**
   * Calls `listener` with every frame of `channel` until `unsubscribe`. Rejects with EngineUnavailableError
   * while the link is away, and leaves nothing subscribed then.
   */
  subscribe(channel: string, listener: FrameListener): Promise<Subscription>;

  /**
   * Sends one frame to a channel's listeners everywhere. Resolves when the broker has it; the frame
   * has been handed to local listeners even when it rejects. Frames of one tick travel, and fail, together.
   */
  publish(channel: string, frame: Frame): Promise<void>;

  /**
   * Takes numbers off each stream's counter, in one round trip. The answer is in the order of the
   * claims: the first of `count` consecutive numbers, or null where the counter is absent and the
   * claim named no `floor`. A claim with a floor first raises the counter to at least that.
   */
  reserve(claims: readonly NumberRequest[]): Promise<(number | null)[]>;

  /**
   * Adds to counts that all nodes share and that end with their window, and takes from what a limit leaves of them, in
   * one round trip: for limits, where a count lost with its store is no harm. The answer is in the order of the
   * additions.
   */
  tally(additions: readonly Addition[]): Promise<readonly Tally[]>;

  /**
   * Calls `listener` when frames may not have arrived: after the link was away and is proven again, and when what
   * other nodes announced did not arrive. Every subscription is back by then, nothing published from now on is
   * missed unreported. Returns what unregisters.
   */
  onMissed(listener: (missed: Missed) => void): () => void;

  /** Sends what was published before. Never rejects, also when the link is away; twice is once. */
  close(): Promise<void>;
}

export type FrameListener = (frame: Frame) => void;

/** Frames that did not arrive, or may not have. */
export interface Missed {
  /**
   * `link`: the link was away. `frames`: these frames were lost on a link that stayed up. `silence`: another node
   * ended without a word, or too many of its announcements were lost.
   */
  readonly reason: 'link' | 'frames' | 'silence';
  /** On which channels; undefined: on any. */
  readonly channels: ReadonlySet<string> | undefined;
  /** How many are known to be lost. */
  readonly frames: number;
  /**
   * Everything published before it arrived (`performance.now()` ms). A reader of Postgres subtracts what lies
   * between a commit and its publish.
   */
  readonly sinceMs: number;
}

export interface Subscription {
  /** Synchronously: the listener is not called again. */
  unsubscribe(): void;
}

export interface NumberRequest {
  /** Whose counter: a conversation id. */
  readonly stream: string;
  readonly count: number;
  /** The highest number known to be taken in Postgres. */
  readonly floor?: number;
}

export interface Addition {
  readonly key: string;
  /** Added whatever the total is; negative gives back what was taken. */
  readonly by: number;
  /** The window to which `by` belongs, as a tally named it: it is dropped where another one is open. Default: any. */
  readonly window?: number;
  /** Adds up to `most` after that, as far as the total stays within `limit`. */
  readonly take?: { readonly most: number; readonly limit: number };
  /** Of a window that begins with this addition, where none is open: how long it lasts. */
  readonly windowMs: number;
}

export interface Tally {
  /** Of all nodes, in the window that is open. */
  readonly total: number;
  /** How much of `take` was added. */
  readonly taken: number;
  /** Identifies the window that is open: the next one of this key has another number. */
  readonly window: number;
  /** Until that window ends. */
  readonly leftMs: number;
}

/** The link is away, or did not answer in time. What was asked may or may not have happened. */
export class EngineUnavailableError extends Error {
  constructor(cause?: unknown) {
    super('the engine is unavailable', { cause });
    this.name = 'EngineUnavailableError';
  }
}
