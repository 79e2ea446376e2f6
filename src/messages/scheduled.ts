import { sql } from 'kysely';
import { enqueueChanged } from '../conversations/outbox-topics.ts';
import type { Tx } from '../db/handle.ts';
import { addJob, removeJob } from '../db/queue.ts';
import { statement } from '../db/statement.ts';
import { defineTopic } from '../db/topic.ts';
import { ApiError } from '../protocol/errors.ts';
import { MESSAGE_MOVES } from '../protocol/states/message-states.ts';
import { transition } from '../protocol/states/transitions.ts';
import { MESSAGE_COLUMNS, type MessageRow } from '../resources/message.ts';
import type { NewMessage } from './insert-messages.ts';
import { insertWaiting } from './insert-waiting.ts';
import { conclude } from './message-outcome.ts';
import { readMessagesByClientId } from './store.ts';

/** The queue's task that delivers one scheduled message (scheduled-delivery.ts). */
export const SEND_SCHEDULED = defineTopic<ScheduledJob>('send_scheduled');

/** A message has at most one waiting job: the job's key is the message's id. */
export interface ScheduledJob {
  readonly message_id: string;
  readonly conversation_id: string;
}

/**
 * Queues a message, checked like any other, for `scheduledAt` (RFC 3339); it gets its number when it is delivered. If
 * its author has a message with the same client_message_id already, that one is returned. Throws ApiError
 * `validation_failed` if the time is not within the coming year by Postgres' clock
 * (docs/contract.md#scheduled-messages).
 */
export async function scheduleMessage(tx: Tx, message: NewMessage, scheduledAt: string): Promise<MessageRow> {
  await requireComing(tx, scheduledAt);
  const status = transition(MESSAGE_MOVES, 'schedule', 'none');
  const row = await insertWaiting(tx, { ...message, kind: 'scheduled' }, { status, scheduledAt });
  if (row === undefined) return findOriginal(tx, message);
  await addDelivery(tx, row, scheduledAt);
  await enqueueScheduleUpdated(tx, row);
  return row;
}

/**
 * Changes the time of a message that still waits (`row` is locked and current); its attempts start again at 0. Throws
 * ApiError `resource_conflict` if it does not wait any more, `validation_failed` as scheduleMessage does.
 */
export async function reschedule(tx: Tx, row: MessageRow, scheduledAt: string): Promise<MessageRow> {
  if (row.status !== 'scheduled') {
    throw new ApiError('resource_conflict', `Cannot reschedule: the status is ${row.status}.`);
  }
  const moved = await tx.kysely
    .updateTable('messages')
    .set({
      scheduled_at: scheduledAt,
      attempts: 0,
      updated_at: sql<string>`later_than(updated_at)`,
      changed_in: sql<string>`pg_current_xact_id()`,
    })
    .where('id', '=', row.id)
    .where('conversation_id', '=', row.conversation_id)
    .where('scheduled_at', 'is distinct from', scheduledAt)
    .returning(MESSAGE_COLUMNS)
    .executeTakeFirst();
  // The time is the same, perhaps in another notation: no change.
  if (moved === undefined) return row;
  await requireComing(tx, scheduledAt);
  await addDelivery(tx, moved, scheduledAt);
  await enqueueScheduleUpdated(tx, moved);
  return moved;
}

/**
 * Cancels a scheduled message (`row` is locked and current). `reason` becomes part of its outcome: null for a person's
 * decision. Throws ApiError `resource_conflict` if it does not wait any more.
 */
export async function cancelScheduled(
  tx: Tx,
  row: MessageRow,
  reason: string | null = null,
): Promise<MessageRow> {
  const canceled = await conclude(tx, row, 'cancel', reason);
  await removeJob(tx, row.id);
  return canceled;
}

/** Schedules the delivery for `at` (ISO 8601; at once if omitted), in place of any earlier job. */
export function addDelivery(
  tx: Tx,
  { id, conversation_id }: Pick<MessageRow, 'id' | 'conversation_id'>,
  runAt?: string,
): Promise<void> {
  const job = { message_id: id, conversation_id };
  return addJob(tx, SEND_SCHEDULED, job, { key: id, ...(runAt !== undefined && { runAt }) });
}

/** `scheduled.updated` (docs/realtime.md#events). */
export function enqueueScheduleUpdated(
  tx: Tx,
  { id, conversation_id: stream }: Pick<MessageRow, 'id' | 'conversation_id'>,
): Promise<void> {
  return enqueueChanged(tx, [{ event: 'scheduled.updated', id, stream }]);
}

async function findOriginal(tx: Tx, message: NewMessage): Promise<MessageRow> {
  const [original] = await readMessagesByClientId(tx, [message]);
  return original!;
}

async function requireComing(tx: Tx, scheduledAt: string): Promise<void> {
  const [found] = await tx.query(READ_IS_COMING, scheduledAt);
  if (found?.is_coming) return;
  throw new ApiError('validation_failed', 'Must be in the future, within a year.', {
    param: 'scheduled_at',
  });
}

const READ_IS_COMING = statement<[scheduledAt: string], { is_coming: boolean }>({
  name: 'read-is-coming',
  text: `
    SELECT $1::timestamptz > clock_timestamp() AND $1::timestamptz <= clock_timestamp() + interval '1 year'
      AS is_coming`,
});
