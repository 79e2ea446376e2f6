import { unavailable } from '../../../contract/protocol/errors.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { isUniqueViolation } from '../../../platform/db/connection/unavailable.ts';
import { KeyedLimiter } from '../../../platform/lifecycle.ts';
import { lockConversation } from '../../conversations/conversation-store.ts';
import type { Downloads } from '../../resources/attachment.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import { type MessageRow, withParts } from '../../resources/message.ts';
import { enterTimeline, readMessagesByClientId } from '../store.ts';
import { insertMessages } from './insert-store.ts';
import {
  asCommitted,
  asUnavailable,
  type Committed,
  type CommittedMessage,
  MAX_NUMBERINGS,
  type Outgoing,
  takeNumbers,
  type WriteOptions,
} from './outgoing.ts';
import type { SequenceNumber } from './timeline-store.ts';

/** The message that enters the timeline, chosen by `decide` under the lock. */
export type Entry = NewEntry | WaitingEntry;

export interface NewEntry {
  readonly kind: 'new';
  readonly outgoing: Outgoing;
}

/** An existing row outside the timeline. */
export interface WaitingEntry {
  readonly kind: 'waiting';
  readonly id: string;
  readonly status: 'draft' | 'scheduled';
  /** The sender that the message shows from then on. */
  readonly senderId: string | null;
}

/** Nothing enters and the transaction has nothing left to do; the fields tell the reason. */
export interface Withheld {
  readonly kind: 'withheld';
}

/** Decides with the conversation's state under the lock. */
export type Decide<E extends Entry | Withheld> = (tx: Tx, conversation: ConversationRow) => Promise<E>;

/**
 * Writes the rows that must commit together with the message: workflow moves, audits, the stored
 * answer of an Idempotency-Key.
 */
export type Follow<E extends Entry | Withheld, Followed> = (
  tx: Tx,
  written: CommittedMessage,
  decided: Exclude<E, Withheld>,
) => Promise<Followed>;

/** A plan for the messages that wait in a conversation; none need enter its timeline. */
export interface WaitingPlan {
  readonly status: WaitingEntry['status'];
  /** In the order in which they enter. */
  readonly entries: readonly Omit<WaitingEntry, 'kind' | 'status'>[];
}

/**
 * `followed` is the result of `follow`. Only a new message can be a resend. The result of `decide`
 * is returned as it is if it withholds.
 */
