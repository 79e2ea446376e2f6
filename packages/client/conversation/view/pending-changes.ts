/**
 * Changes that are shown before the server has answered, by the id of what they change. They are
 * applied to the newest known state each time, so a change that is taken back leaves no trace.
 */
export class PendingChanges<T> {
  readonly #changed: () => void;
  readonly #changes = new Map<string, readonly ((value: T) => T)[]>();
  readonly #shown = new Map<string, { readonly of: T; readonly value: T }>();

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** The ids of the values with changes. */
  get ids(): Iterable<string> {
    return this.#changes.keys();
  }

  /** Returns the function that takes the change back. */
  add(id: string, change: (value: T) => T): () => void {
    this.#set(id, [...(this.#changes.get(id) ?? []), change]);
    return () =>
      this.#set(
        id,
        (this.#changes.get(id) ?? []).filter((one) => one !== change),
      );
  }

  /** Returns the value with its changes: the same result for the same value and changes. */
  applied(id: string, value: T): T {
    const changes = this.#changes.get(id);
    if (changes === undefined) return value;
    const known = this.#shown.get(id);
    if (known !== undefined && known.of === value) return known.value;
    const shown = { of: value, value: changes.reduce((before, change) => change(before), value) };
    this.#shown.set(id, shown);
    return shown.value;
  }

  #set(id: string, changes: readonly ((value: T) => T)[]): void {
    if (changes.length === 0) this.#changes.delete(id);
    else this.#changes.set(id, changes);
    this.#shown.delete(id);
    this.#changed();
  }
}
