import { type PagePlace, PageStore, type PageValues } from '../store/index.ts';
import { SerialQueue } from '../timing/serial-queue.ts';

/** A place of pages in this process, which outlives clients. */
export class MemoryPages implements PagePlace {
  /** By name, as JSON. */
  readonly values = new Map<string, string>();
  /** Whether the storage refuses what it is asked. */
  isBroken = false;
  removedOthers = 0;
  readonly #changes = new SerialQueue();

  store(limitBytes = 1_000_000): PageStore {
    return new PageStore(this, limitBytes);
  }

  run<T>(work: (values: PageValues) => Promise<T>): Promise<T> {
    return this.#changes.run(() => {
      if (this.isBroken) throw new DOMException('No space.', 'QuotaExceededError');
      return work({
        get: async (name) => JSON.parse(this.values.get(name) ?? 'null') ?? undefined,
        put: async (name, value) => this.values.set(name, JSON.stringify(value)),
        delete: async (name) => this.values.delete(name),
        clear: async () => this.values.clear(),
      });
    });
  }

  async removeOthers(): Promise<void> {
    this.removedOthers += 1;
  }

  /** Whether anything that is kept has these words. */
  has(words: string): boolean {
    return [...this.values.values()].some((value) => value.includes(words));
  }
}
