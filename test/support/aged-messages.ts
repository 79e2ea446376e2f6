import type { Db } from '../../src/platform/db/connection/handle.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';

/**
 * Makes messages of a conversation and their notifications this many days older: the messages up to
 * this number and those without a number.
 */
export async function ageMessages(
  db: Db,
  conversationId: string,
  days: number,
  through = Number.MAX_SAFE_INTEGER,
): Promise<void> {
  await db.query(AGE, conversationId, days, through);
}

// The ids of notifications contain the moment of their message.
const AGE = statement<[conversationId: string, days: number, through: number]>('test-age')`
    WITH aged AS (
      SELECT m.id, moment_of(m) AS before, moment_of(m) - make_interval(days => $2::int) AS after FROM messages m
      WHERE m.conversation_id = $1 AND coalesce(m.sequence, 0) <= $3 AND m.status <> 'scheduled'
    ), moved AS (
      UPDATE notifications n SET id = notification_id(a.after, a.id, n.recipient_id), created_at = a.after
      FROM aged a WHERE n.id = notification_id(a.before, a.id, n.recipient_id)
    )
    UPDATE messages m SET created_at = m.created_at - make_interval(days => $2::int), notified_at = a.after
    FROM aged a WHERE m.id = a.id`;
