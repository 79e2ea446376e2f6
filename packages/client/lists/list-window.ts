/**
 * The loaded beginning of a list whose entries move: everything from the top down to the last entry
 * that was read, in descending order of a key. Invariant: as long as each change was put, it holds
 * exactly the entries of the list that are not behind its end.
 */
export class ListWindow<T extends { readonly id: string }> {
  readonly #keyOf: (item: T) => string;
  #items = new Map<string, T>();
  #sorted: readonly T[] | undefined;
  /** The key of the last entry that a page had; undefined if the list is loaded to its end. */
  #end: string | undefined;
  #next: string | null = null;

  /** Keys sort as text and differ from entry to entry. */
  constructor(keyOf: (item: T) => string) {
    this.#keyOf = keyOf;
  }

  /** In order; the same array until something changes. */
  get items(): readonly T[] {
    this.#sorted ??= this.#sort();
    return this.#sorted;
  }

  get size(): number {
    return this.#items.size;
  }

  /** The address of the next page; null if everything is loaded. */
  get next(): string | null {
    return this.#next;
  }

  get(id: string): T | undefined {
    return this.#items.get(id);
  }

  /** Sets the whole window. Entries that did not change stay the same objects. */
  replace(items: readonly T[], next: string | null): void {
    const before = this.#items;
    this.#items = new Map();
    for (const item of items) this.#set(item, before.get(item.id));
    this.#endWith(items, next);
    if (this.#items.size !== before.size) this.#sorted = undefined;
  }

  /** Adds the page behind the end. */
  append(items: readonly T[], next: string | null): void {
    for (const item of items) this.#set(item, this.#items.get(item.id));
    this.#endWith(items, next);
  }

  /** Adds an entry or its newer state; one that lies behind the end is left out. */
  put(item: T): void {
    const isBehind = this.#end !== undefined && this.#keyOf(item) < this.#end;
    if (isBehind) this.delete(item.id);
    else this.#set(item, this.#items.get(item.id));
  }

  delete(id: string): void {
    if (this.#items.delete(id)) this.#sorted = undefined;
  }

  #set(item: T, known: T | undefined): void {
    const isSame = known !== undefined && JSON.stringify(known) === JSON.stringify(item);
    this.#items.set(item.id, isSame ? known : item);
    if (!isSame) this.#sorted = undefined;
  }

  #endWith(items: readonly T[], next: string | null): void {
    const last = items.at(-1);
    if (next === null) this.#end = undefined;
    else if (last !== undefined) this.#end = this.#keyOf(last);
    this.#next = next;
  }

  #sort(): readonly T[] {
    const keyed = [...this.#items.values()].map((item) => ({ key: this.#keyOf(item), item }));
    return keyed.sort((a, b) => (a.key < b.key ? 1 : -1)).map(({ item }) => item);
  }
}
