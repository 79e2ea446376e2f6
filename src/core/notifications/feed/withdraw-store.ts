import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import type { NotificationKey } from './notify-users.ts';

/** Withdraws a deleted message's notifications. Every function here returns the withdrawn ones. */
export function withdrawOfMessage(
  tx: Tx,
  messageId: string,
  conversationId: string,
): Promise<NotificationKey[]> {
  return tx.query(WITHDRAW_OF_MESSAGE, messageId, conversationId);
}

/** Withdraws up to `limit` notifications of participants of a conversation. */
export function withdrawAbout(tx: Tx, conversationId: string, limit: number): Promise<NotificationKey[]> {
  return tx.query(WITHDRAW_ABOUT, conversationId, limit);
}

/**
 * Withdraws the notifications of a category for this subject (notify-users.ts), `except` those
 * whose cause became true at that time.
 */
export function withdrawOfSubject(
  tx: Tx,
  subject: string,
  category: string,
  except: string | null = null,
): Promise<NotificationKey[]> {
  return tx.query(WITHDRAW_OF_SUBJECT, subject, category, except);
}

/**
 * SQL: clears and dismisses the notifications that `which` (FROM and WHERE) finds as `o`, locked in
 * the order of the primary key.
 */
function withdrawing(which: string, limit = ''): string {
  return `
    UPDATE notifications n
    SET body = NULL, status = 'dismissed', dismissed_at = coalesce(n.dismissed_at, clock_timestamp()),
      ${setTouched('later_than(n.updated_at)')}
    FROM (
      SELECT o.recipient_id, o.id ${which} AND (o.body IS NOT NULL OR o.status <> 'dismissed')
      ORDER BY o.recipient_id, o.id ${limit} FOR UPDATE OF o
    ) AS due
    WHERE n.recipient_id = due.recipient_id AND n.id = due.id
    RETURNING n.id, n.recipient_id`;
}

const WITHDRAW_OF_MESSAGE = statement<[messageId: string, conversationId: string], NotificationKey>(
  'withdraw-notifications-of-message',
)(
  withdrawing(`FROM messages m JOIN participants p ON p.conversation_id = m.conversation_id
      JOIN notifications o ON o.recipient_id = p.actor_id AND o.id = notification_id(moment_of(m), m.id, p.actor_id)
      WHERE m.id = $1 AND m.conversation_id = $2`),
);

// Every recipient is, or was, a participant.
const WITHDRAW_ABOUT = statement<[conversationId: string, limit: number], NotificationKey>(
  'withdraw-notifications-about-conversation',
)(
  withdrawing(
    `FROM participants p JOIN notifications o ON o.recipient_id = p.actor_id
      WHERE p.conversation_id = $1 AND o.resource_id = $1`,
    'LIMIT $2',
  ),
);

const WITHDRAW_OF_SUBJECT = statement<
  [subject: string, category: string, except: string | null],
  NotificationKey
>('withdraw-notifications-of-subject')(
  withdrawing(`FROM notifications o WHERE o.subject = $1 AND o.category = $2
      AND ($3::timestamptz IS NULL OR o.created_at <> $3)`),
);
