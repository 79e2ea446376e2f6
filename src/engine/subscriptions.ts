/** How many channels one command names: 1,000 are confirmed in about 12 ms, far below the command timeout of 500. */
const MAX_PER_COMMAND = 1000;

export interface SubscriptionsOptions {
  /** Whether anybody here listens to the channel now. */
  readonly wanted: (channel: string) => boolean;
  /** Every channel somebody listens to now. */
  readonly allWanted: () => Iterable<string>;
  /** Resolves when the broker has confirmed all of them, with a moment of its clock from which on they are. */
  readonly join: (channels: readonly string[]) => Promise<number>;
  /** They are confirmed, on a connection that still stands. */
  readonly joined: (channels: readonly string[], atUs: number) => void;
  readonly leave: (channels: readonly string[]) => Promise<unknown>;
}

/**
 * Keeps what one connection is subscribed to equal to what is wanted.
 *
 * Works in rounds, one at a time: a round looks at every channel that changed since the last one and
 * sends what is missing, so a channel that was left and joined again meanwhile costs nothing and can
 * never end wrong, whatever the order of calls. The broker executes one connection's commands in order:
 * the last command sent about a channel decides, even when its answer was late or never came.
 */
export class Subscriptions {
  readonly #options: SubscriptionsOptions;
  /** What this connection was last told: absent is "not subscribed", `asked` waits for the broker's word. */
  readonly #commanded = new Map<string, 'asked' | 'confirmed'>();
  readonly #changed = new Set<string>();
  #next: PromiseWithResolvers<void> | undefined;
  #running = false;
  /** Counts connections, so that an answer of an earlier one is not taken for this one's. */
  #connection = 0;
  #restored = false;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  /** Resolves when the broker holds the channel as it is wanted; rejects when it could not be told. */
  settle(channel: string): Promise<void> {
    this.#changed.add(channel);
    return this.#round();
  }

  /** Resolves when every wanted channel is confirmed on the present connection: at once when they are. */
  async restore(): Promise<void> {
    if (this.#restored && this.#changed.size === 0) return;
    const connection = this.#connection;
    if (!this.#restored) for (const channel of this.#options.allWanted()) this.#changed.add(channel);
    await this.#round();
    this.#restored = connection === this.#connection;
  }

  /** The connection is gone, and with it all it was told. */
  forget(): void {
    this.#connection++;
    this.#restored = false;
    this.#commanded.clear();
  }

  /** The next round to start: calls made before it does share it. */
  #round(): Promise<void> {
    if (this.#next === undefined) {
      this.#next = Promise.withResolvers();
      if (!this.#running) void this.#runAll();
    }
    return this.#next.promise;
  }

  async #runAll(): Promise<void> {
    this.#running = true;
    // The rest of this tick's calls join the first round.
    await Promise.resolve();
    for (let round = this.#take(); round !== undefined; round = this.#take()) {
      try {
        await this.#run();
        round.resolve();
      } catch (error) {
        round.reject(error);
        // Those who wait for the next round ask the same broker: after a second timeout of their own they
        // would have waited for over a second.
        this.#take()?.reject(error);
      }
    }
    this.#running = false;
  }

  #take(): PromiseWithResolvers<void> | undefined {
    const next = this.#next;
    this.#next = undefined;
    return next;
  }

  async #run(): Promise<void> {
    const changed = [...this.#changed];
    this.#changed.clear();
    try {
      for (let start = 0; start < changed.length; start += MAX_PER_COMMAND) {
        await this.#send(changed.slice(start, start + MAX_PER_COMMAND));
      }
    } catch (error) {
      // Some may not have been sent: a later round looks at them again.
      for (const channel of changed) {
        if (this.#options.wanted(channel) || this.#commanded.has(channel)) this.#changed.add(channel);
      }
      throw error;
    }
  }

  async #send(channels: readonly string[]): Promise<void> {
    const connection = this.#connection;
    const join: string[] = [];
    const leave: string[] = [];
    for (const channel of channels) {
      const told = this.#commanded.get(channel);
      if (this.#options.wanted(channel)) {
        if (told !== 'confirmed') join.push(channel);
      } else if (told !== undefined) {
        leave.push(channel);
      }
    }
    for (const channel of join) this.#commanded.set(channel, 'asked');
    for (const channel of leave) this.#commanded.delete(channel);
    // Nobody waits for it: it was sent, and will be done, or the connection is gone.
    if (leave.length > 0) this.#options.leave(leave).catch(() => {});
    if (join.length === 0) return;
    const atUs = await this.#options.join(join);
    if (connection !== this.#connection) throw new Error('the connection was lost meanwhile');
    for (const channel of join) this.#commanded.set(channel, 'confirmed');
    this.#options.joined(join, atUs);
  }
}
