import { lockConversation } from '../conversations/conversation-store.ts';
import type { Tx } from '../db/handle.ts';
import { isUniqueViolation } from '../db/unique-violation.ts';
import { KeyedLimiter } from '../lifecycle.ts';
import { unavailable } from '../protocol/errors.ts';
import type { Downloads } from '../resources/attachment.ts';
import type { ConversationRow } from '../resources/conversation.ts';
import { type MessageRow, withParts } from '../resources/message.ts';
import { insertMessages } from './insert-store.ts';
import {
  asCommitted,
  asUnavailable,
  type CommittedMessage,
  MAX_NUMBERINGS,
  type Outgoing,
  type WriteOptions,
} from './outgoing.ts';
import { enterTimeline, readMessagesByClientId } from './store.ts';
import { readHeads } from './timeline-store.ts';

/** The message that enters the timeline, as `decide` chose it under the lock. */
export type Entry = NewEntry | WaitingEntry;

interface NewEntry {
  readonly kind: 'new';
  readonly outgoing: Outgoing;
}

/** An existing row outside the timeline. */
interface WaitingEntry {
  readonly kind: 'waiting';
  readonly id: string;
  readonly status: 'draft' | 'scheduled';
  /** The sender that the message shows from now on. */
  readonly senderId: string | null;
}

/** Decides with the conversation's state under the lock. */
export type Decide<E extends Entry> = (tx: Tx, conversation: ConversationRow) => Promise<E>;

/**
 * Writes what must commit together with the message: workflow moves, audits, the stored answer of an Idempotency-Key.
 */
export type Follow<E extends Entry, Followed> = (
  tx: Tx,
  written: CommittedMessage,
  decided: E,
) => Promise<Followed>;

/** `followed` is what `follow` returned. Only a new message can be a resend. */
export type Entered<E extends Entry, Followed> =
  | { readonly row: MessageRow; readonly resent: false; readonly followed: Followed }
  | (E extends NewEntry ? Resent : never);

/** `row` is the original with the same client_message_id. */
interface Resent {
  readonly row: MessageRow;
  readonly resent: true;
  readonly followed?: undefined;
}

export interface LockedWritesOptions extends WriteOptions {
  readonly files: Downloads;
}

/** Half of the pool: the rest is left for reads. */
const MAX_AT_ONCE = 5;

/**
 * The slower path of writes, for messages that must see and change their conversation's state in one step: messages of
 * customers and replies to them, approved drafts, schedules that are due. Each message takes one transaction, which
 * locks the conversation's row before it takes a number (docs/contract.md#drafts), so no other such message comes
 * between the state that `decide` saw and the number.
 */
export class LockedWrites {
  readonly #options: LockedWritesOptions;
  readonly #turns = new KeyedLimiter(MAX_AT_ONCE);

  constructor(options: LockedWritesOptions) {
    this.#options = options;
  }

  /**
   * Resolves once the message is committed. If its client_message_id was known, `resent` is true and `row` is the original.
   * `decide` throws to refuse, and may be called again. `follow` is called only for what was written, with what `decide`
   * returned. Rejects with ApiError `service_unavailable` if Postgres or the counters are unavailable.
   */
  async enter<E extends Entry, Followed>(
    conversationId: string,
    decide: Decide<E>,
    follow?: Follow<E, Followed>,
  ): Promise<Entered<E, Followed>> {
    if (!this.#options.maySend()) throw unavailable('This node does not hold its lock on the database.');
    return this.#turns.run(conversationId, () => this.#enter(conversationId, decide, follow));
  }

  async #enter<E extends Entry, Followed>(
    conversationId: string,
    decide: Decide<E>,
    follow: Follow<E, Followed> | undefined,
  ): Promise<Entered<E, Followed>> {
    for (let numbering = 1; numbering <= MAX_NUMBERINGS; numbering++) {
      const attempt = new WriteAttempt(this.#options, conversationId, numbering > 1);
      const result = await attempt.run(decide, follow);
      if (result !== undefined) return result;
    }
    throw unavailable('No free sequence number was found.');
  }
}

/** One transaction. A number that it took and did not use is voided. */
class WriteAttempt {
  readonly #options: LockedWritesOptions;
  readonly #conversationId: string;
  /** The counter is behind Postgres and is raised first. */
  readonly #collided: boolean;
  #sequence: number | undefined;

