import { unavailable } from '@parley/protocol/errors/errors.ts';
import { GatheredReads } from '../../../platform/db/connection/gathered-reads.ts';
import type { Querier } from '../../../platform/db/connection/handle.ts';
import type { PipelinedConnection } from '../../../platform/db/connection/pipelined-connection.ts';
import { isFenced, isUnavailable } from '../../../platform/db/connection/unavailable.ts';
import { EngineUnavailableError, type NumberRequest } from '../../../platform/engine/engine.ts';
import type { Logger } from '../../../platform/log.ts';
import { readBlockedIds } from '../../conversations/blocks/blocks.ts';
import { directBlocked } from '../../conversations/directory/access.ts';
import { lockConversations } from '../../conversations/rows/conversation-store.ts';
import { type MessageRow, readMessagesById } from '../../resources/message.ts';
import { readMessagesByClientId } from '../rows/message-store.ts';
import type { NewMessage } from '../rows/new-message.ts';
import { type InsertedMessage, insertMessages, type NumberedMessage, waitShortly } from './insert-store.ts';
import type { Taken } from './numbers.ts';
import {
  type Acknowledged,
  asCommitted,
  asUnavailable,
  type CommittedMessage,
  MAX_NUMBERINGS,
  type Outgoing,
  type WriteOptions,
} from './outgoing.ts';
import { type NotificationPlan, type PlanNotifications, sizeOf } from './planned-notifications.ts';
import { keyOf, Resends } from './resends.ts';
import type { SequenceNumber } from './timeline-store.ts';

export interface WritePathOptions extends WriteOptions {
  readonly log: Logger;
  readonly planNotifications: PlanNotifications;
  /** Maximum number of rows in a flush. 1 turns batching off, as the control of the bench. */
  readonly maxBatch?: number;
}

/** Larger batches delay the next flush by more than they save. */
const MAX_BATCH = 512;

/**
 * A second flush may start beside one in flight once this many entries wait. Commits then share the
 * disk's flushes, and batches stay batches. (With strictly one flush at a time, half of the clients
 * waited for the disk twice and the server was idle for a third of the time.)
 */
const OVERLAP_FROM = 16;

/**
 * Maximum number of notifications that one flush writes, which takes Postgres about 5 ms. Further
 * notifications are written after the commit, so that a storm into large groups does not delay the
 * sends beside it.
 */
const MAX_NOTIFICATIONS = 200;

/**
 * Maximum number of notifications that are due after commits: some 0.2 s of work. Beyond it, a
 * message waits for a flush that writes its notifications with it. Without a bound, 64 clients that
 * sent to groups of fifty as fast as they were answered had notifications 5 s late after six
 * seconds, and the delay kept growing.
 */
const MOST_BEHIND = 5_000;

/** Messages with so few never wait: a storm into groups does not delay direct messages. */
const NEVER_HELD_BACK = 10;

/**
 * The only way into a timeline (docs/architecture.md#the-write-path). Messages that arrive while
 * flushes are in flight form the next one: a send on an idle node does not wait, a busy node writes
 * hundreds of rows a statement. A flush takes its numbers in one round trip to the counters and
 * writes in one statement, without reading first. The unique keys in Postgres decide: a number that
 * is taken is replaced, and a client id that is taken returns the original. Messages that need the
 * lock of their conversation (numbers.ts) are written beside in a transaction.
 */
export class WritePath {
  readonly #options: WritePathOptions;
  readonly #maxBatch: number;
  readonly #idleWriters: PipelinedConnection[];
  #queue: Pending[] = [];
  /** Sends in progress by key: a concurrent resend gets the same answer. */
  readonly #open = new Map<string, Pending>();
  readonly #resends = new Resends();
  readonly #originals: GatheredReads<NewMessage, MessageRow | undefined>;
  /** Number of notifications that were left out of their flushes and are not written yet. */
  #behind = 0;
  #starting = false;
  #whenIdle: (() => void)[] = [];

