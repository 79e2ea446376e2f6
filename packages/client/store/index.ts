/** Keeps messages that are not sent yet in IndexedDB, for all tabs of a browser. */

import { Leases } from './leases.ts';
import { answerOf, deleteAll, Objects } from './objects.ts';
import type { OutboxNews, OutboxPeers, OutboxRecord } from './outbox-record.ts';
import { OutboxStore } from './outbox-store.ts';
import { PLATFORM } from './platform.ts';

export type { OutgoingMessage } from '../outbox/outbox.ts';
export type { OutboxFailure, OutboxNews, OutboxPeers, OutboxRecord } from './outbox-record.ts';
export { OutboxStore } from './outbox-store.ts';

/** The owner of a store's messages. */
export interface StoreOptions {
  /** The account that is passed to `connect`. */
  readonly account: string;
  /** The id of the signed-in actor, which the page must know without a connection. */
  readonly actor: string;
}

/**
 * Returns a store in the IndexedDB of this origin for `connect`. All tabs with the same account and
 * actor share it; each client may have an object of its own. Call its `clear()` at the sign-out.
 * Without IndexedDB, the client emits `error` with the reason `store` and works without a store.
 */
export function openStore({ account, actor }: StoreOptions): OutboxStore {
  return new IndexedDbStore(account, actor);
}

interface Row {
  readonly owner: readonly string[];
  readonly key: string;
  readonly record: OutboxRecord;
}

class IndexedDbStore extends OutboxStore {
  override readonly account: string;
  override readonly actor: string;
  readonly #objects = new Objects('parley-outbox', (database) => {
    const records = database.createObjectStore(RECORDS, { autoIncrement: true });
    records.createIndex('owner', 'owner');
    records.createIndex('key', ['owner', 'key'], { unique: true });
    database.createObjectStore(LEASES, { keyPath: 'name' });
  });

  constructor(account: string, actor: string) {
    super();
    this.account = account;
    this.actor = actor;
  }

  override async all(): Promise<OutboxRecord[]> {
    const rows = await this.#objects.run('readonly', RECORDS, (records) =>
      answerOf(records.index('owner').getAll(this.#owner)),
    );
    return (rows as Row[]).map(({ key, record }) => ({ ...record, key }));
  }

  override add(record: OutboxRecord): Promise<void> {
    return this.#objects.run('readwrite', RECORDS, async (records) => {
      await deleteAll(records, 'key', this.#keyOf(record.key));
      await answerOf(records.put(this.#row(record)));
    });
  }

  override update(record: OutboxRecord): Promise<void> {
    return this.#objects.run('readwrite', RECORDS, async (records) => {
      const place = await answerOf(records.index('key').getKey(this.#keyOf(record.key)));
      if (place !== undefined) await answerOf(records.put(this.#row(record), place));
    });
  }

  override remove(key: string): Promise<void> {
    return this.#objects.run('readwrite', RECORDS, (records) => deleteAll(records, 'key', this.#keyOf(key)));
  }

  override async clear(): Promise<void> {
    const news: OutboxNews = { what: 'cleared' };
    const channel = this.#channel();
    channel?.postMessage(news);
    channel?.close();
    await this.#objects.run('readwrite', RECORDS, (records) => deleteAll(records, 'owner', this.#owner));
  }

  override join(hear: (news: OutboxNews) => void): OutboxPeers {
    const channel = this.#channel();
    if (channel !== undefined) channel.onmessage = ({ data }) => hear(data as OutboxNews);
    return {
      tell: (news) => channel?.postMessage(news),
      alone: (conversationId, work, signal) => {
        const locks = PLATFORM.navigator?.locks ?? new Leases(this.#objects, LEASES);
        return locks.request(`${this.#name} ${conversationId}`, { signal }, work);
      },
      leave: () => channel?.close(),
    };
  }

  get #owner(): readonly string[] {
    return [this.account, this.actor];
  }

  get #name(): string {
    return ['parley-outbox', ...this.#owner].join(' ');
  }

  #keyOf(key: string): readonly (string | readonly string[])[] {
    return [this.#owner, key];
  }

  #row(record: OutboxRecord): Row {
    return { owner: this.#owner, key: record.key, record };
  }

  #channel() {
    return PLATFORM.BroadcastChannel === undefined ? undefined : new PLATFORM.BroadcastChannel(this.#name);
  }
}

const RECORDS = 'records';
const LEASES = 'leases';
