import type { Actor } from '@parley/protocol/resources/actor.ts';
import { tried } from '../errors/tried.ts';
import type { OutboxNews, OutboxPeers, OutboxRecord } from '../store/outbox-record.ts';
import { OutboxStore } from '../store/outbox-store.ts';
import { ownerOf, type StoreOptions } from '../store/store-owner.ts';
import { SharedPlace } from './shared-place.ts';

/**
 * A storage of an app that outlives it, such as AsyncStorage or `expo-sqlite/kv-store`. A value
 * must be stored when `setItem` resolves, and be the old or the new one after a crash.
 */
export interface AppStorage {
  /** Resolves with null without a value. */
  getItem(key: string): Promise<string | null>;
  /** Stores the value in place of the key's earlier one. */
  setItem(key: string, value: string): Promise<unknown>;
  /** Does nothing without a value. */
  removeItem(key: string): Promise<unknown>;
}

/** The storage and the owner of a store. */
export interface AppStoreOptions extends StoreOptions {
  /** Has the messages of all stores of the app, below keys of Parley's own. */
  readonly storage: AppStorage;
}

/**
 * Returns a store for `connect` that keeps outgoing messages in the storage of an app. Stores of
 * the same account and actor, or name, share their messages. Call its `clear()` at the sign-out.
 * Throws a TypeError without exactly one of `actor` and `name`.
 */
export function openStore(options: AppStoreOptions): OutboxStore {
  return new KeyValueStore(options);
}

/** The value that has no message. */
interface Index {
  /** Those of the messages in their order. One without a value was being written or removed. */
  readonly keys: readonly string[];
  /** The id of the actor of a named store, once it is known. */
  readonly claim: string | null;
}

/**
 * Each message is a value of its own, because Android reads none of more than 2 MB. A message is
 * listed before it is written, and removed before it is unlisted: an app that is killed in between
 * leaves a key without a value, and no value without a key.
 */
class KeyValueStore extends OutboxStore {
  override readonly account: string;
  override readonly actor: string;
  readonly #storage: AppStorage;
  readonly #isNamed: boolean;
  readonly #name: readonly string[];
  readonly #place: SharedPlace;

  constructor({ storage, account, ...owner }: AppStoreOptions) {
    super();
    const { actor, isNamed } = ownerOf(owner);
    this.account = account;
    this.actor = actor;
    this.#storage = storage;
    this.#isNamed = isNamed;
    this.#name = ['parley-outbox', account, isNamed ? 'name' : 'actor', actor];
    this.#place = SharedPlace.of(JSON.stringify(this.#name));
  }

  override all(): Promise<OutboxRecord[]> {
    return this.#change(async ({ keys }) => {
      const texts = await Promise.all(keys.map((key) => this.#storage.getItem(this.#placeOf(key))));
      return texts.flatMap((text, at) =>
        // The client drops a record that has nothing but its key.
        text === null
          ? []
          : (tried((): OutboxRecord => JSON.parse(text)) ?? ({ key: keys[at] } as OutboxRecord)),
      );
    });
  }

  override add(record: OutboxRecord): Promise<void> {
    return this.#change(async (index) => {
      const { key } = record;
      await this.#write({ ...index, keys: [...index.keys.filter((other) => other !== key), key] });
      await this.#storage.setItem(this.#placeOf(key), JSON.stringify(record));
    });
  }

  override update(record: OutboxRecord): Promise<void> {
    return this.#change(async () => {
      const place = this.#placeOf(record.key);
      if ((await this.#storage.getItem(place)) === null) return;
      await this.#storage.setItem(place, JSON.stringify(record));
    });
  }

  override remove(key: string): Promise<void> {
    return this.#change(async (index) => {
      if (!index.keys.includes(key)) return;
      await this.#storage.removeItem(this.#placeOf(key));
      await this.#write({ ...index, keys: index.keys.filter((other) => other !== key) });
    });
  }

  override clear(): Promise<void> {
    this.#place.tell({ what: 'cleared' });
    return this.#change(async ({ keys }) => {
      for (const key of keys) await this.#storage.removeItem(this.#placeOf(key));
      await this.#storage.removeItem(this.#placeOf());
    });
  }

  override join(hear: (news: OutboxNews) => void): OutboxPeers {
    return this.#place.join(hear);
  }

  /** Claims a named store for the actor if it has none. */
  override isOf(actor: Actor): boolean | Promise<boolean> {
    if (!this.#isNamed) return super.isOf(actor);
    return this.#change(async (index) => {
      if (index.claim === null) await this.#write({ ...index, claim: actor.id });
      return (index.claim ?? actor.id) === actor.id;
    });
  }

  /** Runs what reads or changes the storage behind what did before. */
  #change<T>(work: (index: Index) => Promise<T>): Promise<T> {
    return this.#place.changes.run(async () => {
      const text = await this.#storage.getItem(this.#placeOf());
      return work(tried(() => JSON.parse(text!) as Index | null) ?? { keys: [], claim: null });
    });
  }

  #write(index: Index): Promise<unknown> {
    return this.#storage.setItem(this.#placeOf(), JSON.stringify(index));
  }

  /** Returns where the storage has a message; the index without a key. */
  #placeOf(...key: readonly string[]): string {
    return JSON.stringify([...this.#name, ...key]);
  }
}
