import { closed, lost, type ParleyError } from '../errors/parley-error.ts';
import { onAbort } from '../timing/on-abort.ts';
import { handled } from '../timing/serial-queue.ts';
import type { Timing } from '../timing/timing.ts';
import { untilAnswered } from '../timing/until-answered.ts';
import { LiveObject } from './live-object.ts';

/** The common part of the snapshots of objects that read from the server. */
export interface Loading {
  /** `error`: nothing could be read so far, and `error` says why. */
  readonly status: 'loading' | 'ready' | 'error';
  /** Why the last read failed, which is repeated if that may help; null after a success. */
  readonly error: ParleyError | null;
}

type Emitted = Readonly<Record<string, readonly unknown[]>>;

/** The part of a LoadedObject that has its code loaded: it reads and follows events. */
export interface LoadedPart<Snapshot extends object> {
  /** Returns the snapshot. Absent where the owner's `set` makes it. */
  takeSnapshot?(): Snapshot;
  close(): void;
}

/** The calls of a loaded part to its object. */
export interface PartOwner<Snapshot extends object, Events extends Emitted = Record<never, never>> {
  /** Sets these keys of the snapshot. */
  readonly set: (values: Partial<Snapshot>) => void;
  /** Says that these keys of the part's snapshot may have other values now. */
  readonly changed: (...what: readonly (keyof Snapshot & string)[]) => void;
  readonly emit: <E extends keyof Events>(event: E, ...args: Events[E]) => void;
}

/** A LoadedObject's part of its client. */
export interface LoadedHost {
  readonly timing: Pick<Timing, 'after'>;
  /** Closes the object, if it is given. */
  readonly closing?: AbortSignal;
}

/**
 * A live object whose code is loaded with the first object of its kind, so that only pages that use
 * it have it. Until then the snapshot is the initial one, and calls wait; afterwards calls take
 * effect at once.
 */
export abstract class LoadedObject<
  Snapshot extends object,
  P extends LoadedPart<Snapshot>,
  Events extends Emitted = Record<never, never>,
> extends LiveObject<Snapshot, Events> {
  /** Resolves once the code is there. Rejects if the object is closed before. */
  protected readonly loaded: Promise<P>;
  #part: P | undefined;
  #state: Snapshot;
  #stopWaiting: () => void = () => {};
  #stopFollowing = (): void => {};
  #isClosed = false;

  /** `load` rejects while the code cannot be loaded, and is called again in some seconds. */
  constructor(
    initial: Snapshot,
    { timing, closing }: LoadedHost,
    load: (owner: PartOwner<Snapshot, Events>) => Promise<P>,
  ) {
    super();
    this.#state = initial;
    this.loaded = untilAnswered(
      () => this.#load(load),
      (again) => {
        const cancel = timing.after(AGAIN_MS, again);
        this.#stopWaiting = () => {
          cancel();
          again();
        };
      },
    );
    void handled(this.loaded);
    this.#stopFollowing = onAbort(closing, () => {
      this.#failed(closing!.reason);
      this.close();
    });
  }

  /** Stops following. The snapshot stays as it was, and pending messages are still sent. */
  override close(): void {
    this.#isClosed = true;
    this.#stopFollowing();
    this.#stopWaiting();
    this.#part?.close();
  }

  protected override takeSnapshot(): Snapshot {
    return this.#part?.takeSnapshot?.() ?? this.#state;
  }

  /**
   * Returns the method of this name of the part, or of a piece that the part has. It is called at
   * once or when the part is there.
   */
  protected via<K extends keyof P>(name: K): P[K];
  protected via<T, K extends keyof T>(name: K, piece: (part: P) => T): T[K];
  protected via(name: PropertyKey, piece: (part: P) => unknown = (part) => part): unknown {
    return (...args: readonly unknown[]) => {
      const call = (part: P) =>
        (piece(part) as Readonly<Record<PropertyKey, (...args: readonly unknown[]) => unknown>>)[name]!(
          ...args,
        );
      if (this.#part !== undefined) return call(this.#part);
      const done = this.loaded.then(call);
      void handled(done);
      return done;
    };
  }

  async #load(load: (owner: PartOwner<Snapshot, Events>) => Promise<P>): Promise<P> {
    // Closed before its code was there: calls that wait for the code end.
    if (this.#isClosed) throw closed();
    const owner: PartOwner<Snapshot, Events> = {
      set: (values) => this.#set(values),
      changed: (...what) => this.changed(...what),
      emit: (event, ...args) => this.emit(event, ...args),
    };
    try {
      this.#part = await load(owner);
    } catch (cause) {
      const error = lost(cause);
      this.#failed(error);
      throw error;
    }
    if (this.#isClosed) this.#part.close();
    return this.#part;
  }

  /** Says in a snapshot that has an `error` why nothing is read. */
  #failed(error: ParleyError): void {
    const { status, error: known } = this.#state as Partial<Loading>;
    if (known !== undefined) this.#set({ status: status === 'loading' ? 'error' : status, error } as object);
  }

  #set(values: Partial<Snapshot>): void {
    if (!this.#isClosed) this.#state = this.merged(this.#state, values);
  }
}

/** The common part of the snapshots before anything is known. */
export const UNREAD: Loading = { status: 'loading', error: null };

const AGAIN_MS = 5_000;
