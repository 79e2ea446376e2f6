import { ApiError, ERRORS } from '@parley/protocol/errors/errors.ts';
import type { RateLimiter } from '../../../api/access/rate-limit.ts';
import { type Backoff, delayAfter } from '../../../platform/backoff.ts';
import type { Database } from '../../../platform/db/connection/database.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { enqueue } from '../../../platform/db/queue/outbox.ts';
import type { Logger } from '../../../platform/log.ts';
import { lockConversations } from '../../conversations/rows/conversation-store.ts';
import { enqueueRowsChanged } from '../../events/changes.ts';
import type { CoreMetrics } from '../../metrics.ts';
import type { ConversationRow } from '../../resources/conversation.ts';
import { type MessageRow, messageColumns } from '../../resources/message.ts';
import { SCHEDULE_NOT_SENT } from '../outbox-topics.ts';
import { conclude } from '../rows/message-outcome.ts';
import type { WaitingPlan } from '../timeline/entering-store.ts';
import { followExternal } from '../timeline/external-message.ts';
import type { LockedWrites } from '../timeline/locked-write.ts';
import { asUnavailable, type CommittedMessage } from '../timeline/outgoing.ts';
import {
  type AuthorRow,
  addDelivery,
  countAttempts,
  leaveDelivery,
  readAuthors,
  type ScheduledJob,
} from './schedule-store.ts';
import { refusalOf } from './scheduled-author.ts';

export interface ScheduledDeliveryOptions {
  readonly database: Database;
  readonly lockedWrites: Pick<LockedWrites, 'enterWaiting'>;
  /** Counts deliveries by author. */
  readonly limiter: Pick<RateLimiter, 'consume'>;
  readonly metrics: CoreMetrics;
  readonly log: Logger;
  /** Pauses after refusals; by default 1 s, doubled each time. The last refusal ends a message. */
  readonly retries?: Backoff;
}

/** The fifth refusal ends a message (docs/contract.md#scheduled-messages). */
const RETRIES: Backoff = { delaysMs: [0, 1_000, 2_000, 4_000, 8_000] };

/** Pause before a retry while Postgres or the counters are unavailable, which is not a refusal. */
const RETRY_MS = 1_000;

/** Longest pause for an author over the limit, who may have other limits by then. */
const MAX_PAUSE_MS = 10_000;

/** Maximum of messages in one transaction, which locks the conversation for about 50 ms. */
const MAX_TOGETHER = 100;

/**
 * Delivers scheduled messages when they are due (docs/contract.md#scheduled-messages). The rows
 * guarantee that each is sent once, whatever the queue does and however many nodes try: under the
 * conversation's lock, only a message that is still scheduled, and due, enters the timeline. A job
 * of the queue may be late or repeated. It delivers the due messages of its conversation, in order,
 * and leaves a job for the first message that remains
 * (DECISIONS.md#order-of-scheduled-messages).
 */
export class ScheduledDelivery {
  readonly #options: Required<ScheduledDeliveryOptions>;

  constructor(options: ScheduledDeliveryOptions) {
    this.#options = { retries: RETRIES, ...options };
  }

  /**
   * Sends the due messages of the conversation that may be sent. For each other message, another
   * attempt or its end is committed when this resolves. Rejects if Postgres is unavailable.
   */
  async deliver({ conversation_id }: ScheduledJob): Promise<void> {
    await this.#deliver(conversation_id, MAX_TOGETHER);
  }

