/** Keeps messages that are not sent yet in IndexedDB, for all tabs of a browser. */

import type { Actor } from '@parley/protocol/resources/actor.ts';
import { handled } from '../timing/serial-queue.ts';
import { Leases } from './leases.ts';
import { answerOf, deleteAll, Objects } from './objects.ts';
import type { OutboxNews, OutboxPeers, OutboxRecord } from './outbox-record.ts';
import { OutboxStore } from './outbox-store.ts';
import { PageObjects } from './page-objects.ts';
import { PageStore } from './page-store.ts';
import { PLATFORM } from './platform.ts';
import { ownerOf, type PageLimits, type StoreOptions } from './store-owner.ts';

export type {
  MessageChange,
  Outgoing,
  OutgoingAnswer,
  OutgoingChange,
  OutgoingMessage,
} from '../outbox/outbox.ts';
export type { OutboxFailure, OutboxNews, OutboxPeers, OutboxRecord } from './outbox-record.ts';
export { OutboxStore } from './outbox-store.ts';
export { type PagePlace, PageStore, type PageValues } from './page-store.ts';
export type { PageLimits, StoreOptions } from './store-owner.ts';

/**
 * Returns a store in the IndexedDB of this origin for `connect`. All tabs with the same account and
 * actor, or name, share it; each client may have an object of its own. Call its `clear()` at the
 * sign-out. Throws a TypeError without exactly one of `actor` and `name`. Without IndexedDB, the
 * client emits `error` with the reason `store` and works without a store.
 */
export function openStore({ account, pages, ...owner }: StoreOptions): OutboxStore {
  const { actor, isNamed } = ownerOf(owner);
  return new (isNamed ? NamedStore : IndexedDbStore)(account, actor, pages);
}

interface Row {
  readonly owner: readonly string[];
  readonly key: string;
  readonly record: OutboxRecord;
}

class IndexedDbStore extends OutboxStore {
  override readonly account: string;
  override readonly actor: string;
  declare readonly pages?: PageStore;
  protected readonly objects = new Objects('parley-outbox', (database) => {
    const records = database.createObjectStore(RECORDS, { autoIncrement: true });
    records.createIndex('owner', 'owner');
    records.createIndex('key', ['owner', 'key'], { unique: true });
    database.createObjectStore(LEASES, { keyPath: 'name' });
  });

  constructor(account: string, actor: string, limits?: PageLimits) {
    super();
    this.account = account;
    this.actor = actor;
    if (limits !== undefined) this.pages = this.#pageStore(limits.limitMb);
  }

  override async all(): Promise<OutboxRecord[]> {
    const rows = await this.objects.run('readonly', RECORDS, (records) =>
      answerOf(records.index('owner').getAll(this.owner)),
    );
    return (rows as Row[]).map(({ key, record }) => ({ ...record, key }));
  }

  override add(record: OutboxRecord): Promise<void> {
    return this.objects.run('readwrite', RECORDS, async (records) => {
      await deleteAll(records, 'key', this.#keyOf(record.key));
      await answerOf(records.put(this.#row(record)));
    });
  }

  override update(record: OutboxRecord): Promise<void> {
    return this.objects.run('readwrite', RECORDS, async (records) => {
      const place = await answerOf(records.index('key').getKey(this.#keyOf(record.key)));
      if (place !== undefined) await answerOf(records.put(this.#row(record), place));
    });
  }

  override remove(key: string): Promise<void> {
    return this.objects.run('readwrite', RECORDS, (records) => deleteAll(records, 'key', this.#keyOf(key)));
  }

  override async clear(): Promise<void> {
    const news: OutboxNews = { what: 'cleared' };
    const channel = this.#channel();
    channel?.postMessage(news);
    channel?.close();
    // An earlier visit may have kept some, also where this one keeps none.
    const pages = (this.pages ?? this.#pageStore(0)).clear();
    void handled(pages);
    await this.objects.run('readwrite', RECORDS, (records) => deleteAll(records, 'owner', this.owner));
    await pages;
  }

  override join(hear: (news: OutboxNews) => void): OutboxPeers {
    const channel = this.#channel();
    if (channel !== undefined) channel.onmessage = ({ data }) => hear(data as OutboxNews);
    return {
      tell: (news) => channel?.postMessage(news),
      alone: (conversationId, work, signal) => {
        const locks = PLATFORM.navigator?.locks ?? new Leases(this.objects, LEASES);
        return locks.request(`${this.#name} ${conversationId}`, { signal }, work);
      },
      leave: () => channel?.close(),
    };
  }

  protected get owner(): readonly string[] {
    return [this.account, this.actor];
  }

  get #name(): string {
    return ['parley-outbox', ...this.owner].join(' ');
  }

  #pageStore(limitMb: number): PageStore {
    return new PageStore(new PageObjects(this.owner), limitMb * 1_000_000);
  }

  #keyOf(key: string): readonly (string | readonly string[])[] {
    return [this.owner, key];
  }

  #row(record: OutboxRecord): Row {
    return { owner: this.owner, key: record.key, record };
  }

  #channel() {
    return PLATFORM.BroadcastChannel === undefined ? undefined : new PLATFORM.BroadcastChannel(this.#name);
  }
}

/** A store by a name of the page's own. A row beside the messages has the id of its actor. */
class NamedStore extends IndexedDbStore {
  /** Claims the store for the actor if it has none. */
  override isOf({ id }: Actor): Promise<boolean> {
    return this.objects.run('readwrite', RECORDS, async (records) => {
      const claim = { owner: this.#claimed, key: '', record: id };
      const [known] = (await answerOf(records.index('owner').getAll(this.#claimed))) as (typeof claim)[];
      if (known === undefined) await answerOf(records.put(claim));
      return known === undefined || known.record === id;
    });
  }

  override async clear(): Promise<void> {
    await super.clear();
    await this.objects.run('readwrite', RECORDS, (records) => deleteAll(records, 'owner', this.#claimed));
  }

  protected override get owner(): readonly string[] {
    return [this.account, 'name', this.actor];
  }

  get #claimed(): readonly string[] {
    return [...this.owner, 'actor'];
  }
}

const RECORDS = 'records';
const LEASES = 'leases';
