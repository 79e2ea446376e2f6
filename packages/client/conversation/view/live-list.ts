import type { ListWindow } from '../../lists/list-window.ts';
import { ReadLoop } from '../../lists/read-loop.ts';
import { sameList } from '../../lists/same-parts.ts';
import type { Timing } from '../../timing/timing.ts';
import { PendingChanges } from './pending-changes.ts';

export interface LiveListHost<T> {
  /** Resolves once events of the conversation arrive. */
  readonly begun: Promise<void>;
  readonly timing: Pick<Timing, 'after'>;
  /** Reads all items. */
  read(): Promise<readonly T[]>;
  changed(): void;
}

/**
 * Resources of a conversation beside its timeline, such as its pins: read at the first request, and
 * kept up to date by events from then on.
 */
export class LiveList<T extends object> {
  readonly pending: PendingChanges<T | undefined>;
  /** The answer to the last read. */
  declare answer?: Promise<readonly T[]>;
  readonly #host: LiveListHost<T>;
  readonly #window: ListWindow<T>;
  readonly #reads: ReadLoop;
  #items: readonly T[] | undefined;
  #isAsked = false;
  #isClosed = false;

  /** Takes over the window, which is empty. */
  constructor(window: ListWindow<T>, host: LiveListHost<T>) {
    this.#host = host;
    this.#window = window;
    this.pending = new PendingChanges(() => this.#touch());
    const { timing } = host;
    this.#reads = new ReadLoop({ timing, read: () => this.#read(), failed: () => {} });
  }

  /** The known items, in order. The same array until something changes. */
  get items(): readonly T[] {
    if (this.#items === undefined) {
      const ids = [...new Set([...this.#window.ids, ...this.pending.ids])];
      this.#items = this.#window.sorted(ids.flatMap((id) => this.pending.applied(id, this.get(id)) ?? []));
    }
    return this.#items;
  }

  get(id: string): T | undefined {
    return this.#window.get(id);
  }

  /** Reads the items once. A passing failure is retried; a refused list stays empty. */
  ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    this.#reads.wake(true);
  }

  /** Reads the items again if they were read: changes may be missing. */
  reload(): void {
    if (this.#isAsked) this.#reads.wake(true);
  }

  /** Changes the items. Does nothing before they are asked for. */
  change(change: (window: ListWindow<T>) => void): void {
    if (!this.#isAsked) return;
    change(this.#window);
    this.#touch();
  }

  /** Forgets everything, for good. */
  clear(): void {
    this.close();
    this.#window.replace([], null);
    this.#touch();
  }

  /** Reads no more. The items stay as they were. */
  close(): void {
    this.#isClosed = true;
    this.#reads.close();
  }

  async #read(): Promise<boolean> {
    await this.#host.begun;
    this.#window.beginRead();
    this.answer = this.#host.read();
    const items = await this.answer;
    if (!this.#isClosed) {
      this.#window.replace(items, null);
      this.#touch();
    }
    return false;
  }

  #touch(): void {
    const before = this.#items;
    this.#items = undefined;
    if (before) this.#items = sameList(before, this.items);
    if (this.#items !== before || !before) this.#host.changed();
  }
}

/** Returns all items of a list. */
export async function allOf<T>(pages: AsyncIterable<{ readonly data: readonly T[] }>): Promise<T[]> {
  const items: T[] = [];
  for await (const { data } of pages) items.push(...data);
  return items;
}
