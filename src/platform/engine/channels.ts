import type { FrameListener, Subscription } from './engine.ts';

/**
 * The listeners of this process by channel, and synchronous delivery to them: the half of an engine
 * that needs no network. A channel exists from its first listener to its last.
 */
export class Channels<Frame> {
  readonly #onEmpty: (channel: string) => void;
  readonly #channels = new Map<string, Channel<Frame>>();
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

  /** Adds a listener. Every call is a subscription of its own, also for the same listener. */
  add(name: string, listener: FrameListener<Frame>): Subscription {
    let channel = this.#channels.get(name);
    if (channel === undefined) {
      channel = { listeners: new Set(), delivering: false, waiting: undefined };
      this.#channels.set(name, channel);
    }
    const { listeners } = channel;
    const entry: Entry<Frame> = { listener, serial: ++this.#serial };
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
   * Calls the channel's listeners. A listener that leaves meanwhile is not called again; a new one
   * does not get this frame. A frame delivered from inside a listener of the channel waits until
   * this frame has reached all: otherwise later listeners would get the two in reverse order.
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

interface Channel<Frame> {
  /** In the order of joining, which is also the order of `serial`. */
  readonly listeners: Set<Entry<Frame>>;
  delivering: boolean;
  waiting: Frame[] | undefined;
}

interface Entry<Frame> {
  readonly listener: FrameListener<Frame>;
  readonly serial: number;
}
