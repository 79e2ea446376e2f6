import type { FrameListener, Subscription } from './engine.ts';
import type { Frame } from './frame.ts';

/**
 * The listeners of this process by channel, and synchronous delivery to them: the half of an engine
 * that needs no network. A channel exists from its first listener to its last.
 */
export class Channels {
  readonly #onEmpty: (channel: string) => void;
  readonly #channels = new Map<string, Channel>();
  #serial = 0;

  /** `onEmpty` is called synchronously when the last listener of a channel has left. */
  constructor(onEmpty: (channel: string) => void = () => {}) {
    this.#onEmpty = onEmpty;
  }

  has(channel: string): boolean {
    return this.#channels.has(channel);
  }

  names(): IterableIterator<string> {
    return this.#channels.keys();
  }

  /** Every call is a subscription of its own, also for a listener that is subscribed already. */
  add(name: string, listener: FrameListener): Subscription {
    let channel = this.#channels.get(name);
    if (channel === undefined) {
      channel = { listeners: new Set(), delivering: false, waiting: undefined };
      this.#channels.set(name, channel);
    }
    const { listeners } = channel;
    const entry: Entry = { listener, serial: ++this.#serial };
    listeners.add(entry);
    return {
      unsubscribe: () => {
        if (!listeners.delete(entry) || listeners.size > 0) return;
        this.#channels.delete(name);
        this.#onEmpty(name);
      },
    };
  }

  /**
   * Calls the channel's listeners. One that leaves meanwhile is not called again; one that joins
   * does not get this frame. A frame delivered from inside a listener of the channel waits until
   * this one has reached all of them: otherwise later listeners would get the two in reverse order.
   */
  deliver(name: string, frame: Frame): void {
    const channel = this.#channels.get(name);
    if (channel === undefined) return;
    if (channel.delivering) {
      channel.waiting ??= [];
      channel.waiting.push(frame);
      return;
    }
    channel.delivering = true;
    try {
      for (let next: Frame | undefined = frame; next !== undefined; next = channel.waiting?.shift()) {
        const newest = this.#serial;
        for (const entry of channel.listeners) {
          if (entry.serial > newest) break;
          entry.listener(next);
        }
      }
    } finally {
      channel.delivering = false;
    }
  }

  /** Removes all listeners without calling `onEmpty`. */
  clear(): void {
    for (const { listeners } of this.#channels.values()) listeners.clear();
    this.#channels.clear();
  }
}

interface Channel {
  /** In the order of joining, which is also the order of `serial`. */
  readonly listeners: Set<Entry>;
  delivering: boolean;
  waiting: Frame[] | undefined;
}

interface Entry {
  readonly listener: FrameListener;
  readonly serial: number;
}

/**
 * The names of channels and counters in Redis: `parley:ch:{p017}:<channel>`. The tag in braces is
 * the partition, a stable hash of the channel or stream onto a fixed number, so that a Redis
 * Cluster keeps a partition in one slot without any name being changed
 * (docs/decisions.md#names-in-redis-carry-a-fixed-partition).
 */
export const PARTITIONS = 256;

/** What a Redis Cluster makes a slot of. */
export function tagOf(partition: number): string {
  return `p${String(partition).padStart(3, '0')}`;
}

const TAGS = Array.from({ length: PARTITIONS }, (_, index) => `{${tagOf(index)}}:`);
const TAG_LENGTH = '{p000}:'.length;

type NameKind = 'ch' | 'seq' | 'tally';

export function redisName(kind: NameKind, id: string): string {
  return `parley:${kind}:${TAGS[partitionOf(id)]}${id}`;
}

/** The inverse of `redisName('ch', channel)`. */
export function channelOf(name: Buffer): string {
  return name.toString('utf8', CHANNEL_START);
}

const CHANNEL_START = 'parley:ch:'.length + TAG_LENGTH;

/** FNV-1a over UTF-16 units. A change of it renames every counter. */
export function partitionOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < id.length; index++) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  }
  // The low bits of the hash depend only on the low bits of each character.
  return ((hash >>> 16) ^ hash) & (PARTITIONS - 1);
}

/** A channel of that partition whose name begins so; always the same one. */
export function channelIn(start: string, partition: number): string {
  for (let n = 0; ; n++) {
    const channel = `${start}:${n}`;
    if (partitionOf(channel) === partition) return channel;
  }
}

/** The channels of each partition that has any. */
export function bySlot(channels: readonly string[]): string[][] {
  return [...Map.groupBy(channels, partitionOf).values()];
}
