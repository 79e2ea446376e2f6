import type { PipelinedConnection } from '../db/pipelined-connection.ts';
import { isUnavailable } from '../db/unavailable.ts';
import { EngineUnavailableError } from '../engine/engine.ts';
import type { Logger } from '../log.ts';
import { unavailable } from '../protocol/errors.ts';
import { type MessageRow, readMessagesById } from '../resources/message.ts';
import {
  type Acknowledged,
  asCommitted,
  asUnavailable,
  type CommittedMessage,
  MAX_NUMBERINGS,
  type Outgoing,
  type WriteOptions,
} from './outgoing.ts';
import { insertMessages, type NewMessage, readMessagesByClientId } from './store.ts';
import { readHeads } from './timeline-store.ts';

export interface WritePathOptions extends WriteOptions {
  readonly log: Logger;
  /** Maximum number of rows in a flush; 1 turns batching off, which the bench uses as its control. */
  readonly maxBatch?: number;
}

/** Larger batches delay the next flush by more than they save. */
const MAX_BATCH = 512;

/**
 * A second flush may start beside one in flight once this many entries wait: commits then share the disk's flushes,
 * and batches stay batches. (With strictly one flush at a time, half the clients waited for the disk twice and the
 * server was idle for a third of the time.)
 */
const OVERLAP_FROM = 16;

/**
 * The only way into a timeline (docs/architecture.md#the-write-path). Messages that arrive while flushes are in flight
 * form the next one: a send on an idle node does not wait, a busy node writes hundreds of rows a statement. A flush
 * takes its numbers in one round trip to the counters and writes in one statement. The unique keys in Postgres decide:
 * a number that is taken is replaced, and a client id that is taken returns the original.
 */
export class WritePath {
  readonly #options: WritePathOptions;
  readonly #maxBatch: number;
  readonly #idleWriters: PipelinedConnection[];
  #queue: Pending[] = [];
  #starting = false;
  #whenIdle: (() => void)[] = [];

  constructor(options: WritePathOptions) {
    this.#options = options;
    this.#maxBatch = options.maxBatch ?? MAX_BATCH;
    this.#idleWriters = [...options.database.writers];
  }

