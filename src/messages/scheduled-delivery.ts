import type { Database } from '../db/database.ts';
import type { Tx } from '../db/handle.ts';
import { enqueue } from '../db/outbox.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { ApiError, ERRORS } from '../protocol/errors.ts';
import type { MessageRow } from '../resources/message.ts';
import { followExternal } from './external-message.ts';
import type { LockedWrites } from './locked-write.ts';
import { conclude } from './message-outcome.ts';
import { SCHEDULE_NOT_SENT } from './outbox-topics.ts';
import { asUnavailable, type CommittedMessage } from './outgoing.ts';
import {
  type DueRow,
  hasLost,
  lockDue,
  lockLost,
  readDue,
  readLater,
  type ScheduledJob,
  updateAttempts,
} from './schedule-store.ts';
import { addDelivery, cancelScheduled, enqueueScheduleUpdated } from './scheduled.ts';
import { requireAuthor } from './scheduled-author.ts';

export interface ScheduledDeliveryOptions {
  readonly database: Database;
  readonly lockedWrites: Pick<LockedWrites, 'enter'>;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Returns the pause after the nth refusal, in milliseconds. Default: one second, doubled each time. */
  readonly backoffMs?: (attempts: number) => number;
}

/** Number of refusals that end a message (docs/contract.md#scheduled-messages). */
const MAX_ATTEMPTS = 5;

/** Pause before a retry while Postgres or the counters are unavailable, which does not count as a refusal. */
const RETRY_MS = 1_000;

const MAX_LOST = 100;

/**
 * Delivers scheduled messages when they are due (docs/contract.md#scheduled-messages). The row guarantees that each is
 * sent once, whatever the queue does and however many nodes try: under the conversation's lock, only a message that is
 * still scheduled, and due, enters the timeline. The queue's jobs are reminders, and may be lost, late or duplicated.
 */
export class ScheduledDelivery {
  readonly #options: Required<ScheduledDeliveryOptions>;

  constructor(options: ScheduledDeliveryOptions) {
    this.#options = { backoffMs: (attempts) => 1_000 * 2 ** (attempts - 1), ...options };
  }

  /**
   * Sends the message if it is due and may still be sent. Otherwise another attempt, or the message's end, is
   * committed when this resolves. Rejects if Postgres is unavailable.
   */
  async deliver(job: ScheduledJob): Promise<void> {
    const { database, lockedWrites, metrics } = this.#options;
    const seen = await readDue(database, job);
    if (seen === undefined) return;
    if (seen.is_too_late) {
      await this.#cancelLate(job, seen);
      return;
    }
    try {
      const { row } = await lockedWrites.enter(
        job.conversation_id,
        async (tx, conversation) => {
          const due = await lockUnchanged(tx, job, seen);
          if (due === undefined) throw new NothingToDo();
          const { customer: byCustomer } = await requireAuthor(tx, due, conversation);
          return { kind: 'waiting', id: due.id, status: 'scheduled', senderId: due.sender_id, byCustomer };
        },
        (tx, written, { byCustomer }) => followDelivery(tx, written, byCustomer),
      );
      metrics.scheduledEnded.inc({ result: 'sent' });
      metrics.scheduledLateness.observe(secondsBetween(row.scheduled_at!, row.updated_at));
    } catch (error) {
      if (error instanceof NothingToDo) return;
      await this.#notSent(job, seen, error);
    }
  }

  /**
   * Delivers messages whose job was lost, with a killed node or otherwise, a bounded number at a time. Returns the
   * number found.
   */
  async recoverLost(): Promise<number> {
    const { database } = this.#options;
    if (!(await hasLost(database))) return 0;
    return database.transaction(async (tx) => {
      const lost = await lockLost(tx, MAX_LOST);
      for (const row of lost) await addDelivery(tx, row);
      return lost.length;
    });
  }

  async #notSent(job: ScheduledJob, seen: DueRow, error: unknown): Promise<void> {
    const { database, log } = this.#options;
    const known = asUnavailable(error);
    if (known instanceof ApiError && ERRORS[known.condition].transient) {
      await database.transaction((tx) => addLater(tx, job, RETRY_MS));
      return;
    }
    if (!(known instanceof ApiError)) log.error({ err: error, ...job }, 'sending a scheduled message failed');
    await this.#refused(job, seen, known instanceof ApiError ? known.condition : 'internal_error');
  }

  async #cancelLate(job: ScheduledJob, seen: DueRow): Promise<void> {
    const { database, metrics } = this.#options;
    const canceled = await database.transaction(async (tx) => {
      const row = await lockUnchanged(tx, job, seen);
      if (row === undefined) return undefined;
      await enqueueNotSent(tx, job);
      return cancelScheduled(tx, row, 'too_late');
    });
    if (canceled !== undefined) metrics.scheduledEnded.inc({ result: canceled.status });
  }

  async #refused(job: ScheduledJob, seen: DueRow, reason: string): Promise<void> {
    const { database, metrics, backoffMs } = this.#options;
    const attempts = seen.attempts + 1;
    const failed = await database.transaction(async (tx) => {
      const row = await lockUnchanged(tx, job, seen);
      if (row === undefined) return undefined;
      await updateAttempts(tx, row, attempts);
      if (attempts < MAX_ATTEMPTS) {
        await addLater(tx, job, backoffMs(attempts));
        return undefined;
      }
      await enqueueNotSent(tx, job);
      return conclude(tx, row, 'fail', reason);
    });
    if (failed !== undefined) metrics.scheduledEnded.inc({ result: failed.status });
  }
}

/** The message was canceled, moved or sent meanwhile, and the transaction that did so has completed the rest. */
class NothingToDo extends Error {}

async function followDelivery(tx: Tx, written: CommittedMessage, byCustomer: boolean): Promise<void> {
  const { row } = written;
  await enqueueScheduleUpdated(tx, row);
  if (row.visibility !== 'external') return;
  if (byCustomer) await followExternal(tx, written, 'customer_wrote', null);
  else await followExternal(tx, written, 'reply_sent', row.author_id);
}

/**
 * The event reaches readers of the conversation. The author may not be among them any more, and gets a notification.
 */
function enqueueNotSent(tx: Tx, { message_id }: ScheduledJob): Promise<void> {
  return enqueue(tx, SCHEDULE_NOT_SENT, { message_id });
}

async function addLater(tx: Tx, job: ScheduledJob, delayMs: number): Promise<void> {
  const at = await readLater(tx, delayMs);
  await addDelivery(tx, { id: job.message_id, conversation_id: job.conversation_id }, at);
}

/** Returns undefined if another node has sent it or counted the attempt, or the schedule is another one by now. */
async function lockUnchanged(tx: Tx, job: ScheduledJob, seen: DueRow): Promise<MessageRow | undefined> {
  const row = await lockDue(tx, job);
  const isSame = row?.attempts === seen.attempts && row.scheduled_at === seen.scheduled_at;
  return isSame ? row : undefined;
}

function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1_000;
}
