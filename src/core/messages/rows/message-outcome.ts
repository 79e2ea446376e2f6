import type { MessageOutcome } from '@parley/protocol/resources/chat-message.ts';
import { MESSAGE_MOVES } from '@parley/protocol/states/message-states.ts';
import { transition } from '@parley/protocol/states/transitions.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { enqueueRowsChanged } from '../../events/changes.ts';
import type { MessageRow } from '../../resources/message.ts';
import { ended, updateMessage } from './message-store.ts';
import { outsideUpdateOf } from './waiting-store.ts';

/**
 * Ends a draft or a scheduled message without sending it, and enqueues the team's event. `row` is
 * locked and current; `reason` becomes part of its outcome. Throws ApiError `resource_conflict` if
 * the status does not allow the move.
 */
export async function conclude(
  tx: Tx,
  row: MessageRow,
  move: 'reject' | 'supersede' | 'cancel' | 'fail',
  reason: string | null = null,
): Promise<MessageRow> {
  const status = transition(MESSAGE_MOVES, move, row.status);
  const concluded = await updateMessage(tx, row, { status, ...ended(status, reason) });
  await enqueueRowsChanged(tx, outsideUpdateOf(row), [row]);
  return concluded;
}

/** Returns the outcome of a message (docs/contract.md#outcomes). A plain message was sent. */
export function outcomeOf({ id, status, created_at, outcome }: MessageRow): MessageOutcome {
  const sent = { result: 'sent', reason: null, at: created_at } as const;
  const known = outcome ?? (status === 'sent' ? sent : { result: null, reason: null, at: null });
  const { result, reason, at } = known;
  return {
    object: 'message_outcome',
    message_id: id,
    status: status as MessageOutcome['status'],
    result,
    reason,
    at,
  };
}
