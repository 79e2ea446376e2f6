import { type RawBuilder, sql } from 'kysely';
import { outsideUpdateOf } from '../conversations/message-events.ts';
import { MESSAGE_COLUMNS, type MessageRow } from '../conversations/message-rows.ts';
import { enqueueChanged } from '../conversations/outbox-topics.ts';
import type { Tx } from '../db/handle.ts';
import type { MessageOutcome } from '../protocol/resources/message-outcome.ts';
import { MESSAGE_MOVES } from '../protocol/states/message-states.ts';
import { transition } from '../protocol/states/transitions.ts';

/** The moves that end a message outside the timeline. */
export type EndingMove = 'reject' | 'supersede' | 'cancel' | 'fail';

/**
 * Ends a draft or a scheduled message without sending it, and tells the team. `row` is locked and as it
 * stands; `reason` is for who asks for its outcome. Throws ApiError `resource_conflict` where its status has no
 * such move.
 */
export async function conclude(
  tx: Tx,
  row: MessageRow,
  move: EndingMove,
  reason: string | null = null,
): Promise<MessageRow> {
  const status = transition(MESSAGE_MOVES, move, row.status);
  const concluded = await tx.kysely
    .updateTable('messages')
    .set({
      status,
      outcome: ended(status, reason),
      updated_at: sql<string>`later_than(updated_at)`,
      changed_in: sql<string>`pg_current_xact_id()`,
    })
    .where('id', '=', row.id)
    .where('conversation_id', '=', row.conversation_id)
    .returning(MESSAGE_COLUMNS)
    .executeTakeFirstOrThrow();
  const { id, conversation_id: stream } = row;
  await enqueueChanged(tx, [{ event: outsideUpdateOf(row), id, stream }]);
  return concluded;
}

/** What became of a message (docs/contract.md#outcomes): of a plain one, that it was sent. */
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

/**
 * SQL of the `at` of an outcome that is reached now, as a JSON object: `||` adds it to `result` and `reason`. In the form
 * in which columns with a time are read.
 */
export const REACHED_NOW = `jsonb_build_object('at',
          to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))`;

function ended(result: string, reason: string | null): RawBuilder<string> {
  return sql<string>`${JSON.stringify({ result, reason })}::jsonb || ${sql.raw(REACHED_NOW)}`;
}
