import type { Actor } from '@parley/protocol/resources/actor.ts';
import { clientError } from '../errors/client-error.ts';
import { ParleyError } from '../errors/parley-error.ts';
import { type CallOptions, within } from '../link/call-scope.ts';
import { Outbox, type OutboxHost, type Outgoing, type OutgoingAnswer, show } from '../outbox/outbox.ts';
import { type Deferred, deferred } from '../timing/deferred.ts';
import {
  errorOf,
  failureOf,
  isRecord,
  type OutboxNews,
  type OutboxPeers,
  type OutboxRecord,
  type OutboxRecords,
} from './outbox-record.ts';
import { PageKeeper } from './page-keeper.ts';

interface Entry {
  readonly record: OutboxRecord;
  /** Whether the store has it. */
  readonly isKept: boolean;
}

/** A caller that waits for its message. */
interface Call {
  readonly options: CallOptions;
  readonly done: Deferred<OutgoingAnswer>;
}

/**
 * An outbox whose messages outlive the client: a store has them before they are shown. All clients
 * with the same store show the same messages, and send them once and in one order. In each
 * conversation one client sends the messages of all clients. Its turn ends when no messages are
 * left or the client is gone.
 */
export class KeptOutbox extends Outbox {
  declare readonly pages?: PageKeeper;
  readonly #entries = new Map<string, Entry>();
  readonly #calls = new Map<string, Call[]>();
  /** Keys of settled messages, which a read under way may still return. */
  readonly #settled = new Set<string>();
  readonly #peers: OutboxPeers | undefined;
  /** Settled once the caller is known, or never will be. */
  readonly #identified = deferred<void>();
  #isIdentified = false;
  /** Undefined once it must not be used. */
  #store: OutboxRecords | undefined;
  #newsCount = 0;
  #hasFailed = false;
  /** Ends the requests that are being made. */
  #stopping = new AbortController();