  async #deliver(conversationId: string, limit: number, blamed?: Refusal): Promise<void> {
    const { database, lockedWrites } = this.#options;
    const seen = await database.query(READ_DUE, conversationId, limit);
    const [first] = seen;
    if (first === undefined) {
      await database.transaction(async (tx) => {
        await lockConversations(tx, [conversationId]);
        await leaveDelivery(tx, conversationId);
      });
      return;
    }
    try {
      const admitted = await this.#admit(seen);
      const ended = await lockedWrites.enterWaiting(
        conversationId,
        (tx, conversation) => this.#decide(tx, conversation, admitted, limit, blamed),
        follow,
      );
      this.#measure(ended);
    } catch (error) {
      const known = asUnavailable(error);
      const isRefusal = known instanceof ApiError;
      if (isRefusal && ERRORS[known.condition].transient) {
        await database.transaction((tx) => addDelivery(tx, conversationId, { afterMs: RETRY_MS }));
        return;
      }
      if (blamed !== undefined) throw error;
      // One message is at fault: those before it are sent one by one, until it is the first.
      if (limit > 1) return this.#deliver(conversationId, 1);
      const { id, attempts } = first;
      if (!isRefusal) {
        this.#options.log.error(
          { err: error, message_id: id, conversation_id: conversationId },
          'sending a scheduled message failed',
        );
      }
      await this.#deliver(conversationId, 1, {
        id,
        attempts,
        reason: isRefusal ? known.condition : 'internal_error',
      });
    }
  }

  /** Counts messages against their authors' limits, in order, until a limit is used up. */
  async #admit(seen: readonly DueRow[]): Promise<Admitted> {
    const ids = new Set<string>();
    for (const row of seen) {
      if (isPutOff(row)) break;
      if (row.is_too_late) continue;
      try {
        await this.#options.limiter.consume(row.author_id ?? '');
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return { ids, pauseMs: Math.min((error.retryAfterS ?? 1) * 1_000, MAX_PAUSE_MS) };
      }
      ids.add(row.id);
    }
    return { ids, pauseMs: 0 };
  }

  /**
   * Decides about the messages in order. None is sent after the first that has to wait. Messages
   * that would be refused count an attempt too, so that they do not delay each other one by one.
   */
  async #decide(
    tx: Tx,
    conversation: ConversationRow,
    admitted: Admitted,
    limit: number,
    blamed: Refusal | undefined,
  ): Promise<Plan> {
    const due = await tx.query(LOCK_DUE, conversation.id, limit + 1);
    const authorIds = due.map(({ author_id }) => author_id);
    const authors = await readAuthors(tx, authorIds, conversation.id);
    const ends = { entries: [], late: [], refused: [], failed: [] };
    const plan: Plan = { status: 'scheduled', conversation, ...ends, authors };
    for (const row of due.slice(0, limit)) {
      if (row.is_too_late) {
        plan.late.push(row);
        continue;
      }
      if (plan.next === undefined && (isPutOff(row) || !admitted.ids.has(row.id))) {
        plan.next = { row, afterMs: isPutOff(row) ? row.waits_ms! : admitted.pauseMs };
        break;
      }
      const reason = isSame(blamed, row)
        ? blamed.reason
        : refusalOf(authors.get(row.author_id!), row, conversation)?.condition;
      if (reason !== undefined) this.#refuse(plan, row, reason);
      else if (plan.next === undefined) plan.entries.push({ id: row.id, senderId: row.sender_id });
    }
    const beyond = due[limit];
    if (beyond !== undefined) plan.next ??= { row: beyond, afterMs: 0 };
    return plan;
  }

  #refuse(plan: Plan, row: DueRow, reason: string): void {
    plan.refused.push(row.id);
    const afterMs = delayAfter(this.#options.retries, row.attempts + 1);
    if (afterMs === null) plan.failed.push({ row, reason });
    else plan.next ??= { row, afterMs };
  }

  #measure(ended: Awaited<ReturnType<typeof follow>>): void {
    const { scheduledEnded, scheduledLateness } = this.#options.metrics;
    for (const [result, { length }] of Object.entries(ended)) {
      if (length > 0) scheduledEnded.inc({ result }, length);
    }
    for (const row of ended.sent)
      scheduledLateness.observe(secondsBetween(row.scheduled_at!, row.updated_at));
  }
}

