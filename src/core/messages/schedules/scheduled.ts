import { ApiError } from '@parley/protocol/errors/errors.ts';
import { MESSAGE_MOVES } from '@parley/protocol/states/message-states.ts';
import { transition } from '@parley/protocol/states/transitions.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { requireComing } from '../../conversations/participants/own-state.ts';
import { shareConversation } from '../../conversations/rows/conversation-store.ts';
import { enqueueRowsChanged } from '../../events/changes.ts';
import type { MessageRow } from '../../resources/message.ts';
import { conclude } from '../rows/message-outcome.ts';
import { readOriginal } from '../rows/message-store.ts';
import type { NewMessage } from '../rows/new-message.ts';
import { insertWaiting } from '../rows/waiting-store.ts';
import { addDelivery, updateSchedule } from './schedule-store.ts';

/**
 * Queues a message, checked like any other, for `scheduledAt` (RFC 3339); it gets its number when
 * it is delivered. Returns the author's message with the same client_message_id if there is one.
 * Throws ApiError `validation_failed` if the time is not within the coming year by Postgres' clock
 * (docs/contract.md#scheduled-messages).
 */
export async function scheduleMessage(tx: Tx, message: NewMessage, scheduledAt: string): Promise<MessageRow> {
  // A delivery locks the conversation too, so everything that it sends is due before this message.
  await shareConversation(tx, message.conversation_id);
  await requireComing(tx, scheduledAt, 'scheduled_at');
  const status = transition(MESSAGE_MOVES, 'schedule', 'none');
  const row = await insertWaiting(
    tx,
    { ...message, kind: 'scheduled' },
    { status, scheduled_at: scheduledAt },
  );
  if (row === undefined) return (await readOriginal(tx, message))!;
  await addDelivery(tx, row.conversation_id, { runAt: scheduledAt });
  await enqueueRowsChanged(tx, 'scheduled.updated', [row]);
  return row;
}

/**
 * Changes the time of a message that still waits (`row` and its conversation are locked) and resets
 * its attempts to 0. Throws ApiError `resource_conflict` if it does not wait any more,
 * `validation_failed` like scheduleMessage.
 */
export async function reschedule(tx: Tx, row: MessageRow, scheduledAt: string): Promise<MessageRow> {
  if (row.status !== 'scheduled') {
    throw new ApiError('resource_conflict', `Cannot reschedule: the status is ${row.status}.`);
  }
  const moved = await updateSchedule(tx, row, scheduledAt);
  // The time is the same, perhaps in another notation.
  if (moved === undefined) return row;
  await requireComing(tx, scheduledAt, 'scheduled_at');
  await addDelivery(tx, moved.conversation_id, { runAt: scheduledAt });
  await enqueueRowsChanged(tx, 'scheduled.updated', [moved]);
  return moved;
}

/**
 * Cancels a scheduled message (`row` is locked and current). `reason` becomes part of its outcome,
 * null for a person's decision. Throws ApiError `resource_conflict` if it does not wait any more.
 */
export function cancelScheduled(tx: Tx, row: MessageRow, reason: string | null = null): Promise<MessageRow> {
  return conclude(tx, row, 'cancel', reason);
}
