import { ReadLoop } from '../../lists/read-loop.ts';
import type { Timing } from '../../timing/timing.ts';
import { PendingChanges } from './pending-changes.ts';
import { sameList, withSameParts } from './same-parts.ts';

export interface LiveListHost<T> {
  /** Resolves once events of the conversation arrive. */
  readonly begun: Promise<void>;
  readonly timing: Pick<Timing, 'after'>;
  /** Reads all items. */
  read(): Promise<readonly T[]>;
  idOf(item: T): string;
  /** The order, as for Array.sort. */
  compare(a: T, b: T): number;
  changed(): void;
}

/**
 * Resources of a conversation beside its timeline, such as its pins: read when they are asked for
 * first, and kept up to date by events from then on.
 */
export class LiveList<T extends { readonly object: string; readonly updated_at?: string }> {
  readonly pending: PendingChanges<T | undefined>;
  readonly #host: LiveListHost<T>;
  readonly #reads: ReadLoop;
  #known = new Map<string, T>();
  #items: readonly T[] | undefined;
  #isAsked = false;
  /** Changes since the request that is being answered: the answer may lack them. */
  #held: Change<T>[] | undefined;
  #isClosed = false;

  constructor(host: LiveListHost<T>) {
    this.#host = host;
    this.pending = new PendingChanges(() => this.#touch());
    const { timing } = host;
    this.#reads = new ReadLoop({ timing, restMs: 0, read: () => this.#read(), failed: () => {} });
  }

  /** What is known, in order. The same array until something changes. */
  get items(): readonly T[] {
    if (this.#items === undefined) {
      const ids = new Set([...this.#known.keys(), ...this.pending.ids]);
      const shown = [...ids].flatMap((id) => this.pending.applied(id, this.#known.get(id)) ?? []);
      this.#items = shown.sort((a, b) => this.#host.compare(a, b));
    }
    return this.#items;
  }

  get(id: string): T | undefined {
    return this.#known.get(id);
  }

  /** Reads the items, once. What fails for a while is tried again, what is refused stays empty. */
  ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    this.#reads.wake(true);
  }

  /** Reads the items again, if that was ever done: changes may be missing. */
  reload(): void {
    if (this.#isAsked) this.#reads.wake(true);
  }

  /** Adds an item or replaces an older state of it. */
  put(item: T): void {
    this.change(this.#host.idOf(item), (known) => {
      if (known === undefined) return item;
      return (item.updated_at ?? '') < (known.updated_at ?? '') ? known : withSameParts(known, item);
    });
  }

  remove(id: string): void {
    this.change(id, () => undefined);
  }

  /** Changes one item. Does nothing before the items are asked for. */
  change(id: string, change: (known: T | undefined) => T | undefined): void {
    if (!this.#isAsked) return;
    this.#held?.push([id, change]);
    this.#apply(id, change);
    this.#touch();
  }

  /** Forgets everything, for good. */
  clear(): void {
    this.close();
    this.#known.clear();
    this.#touch();
  }

  /** Reads no more. The items stay as they were. */
  close(): void {
    this.#isClosed = true;
    this.#reads.close();
  }

  async #read(): Promise<boolean> {
    await this.#host.begun;
    const held: Change<T>[] = [];
    this.#held = held;
    try {
      const items = await this.#host.read();
      if (this.#isClosed) return false;
      this.#replace(items);
    } finally {
      this.#held = undefined;
    }
    for (const [id, change] of held) this.#apply(id, change);
    this.#touch();
    return false;
  }

  #replace(items: readonly T[]): void {
    const before = this.#known;
    this.#known = new Map(
      items.map((item) => {
        const id = this.#host.idOf(item);
        const known = before.get(id);
        return [id, known === undefined ? item : withSameParts(known, item)];
      }),
    );
  }

  #apply(id: string, change: (known: T | undefined) => T | undefined): void {
    const changed = change(this.#known.get(id));
    if (changed === undefined) this.#known.delete(id);
    else this.#known.set(id, changed);
  }

  #touch(): void {
    const before = this.#items;
    this.#items = undefined;
    if (before !== undefined && sameList(before, this.items) === before) this.#items = before;
    else this.#host.changed();
  }
}

type Change<T> = readonly [id: string, change: (known: T | undefined) => T | undefined];

/** Returns all items of a list. */
export async function allOf<T>(pages: AsyncIterable<{ readonly data: readonly T[] }>): Promise<T[]> {
  const items: T[] = [];
  for await (const { data } of pages) items.push(...data);
  return items;
}
