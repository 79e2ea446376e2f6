/** The values of a snapshot, and the object that they are of: undefined until it is open. */
export type Showing<Snapshot extends object, Object> = Snapshot & {
  /** The object itself, with its methods. */
  readonly live: Object | undefined;
};

interface View<Snapshot extends object, Object> {
  readonly live: Object | undefined;
  readonly snapshot: Snapshot;
  readonly showing: Showing<Snapshot, Object>;
}

/** The keys that one component reads of its snapshots: only their changes render it. */
export class NotedReads<Snapshot extends object, Object> {
  readonly #read = new Set<string>();
  #last: View<Snapshot, Object> | undefined;

  /** Returns whether a render has read this key. */
  has(key: string): boolean {
    return this.#read.has(key);
  }

  /**
   * Returns the values for a component, and notes which of them it reads. The result is the same
   * object for the same arguments.
   */
  show(live: Object | undefined, snapshot: Snapshot): Showing<Snapshot, Object> {
    if (this.#last?.snapshot !== snapshot || this.#last.live !== live) {
      this.#last = { live, snapshot, showing: this.#noting(live, snapshot) };
    }
    return this.#last.showing;
  }

  /**
   * Returns a function that does the same, but keeps returning its first result until a value that
   * was read has changed. Each render has its own function, because it may read more.
   */
  during(now: () => readonly [Object | undefined, Snapshot]): () => Showing<Snapshot, Object> {
    let shown: View<Snapshot, Object> | undefined;
    return () => {
      const [live, snapshot] = now();
      if (shown === undefined || this.#isOther(shown, live, snapshot)) {
        shown = { live, snapshot, showing: this.show(live, snapshot) };
      }
      return shown.showing;
    };
  }

  #isOther(shown: View<Snapshot, Object>, live: Object | undefined, snapshot: Snapshot): boolean {
    if (shown.snapshot === snapshot && shown.live === live) return false;
    for (const key of this.#read) {
      const isSame =
        key === 'live' ? shown.live === live : partOf(shown.snapshot, key) === partOf(snapshot, key);
      if (!isSame) return true;
    }
    return false;
  }

  #noting(live: Object | undefined, snapshot: Snapshot): Showing<Snapshot, Object> {
    const showing = {};
    for (const key of ['live', ...Object.keys(snapshot)]) {
      const get = () => {
        this.#read.add(key);
        return key === 'live' ? live : partOf(snapshot, key);
      };
      Object.defineProperty(showing, key, { enumerable: true, get });
    }
    return showing as Showing<Snapshot, Object>;
  }
}

function partOf<Snapshot extends object>(snapshot: Snapshot, key: string): unknown {
  return snapshot[key as keyof Snapshot];
}