  constructor(host: OutboxHost, store: OutboxRecords) {
    super(host);
    this.#store = store;
    if (store.pages !== undefined)
      this.pages = new PageKeeper(host, store.pages, (error) => this.#storeFailed(error));
    this.#peers = store.join?.((news) => this.#hear(news));
    host.closing.addEventListener('abort', () => this.#close());
    void this.#restore();
  }

  override async send(given: Outgoing, options: CallOptions): Promise<OutgoingAnswer> {
    const record: OutboxRecord = { ...given, failure: null };
    const { key, request } = record;
    // Each request makes another draft, so no draft is sent again by the next client.
    const store = request?.mode === 'draft' ? undefined : this.#store;
    let isKept = store !== undefined && (await this.#kept(store, record));
    if (isKept && this.#store === undefined) {
      // It was cleared meanwhile.
      isKept = false;
      await this.#tried(() => store?.remove(key));
    }
    const done = deferred<OutgoingAnswer>();
    this.#settled.delete(key);
    this.#entries.delete(key);
    this.#entries.set(key, { record, isKept });
    this.#calls.set(key, [...(this.#calls.get(key) ?? []), { options, done }]);
    this.each(record, (follower) => follower.pending(record));
    if (isKept) this.#peers?.tell({ what: 'kept', record });
    if (this.host.closing.aborted) this.#close();
    else this.#sendAll(record.conversation_id);
    return done.promise;
  }

  /** Returns whether the store has the record. A message matters more than the pages. */
  async #kept(store: OutboxRecords, record: OutboxRecord): Promise<boolean> {
    const add = async () => {
      try {
        await store.add(record);
      } catch (error) {
        if (this.pages === undefined) throw error;
        await this.pages.makeRoom();
        await store.add(record);
      }
    };
    return this.#tried(add, record.key);
  }

  override discard(key: string): void {
    const { record, isKept = false } = this.#entries.get(key) ?? {};
    if (record === undefined) return;
    this.#discarded(record);
    if (isKept) void this.#removed(key).then(() => this.#peers?.tell({ what: 'discarded', record }));
  }

  override attached(actor: Actor): void {
    const isOwner = this.#store?.isOf(actor) ?? true;
    if (!(isOwner instanceof Promise)) this.#identify(actor, isOwner);
    else {
      isOwner.then(
        (isTrue) => this.#identify(actor, isTrue),
        (error: unknown) => {
          this.#storeFailed(error);
          this.#identify(actor, false);
        },
      );
    }
  }

  #identify({ id }: Actor, isOwner: boolean): void {
    if (this.#store !== undefined && !isOwner) {
      this.#withdraw(`The store is for ${this.#store.actor}, and the caller is ${id}.`);
    } else this.pages?.attached();
    const isNews = !this.#isIdentified;
    this.#isIdentified = true;
    this.#identified.resolve();
    for (const { record } of this.#entries.values()) {
      // The sender has a name now.
      if (isNews && record.failure === null) this.each(record, (follower) => follower.pending(record));
    }
    if (this.#entries.size > 0) this.#peers?.tell({ what: 'connected' });
    void this.#restore();
  }

  /** Keeps the stored messages of other clients. */
  override ended(): void {
    this.#identified.resolve();
    void this.pages?.ended();
  }

  protected override *all(): Iterable<readonly [Outgoing, Error | undefined]> {
    for (const { record } of this.#entries.values()) yield [record, errorOf(record.failure)];
  }

  /** Shows and sends the stored messages. */
  async #restore(): Promise<void> {
    if (this.#store === undefined) return;
    await this.#read();
    for (const { record } of this.#entries.values()) this.#sendAll(record.conversation_id);
  }

  #sendAll(conversationId: string): void {
    void this.inTurn(conversationId, () => this.#turn(conversationId));
  }

  async #turn(conversationId: string): Promise<void> {
    const { closing } = this.host;
    const work = () => this.#work(conversationId);
    if (this.#store !== undefined) await this.#identified.promise;
    if (this.#next(conversationId) === undefined) return;
    if (this.#store === undefined || this.#peers === undefined) return work();
    try {
      await this.#peers.alone(conversationId, work, closing);
    } catch (error) {
      if (closing.aborted) return;
      this.#storeFailed(error);
      await work();
    }
  }

  async #work(conversationId: string): Promise<void> {
    for (;;) {
      // Others may have sent some, or written some before the own ones.
      await this.#read();
      const entry = this.#next(conversationId);
      if (entry === undefined || this.host.closing.aborted) return;
      await this.#deliver(entry);
    }
  }

  #next(conversationId: string): Entry | undefined {
    for (const entry of this.#entries.values()) {
      const { key, conversation_id, failure } = entry.record;
      const maySend = this.#isIdentified || this.#calls.has(key);
      if (conversation_id === conversationId && failure === null && maySend) return entry;
    }
    return undefined;
  }

  async #deliver({ record, isKept }: Entry): Promise<void> {
    const { key } = record;
    const [call] = this.#calls.get(key) ?? [];
    const stopping = this.#stopping.signal;
    const send = (signal: AbortSignal) => this.deliver(record, { signal });
    try {
      const message = await within(this.host.timing, call?.options ?? {}, stopping, send);
      this.#sent(record, message);
      if (isKept && (await this.#removed(key))) this.#peers?.tell({ what: 'sent', record, message });
    } catch (error) {
      if (stopping.aborted) return;
      const failed = { ...record, failure: failureOf(error) };
      // Nothing is kept of a change whose caller hears of it.
      if (!this.#failed(failed, isKept, error as Error) || !isKept) return;
      await this.#tried(() => this.#store?.update(failed));
      this.#peers?.tell({ what: 'kept', record: failed });
    }
  }

  #hear(news: OutboxNews): void {
    if (this.#store === undefined) return;
    this.#newsCount += 1;
    switch (news.what) {
      case 'connected':
        this.host.rest.wake();
        return;
      case 'cleared':
        this.#clear();
        return;
      case 'sent':
        this.#sent(news.record, news.message);
        return;
      case 'discarded':
        this.#discarded(news.record);
        return;
      case 'kept':
        this.#learn(news.record);
        this.#sendAll(news.record.conversation_id);
    }
  }

  /** Takes a record as the store has it. */
  #learn(record: OutboxRecord): void {
    const { key, failure } = record;
    const known = this.#entries.get(key);
    if (failure !== null && known?.record.failure === null) {
      this.#failed(record, true, errorOf(failure)!);
      return;
    }
    this.#settled.delete(key);
    this.#entries.set(key, { record, isKept: true });
    const isSame = known !== undefined && (known.record.failure === null) === (failure === null);
    if (!isSame) this.each(record, (follower) => show(follower, record, errorOf(record.failure)));
  }

  /** Reads the store, which others may have changed unheard. */
  async #read(): Promise<void> {
    let records: readonly OutboxRecord[] = [];
    const read = async () => {
      records = (await this.#store?.all()) ?? [];
    };
    for (let count = -1; count !== this.#newsCount; ) {
      count = this.#newsCount;
      if (!(await this.#tried(read)) || this.#store === undefined) return;
    }
    this.#take(records.filter((record) => this.#isUsable(record)));
  }

  #isUsable(record: OutboxRecord): boolean {
    const isWhole = isRecord(record);
    if (!isWhole) this.#storeFailed(new TypeError('A record of the store is malformed.'));
    if (isWhole && Date.parse(record.created_at) > Date.now() - KEPT_MS) return true;
    const { key }: { readonly key?: unknown } = record ?? {};
    if (typeof key === 'string') void this.#removed(key);
    return false;
  }

  /** Puts the entries in the order of the store. */
  #take(records: readonly OutboxRecord[]): void {
    const before = new Map(this.#entries);
    for (const record of records) {
      const { key } = record;
      if (this.#settled.has(key)) continue;
      const known = before.get(key);
      before.delete(key);
      this.#entries.delete(key);
      if (known !== undefined) this.#entries.set(key, { record: known.record, isKept: true });
      // The store may have an older state of a message that was refused.
      if (known === undefined || record.failure !== null) this.#learn(record);
    }
    for (const [key, entry] of before) {
      this.#entries.delete(key);
      if (entry.isKept && !this.#calls.has(key)) this.#discarded(entry.record);
      else this.#entries.set(key, entry);
    }
  }

  #sent(record: OutboxRecord, message: OutgoingAnswer): void {
    this.#end(record.key);
    this.each(record, (follower) => follower.sent(record, message));
    this.#settle(record.key, (call) => call.resolve(message));
  }

  /** Returns whether the record stays. */
  #failed(record: OutboxRecord, isKept: boolean, error: Error): boolean {
    const { key, change } = record;
    this.#entries.set(key, { record, isKept });
    const stays = change === undefined || !this.#calls.has(key);
    if (stays) this.each(record, (follower) => follower.failed(record, error));
    else this.discard(key);
    this.#settle(key, (call) => call.reject(error));
    return stays;
  }

  #discarded(record: OutboxRecord): void {
    this.#end(record.key);
    this.each(record, (follower) => follower.discarded(record));
  }

  #end(key: string): void {
    this.#entries.delete(key);
    if (this.#store !== undefined) this.#settled.add(key);
  }

  #settle(key: string, settle: (call: Deferred<OutgoingAnswer>) => void): void {
    const calls = this.#calls.get(key) ?? [];
    this.#calls.delete(key);
    for (const { done } of calls) settle(done);
  }

  /** Leaves the store of another caller; the own messages go on without it. */
  #withdraw(why: string): void {
    this.#storeFailed(new Error(why));
    this.pages?.forget();
    const store = this.#store;
    for (const [key, { record, isKept }] of [...this.#entries]) {
      if (!this.#calls.has(key)) this.#discarded(record);
      else {
        this.#entries.set(key, { record, isKept: false });
        if (isKept) void this.#tried(() => store?.remove(key));
      }
    }
    this.#store = undefined;
  }

  /** Stops sending and keeping messages after a sign-out, perhaps in another tab. */
  #clear(): void {
    this.pages?.forget();
    this.#store = undefined;
    const gone = new ParleyError('client_closed', 'The store of messages to be sent was cleared.');
    this.#stopping.abort(gone);
    this.#stopping = new AbortController();
    for (const { record } of [...this.#entries.values()]) {
      this.#discarded(record);
      this.#settle(record.key, (call) => call.reject(gone));
    }
  }

  /** Leaves the stored messages to another client or a later one. */
  #close(): void {
    const { reason } = this.host.closing;
    this.#stopping.abort(reason);
    for (const [key, { record, isKept }] of [...this.#entries]) {
      if (isKept || record.failure !== null) this.#settle(key, (call) => call.reject(reason));
      else this.#failed({ ...record, failure: failureOf(reason) }, false, reason);
    }
    this.#peers?.leave();
  }

  #removed(key: string): Promise<boolean> {
    return this.#tried(() => this.#store?.remove(key));
  }

  /** Returns whether the store succeeded. `key`: the message that is not kept otherwise. */
  async #tried(work: () => Promise<void> | undefined, key?: string): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      this.#storeFailed(error, key);
      return false;
    }
  }

  /** Reports each message that is not kept, and any other failure once. */
  #storeFailed(cause: unknown, key?: string): void {
    if (key === undefined && this.#hasFailed) return;
    this.#hasFailed = true;
    const error = clientError('store', true, cause instanceof Error ? cause : new Error(String(cause)));
    this.host.failed(key === undefined ? error : { ...error, key });
  }
}

/** Older messages are not sent any more. */
const KEPT_MS = 30 * 24 * 3_600_000;
