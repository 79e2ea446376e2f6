import type { Downloads } from '../attachments/storage.ts';
import type { ConversationRow } from '../conversations/insert-conversation.ts';
import { type MessageRow, withParts } from '../conversations/message-rows.ts';
import type { Tx } from '../db/handle.ts';
import { isUniqueViolation } from '../db/unique-violation.ts';
import { KeyedLimiter } from '../lifecycle.ts';
import {
  ENTER_TIMELINE,
  type InsertedRow,
  insertMessages,
  READ_BY_CLIENT_ID,
  READ_HEADS,
} from './insert-messages.ts';
import {
  asCommitted,
  asUnavailable,
  type CommittedMessage,
  MAX_NUMBERINGS,
  type Outgoing,
  unavailable,
  type WriteOptions,
} from './outgoing.ts';

/** What is to enter the timeline, as it was decided under the lock. */
export type Entry =
  | { readonly kind: 'new'; readonly outgoing: Outgoing }
  | {
      /** A row that is there already, outside the timeline. */
      readonly kind: 'waiting';
      readonly id: string;
      readonly status: 'draft' | 'scheduled';
      /** As whom it is shown from now on. */
      readonly senderId: string | null;
    };

/** The conversation as it stands under the lock. */
export type Decide = (tx: Tx, conversation: ConversationRow) => Promise<Entry>;

/** What else becomes true with the message: lanes, audits, the stored answer of an Idempotency-Key. */
export type Follow = (tx: Tx, written: CommittedMessage) => Promise<void>;

export interface LockedWritesOptions extends WriteOptions {
  readonly files: Downloads;
}

/** Half of the pool: the rest is for who reads. */
const MAX_AT_ONCE = 5;

/**
 * The write path's slower lane, for messages that must see and change their conversation's state in one
 * step: what customers write and are answered, drafts that are approved, schedules that are due. One
 * transaction a message, which holds the conversation's row before it takes a number (docs/contract.md#drafts),
 * so nothing of this kind comes between what `decide` saw and the number.
 */
export class LockedWrites {
  readonly #options: LockedWritesOptions;
  readonly #turns = new KeyedLimiter(MAX_AT_ONCE);

  constructor(options: LockedWritesOptions) {
    this.#options = options;
  }

  /**
   * Resolves once the message is committed: `resent` is true where its client_message_id was known, and
   * `row` then the original. `decide` throws what refuses, and may be called again; `follow` is called only
   * for what was written. Rejects with ApiError `service_unavailable` when Postgres or the counters are away.
   */
  async enter(
    conversationId: string,
    decide: Decide,
    follow: Follow = async () => {},
  ): Promise<{ readonly row: MessageRow; readonly resent: boolean }> {
    if (!this.#options.maySend()) throw unavailable('This node does not hold its lock on the database.');
    return this.#turns.run(conversationId, () => this.#enter(conversationId, decide, follow));
  }

  async #enter(
    conversationId: string,
    decide: Decide,
    follow: Follow,
  ): Promise<{ readonly row: MessageRow; readonly resent: boolean }> {
    for (let numbering = 1; numbering <= MAX_NUMBERINGS; numbering++) {
      const attempt = new WriteAttempt(this.#options, conversationId, numbering > 1);
      const result = await attempt.run(decide, follow);
      if (result !== undefined) return result;
    }
    throw unavailable('No free sequence number was found.');
  }
}

/** One transaction. What it took and did not use is voided. */
class WriteAttempt {
  readonly #options: LockedWritesOptions;
  readonly #conversationId: string;
  /** The counter is behind Postgres: raise it first. */
  readonly #collided: boolean;
  #sequence: number | undefined;

  constructor(options: LockedWritesOptions, conversationId: string, collided: boolean) {
    this.#options = options;
    this.#conversationId = conversationId;
    this.#collided = collided;
  }

