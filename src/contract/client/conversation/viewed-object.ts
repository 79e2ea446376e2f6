import { LiveObject } from '../live-object.ts';
import { handled } from './turns.ts';

/** The part of a live object that does its work. */
export interface View<Snapshot extends object> {
  readonly opened: Promise<void>;
  takeSnapshot(): Snapshot;
  close(): void;
}

/** What a view tells its object. */
export interface ViewOwner<
  Snapshot extends object,
  Events extends Readonly<Record<string, readonly unknown[]>>,
> {
  /** These keys of the snapshot may have other values now. */
  changed(...what: readonly (keyof Snapshot & string)[]): void;
  emit<E extends keyof Events>(event: E, ...args: Events[E]): void;
}

/**
 * A live object whose view is code that is loaded when the first one of its kind is opened. Until
 * then its snapshot is the initial one, and calls wait; from then on they take effect at once.
 */
export abstract class ViewedObject<
  Snapshot extends object,
  Events extends Readonly<Record<string, readonly unknown[]>>,
  V extends View<Snapshot>,
> extends LiveObject<Snapshot, Events> {
  /** Resolves once the newest messages are loaded. Rejects if they cannot be read. */
  readonly opened: Promise<void>;
  readonly #loading: Promise<V>;
  #view: V | undefined;
  #isClosed = false;

  constructor(load: () => Promise<(owner: ViewOwner<Snapshot, Events>) => V>) {
    super();
    this.#loading = load().then((open) => {
      const view = open({
        changed: (...what) => this.changed(...what),
        emit: (event, ...args) => this.emit(event, ...args),
      });
      this.#view = view;
      if (this.#isClosed) view.close();
      return view;
    });
    this.opened = this.#loading.then(({ opened }) => opened);
    void handled(this.opened);
  }

  /** Stops following. The snapshot stays as it was, and what is being sent is still sent. */
  override close(): void {
    this.#isClosed = true;
    this.#view?.close();
  }

  /** Returns the snapshot before there is a view. */
  protected abstract initial(): Snapshot;

  protected override takeSnapshot(): Snapshot {
    return this.#view?.takeSnapshot() ?? this.initial();
  }

  /** Returns the view's method of this name, which is called at once or when the view is there. */
  protected via<K extends keyof V>(name: K): V[K] {
    const call = (view: V, args: readonly unknown[]) =>
      (view[name] as (...args: readonly unknown[]) => unknown).apply(view, [...args]);
    const method = (...args: readonly unknown[]) => {
      if (this.#view !== undefined) return call(this.#view, args);
      const done = this.#loading.then((view) => call(view, args));
      void handled(done);
      return done;
    };
    return method as V[K];
  }

  /** The same of a method that yields pages. */
  protected pagesVia<K extends keyof V>(name: K): V[K] {
    const loading = this.#loading;
    const method = async function* (...args: readonly unknown[]) {
      const view = await loading;
      yield* (view[name] as (...args: readonly unknown[]) => AsyncIterable<unknown>).apply(view, [...args]);
    };
    return method as V[K];
  }

  /** Resolves once the view is there. */
  protected get loaded(): Promise<V> {
    return this.#loading;
  }
}
