import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { ConversationRead } from '../conversations/outbox-topics.ts';
import { IS_MEMBER } from '../resources/participant.ts';
import { type Pending, unreadOf } from './pending-store.ts';

/**
 * Moves the actor's positions, in conversations in which it has something unread, to the highest
 * number that it may see. Returns those that moved.
 */
export function moveAllPositions(
  tx: Tx,
  actorId: string,
  pending: Pending,
  forCustomer: boolean,
): Promise<ConversationRead[]> {
  return tx.query(MOVE_ALL, actorId, pending.ids, unreadOf(pending), forCustomer);
}

// Locked in one fixed order, so that two such transactions cannot deadlock.
const MOVE_ALL = statement<
  [actorId: string, pendingIds: readonly string[], unreadIds: readonly string[], forCustomer: boolean],
  ConversationRead
>({
  name: 'move-all-read-positions',
  text: `
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
    RETURNING p.conversation_id, p.actor_id, due.after, due.sequence AS through`,
});
