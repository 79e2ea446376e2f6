import { Listeners } from '../events/client-events.ts';

/** The argument of `change` listeners. */
export interface Change<Snapshot extends object> {
  /** The key of the snapshot that changed. */
  readonly what: keyof Snapshot & string;
}

/**
 * An object that stays up to date until it is closed. `snapshot` is its present state, the same
 * reference until something changes; `change` is emitted once for each key that changed in a moment
 * (a turn of the event loop). Every live object of the SDK is one, and React's hooks use only these
 * two.
 */
export abstract class LiveObject<
  Snapshot extends object,
  Events extends Readonly<Record<string, readonly unknown[]>> = Record<never, never>,
> {
  readonly #listeners = new Listeners<Events & { readonly change: readonly [change: Change<Snapshot>] }>();
  readonly #changed = new Set<keyof Snapshot & string>();
  #snapshot: Snapshot | undefined;

  /** The present state: the same reference until something changed. */
  get snapshot(): Snapshot {
    this.#snapshot ??= this.takeSnapshot();
    return this.#snapshot;
  }

  /** Calls the listener at each event. Returns the function that removes it. */
  on<E extends keyof Events | 'change'>(
    event: E,
    listener: (...args: (Events & { readonly change: readonly [change: Change<Snapshot>] })[E]) => void,
  ): () => void {
    return this.#listeners.add(event, listener);
  }

  /** Stops following. The snapshot stays as it was. */
  abstract close(): void;

  /** Values that did not change must be the same references as before. */
  protected abstract takeSnapshot(): Snapshot;

  /** Emits `change` for these keys, whose values may have changed. */
  protected changed(...what: readonly (keyof Snapshot & string)[]): void {
    this.#snapshot = undefined;
    const isReported = this.#changed.size > 0;
    for (const key of what) this.#changed.add(key);
    if (!isReported) queueMicrotask(() => this.#report());
  }

  /** Returns the state with these values, and reports those that differ. */
  protected merged(state: Snapshot, values: Partial<Snapshot>): Snapshot {
    const keys = Object.keys(values) as (keyof Snapshot & string)[];
    const changed = keys.filter((key) => values[key] !== state[key]);
    if (changed.length === 0) return state;
    this.changed(...changed);
    return { ...state, ...values };
  }

  protected emit<E extends keyof Events>(event: E, ...args: Events[E]): void {
    this.#listeners.emit(event, ...(args as never));
  }

  #report(): void {
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const what of changed) this.#listeners.emit('change', ...([{ what }] as never));
  }
}