  constructor(options: WritePathOptions) {
    this.#options = options;
    this.#maxBatch = options.maxBatch ?? MAX_BATCH;
    this.#idleWriters = [...options.database.writers];
    this.#originals = new GatheredReads((messages) => this.#readOriginals(messages));
  }

  /**
   * Resolves once the message is committed, by this call or an earlier one. Rejects with
   * `service_unavailable` if Postgres is unavailable (the message may be committed nevertheless,
   * which a resend shows), or with the row's own error.
   */
  append(outgoing: Outgoing): Promise<Acknowledged> {
    return new Promise((resolve, reject) => {
      const { message } = outgoing;
      const entry: Pending = {
        outgoing,
        key: keyOf(message),
        resolve,
        reject,
        number: undefined,
        plan: undefined,
        leftOut: 0,
        twins: undefined,
      };
      const open = this.#open.get(entry.key);
      if (open !== undefined) {
        open.twins ??= [];
        open.twins.push(entry);
        return;
      }
      this.#open.set(entry.key, entry);
      if (this.#resends.isLikely(entry.key, message.author_id)) void this.#lookUpFirst(entry);
      else this.#enqueue(entry);
    });
  }

  /** Resolves when nothing is in flight. */
  async idle(): Promise<void> {
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  get #isIdle(): boolean {
    return this.#open.size === 0 && this.#inFlight === 0;
  }

  get #inFlight(): number {
    return this.#options.database.writers.length - this.#idleWriters.length;
  }