/** A scheduled message that is due. */
interface DueRow extends MessageRow {
  readonly attempts: number;
  readonly is_too_late: boolean;
  /** Milliseconds until it may be tried again; null if it may be now. */
  readonly waits_ms: number | null;
}

/** The messages within the limits of their authors, and the wait of the first beyond them. */
interface Admitted {
  readonly ids: ReadonlySet<string>;
  readonly pauseMs: number;
}

/**
 * A failed attempt, counted as refused, and its condition, which a last attempt's outcome shows.
 */
interface Refusal {
  readonly id: string;
  /** The number of attempts before this one. */
  readonly attempts: number;
  readonly reason: string;
}

/** The decision about the due messages of a conversation. */
interface Plan extends WaitingPlan {
  readonly conversation: ConversationRow;
  readonly entries: WaitingPlan['entries'][number][];
  readonly late: DueRow[];
  /** Ids of the messages that count an attempt, including the last attempt. */
  readonly refused: string[];
  readonly failed: { readonly row: DueRow; readonly reason: string }[];
  readonly authors: ReadonlyMap<string, AuthorRow>;
  /** The first remaining message, and the pause before its next try. */
  next?: { readonly row: DueRow; readonly afterMs: number };
}

/** Returns the messages that are not scheduled any more, by their results. */
async function follow(
  tx: Tx,
  written: readonly CommittedMessage[],
  { conversation, late, refused, failed, authors, next }: Plan,
) {
  const sent = written.map(({ row }) => row);
  await enqueueRowsChanged(tx, 'scheduled.updated', sent);
  for (const message of written) {
    const { visibility, author_id } = message.row;
    if (visibility !== 'external') continue;
    await followExternal(tx, message, authors.get(author_id!)!.customer ? null : author_id);
  }
  await countAttempts(tx, refused, next);
  for (const row of late) await endUnsent(tx, row, 'cancel', 'too_late');
  for (const { row, reason } of failed) await endUnsent(tx, row, 'fail', reason);
  await leaveDelivery(tx, conversation.id, next?.afterMs);
  return { sent, canceled: late, failed };
}

/** Ends it unsent. Readers get the event; the author, who may have left, is notified. */
async function endUnsent(tx: Tx, row: MessageRow, move: 'cancel' | 'fail', reason: string): Promise<void> {
  await conclude(tx, row, move, reason);
  await enqueue(tx, SCHEDULE_NOT_SENT, { message_id: row.id });
}

/**
 * Returns whether the message was refused and waits for its next attempt; it counts no attempt
 * before, whatever becomes due meanwhile.
 */
function isPutOff({ attempts, waits_ms }: DueRow): boolean {
  return attempts > 0 && waits_ms !== null;
}

function isSame(refusal: Refusal | undefined, { id, attempts }: DueRow): refusal is Refusal {
  return refusal?.id === id && refusal.attempts === attempts;
}

function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1_000;
}

/**
 * Due messages of the conversation that still wait, in the order of sending. A message is too late
 * after a day. The time is that of the statement, which an index can find, and which is after the
 * lock of the conversation.
 */
const READ_DUE = statement<[conversationId: string, limit: number], DueRow>('read-due-messages')`
    SELECT ${messageColumns('m')}, m.attempts,
      m.scheduled_at < statement_timestamp() - interval '1 day' AS is_too_late,
      CASE WHEN m.retry_at > clock_timestamp()
        THEN ceil(extract(epoch FROM m.retry_at - clock_timestamp()) * 1000)::int8 END AS waits_ms
    FROM messages m
    WHERE m.conversation_id = $1 AND m.status = 'scheduled' AND m.scheduled_at <= statement_timestamp()
    ORDER BY m.scheduled_at, m.created_at, m.id LIMIT $2`;

/** Like READ_DUE, but locks the rows. */
const LOCK_DUE = statement<[conversationId: string, limit: number], DueRow>('lock-due-messages')`
    ${READ_DUE.text} FOR UPDATE OF m`;