  /**
   * Resolves once the message is committed, by this call or an earlier one. Rejects with `service_unavailable` if
   * Postgres or the counters are unavailable (the message may have been committed nevertheless: a resend shows that),
   * or with the row's own error.
   */
  append(outgoing: Outgoing): Promise<Acknowledged> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ outgoing, resolve, reject, sequence: 0 });
      this.#startSoon();
    });
  }

  /** Resolves when nothing is in flight. */
  async idle(): Promise<void> {
    if (this.#queue.length === 0 && this.#inFlight === 0) return;
    await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  get #inFlight(): number {
    return this.#options.database.writers.length - this.#idleWriters.length;
  }

  /**
   * Runs after everything that the sockets deliver in this turn, so that messages that arrived together are written in
   * one statement.
   */
  #startSoon(): void {
    if (this.#starting) return;
    this.#starting = true;
    queueMicrotask(() => {
      this.#starting = false;
      this.#startFlushes();
    });
  }

  #startFlushes(): void {
    while (this.#queue.length >= (this.#inFlight === 0 ? 1 : OVERLAP_FROM)) {
      const writer = this.#idleWriters.pop();
      if (writer === undefined) return;
      this.#run(this.#queue.splice(0, this.#maxBatch), writer).catch((error: unknown) => {
        this.#options.log.error({ err: error }, 'flush failed unexpectedly');
      });
    }
  }

  async #run(batch: readonly Pending[], writer: PipelinedConnection): Promise<void> {
    const { metrics } = this.#options;
    const endTimer = metrics.flushSeconds.startTimer();
    metrics.flushRows.observe(batch.length);
    try {
      await this.#flush(batch, writer);
    } finally {
      endTimer();
      this.#idleWriters.push(writer);
      this.#startFlushes();
      if (this.#inFlight === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    }
  }

  /** When this resolves, every entry of the batch is resolved or rejected. Never rejects itself. */
  async #flush(batch: readonly Pending[], writer: PipelinedConnection): Promise<void> {
    const numbers = new TakenNumbers();
    try {
      if (!this.#options.maySend()) throw unavailable('This node does not hold its lock on the database.');
      let open = await this.#answerKnown(firstOfEach(batch));
      for (let numbering = 1; open.length > 0; numbering++) {
        if (numbering > MAX_NUMBERINGS) throw unavailable('No free sequence number was found.');
        await this.#number(open, numbers, numbering > 1);
        open = await this.#answerKnown(await this.#insert(open, numbers, writer));
      }
    } catch (error) {
      for (const entry of batch) entry.reject(asUnavailable(error));
    }
    this.#voidUnused(numbers);
  }

  /** Resolves entries that are in Postgres already, and returns the rest. */
  async #answerKnown(entries: readonly Pending[]): Promise<readonly Pending[]> {
    const rows = await this.#readKnown(entries.map((entry) => entry.outgoing.message));
    if (rows.length === 0) return entries;
    const originals = new Map(rows.map((row) => [identityOf(row), row]));
    return entries.filter((entry) => {
      const row = originals.get(identityOf(entry.outgoing.message));
      if (row !== undefined) entry.resolve({ row, resent: true });
      return row === undefined;
    });
  }

  /**
   * Finds messages by client id; those without one (system events of an outbox row) by their own id, which was created
   * with the row.
   */
  async #readKnown(messages: readonly NewMessage[]): Promise<readonly MessageRow[]> {
    const { pipeline } = this.#options.database;
    const keyed = messages.filter((message) => message.client_message_id !== null);
    const ids = messages.filter((message) => message.client_message_id === null).map(({ id }) => id);
    const [byClientId, byId] = await Promise.all([
      keyed.length === 0 ? [] : readMessagesByClientId(pipeline, keyed),
      ids.length === 0 ? [] : readMessagesById(pipeline, ids),
    ]);
    return byId.length === 0 ? byClientId : [...byClientId, ...byId];
  }

  /** Assigns each entry the next number of its conversation, in the order of the entries. */
  async #number(entries: readonly Pending[], numbers: TakenNumbers, collided: boolean): Promise<void> {
    const byConversation = Map.groupBy(entries, (entry) => entry.outgoing.message.conversation_id);
    const claims = [...byConversation].map(([stream, { length: count }]) => ({ stream, count }));
    // After a collision the counter is behind Postgres (wiped, restored, rewound) and is raised first.
    const floors = collided ? await this.#heads(claims.map(({ stream }) => stream)) : undefined;
    const firsts = await this.#options.engine.reserve(
      floors === undefined ? claims : claims.map((claim) => ({ ...claim, floor: floors.get(claim.stream)! })),
    );
    const unseeded = claims.filter((_, index) => firsts[index] === null);
    if (unseeded.length > 0) {
      const heads = await this.#heads(unseeded.map(({ stream }) => stream));
      const seeded = await this.#options.engine.reserve(
        unseeded.map((claim) => ({ ...claim, floor: heads.get(claim.stream)! })),
      );
      for (const [index, { stream }] of unseeded.entries()) {
        firsts[claims.findIndex((claim) => claim.stream === stream)] = seeded[index]!;
      }
    }
    for (const [index, { stream }] of claims.entries()) {
      const first = firsts[index];
      if (first === null || first === undefined) throw new EngineUnavailableError('a counter kept vanishing');
      for (const [offset, entry] of byConversation.get(stream)!.entries()) {
        entry.sequence = first + offset;
        numbers.take(stream, entry.sequence);
      }
    }
  }

  #heads(conversationIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return readHeads(this.#options.database.pipeline, conversationIds);
  }

  /**
   * Writes the entries, resolves those that were written and returns those that conflicted with a unique key. If the
   * statement fails for any reason but the connection, each row is tried alone: a bad row fails only its own caller.
   */
  async #insert(
    entries: readonly Pending[],
    numbers: TakenNumbers,
    writer: PipelinedConnection,
  ): Promise<readonly Pending[]> {
    try {
      return await this.#insertTogether(entries, numbers, writer);
    } catch (error) {
      if (isUnavailable(error)) throw error;
      if (entries.length === 1) {
        entries[0]!.reject(error);
        return [];
      }
    }
    const open: Pending[] = [];
    for (const entry of entries) open.push(...(await this.#insert([entry], numbers, writer)));
    return open;
  }

  async #insertTogether(
    entries: readonly Pending[],
    numbers: TakenNumbers,
    writer: PipelinedConnection,
  ): Promise<readonly Pending[]> {
    const { metrics, onCommitted } = this.#options;
    const rows = entries.map(({ outgoing, sequence }) => ({ ...outgoing.message, sequence }));
    const inserted = await insertMessages(writer, rows);
    if (inserted.length === 0) return entries;

    const createdAt = new Map(inserted.map((row) => [row.id, row.created_at]));
    const messages: CommittedMessage[] = [];
    const open: Pending[] = [];
    for (const entry of entries) {
      const at = createdAt.get(entry.outgoing.message.id);
      if (at === undefined) {
        open.push(entry);
        continue;
      }
      const message = asCommitted(entry.outgoing, entry.sequence, at);
      numbers.use(message.row.conversation_id, entry.sequence);
      messages.push(message);
      entry.resolve({ row: message.row, resent: false });
    }
    metrics.sends.inc(messages.length);
    onCommitted({ outboxId: inserted[0]!.outbox_id, messages });
    return open;
  }

  /** A number that was taken and not committed would be a hole that delays every reader by a second. */
  #voidUnused(numbers: TakenNumbers): void {
    for (const [conversationId, sequences] of numbers.unused()) {
      this.#options.timeline.void(conversationId, sequences).catch((error: unknown) => {
        // If this fails, readers settle the numbers.
        const context = { conversation_id: conversationId, sequences, err: error };
        this.#options.log.warn(context, 'could not void unused sequence numbers');
      });
    }
  }
}

