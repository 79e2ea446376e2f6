import { sql } from 'kysely';
import { MESSAGE_COLUMNS, type MessageRow } from '../conversations/message-rows.ts';
import { enqueueChanged } from '../conversations/outbox-topics.ts';
import type { Tx } from '../db/handle.ts';
import { addJob, removeJob } from '../db/queue.ts';
import { defineTopic } from '../db/topic.ts';
import { ApiError } from '../protocol/errors.ts';
import { MESSAGE_MOVES } from '../protocol/states/message-states.ts';
import { transition } from '../protocol/states/transitions.ts';
import { type NewMessage, READ_BY_CLIENT_ID } from './insert-messages.ts';
import { insertWaiting } from './insert-waiting.ts';
import { conclude } from './message-outcome.ts';

/** A job of the queue: one scheduled message is delivered (scheduled-delivery.ts). */
export const SEND_SCHEDULED = defineTopic<ScheduledJob>('send_scheduled');

/** There is one waiting job a message: its key is the message's id. */
export interface ScheduledJob {
  readonly message_id: string;
  readonly conversation_id: string;
}

/**
 * Queues a message that was checked like any other for `scheduledAt` (RFC 3339); it gets its number when it is
 * delivered. Where its author has one of the same client_message_id already, that one is the answer. Throws
 * ApiError `validation_failed` for a time that is not within the year to come, by Postgres' clock
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
 * Another time for a message that still waits (`row` is locked and as it stands); its attempts begin anew.
 * Throws ApiError `resource_conflict` where it waits no more, `validation_failed` as scheduleMessage does.
 */
export async function reschedule(tx: Tx, row: MessageRow, scheduledAt: string): Promise<MessageRow> {
  if (row.status !== 'scheduled') {
    throw new ApiError('resource_conflict', `Cannot reschedule what is ${row.status}.`);
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
  // The same moment, however it was written: no change.
  if (moved === undefined) return row;
  await requireComing(tx, scheduledAt);
  await addDelivery(tx, moved, scheduledAt);
  await enqueueScheduleUpdated(tx, moved);
  return moved;
}

/**
 * It is not sent any more (`row` is locked and as it stands). `reason` is for its outcome: null where somebody
 * wanted it so. Throws ApiError `resource_conflict` where it waits no more.
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

/** Has it delivered at that time (ISO 8601; without: at once), whatever was planned before. */
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
  const { conversation_id, author_id, client_message_id } = message;
  const [original] = await tx.query<MessageRow>(READ_BY_CLIENT_ID, [
    JSON.stringify([{ conversation_id, author_id, client_message_id }]),
  ]);
  return original!;
}

async function requireComing(tx: Tx, scheduledAt: string): Promise<void> {
  const [found] = await tx.query<{ is_coming: boolean }>(READ_IS_COMING, [scheduledAt]);
  if (found?.is_coming) return;
  throw new ApiError('validation_failed', 'Must be in the future, within a year.', {
    param: 'scheduled_at',
  });
}

const READ_IS_COMING = {
  name: 'read-is-coming',
  text: `
    SELECT $1::timestamptz > clock_timestamp() AND $1::timestamptz <= clock_timestamp() + interval '1 year'
      AS is_coming`,
};
