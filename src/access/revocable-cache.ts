import { LRUCache } from 'lru-cache';
import { EVERYTHING, type Rights } from './rights.ts';

export interface RevocableCacheOptions<Value> {
  readonly rights: Rights;
  /** Reads the value from where it is true. What it rejects with goes to whoever waits and is not kept. */
  readonly load: (key: string) => Promise<Value>;
  /**
   * The subjects whose change makes the value wrong. Also asked of an absent value (null or
   * undefined): name what would make it appear, as far as the key tells.
   */
  readonly subjectsOf: (value: Value, key: string) => readonly string[];
  /** Most entries kept; the least recently used go first. */
  readonly max: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/**
 * What was read of a right, for as long as it may be used (docs/architecture.md#rights-that-end): until one
 * of its subjects changes, and never longer than `rights.maxAgeMs`. `rights` listens before anything
 * is read, and a change that arrives during a read makes the read happen again before it is used.
 *
 * Absent values (null, undefined) are never kept, so that made-up keys cannot push good entries out.
 */
export class RevocableCache<Value> {
  readonly #options: RevocableCacheOptions<Value>;
  readonly #rights: Rights;
  readonly #now: () => number;
  readonly #entries: LRUCache<string, Entry<Value>>;
  /** The keys of the entries that hang on a subject. */
  readonly #keysOf = new Map<string, Set<string>>();
  readonly #reads = new Map<string, Read<Value>>();
  readonly #stopListening: () => void;

  constructor(options: RevocableCacheOptions<Value>) {
    this.#options = options;
    this.#rights = options.rights;
    this.#now = options.now ?? (() => performance.now());
    this.#entries = new LRUCache({
      max: options.max,
      dispose: (entry, key) => this.#unlink(key, entry.subjects),
    });
    this.#stopListening = options.rights.onChange((subject) => this.#drop(subject));
  }

  /** The value at once where it is cached, so that a hit costs no `await`; else a promise that all who ask meanwhile share. */
  get(key: string): Value | Promise<Value> {
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      if (this.#now() - entry.readAtMs < this.#rights.maxAgeMs) return entry.value;
      // Not left for later: the age that is allowed grows again when the engine recovers.
      this.#entries.delete(key);
    }
    return this.#reads.get(key)?.result ?? this.#startRead(key);
  }

  /** How many entries are kept. */
  get size(): number {
    return this.#entries.size;
  }

  /** Forgets everything and listens no more. */
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
        // Taken before the read: what comes back was true then or later.
        const readAtMs = this.#now();
        const value = await this.#options.load(key);
        const subjects = this.#options.subjectsOf(value, key);
        if (changed.has(EVERYTHING) || subjects.some((subject) => changed.has(subject))) continue;
        if (value !== null && value !== undefined) this.#keep(key, { value, readAtMs, subjects });
        return value;
      }
    } finally {
      // In the same step as the last look at `changed`: nobody joins a read that hears of changes no more.
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

  #drop(subject: string): void {
    // Which subjects a read hangs on is known only when it is back.
    for (const read of this.#reads.values()) read.changed.add(subject);
    if (subject === EVERYTHING) {
      this.#entries.clear();
      return;
    }
    for (const key of [...(this.#keysOf.get(subject) ?? [])]) this.#entries.delete(key);
  }
}

interface Entry<Value> {
  readonly value: Value;
  readonly readAtMs: number;
  readonly subjects: readonly string[];
}

interface Read<Value> {
  /** The subjects that changed since it began. */
  readonly changed: Set<string>;
  result: Promise<Value> | undefined;
}
