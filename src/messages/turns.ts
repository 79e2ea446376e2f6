/**
 * Work that waits for a row's lock would hold a connection of the pool meanwhile, and ten customers of one
 * case could keep everybody else from Postgres. Here they wait without one: of each key one at a time, `most` of
 * all at once, in the order of the calls.
 */
export class Turns {
  readonly #most: number;
  readonly #busy = new Set<unknown>();
  readonly #waiting: { readonly key: unknown; readonly begin: () => void }[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Settles as `work` does. */
  async run<T>(key: string | object, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((begin) => {
      this.#waiting.push({ key, begin });
      this.#beginNext();
    });
    try {
      return await work();
    } finally {
      this.#busy.delete(key);
      this.#beginNext();
    }
  }

  #beginNext(): void {
    while (this.#busy.size < this.#most) {
      const index = this.#waiting.findIndex(({ key }) => !this.#busy.has(key));
      const [next] = index === -1 ? [] : this.#waiting.splice(index, 1);
      if (next === undefined) return;
      this.#busy.add(next.key);
      next.begin();
    }
  }
}
