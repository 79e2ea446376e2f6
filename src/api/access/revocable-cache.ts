import { LRUCache } from 'lru-cache';
import { bounded } from '../../platform/bounded.ts';
import { EVERYTHING, type Rights } from './rights.ts';

export interface RevocableCacheOptions<Value> {
  readonly rights: Rights;
  /** Reads from the source. A rejection is passed to the waiting callers and not cached. */
  readonly load: (key: string) => Promise<Value>;
  /**
   * Returns the subjects whose change invalidates the value. For an absent value (null or
   * undefined) these are the subjects that would make it appear, as far as the key names them.
   */
  readonly subjectsOf: (value: Value, key: string) => readonly string[];
  /** Most entries; the least recently used are removed first. */
  readonly max: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/**
 * Caches a value that rights decide for as long as it may be used
 * (docs/architecture.md#rights-that-end): until one of its subjects changes, and never longer than
 * `rights.maxAgeMs`. `rights` listens before anything is read, and a read during which a subject
 * changes is repeated before its value is used. Absent values (null, undefined) are never cached,
 * so invented keys cannot displace good entries.
 */
export class RevocableCache<Value> {
  readonly #options: RevocableCacheOptions<Value>;
  readonly #rights: Rights;
  readonly #now: () => number;
  readonly #entries: LRUCache<string, Entry<Value>>;
  /** The keys of the entries that depend on a subject. */
  readonly #keysOf = new Map<string, Set<string>>();
  readonly #reads = new Map<string, Read<Value>>();
  readonly #stopListening: () => void;

  constructor(options: RevocableCacheOptions<Value>) {
    this.#options = options;
    this.#rights = options.rights;
    this.#now = options.now ?? (() => performance.now());
    this.#entries = new LRUCache({
      ...bounded(options.max),
      dispose: ({ subjects }, key) => this.#unlink(key, subjects),
    });
    this.#stopListening = options.rights.onChange((subject) => this.invalidate(subject));
  }

  /** Returns a cached value, so that a hit costs no `await`, or a promise that callers share. */
  get(key: string): Value | Promise<Value> {
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      if (this.#now() - entry.readAtMs < this.#rights.maxAgeMs) return entry.value;
      // Deletes it now, because the permitted age grows again when the engine recovers.
      this.#entries.delete(key);
    }
    return this.#reads.get(key)?.result ?? this.#startRead(key);
  }

  /** Drops values that depend on the subject: the next `get` reads the committed state. */
  invalidate(subject: string): void {
    // The subjects of a read are known only when it is done.
    for (const read of this.#reads.values()) read.changed.add(subject);
    if (subject === EVERYTHING) {
      this.#entries.clear();
      return;
    }
    for (const key of [...(this.#keysOf.get(subject) ?? [])]) this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }

  close(): void {
    this.#stopListening();
    this.#entries.clear();
  }

  #startRead(key: string): Promise<Value> {
    const read: Read<Value> = { changed: new Set(), result: undefined };
    this.#reads.set(key, read);
    read.result = this.#read(key, read.changed);
    return read.result;
  }

  async #read(key: string, changed: Set<string>): Promise<Value> {
    try {
      for (;;) {
        changed.clear();
        // Taken before the read, because the value was true then or later.
        const readAtMs = this.#now();
        const value = await this.#options.load(key);
        const subjects = this.#options.subjectsOf(value, key);
        if (changed.has(EVERYTHING) || subjects.some((subject) => changed.has(subject))) continue;
        if (value !== null && value !== undefined) this.#keep(key, { value, readAtMs, subjects });
        return value;
      }
    } finally {
      // In the step of the last check of `changed`, so no caller joins a read that misses changes.
      this.#reads.delete(key);
    }
  }

  #keep(key: string, entry: Entry<Value>): void {
    this.#entries.set(key, entry);
    for (const subject of entry.subjects) {
      const keys = this.#keysOf.get(subject);
      if (keys === undefined) this.#keysOf.set(subject, new Set([key]));
      else keys.add(key);
    }
  }

  #unlink(key: string, subjects: readonly string[]): void {
    for (const subject of subjects) {
      const keys = this.#keysOf.get(subject);
      keys?.delete(key);
      if (keys?.size === 0) this.#keysOf.delete(subject);
    }
  }
}

interface Entry<Value> {
  readonly value: Value;
  readonly readAtMs: number;
  readonly subjects: readonly string[];
}

interface Read<Value> {
  /** The subjects that changed since the read began. */
  readonly changed: Set<string>;
  result: Promise<Value> | undefined;
}
