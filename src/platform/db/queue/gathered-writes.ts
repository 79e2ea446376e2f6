export interface GatheredWritesOptions<One> {
  /** Milliseconds for which a write waits for others. */
  readonly gatherMs: number;
  /** The number of waiting writes at which they wait no longer. */
  readonly most: number;
  /** Called for one batch at a time. A rejection goes to every caller of its batch. */
  readonly write: (ones: readonly One[]) => Promise<void>;
}

/** Gathers items that come within a short time, such as outcomes of tries, into one write. */
export class GatheredWrites<One> {
  readonly #options: GatheredWritesOptions<One>;
  #waiting: One[] = [];
  #next = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;

  constructor(options: GatheredWritesOptions<One>) {
    this.#options = options;
  }

  /** Adds an item. Resolves when it is written. */
  add(one: One): Promise<void> {
    this.#waiting.push(one);
    this.#schedule();
    return this.#next.promise;
  }

  /** Resolves when everything is written. */
  async close(): Promise<void> {
    while (this.#writing !== undefined || this.#waiting.length > 0) {
      this.#write();
      await this.#writing;
    }
  }

  #schedule(): void {
    const { gatherMs, most } = this.#options;
    if (this.#waiting.length >= most) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), gatherMs);
  }

  /** Does nothing while a write is under way: the next one follows it. */
  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#writing !== undefined || this.#waiting.length === 0) return;
    const [ones, { resolve, reject }] = [this.#waiting, this.#next];
    this.#waiting = [];
    this.#next = Promise.withResolvers();
    this.#writing = this.#options
      .write(ones)
      .then(resolve, reject)
      .finally(() => {
        this.#writing = undefined;
        if (this.#waiting.length > 0) this.#schedule();
      });
  }
}
