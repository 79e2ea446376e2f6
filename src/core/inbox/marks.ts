import { ApiError } from '../../contract/protocol/errors.ts';
import type { Principal } from '../../platform/access/principal.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { enqueue } from '../../platform/db/queue/outbox.ts';
import { readHeadOfReader } from '../conversations/conversation-store.ts';
import { lockOwnParticipant } from '../conversations/locked-conversation.ts';
import { CONVERSATIONS_READ, type ConversationRead } from '../conversations/outbox-topics.ts';
import type { MarkedRead } from '../conversations/own-state.ts';
import { writeReadPosition } from '../conversations/participant-store.ts';
import { moveAllPositions } from './mark-store.ts';
import { readPending } from './pending-store.ts';

/**
 * Moves the caller's read position back before a message (docs/contract.md#own-state); one that is
 * there, or farther back, stays. Notifications that were read stay so. Throws as `markRead` does.
 */
export async function markUnread(
  tx: Tx,
  principal: Principal,
  conversationId: string,
  sequence: number,
): Promise<MarkedRead> {
  const { conversation, own } = await lockOwnParticipant(tx, principal, conversationId);
  if (sequence > (await readHeadOfReader(tx, conversationId, principal.customer))) {
    throw new ApiError('validation_failed', 'There is no such message yet.', { param: 'sequence' });
  }
  if (sequence > own.read_sequence) return { conversation, movedAt: undefined };
  return { conversation, movedAt: await writeReadPosition(tx, own.id, sequence - 1) };
}

/**
 * Moves the caller's read position to the end of every conversation in which it has something
 * unread. The notifications of a user follow the commit. Returns the positions that moved.
 */
export async function markAllRead(tx: Tx, principal: Principal): Promise<readonly ConversationRead[]> {
  const { actor, customer } = principal;
  const pending = await readPending(tx, principal, 'own');
  const moved = await moveAllPositions(tx, actor.id, pending, customer);
  if (actor.type === 'user' && !customer) {
    for (let start = 0; start < moved.length; start += POSITIONS_AT_ONCE) {
      await enqueue(tx, CONVERSATIONS_READ, { read: moved.slice(start, start + POSITIONS_AT_ONCE) });
    }
  }
  return moved;
}

/** Positions in one row of the outbox. */
const POSITIONS_AT_ONCE = 100;
