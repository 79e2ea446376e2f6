import type { Database } from '../../../platform/db/connection/database.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { NotSent } from '../../messages/outbox-topics.ts';
import type { MessageRow } from '../../resources/message.ts';
import { preview } from '../../resources/notification.ts';
import { type NewNotification, notifyUsers } from '../feed/notify-users.ts';

/**
 * Notifies the author that a scheduled message was not sent (docs/contract.md#scheduled-messages),
 * as the system: `system.broadcast`. Handles SCHEDULE_NOT_SENT; may be called again for a row.
 */
export async function notifyNotSent(database: Database, { message_id }: NotSent): Promise<void> {
  const [unsent] = await database.query(READ_UNSENT, message_id);
  if (unsent === undefined) return;
  const { id, account_id, conversation_id, title } = unsent;
  const notification: NewNotification = {
    account_id,
    category: 'system.broadcast',
    title: `Your scheduled message${title === null ? '' : ` in ${title}`} was not sent`,
    body: preview(unsent),
    sender_id: null,
    sender_type: 'system',
    resource: { type: 'entity', id: conversation_id },
    // This is the only notification that an author gets of their own message.
    message_id: id,
    cause: { key: id, at: unsent.notified_at },
  };
  await database.transaction((tx) => notifyUsers(tx, [unsent.author_id], notification));
}

interface UnsentRow extends Pick<MessageRow, 'id' | 'account_id' | 'conversation_id' | 'kind' | 'body'> {
  readonly author_id: string;
  readonly title: string | null;
  /** When the schedule ended. */
  readonly notified_at: string;
}

// Excludes authors that are not users of the account.
const READ_UNSENT = statement<[messageId: string], UnsentRow>('read-unsent-message')`
    SELECT m.id, m.account_id, m.conversation_id, m.author_id, m.kind, m.body, c.title, m.notified_at
    FROM messages m
    JOIN conversations c ON c.id = m.conversation_id
    JOIN actors a ON a.id = m.author_id AND a.type = 'user' AND NOT a.customer
    WHERE m.id = $1 AND m.notified_at IS NOT NULL`;