export type Entered<E extends Entry | Withheld, Followed> =
  | { readonly row: MessageRow; readonly resent: false; readonly followed: Followed }
  | (E extends NewEntry ? Resent : never)
  | (E extends Withheld ? E : never);

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
 * The slower write path, for messages that must see and change their conversation's state in one
 * step: messages of customers and replies to them, approved drafts, due schedules. Each call takes
 * one transaction, which locks the conversation's row before it takes a number
 * (docs/contract.md#drafts), so no other such message comes between the state that `decide` saw and
 * the number.
 */
export class LockedWrites {
  readonly #options: LockedWritesOptions;
  readonly #turns = new KeyedLimiter(MAX_AT_ONCE);

  constructor(options: LockedWritesOptions) {
    this.#options = options;
  }

  /**
   * Resolves once the message is committed. If its client_message_id was known, `resent` is true
   * and `row` is the original. `decide` throws to refuse, and may be called again. `follow` is
   * called with the result of `decide`, only for a written message. Rejects with ApiError
   * `service_unavailable` if Postgres or the counters are unavailable.
   */
  enter<E extends Entry | Withheld, Followed>(
    conversationId: string,
    decide: Decide<E>,
    follow?: Follow<E, Followed>,
  ): Promise<Entered<E, Followed>> {
    return this.#commit(conversationId, async (tx, conversation, numbers) => {
      const entry: Entry | Withheld = await decide(tx, conversation);
      if (entry.kind === 'withheld') return { result: entry as Entered<E, Followed> };
      const known = entry.kind === 'new' ? await findOriginal(tx, entry.outgoing) : undefined;
      if (known !== undefined) return { result: { row: known, resent: true } as Entered<E, Followed> };
      const committed =
        entry.kind === 'new'
          ? await this.#writeNew(tx, entry.outgoing, numbers)
          : await this.#writeWaiting(tx, conversation, { status: entry.status, entries: [entry] }, numbers);
      const [message] = committed.messages;
      const followed = (await follow?.(tx, message!, entry as Exclude<E, Withheld>)) as Followed;
      return { result: { row: message!.row, resent: false, followed }, committed };
    });
  }

  /**
   * Moves several messages into the timeline in one transaction, in their order, and resolves with
   * the plan after the commit. `decide` and `follow` are as above, but `follow` is called even if
   * none enters. Rejects like `enter`; then nothing of the plan was done.
   */
  enterWaiting<Plan extends WaitingPlan>(
    conversationId: string,
    decide: (tx: Tx, conversation: ConversationRow) => Promise<Plan>,
    follow: (tx: Tx, written: readonly CommittedMessage[], plan: Plan) => Promise<void>,
  ): Promise<{ readonly plan: Plan; readonly rows: readonly MessageRow[] }> {
    return this.#commit(conversationId, async (tx, conversation, numbers) => {
      const plan = await decide(tx, conversation);
      const committed =
        plan.entries.length === 0 ? undefined : await this.#writeWaiting(tx, conversation, plan, numbers);
      const messages = committed?.messages ?? [];
      await follow(tx, messages, plan);
      return { result: { plan, rows: messages.map(({ row }) => row) }, committed };
    });
  }

  async #commit<Result>(conversationId: string, work: Work<Result>): Promise<Result> {
    const { database, maySend, metrics, onCommitted, timeline } = this.#options;
    if (!maySend()) throw unavailable('This node does not hold its lock on the database.');
    return this.#turns.run(conversationId, async () => {
      for (let numbering = 1; numbering <= MAX_NUMBERINGS; numbering++) {
        const numbers: Numbers = { conversationId, isBehind: numbering > 1, taken: [] };
        try {
          const { result, committed } = await database.transaction(async (tx) =>
            work(tx, await lockConversation(tx, conversationId), numbers),
          );
          if (committed !== undefined) {
            metrics.sends.inc(committed.messages.length);
            void onCommitted(committed);
          }
          return result;
        } catch (error) {
          // A hole would delay every reader by a second; a used number stays as it is. If this
          // fails, readers settle the number.
          if (numbers.taken.length > 0) timeline.void(numbers.taken).catch(() => {});
          const isTaken = error instanceof NumberTaken || isUniqueViolation(error, 'messages_sequence');
          if (!isTaken) throw asUnavailable(error);
        }
      }
      throw unavailable('No free sequence number was found.');
    });
  }

  async #writeNew(tx: Tx, outgoing: Outgoing, numbers: Numbers): Promise<Committed> {
    const numbered = { message: outgoing.message, sequence: await this.#takeNumbers(tx, numbers, 1) };
    const [inserted] = await insertMessages(tx, [numbered]);
    if (inserted === undefined) throw new NumberTaken();
    return { outboxId: inserted.outboxId, messages: [asCommitted(outgoing, numbered, inserted)] };
  }

  async #writeWaiting(
    tx: Tx,
    { audience, roster_version: rosterVersion }: ConversationRow,
    { status, entries: messages }: WaitingPlan,
    numbers: Numbers,
  ): Promise<Committed> {
    const { conversationId } = numbers;
    const firstSequence = await this.#takeNumbers(tx, numbers, messages.length);
    const entered = await enterTimeline(tx, { conversationId, firstSequence, status, messages });
    const [first] = entered;
    if (first === undefined || entered.length < messages.length) throw new NumberTaken();
    const rows = entered.map(({ outbox_id: _, ...row }) => row);
    const parts = await withParts(tx, this.#options.files, rows);
    return {
      outboxId: first.outbox_id,
      messages: parts.map((message) => ({ ...message, audience, rosterVersion })),
    };
  }

  /** Returns the first of `count` consecutive numbers. */
  async #takeNumbers(tx: Tx, { conversationId, isBehind, taken }: Numbers, count: number): Promise<number> {
    const claims = [{ stream: conversationId, count }];
    const [first] = await takeNumbers(this.#options.engine, tx, claims, isBehind);
    for (let n = 0; n < count; n++) taken.push({ conversationId, sequence: first! + n });
    return first!;
  }
}

/** The numbers of one transaction. Those that it took without using them are voided. */
interface Numbers {
  readonly conversationId: string;
  /** Whether the counter is behind Postgres and is raised first. */
  readonly isBehind: boolean;
  readonly taken: SequenceNumber[];
}

/** Returns its result, and the rows that it wrote into the timeline. */
type Work<Result> = (
  tx: Tx,
  conversation: ConversationRow,
  numbers: Numbers,
) => Promise<{ readonly result: Result; readonly committed?: Committed | undefined }>;

/** Rolls the transaction back to retry with another number. */
class NumberTaken extends Error {}

async function findOriginal(tx: Tx, { message }: Outgoing): Promise<MessageRow | undefined> {
  if (message.client_message_id === null) return undefined;
  // Under the lock only the faster path can add such a message, and the insert conflicts with it.
  const [original] = await readMessagesByClientId(tx, [message]);
  return original;
}