  /** Undefined: the number was somebody else's. */
  async run(decide: Decide, follow: Follow): Promise<{ row: MessageRow; resent: boolean } | undefined> {
    const { database, onCommitted, metrics } = this.#options;
    let written: Written | undefined;
    try {
      written = await database.transaction(async (tx) => {
        const conversation = await this.#lock(tx);
        const entry = await decide(tx, conversation);
        const known = entry.kind === 'new' ? await findOriginal(tx, entry.outgoing) : undefined;
        if (known !== undefined) return { row: known };
        const committed = await this.#write(tx, entry, conversation);
        await follow(tx, committed.message);
        return { row: committed.message.row, committed };
      });
    } catch (error) {
      this.#voidUnused();
      if (error instanceof NumberTaken || isUniqueViolation(error, 'messages_sequence')) return undefined;
      throw asUnavailable(error);
    }
    const { row, committed } = written;
    if (committed === undefined) return { row, resent: true };
    metrics.sends.inc();
    onCommitted({ outboxId: committed.outboxId, messages: [committed.message] });
    return { row, resent: false };
  }

  #lock(tx: Tx): Promise<ConversationRow> {
    return tx.kysely
      .selectFrom('conversations')
      .selectAll()
      .where('id', '=', this.#conversationId)
      .forUpdate()
      .executeTakeFirstOrThrow();
  }

  async #write(
    tx: Tx,
    entry: Entry,
    conversation: ConversationRow,
  ): Promise<{ message: CommittedMessage; outboxId: number }> {
    const sequence = await this.#takeNumber(tx);
    if (entry.kind === 'new') {
      const { message } = entry.outgoing;
      const [inserted] = await tx.query<InsertedRow>(insertMessages(message.attachments.length > 0), [
        JSON.stringify([{ ...message, sequence }]),
      ]);
      if (inserted === undefined) throw new NumberTaken();
      return {
        message: asCommitted(entry.outgoing, sequence, inserted.created_at),
        outboxId: inserted.outbox_id,
      };
    }
    const { id, status, senderId } = entry;
    const [entered] = await tx.query<MessageRow & { outbox_id: number }>(ENTER_TIMELINE, [
      id,
      this.#conversationId,
      sequence,
      status,
      senderId,
    ]);
    if (entered === undefined) throw new NumberTaken();
    const { outbox_id: outboxId, ...row } = entered;
    const [parts] = await withParts(tx, this.#options.files, [row]);
    return { message: { ...parts!, audience: conversation.audience }, outboxId };
  }

  async #takeNumber(tx: Tx): Promise<number> {
    const { engine } = this.#options;
    const claim = { stream: this.#conversationId, count: 1 };
    const head = async () => {
      const [row] = await tx.query<{ head: number }>(READ_HEADS, [[this.#conversationId]]);
      return row?.head ?? 0;
    };
    const [first] = await engine.reserve([this.#collided ? { ...claim, floor: await head() } : claim]);
    const [seeded] = first === null ? await engine.reserve([{ ...claim, floor: await head() }]) : [first];
    if (seeded === null || seeded === undefined) throw unavailable('No sequence number could be reserved.');
    this.#sequence = seeded;
    return seeded;
  }

  /** A hole would keep every reader waiting for a second; a number that is taken stays. What fails here, readers settle. */
  #voidUnused(): void {
    if (this.#sequence === undefined) return;
    this.#options.timeline.void(this.#conversationId, [this.#sequence]).catch(() => {});
  }
}

interface Written {
  readonly row: MessageRow;
  /** Undefined: it was there already. */
  readonly committed?: { readonly message: CommittedMessage; readonly outboxId: number };
}

/** Rolls the transaction back for another number. */
class NumberTaken extends Error {}

async function findOriginal(
  tx: Tx,
  { message: { conversation_id, author_id, client_message_id } }: Outgoing,
): Promise<MessageRow | undefined> {
  if (client_message_id === null) return undefined;
  // Under the lock nobody adds one but through the quicker lane, whose conflict the insert meets.
  const [original] = await tx.query<MessageRow>(READ_BY_CLIENT_ID, [
    JSON.stringify([{ conversation_id, author_id, client_message_id }]),
  ]);
  return original;
}
