import type { Timing } from './link/timing.ts';
import { LiveObject } from './live-object.ts';
import { lost, type ParleyError } from './parley-error.ts';

/** The parts that the snapshot of every object that reads from the server has. */
export interface Loading {
  /** `error`: nothing could be read so far, and `error` says why. */
  readonly status: 'loading' | 'ready' | 'error';
  /**
   * Why the last read failed, which is repeated if that may help; null after one that succeeded.
   */
  readonly error: ParleyError | null;
}

/** Sets parts of a snapshot. */
export type SetSnapshot<Snapshot extends object> = (part: Partial<Snapshot>) => void;

/**
 * The part of a LoadedObject that has its code loaded: it reads, follows events and sets the
 * snapshot.
 */
export interface Follower {
  close(): void;
}

/** What a LoadedObject needs of its client. */
export interface LoadedHost {
  readonly timing: Pick<Timing, 'after'>;
  /** Closes the object. */
  readonly closing: AbortSignal;
}

/**
 * A live object whose code is loaded when the first one of its kind is made, so that a page has it
 * only if it uses it. Until then the snapshot is the initial one.
 */
export abstract class LoadedObject<
  Snapshot extends Loading,
  F extends Follower,
> extends LiveObject<Snapshot> {
  #follower: Promise<F>;
  #state: Snapshot;
  #stopWaiting: () => void = () => {};
  readonly #closing: AbortSignal;
  readonly #closed = (): void => this.close();
  #isClosed = false;

  /** `load` rejects while the code cannot be loaded, and is called again in some seconds. */
  constructor(
    initial: Snapshot,
    { timing, closing }: LoadedHost,
    load: (set: SetSnapshot<Snapshot>) => Promise<F>,
  ) {
    super();
    this.#state = initial;
    this.#closing = closing;
    this.#follower = this.#load(timing, load);
    closing.addEventListener('abort', this.#closed);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closing.removeEventListener('abort', this.#closed);
    this.#stopWaiting();
    this.#follower.then(
      (follower) => follower.close(),
      () => {},
    );
  }

  protected takeSnapshot(): Snapshot {
    return this.#state;
  }

  /** Rejects with ParleyError `network` if the code could not be loaded. */
  protected follower(): Promise<F> {
    return this.#follower;
  }

  #load(timing: Pick<Timing, 'after'>, load: (set: SetSnapshot<Snapshot>) => Promise<F>): Promise<F> {
    const loading = load((part) => this.#set(part)).catch((cause: unknown) => {
      throw lost(cause);
    });
    loading.catch((error: ParleyError) => {
      this.#set({ status: 'error', error } as Partial<Snapshot>);
      if (this.#isClosed) return;
      this.#stopWaiting = timing.after(AGAIN_MS, () => {
        this.#follower = this.#load(timing, load);
      });
    });
    return loading;
  }

  #set(part: Partial<Snapshot>): void {
    if (this.#isClosed) return;
    const keys = Object.keys(part) as (keyof Snapshot & string)[];
    const changed = keys.filter((key) => part[key] !== this.#state[key]);
    if (changed.length === 0) return;
    this.#state = { ...this.#state, ...part };
    this.changed(...changed);
  }
}

const AGAIN_MS = 5_000;