  constructor(options: LockedWritesOptions, conversationId: string, collided: boolean) {
    this.#options = options;
    this.#conversationId = conversationId;
    this.#collided = collided;
  }

  /** Returns undefined if the number was taken by another message. */
  async run<E extends Entry, Followed>(
    decide: Decide<E>,
    follow: Follow<E, Followed> | undefined,
  ): Promise<Entered<E, Followed> | undefined> {
    const { onCommitted, metrics } = this.#options;
    const written = await this.#commit(decide, follow).catch((error: unknown) => {
      this.#voidUnused();
      if (error instanceof NumberTaken || isUniqueViolation(error, 'messages_sequence')) return undefined;
      throw asUnavailable(error);
    });
    if (written?.committed !== undefined) {
      const { outboxId, message } = written.committed;
      metrics.sends.inc();
      onCommitted({ outboxId, messages: [message] });
    }
    return written?.entered;
  }

  #commit<E extends Entry, Followed>(
    decide: Decide<E>,
    follow: Follow<E, Followed> | undefined,
  ): Promise<{ entered: Entered<E, Followed>; committed?: { message: CommittedMessage; outboxId: number } }> {
    return this.#options.database.transaction(async (tx) => {
      const conversation = await lockConversation(tx, this.#conversationId);
      const entry: E = await decide(tx, conversation);
      const known = entry.kind === 'new' ? await findOriginal(tx, entry.outgoing) : undefined;
      if (known !== undefined) return { entered: { row: known, resent: true } as Entered<E, Followed> };
      const committed = await this.#write(tx, entry, conversation);
      const followed = (await follow?.(tx, committed.message, entry)) as Followed;
      return { entered: { row: committed.message.row, resent: false, followed }, committed };
    });
  }

  async #write(
    tx: Tx,
    entry: Entry,
    conversation: ConversationRow,
  ): Promise<{ message: CommittedMessage; outboxId: number }> {
    const sequence = await this.#takeNumber(tx);
    if (entry.kind === 'new') {
      const numbered = { message: entry.outgoing.message, sequence };
      const [inserted] = await insertMessages(tx, [numbered]);
      if (inserted === undefined) throw new NumberTaken();
      return { message: asCommitted(entry.outgoing, numbered, inserted), outboxId: inserted.outboxId };
    }
    const { id, status, senderId } = entry;
    const conversationId = this.#conversationId;
    const entered = await enterTimeline(tx, { id, conversationId, sequence, status, senderId });
    if (entered === undefined) throw new NumberTaken();
    const { outbox_id: outboxId, ...row } = entered;
    const [parts] = await withParts(tx, this.#options.files, [row]);
    const { audience, roster_version: rosterVersion } = conversation;
    return { message: { ...parts!, audience, rosterVersion }, outboxId };
  }

  async #takeNumber(tx: Tx): Promise<number> {
    const { engine } = this.#options;
    const claim = { stream: this.#conversationId, count: 1 };
    const head = async () => {
      const heads = await readHeads(tx, [this.#conversationId]);
      return heads.get(this.#conversationId) ?? 0;
    };
    const [first] = await engine.reserve([this.#collided ? { ...claim, floor: await head() } : claim]);
    const [seeded] = first === null ? await engine.reserve([{ ...claim, floor: await head() }]) : [first];
    if (seeded === null || seeded === undefined) throw unavailable('No sequence number could be reserved.');
    this.#sequence = seeded;
    return seeded;
  }

  /**
   * A hole would delay every reader by a second; a number that is taken stays as it is. If this fails, readers settle
   * the number.
   */
  #voidUnused(): void {
    if (this.#sequence === undefined) return;
    const unused = { conversationId: this.#conversationId, sequence: this.#sequence };
    this.#options.timeline.void([unused]).catch(() => {});
  }
}

/** Rolls the transaction back to retry with another number. */
class NumberTaken extends Error {}

async function findOriginal(tx: Tx, { message }: Outgoing): Promise<MessageRow | undefined> {
  if (message.client_message_id === null) return undefined;
  // Under the lock only the faster path can add such a message, and the insert conflicts with it.
  const [original] = await readMessagesByClientId(tx, [message]);
  return original;
}
