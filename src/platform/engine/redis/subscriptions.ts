/** Channels in one command: 1,000 take about 12 ms, far below the command timeout of 500. */
const MAX_PER_COMMAND = 1000;

export interface SubscriptionsOptions {
  /** Whether the channel has a listener here now. */
  readonly wanted: (channel: string) => boolean;
  /** Every channel with a listener here now. */
  readonly allWanted: () => Iterable<string>;
  /** Resolves when the broker has confirmed them all, with a later moment of its clock in µs. */
  readonly join: (channels: readonly string[]) => Promise<number>;
  /** Called when the channels are confirmed on a connection that still stands. */
  readonly joined: (channels: readonly string[], atUs: number) => void;
  readonly leave: (channels: readonly string[]) => Promise<unknown>;
}

/**
 * Keeps the subscriptions of one connection equal to the wanted channels.
 *
 * Works in rounds, one at a time. A round looks at every channel that changed since the last one
 * and sends the missing commands. So a channel that was left and joined again meanwhile costs
 * nothing, and no order of calls ends with a wrong state. The broker executes the commands of one
 * connection in order: the last command about a channel decides, even if its answer was late or
 * never came.
 */
export class Subscriptions {
  readonly #options: SubscriptionsOptions;
  /** The last command about each channel on this connection; an absent one is not subscribed. */
  readonly #commanded = new Map<string, 'asked' | 'confirmed'>();
  readonly #changed = new Set<string>();
  #next: PromiseWithResolvers<void> | undefined;
  #running = false;
  /** Counts connections, so that answers on an earlier connection are told apart. */
  #connection = 0;
  #restored = false;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  /** Resolves when the broker holds the channel as wanted; rejects if the command failed. */
  settle(channel: string): Promise<void> {
    this.#changed.add(channel);
    return this.#round();
  }

  /** Resolves when (or at once if) every wanted channel is confirmed on this connection. */
  async restore(): Promise<void> {
    if (this.#restored && this.#changed.size === 0) return;
    const connection = this.#connection;
    if (!this.#restored) for (const channel of this.#options.allWanted()) this.#changed.add(channel);
    await this.#round();
    this.#restored = connection === this.#connection;
  }

  /** Forgets all subscriptions, which went with the connection. */
  forget(): void {
    this.#connection++;
    this.#restored = false;
    this.#commanded.clear();
  }

  /** Returns the next round to start; all calls made before it starts share it. */
  #round(): Promise<void> {
    if (this.#next === undefined) {
      this.#next = Promise.withResolvers();
      if (!this.#running) void this.#runAll();
    }
    return this.#next.promise;
  }

  async #runAll(): Promise<void> {
    this.#running = true;
    // Later calls of this tick join the first round.
    await Promise.resolve();
    for (let round = this.#take(); round !== undefined; round = this.#take()) {
      try {
        await this.#run();
        round.resolve();
      } catch (error) {
        round.reject(error);
        // Callers that wait for the next round use the same broker: with a second timeout they
        // would wait for over a second in all.
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
      // Some commands may not have been sent: a later round looks at these channels again.
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
      const state = this.#commanded.get(channel);
      if (this.#options.wanted(channel)) {
        if (state !== 'confirmed') join.push(channel);
      } else if (state !== undefined) {
        leave.push(channel);
      }
    }
    for (const channel of join) this.#commanded.set(channel, 'asked');
    for (const channel of leave) this.#commanded.delete(channel);
    // Not awaited: the command was sent and will be executed, or the connection is gone.
    if (leave.length > 0) this.#options.leave(leave).catch(() => {});
    if (join.length === 0) return;
    const atUs = await this.#options.join(join);
    if (connection !== this.#connection) throw new Error('the connection was lost meanwhile');
    for (const channel of join) this.#commanded.set(channel, 'confirmed');
    this.#options.joined(join, atUs);
  }
}
