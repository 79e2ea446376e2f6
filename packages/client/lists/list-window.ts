import { withSameParts } from './same-parts.ts';

/** The identity and order of a list's entries, where they are not as usual. */
export interface ListOrder<T> {
  /** Returns the id of an entry: its `id` by default. */
  readonly idOf?: (item: T) => string;
  /** Whether the lowest key is the first one. */
  readonly isAscending?: boolean;
}

/**
 * The loaded beginning of a list whose entries move: everything from the top down to the last entry
 * that was read, in descending order of a key. Invariant: as long as each change was put, it holds
 * exactly the entries of the list that are not behind its end. Unchanged parts of an entry stay the
 * same objects.
 */
export class ListWindow<T extends object> {
  readonly #keyOf: (item: T) => string;
  readonly #idOf: (item: T) => string;
  readonly #direction: number;
  #items = new Map<string, T>();
  #sorted: readonly T[] | undefined;
  /** The key of the last entry that a page had; undefined if the list is loaded to its end. */
  #end: string | undefined;
  /** The address of the next page; null if everything is loaded. */
  next: string | null = null;
  /** Changes since a read of the whole began, which the answer may lack. */
  #held: (readonly [id: string, change: (known: T | undefined) => T | undefined])[] | undefined;

  /** Keys sort as text and differ from entry to entry. */
  constructor(keyOf: (item: T) => string, { idOf = ownId, isAscending = false }: ListOrder<T> = {}) {
    this.#keyOf = keyOf;
    this.#idOf = idOf;
    this.#direction = isAscending ? 1 : -1;
  }

  /** In order; the same array until something changes. */
  get items(): readonly T[] {
    this.#sorted ??= this.sorted(this.#items.values());
    return this.#sorted;
  }

  get ids(): Iterable<string> {
    return this.#items.keys();
  }

  get size(): number {
    return this.#items.size;
  }

  get(id: string): T | undefined {
    return this.#items.get(id);
  }

  /** Returns entries in the order of the list. */
  sorted(items: Iterable<T>): readonly T[] {
    const keyed = Array.from(items, (item) => ({ key: this.#keyOf(item), item }));
    const sorted = keyed.sort((a, b) => (a.key < b.key ? -this.#direction : this.#direction));
    return sorted.map(({ item }) => item);
  }

  /** Begins to read the whole window, until `replace`. */
  beginRead(): void {
    this.#held = [];
  }

  /** Sets the whole window to the read items and the changes meanwhile. */
  replace(items: readonly T[], next: string | null): void {
    const [before, held] = [this.#items, this.#held ?? []];
    this.#held = undefined;
    this.#items = new Map();
    this.#add(items, next, before);
    for (const [id, change] of held) this.change(id, change);
    if (this.#items.size !== before.size) this.#sorted = undefined;
  }

  /** Adds the page behind the end. */
  append(items: readonly T[], next: string | null): void {
    this.#add(items, next, this.#items);
  }

  /**
   * Adds an entry or its newer state, and leaves an older one out. An entry that lies behind the
   * end is left out too.
   */
  put(item: T): void {
    this.change(this.#idOf(item), (known) => (known && ageOf(item) < ageOf(known) ? known : item));
  }

  delete(id: string): void {
    this.change(id, () => undefined);
  }

  /** Changes, adds or removes one entry. */
  change(id: string, change: (known: T | undefined) => T | undefined): void {
    if (this.#held?.push([id, change]) === MOST_HELD) this.#held.shift();
    const known = this.#items.get(id);
    const item = change(known);
    if (item && !this.#isBehindEnd(this.#keyOf(item))) this.#set(id, item, known);
    else if (this.#items.delete(id)) this.#sorted = undefined;
  }

  #isBehindEnd(key: string): boolean {
    const end = this.#end ?? key;
    return key !== end && key > end === this.#direction > 0;
  }

  #add(items: readonly T[], next: string | null, before: ReadonlyMap<string, T>): void {
    for (const item of items) this.#set(this.#idOf(item), item, before.get(this.#idOf(item)));
    const last = items.at(-1);
    if (next === null) this.#end = undefined;
    else if (last !== undefined) this.#end = this.#keyOf(last);
    this.next = next;
  }

  #set(id: string, item: T, known: T | undefined): void {
    const next = known === undefined ? item : withSameParts(known, item);
    this.#items.set(id, next);
    if (next !== known) this.#sorted = undefined;
  }
}

function ownId(item: object): string {
  return (item as { readonly id: string }).id;
}

/** Returns the time of the server's last change to an entry, if known. */
function ageOf(item: object): string {
  return (item as { readonly updated_at?: string }).updated_at ?? '';
}

const MOST_HELD = 1_000;