interface Pending {
  readonly outgoing: Outgoing;
  readonly resolve: (acknowledged: Acknowledged) => void;
  readonly reject: (error: unknown) => void;
  sequence: number;
}

/** The numbers that a flush has taken from the counters and not committed yet. */
class TakenNumbers {
  readonly #open = new Map<string, Set<number>>();

  take(conversationId: string, sequence: number): void {
    const ofConversation = this.#open.get(conversationId);
    if (ofConversation === undefined) this.#open.set(conversationId, new Set([sequence]));
    else ofConversation.add(sequence);
  }

  use(conversationId: string, sequence: number): void {
    this.#open.get(conversationId)?.delete(sequence);
  }

  unused(): [conversationId: string, sequences: number[]][] {
    return [...this.#open].filter(([, open]) => open.size > 0).map(([id, open]) => [id, [...open]]);
  }
}

type Identified = Pick<MessageRow, 'id' | 'conversation_id' | 'author_id' | 'client_message_id'>;

/** Two messages with the same key are the same message: see #readKnown. */
function identityOf({ id, conversation_id, author_id, client_message_id }: Identified): string {
  return client_message_id === null ? id : `${conversation_id} ${author_id} ${client_message_id}`;
}

/** Returns one entry for each client id: resends within a batch get the result of the first. */
function firstOfEach(batch: readonly Pending[]): readonly Pending[] {
  const seen = new Map<string, Pending & { twins: Pending[] }>();
  const firsts: Pending[] = [];
  for (const entry of batch) {
    const { message } = entry.outgoing;
    if (message.client_message_id === null) {
      firsts.push(entry);
      continue;
    }
    const key = identityOf(message);
    const first = seen.get(key);
    if (first !== undefined) {
      first.twins.push(entry);
      continue;
    }
    const shared = withTwins(entry);
    seen.set(key, shared);
    firsts.push(shared);
  }
  return firsts;
}

function withTwins(entry: Pending): Pending & { twins: Pending[] } {
  const twins: Pending[] = [];
  return {
    ...entry,
    twins,
    resolve: (acknowledged) => {
      entry.resolve(acknowledged);
      for (const twin of twins) twin.resolve({ row: acknowledged.row, resent: true });
    },
    reject: (error) => {
      entry.reject(error);
      for (const twin of twins) twin.reject(error);
    },
  };
}