  async #lookUpFirst(entry: Pending): Promise<void> {
    try {
      const row = await this.#originals.ask(entry.outgoing.message);
      if (row === undefined) this.#enqueue(entry);
      else this.#answerResend(entry, row, 'before');
    } catch (error) {
      this.#reject(entry, asUnavailable(error));
    }
    this.#noteIdle();
  }

  #enqueue(entry: Pending): void {
    this.#queue.push(entry);
    if (this.#starting) return;
    this.#starting = true;
    // Runs after the sockets' deliveries of this turn, so that messages that arrived together are
    // written in one statement.
    queueMicrotask(() => {
      this.#starting = false;
      this.#startFlushes();
    });
  }

  #startFlushes(): void {
    while (this.#queue.length >= (this.#inFlight === 0 ? 1 : OVERLAP_FROM)) {
      const writer = this.#idleWriters.pop();
      if (writer === undefined) return;
      this.#run(this.#take(), writer).catch((error: unknown) => {
        this.#options.log.error({ err: error }, 'flush failed unexpectedly');
      });
    }
  }

  /**
   * Takes the entries of the next flush, and decides which notifications it writes: as many as fit,
   * in the order of the entries. An entry that fits neither the flush nor the bound of later work
   * waits, as do all later entries of its conversation.
   */
  #take(): Pending[] {
    const { planNotifications } = this.#options;
    const taken: Pending[] = [];
    const staying: Pending[] = [];
    const heldBack = new Set<string>();
    let left = MAX_NOTIFICATIONS;
    let looked = 0;
    for (const entry of this.#queue) {
      if (taken.length === this.#maxBatch) break;
      looked += 1;
      const { message, sender, facts } = entry.outgoing;
      if (heldBack.has(message.conversation_id)) {
        staying.push(entry);
        continue;
      }
      entry.plan ??= facts && planNotifications(message, sender, facts);
      const size = entry.plan === undefined ? 0 : sizeOf(entry.plan);
      const fitsBehind = size <= NEVER_HELD_BACK || size <= MOST_BEHIND - this.#behind;
      if (size <= left) left -= size;
      else if (fitsBehind || taken.length === 0) {
        entry.leftOut = size;
        this.#behind += size;
      } else {
        heldBack.add(message.conversation_id);
        staying.push(entry);
        continue;
      }
      taken.push(entry);
    }
    this.#queue = [...staying, ...this.#queue.slice(looked)];
    return taken;
  }

  async #run(batch: readonly Pending[], writer: PipelinedConnection): Promise<void> {
    const { metrics, database } = this.#options;
    database.load.begin();
    const endTimer = metrics.flushSeconds.startTimer();
    metrics.flushRows.observe(batch.length);
    try {
      await this.#flush(batch, writer);
    } finally {
      endTimer();
      database.load.end();
      // Notifications of unwritten messages leave the count.
      for (const { leftOut } of batch) this.#behind -= leftOut;
      this.#idleWriters.push(writer);
      this.#startFlushes();
      this.#noteIdle();
    }
  }

  #noteIdle(): void {
    if (this.#isIdle) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  /** Resolves when every entry of the batch is resolved or rejected. Never rejects itself. */
  async #flush(batch: readonly Pending[], writer: PipelinedConnection): Promise<void> {
    const { numbers } = this.#options;
    const needsLock = ({ outgoing }: Pending) => numbers.needsLock(outgoing.message.conversation_id);
    if (!batch.some(needsLock)) return this.#write(batch, writer);
    const locked = new Set(batch.filter(needsLock));
    const free = batch.filter((entry) => !locked.has(entry));
    await Promise.all([this.#write(free, writer), this.#write([...locked])]);
  }

  /** Writes a batch, without `writer` under conversation locks. Resolves as `#flush` does. */
  async #write(batch: readonly Pending[], writer?: PipelinedConnection): Promise<void> {
    const numbers: TakenNumber[] = [];
    try {
      if (!this.#options.maySend())
        throw unavailable('This node does not hold its lock on the database. Try again.');
      let open = batch;
      for (let numbering = 1; open.length > 0; numbering++) {
        if (numbering > MAX_NUMBERINGS) throw unavailable('No free sequence number was found. Try again.');
        const isFree = writer !== undefined && numbering === 1;
        open = isFree
          ? await this.#writeFree(open, numbers, writer)
          : await this.#writeLocked(open, numbers, numbering);
        if (open.length === 0) break;
        // Entries that were not written used up their numbers: the voids are written while the
        // originals are looked for.
        this.#voidUnused(numbers);
        open = await this.#refuseBlocked(await this.#answerResends(open));
        for (const id of conversationsOf(open)) this.#options.numbers.collided(id);
      }
    } catch (error) {
      for (const entry of batch) this.#reject(entry, asUnavailable(error));
    }
    this.#voidUnused(numbers);
  }

  async #writeFree(
    entries: readonly Pending[],
    numbers: TakenNumber[],
    writer: PipelinedConnection,
  ): Promise<readonly Pending[]> {
    const { database, numbers: source } = this.#options;
    try {
      await this.#number(entries, numbers, (claims) => source.count(database.pipeline, claims));
    } catch (error) {
      if (error instanceof EngineUnavailableError) return this.#writeLocked(entries, numbers, 1);
      throw error;
    }
    return this.#insert(entries, async (some, plans) => {
      const numbered = numberedOf(some, plans);
      return this.#settle(some, numbered, await insertMessages(writer, numbered));
    });
  }

  /** Locks the conversations, leaves out resends and numbers other entries, in one transaction. */
  #writeLocked(
    entries: readonly Pending[],
    numbers: TakenNumber[],
    numbering: number,
  ): Promise<readonly Pending[]> {
    const { database, numbers: source } = this.#options;
    return this.#insert(entries, async (some, plans) => {
      const written = await database.transaction(async (tx) => {
        await lockConversations(tx, conversationsOf(some));
        const originals = await this.#readOriginals(messagesOf(some), tx);
        const fresh = some.filter((_, index) => originals[index] === undefined);
        if (fresh.length === 0) return undefined;
        await this.#number(fresh, numbers, (claims) => source.takeLocked(tx, claims, numbering));
        const numbered = numberedOf(fresh, plans);
        if (fresh.length > 1) await waitShortly(tx);
        return { fresh, numbered, inserted: await insertMessages(tx, numbered) };
      });
      if (written === undefined) return some;
      const { fresh, numbered, inserted } = written;
      const open = new Set(this.#settle(fresh, numbered, inserted));
      return some.filter((entry) => open.has(entry) || !fresh.includes(entry));
    });
  }

  /** Resolves entries that are stored already. Returns the rest, whose numbers were taken. */
  async #answerResends(entries: readonly Pending[]): Promise<readonly Pending[]> {
    const originals = await this.#readOriginals(messagesOf(entries));
    return entries.filter((entry, index) => {
      const row = originals[index];
      if (row !== undefined) {
        this.#resends.countVoided(row.author_id);
        this.#answerResend(entry, row, 'after');
      }
      return row === undefined;
    });
  }

  /** Rejects entries of direct messages blocked since their facts were read. Returns the rest. */
  async #refuseBlocked(entries: readonly Pending[]): Promise<readonly Pending[]> {
    if (entries.length === 0) return entries;
    const blocked = await readBlockedIds(this.#options.database.pipeline, conversationsOf(entries));
    return entries.filter((entry) => {
      const { conversation_id: id, kind } = entry.outgoing.message;
      const isRefused = blocked.has(id) && kind !== 'system_event';
      if (isRefused) this.#reject(entry, directBlocked());
      return !isRefused;
    });
  }

  #answerResend(entry: Pending, row: MessageRow, found: 'before' | 'after'): void {
    this.#options.metrics.resends.inc({ found });
    this.#resolve(entry, { row, resent: true });
  }

  /**
   * Returns the stored message for each entry, if there is one. Messages without a client id
   * (system events of an outbox row) are found by their own id, which was created with the row.
   */
  async #readOriginals(
    messages: readonly NewMessage[],
    db: Querier = this.#options.database.pipeline,
  ): Promise<(MessageRow | undefined)[]> {
    const keyed = messages.filter((message) => message.client_message_id !== null);
    const ids = messages.filter((message) => message.client_message_id === null).map(({ id }) => id);
    const [byClientId, byId] = await Promise.all([
      keyed.length === 0 ? [] : readMessagesByClientId(db, keyed),
      ids.length === 0 ? [] : readMessagesById(db, ids),
    ]);
    const rows = new Map([...byClientId, ...byId].map((row) => [keyOf(row), row]));
    return messages.map((message) => rows.get(keyOf(message)));
  }

  #resolve(entry: Pending, acknowledged: Acknowledged): void {
    this.#open.delete(entry.key);
    this.#resends.remember(entry.key);
    entry.resolve(acknowledged);
    for (const twin of entry.twins ?? []) twin.resolve({ row: acknowledged.row, resent: true });
  }

  /** Rejects an entry; no-op if it is settled. */
  #reject(entry: Pending, error: unknown): void {
    if (this.#open.get(entry.key) !== entry) return;
    this.#open.delete(entry.key);
    entry.reject(error);
    for (const twin of entry.twins ?? []) twin.reject(error);
  }

  /** Assigns each entry the next number of its conversation, in the order of the entries. */
  async #number(
    entries: readonly Pending[],
    numbers: TakenNumber[],
    take: (claims: readonly NumberRequest[]) => Promise<Taken>,
  ): Promise<void> {
    const byConversation = new Map<string, { stream: string; count: number; next: number }>();
    for (const { outgoing } of entries) {
      const stream = outgoing.message.conversation_id;
      const claim = byConversation.get(stream);
      if (claim === undefined) byConversation.set(stream, { stream, count: 1, next: 0 });
      else claim.count += 1;
    }
    const claims = [...byConversation.values()];
    const { firsts, areCounted } = await take(claims);
    for (const [index, claim] of claims.entries()) claim.next = firsts[index]!;
    for (const entry of entries) {
      const claim = byConversation.get(entry.outgoing.message.conversation_id)!;
      entry.number = { conversationId: claim.stream, sequence: claim.next, isUsed: false };
      claim.next += 1;
      if (areCounted) numbers.push(entry.number);
    }
  }

  /**
   * Writes the entries together, resolves the written ones and returns those that conflicted with a
   * unique key. If that fails for any reason but the connection, each row is tried alone and
   * without its notifications, which then follow the commit. So a bad row fails only its own
   * caller, and a bad notification fails nothing.
   */
  async #insert(
    entries: readonly Pending[],
    together: (some: readonly Pending[], plans: 'with plans' | 'without') => Promise<readonly Pending[]>,
  ): Promise<readonly Pending[]> {
    try {
      return await together(entries, 'with plans');
    } catch (error) {
      if (isUnavailable(error) && !isFenced(error)) throw error;
    }
    const open: Pending[] = [];
    for (const entry of entries) {
      try {
        open.push(...(await together([entry], 'without')));
      } catch (error) {
        if (isUnavailable(error) && !isFenced(error)) throw error;
        this.#reject(entry, error);
      }
    }
    return open;
  }

  /** Resolves the entries that are committed, and returns the rest. */
  #settle(
    entries: readonly Pending[],
    numbered: readonly NumberedMessage[],
    inserted: readonly InsertedMessage[],
  ): readonly Pending[] {
    if (inserted.length === 0) return entries;
    const { metrics, onCommitted } = this.#options;
    const rows = new Map(inserted.map((row) => [row.id, row]));
    const messages: CommittedMessage[] = [];
    const open: Pending[] = [];
    let leftOut = 0;
    for (const [index, entry] of entries.entries()) {
      const row = rows.get(entry.outgoing.message.id);
      if (row === undefined) {
        open.push(entry);
        continue;
      }
      const message = asCommitted(entry.outgoing, numbered[index]!, row);
      entry.number!.isUsed = true;
      leftOut += entry.leftOut;
      entry.leftOut = 0;
      messages.push(message);
      this.#resolve(entry, { row: message.row, resent: false });
    }
    metrics.sends.inc(messages.length);
    void onCommitted({ outboxId: inserted[0]!.outboxId, messages }).then(() => {
      this.#behind -= leftOut;
    });
    return open;
  }

  /** Voids numbers and empties the list: an unused number would delay every reader by a second. */
  #voidUnused(taken: TakenNumber[]): void {
    const unused = taken.splice(0).filter(({ isUsed }) => !isUsed);
    if (unused.length === 0) return;
    const numbers = unused.map(({ isUsed: _, ...number }) => number);
    this.#options.timeline.void(numbers).catch((error: unknown) => {
      // If this fails, readers settle the numbers.
      this.#options.log.warn({ numbers, err: error }, 'could not void unused sequence numbers');
    });
  }
}

interface Pending {
  readonly outgoing: Outgoing;
  readonly key: string;
  readonly resolve: (acknowledged: Acknowledged) => void;
  readonly reject: (error: unknown) => void;
  /** The last number of this entry. */
  number: TakenNumber | undefined;
  plan: NotificationPlan | undefined;
  /** Number of planned notifications left out of its flush; 0 again after the commit. */
  leftOut: number;
  /** Resends that arrived while this entry was in progress. */
  twins: Pending[] | undefined;
}

interface TakenNumber extends SequenceNumber {
  isUsed: boolean;
}

function messagesOf(entries: readonly Pending[]): NewMessage[] {
  return entries.map(({ outgoing }) => outgoing.message);
}

function conversationsOf(entries: readonly Pending[]): string[] {
  return [...new Set(messagesOf(entries).map(({ conversation_id }) => conversation_id))];
}

function numberedOf(entries: readonly Pending[], plans: 'with plans' | 'without'): NumberedMessage[] {
  return entries.map(({ outgoing: { message }, number, plan, leftOut }) => ({
    message,
    sequence: number!.sequence,
    plan: plans === 'with plans' && leftOut === 0 ? plan : undefined,
  }));
}
