import type { Transaction } from 'kysely';
import type { Principal } from '../access/principal.ts';
import type { Schema } from '../db/schema.ts';
import { within } from '../db/statement.ts';
import type { Engine } from '../engine/engine.ts';
import { publish } from '../engine/publish.ts';
import type { Read } from '../protocol/activity.ts';
import { ApiError } from '../protocol/errors.ts';
import { MEMBERSHIP_MOVES } from '../protocol/membership.ts';
import { after } from '../protocol/transitions.ts';
import { tellChanged } from './changed.ts';
import type { ConversationRow } from './create.ts';
import { writeParticipant } from './participants.ts';
import { lockOwnParticipant } from './standing.ts';

/**
 * Hides the conversation from the caller's list, or shows it again (specification, conversation_participant
 * `membership`); it stays a member. Throws `resource_not_found`, or `resource_conflict` for who is in it by
 * its role in the account alone.
 */
export async function setHidden(
  tx: Transaction<Schema>,
  principal: Principal,
  conversationId: string,
  move: 'hide' | 'unhide',
): Promise<ConversationRow> {
  const { conversation, own } = await lockOwnParticipant(tx, principal, conversationId);
  const membership = after(MEMBERSHIP_MOVES, move, own.membership);
  if (membership !== own.membership) {
    await writeParticipant(tx, own.id, { membership });
    await tellChanged(tx, [{ event: 'participant.updated', id: own.id, stream: conversationId }]);
  }
  return conversation;
}

export interface MarkedRead {
  readonly conversation: ConversationRow;
  /** When the caller's read position moved, by Postgres' clock; undefined where it was there or further. */
  readonly movedAt: string | undefined;
}

/**
 * Moves the caller's read position forward, never back (design.md section 7, unread): up to the highest number
 * that it may see. Throws as setHidden, and `validation_failed` (param sequence) beyond that.
 */
export async function markRead(
  tx: Transaction<Schema>,
  principal: Principal,
  conversationId: string,
  sequence: number,
): Promise<MarkedRead> {
  const { conversation, own } = await lockOwnParticipant(tx, principal, conversationId);
  if (sequence <= own.read_sequence) return { conversation, movedAt: undefined };
  const statements = within(tx);
  const [row] = await statements.query<{ head: number }>(READ_VISIBLE_HEAD, [
    conversationId,
    principal.customer,
  ]);
  if (sequence > (row?.head ?? 0)) {
    throw new ApiError('validation_failed', 'There is no such message yet.', { param: 'sequence' });
  }
  const [moved] = await statements.query<{ at: string }>(MOVE_POSITION, [own.id, sequence]);
  return { conversation, movedAt: moved?.at };
}

/** Ephemeral: who misses it sees the position move with the next one (realtime.md section 3). */
export function tellRead(engine: Engine, conversationId: string, data: Read, at: string): void {
  publish(engine, {
    event: 'read',
    stream: conversationId,
    conversationId,
    sequence: 0,
    resource: data.actor_id,
    at,
    team: data,
    customer: undefined,
  }).catch(() => {});
}

const READ_VISIBLE_HEAD = {
  name: 'read-head-of-reader',
  text: `
    SELECT sequence AS head FROM messages
    WHERE conversation_id = $1 AND sequence IS NOT NULL
      AND (NOT $2::boolean OR (status = 'sent' AND visibility <> 'internal'))
    ORDER BY sequence DESC LIMIT 1`,
};

// Not a change of what others are shown of the participant: nothing is streamed again.
const MOVE_POSITION = {
  name: 'move-read-position',
  text: 'UPDATE participants SET read_sequence = $2 WHERE id = $1 RETURNING clock_timestamp() AS at',
};
