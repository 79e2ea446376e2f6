import type { Principal } from '../../api/access/principal.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { enqueue } from '../../platform/db/queue/outbox.ts';
import { CONVERSATIONS_READ, type ConversationRead } from '../conversations/outbox-topics.ts';
import { type MarkedRead, requireThere } from '../conversations/participants/own-state.ts';
import { lockOwnParticipant } from '../conversations/rows/locked-conversation.ts';
import { writeOwnState } from '../conversations/rows/participant-store.ts';
import { IS_MEMBER } from '../resources/membership.ts';
import { readPending, unreadOf } from './pending-store.ts';

/**
 * Moves the caller's read position back to before a message (docs/contract.md#own-state), never
 * forward. Notifications that were read stay read. Throws as `markRead` does.
 */
export async function markUnread(
  tx: Tx,
  principal: Principal,
  conversationId: string,
  sequence: number,
): Promise<MarkedRead> {
  const { conversation, own } = await lockOwnParticipant(tx, principal, conversationId);
  await requireThere(tx, principal, conversationId, sequence);
  if (sequence > own.read_sequence) return { conversation, movedAt: undefined };
  return { conversation, movedAt: await writeOwnState(tx, own.id, { read_sequence: sequence - 1 }) };
}

/**
 * Moves the caller's read position to the end of every conversation with something unread; its
 * notifications follow the commit. Returns the positions that moved.
 */
export async function markAllRead(tx: Tx, principal: Principal): Promise<readonly ConversationRead[]> {
  const { actor, customer } = principal;
  const pending = await readPending(tx, principal, 'own');
  const moved = await tx.query(MOVE_ALL, actor.id, pending.ids, unreadOf(pending), customer);
  if (actor.type === 'user' && !customer) {
    for (let start = 0; start < moved.length; start += POSITIONS_AT_ONCE) {
      await enqueue(tx, CONVERSATIONS_READ, { read: moved.slice(start, start + POSITIONS_AT_ONCE) });
    }
  }
  return moved;
}

/** The number of positions in one row of the outbox. */
const POSITIONS_AT_ONCE = 100;

// Rows are locked in a fixed order, so that two such transactions cannot deadlock.
const MOVE_ALL = statement<
  [actorId: string, pendingIds: readonly string[], unreadIds: readonly string[], forCustomer: boolean],
  ConversationRead
>('move-all-read-positions')`
    WITH candidates AS (
      SELECT conversation_id FROM inbox_rows WHERE actor_id = $1 AND is_unread AND conversation_id <> ALL($2::text[])
      UNION ALL
      SELECT unnest($3::text[])
    ), due AS MATERIALIZED (
      SELECT p.id, p.read_sequence AS after, head.sequence
      FROM candidates k
        CROSS JOIN LATERAL (
          SELECT * FROM participants
          WHERE conversation_id = k.conversation_id AND actor_id = $1 AND ${IS_MEMBER} OFFSET 0
        ) p
        CROSS JOIN LATERAL (
          SELECT m.sequence FROM messages m
          WHERE m.conversation_id = p.conversation_id AND m.sequence > p.read_sequence AND m.status = 'sent'
            AND (NOT $4::boolean OR m.visibility <> 'internal')
          ORDER BY m.sequence DESC LIMIT 1
        ) head
      ORDER BY p.id
    ), locked AS MATERIALIZED (
      SELECT id FROM participants WHERE id = ANY(ARRAY(SELECT id FROM due)) ORDER BY id FOR UPDATE
    )
    UPDATE participants p SET read_sequence = due.sequence
    FROM due JOIN locked USING (id)
    WHERE p.id = due.id AND p.read_sequence < due.sequence
    RETURNING p.conversation_id, p.actor_id, due.after, due.sequence AS through`;
