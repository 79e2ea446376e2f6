import { Loop } from '../../lifecycle.ts';
import type { Logger } from '../../log.ts';

/** Milliseconds between two proofs. */
const INTERVAL_MS = 500;
/** An answer this late puts the link in doubt, within the second for which a right holds. */
const LATE_MS = 400;
/** A proof that is not back within this time has failed. */
const DEADLINE_MS = 1000;
/** Failures in a row until reconnecting: TCP may need a quarter of an hour to drop a dead peer. */
const FAILURES_TO_RESTART = 2;

export interface LinkOptions {
  /** Whether every connection that a proof travels over is open. */
  readonly connected: () => boolean;
  /** Restores all subscriptions: a proof sent after it resolved stands for every channel. */
  readonly prepare: () => Promise<void>;
  /** Sends a proof, which comes back through `arrived`. */
  readonly send: (proof: string) => void;
  /** Drops all connections, which are then made again. */
  readonly restart: () => void;
  /** Called with the `performance.now()` of the last proof before the outage, which is over. */
  readonly recovered: (healthySinceMs: number) => void;
  readonly log: Logger;
}

/**
 * Watches whether the link is whole, by regularly sending itself a proof through it. An open
 * connection proves nothing: a broker that hangs keeps it open, and frames lost between two
 * connections leave no other trace.
 */
export class RedisLink {
  readonly #options: LinkOptions;
  #loop: Loop | undefined;
  #closed = false;
  #healthy = false;
  #provenAt = 0;
  #failures = 0;
  #serial = 0;
  /** Counts lost connections: a proof that was under way while one was lost proves nothing. */
  #breaks = 0;
  #pending: { proof: string; resolve: () => void; reject: (error: Error) => void } | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  get healthy(): boolean {
    return this.#healthy;
  }

  /** Whether it is away, or the next proof is late. */
  get inDoubt(): boolean {
    return !this.#healthy || performance.now() - this.#provenAt > INTERVAL_MS + LATE_MS;
  }

  /** Time at which the last returned proof was sent (`performance.now()`). */
  get provenAtMs(): number {
    return this.#provenAt;
  }

  /** Makes the first proof and starts the others. Rejects when it fails. */
  async open(): Promise<void> {
    const provenAt = await this.#prove();
    if (provenAt === undefined) throw new Error('a connection was lost meanwhile');
    this.#provenAt = provenAt;
    this.#healthy = true;
    this.#loop = new Loop({
      intervalMs: INTERVAL_MS,
      run: () => this.#round(),
      onError: (error) => this.#options.log.error({ err: error }, 'proving the engine link failed'),
    });
  }

  arrived(proof: string): void {
    if (proof === this.#pending?.proof) this.#pending.resolve();
    // A late proof: the broker answers again, so the next proof need not wait for its second.
    else this.#loop?.wake();
  }

  /** Proves the link now, because a command failed or a connection changed. */
  check(): void {
    this.#loop?.wake();
  }

  /** Notes that a connection is gone. */
  broken(reason: Error): void {
    this.incomplete(reason);
    this.#pending?.reject(reason);
  }

  /** Notes a channel that could not be subscribed: proofs prepared earlier prove nothing. */
  incomplete(reason: Error): void {
    this.#breaks++;
    this.#lost(reason);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.broken(new Error('closed'));
    await this.#loop?.close();
  }

  async #round(): Promise<void> {
    // Every new connection calls check().
    if (!this.#options.connected()) return;
    let sentAt: number | undefined;
    try {
      sentAt = await this.#prove();
    } catch (error) {
      this.#lost(error);
      this.#failures++;
      if (this.#closed || this.#failures % FAILURES_TO_RESTART !== 0) return;
      this.#options.log.warn({ failures: this.#failures }, 'the engine link does not answer, reconnecting');
      this.#options.restart();
      return;
    }
    this.#failures = 0;
    if (sentAt === undefined) return this.#loop?.wake();
    const healthySinceMs = this.#provenAt;
    this.#provenAt = sentAt;
    if (this.#healthy || this.#closed) return;
    this.#healthy = true;
    this.#options.log.info(
      { unproven_ms: Math.round(sentAt - healthySinceMs) },
      'the engine link works again',
    );
    this.#options.recovered(healthySinceMs);
  }

  /**
   * Makes one round trip. Returns its beginning (`performance.now()`), or undefined if something
   * was lost meanwhile.
   */
  async #prove(): Promise<number | undefined> {
    const breaks = this.#breaks;
    await this.#options.prepare();
    if (breaks !== this.#breaks) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const proof = String(++this.#serial);
    const sentAt = performance.now();
    // Timers run before sockets are read: after a pause of this process the proof may have arrived
    // already, so sockets are read once more before it counts as overdue.
    const overdue = () => setImmediate(reject, new Error(`no proof of the link in ${DEADLINE_MS} ms`));
    const timer = setTimeout(overdue, DEADLINE_MS);
    this.#pending = { proof, resolve, reject };
    try {
      this.#options.send(proof);
      await promise;
    } finally {
      clearTimeout(timer);
      this.#pending = undefined;
    }
    return breaks === this.#breaks ? sentAt : undefined;
  }

  #lost(error: unknown): void {
    if (!this.#healthy) return;
    this.#healthy = false;
    if (!this.#closed) this.#options.log.warn({ err: error }, 'lost the engine link');
  }
}
