import { unavailable } from '@parley/protocol/errors/errors.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { isUniqueViolation } from '../../../platform/db/connection/unavailable.ts';
import { KeyedLimiter } from '../../../platform/lifecycle.ts';
import { lockConversation } from '../../conversations/rows/conversation-store.ts';
import type { Downloads } from '../../resources/attachment.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import { withParts } from '../../resources/message.ts';
import { readOriginal } from '../rows/message-store.ts';
import { enterTimeline, type WaitingPlan } from './entering-store.ts';
import { insertMessages } from './insert-store.ts';
import {
  type Acknowledged,
  asCommitted,
  asUnavailable,
  type Committed,
  type CommittedMessage,
  MAX_NUMBERINGS,
  type Outgoing,
  type WriteOptions,
} from './outgoing.ts';
import type { SequenceNumber } from './timeline-store.ts';

/** Returned by `decide` if nothing enters; its other fields tell the reason. */
export interface Withheld {
  readonly kind: 'withheld';
}

/** `followed` is the result of `follow`, which is not called for a resend. */
export interface Entered<Followed> extends Acknowledged {
  readonly followed?: Followed;
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
  readonly #options: WriteOptions & { readonly files: Downloads };
  readonly #turns = new KeyedLimiter(MAX_AT_ONCE);

  constructor(options: WriteOptions & { readonly files: Downloads }) {
    this.#options = options;
  }

  /**
   * Resolves once a new message is committed. If its client_message_id was known, `resent` is true
   * and `row` is the original. `decide` sees the conversation's state under the lock, throws to
   * refuse, and may be called again. `follow` writes the rows that must commit together with the
   * message: workflow moves, audits, the stored answer of an Idempotency-Key. Rejects with ApiError
   * `service_unavailable` if Postgres is unavailable.
   */
  enter<Decided extends Outgoing | Withheld, Followed>(
    conversationId: string,
    decide: (tx: Tx, conversation: ConversationRow) => Promise<Decided>,
    follow?: (tx: Tx, written: CommittedMessage) => Promise<Followed>,
  ): Promise<Entered<Followed> | Extract<Decided, Withheld>> {
    type Result = Entered<Followed> | Extract<Decided, Withheld>;
    return this.#commit<Result>(conversationId, async (tx, conversation, numbers) => {
      const decided: Outgoing | Withheld = await decide(tx, conversation);
      if ('kind' in decided) return { result: decided as Extract<Decided, Withheld> };
      // Under the lock only the faster path can add such a message, and the insert conflicts with
      // it.
      const known = await readOriginal(tx, decided.message);
      if (known !== undefined) return { result: { row: known, resent: true } };
      const { outboxId, message } = await this.#writeNew(tx, decided, numbers);
      const followed = (await follow?.(tx, message)) as Followed;
      const committed = { outboxId, messages: [message] };
      return { result: { row: message.row, resent: false, followed }, committed };
    });
  }

  /**
   * Moves waiting messages into the timeline in one transaction, in their order, and resolves with
   * the result of `follow` after the commit. `decide` and `follow` are as above, but `follow` is
   * called even if none enters. Rejects like `enter`; then nothing of the plan was done.
   */
  enterWaiting<Plan extends WaitingPlan, Followed>(
    conversationId: string,
    decide: (tx: Tx, conversation: ConversationRow) => Promise<Plan>,
    follow: (tx: Tx, written: readonly CommittedMessage[], plan: Plan) => Promise<Followed>,
  ): Promise<Followed> {
    return this.#commit(conversationId, async (tx, conversation, numbers) => {
      const plan = await decide(tx, conversation);
      const committed =
        plan.entries.length === 0 ? undefined : await this.#writeWaiting(tx, conversation, plan, numbers);
      return { result: await follow(tx, committed?.messages ?? [], plan), committed };
    });
  }

  /**
   * Runs `work` with consecutive numbers for rows that it writes itself, without the effects of a
   * send. `work` takes all its numbers at once, uses them or throws NumberTaken to get others, and
   * may be called again. Rejects like `enter`.
   */
  numbered<Result>(
    conversationId: string,
    work: (
      tx: Tx,
      conversation: ConversationRow,
      take: (count: number) => Promise<number>,
    ) => Promise<Result>,
  ): Promise<Result> {
    return this.#commit(conversationId, async (tx, conversation, numbers) => ({
      result: await work(tx, conversation, (count) => this.#takeNumbers(tx, numbers, count)),
    }));
  }

  async #commit<Result>(conversationId: string, work: Work<Result>): Promise<Result> {
    const { database, maySend, metrics, numbers: source, onCommitted, timeline } = this.#options;
    if (!maySend()) throw unavailable('This node does not hold its lock on the database. Try again.');
    return this.#turns.run(conversationId, async () => {
      for (let numbering = 1; numbering <= MAX_NUMBERINGS; numbering++) {
        const numbers: TakenNumbers = { conversationId, numbering, taken: [] };
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
          source.collided(conversationId);
        }
      }
      throw unavailable('No free sequence number was found. Try again.');
    });
  }

  async #writeNew(tx: Tx, outgoing: Outgoing, numbers: TakenNumbers) {
    const numbered = { message: outgoing.message, sequence: await this.#takeNumbers(tx, numbers, 1) };
    const [inserted] = await insertMessages(tx, [numbered]);
    if (inserted === undefined) throw new NumberTaken();
    return { outboxId: inserted.outboxId, message: asCommitted(outgoing, numbered, inserted) };
  }

  async #writeWaiting(
    tx: Tx,
    { audience, roster_version: rosterVersion }: ConversationRow,
    plan: WaitingPlan,
    numbers: TakenNumbers,
  ): Promise<Committed> {
    const { conversationId } = numbers;
    const sequence = await this.#takeNumbers(tx, numbers, plan.entries.length);
    const entered = await enterTimeline(tx, { conversationId, sequence }, plan);
    const [first] = entered;
    if (first === undefined || entered.length < plan.entries.length) throw new NumberTaken();
    const rows = entered.map(({ outbox_id: _, ...row }) => row);
    const parts = await withParts(tx, this.#options.files, rows);
    return {
      outboxId: first.outbox_id,
      messages: parts.map((message) => ({ ...message, audience, rosterVersion, by: plan.approvedBy })),
    };
  }

  /** Returns the first of `count` consecutive numbers. */
  async #takeNumbers(tx: Tx, numbers: TakenNumbers, count: number): Promise<number> {
    const { conversationId, numbering, taken } = numbers;
    const claims = [{ stream: conversationId, count }];
    const { firsts, areCounted } = await this.#options.numbers.takeLocked(tx, claims, numbering);
    const first = firsts[0]!;
    if (areCounted) for (let n = 0; n < count; n++) taken.push({ conversationId, sequence: first + n });
    return first;
  }
}

/** The counted numbers of one transaction. Its unused numbers are voided. */
interface TakenNumbers {
  readonly conversationId: string;
  /** The attempt, from 1. */
  readonly numbering: number;
  readonly taken: SequenceNumber[];
}

/** Returns its result, and the rows that it wrote into the timeline. */
type Work<Result> = (
  tx: Tx,
  conversation: ConversationRow,
  numbers: TakenNumbers,
) => Promise<{ readonly result: Result; readonly committed?: Committed | undefined }>;

/** Rolls the transaction back to retry with another number. */
export class NumberTaken extends Error {}
