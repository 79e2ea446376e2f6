import type { Db } from '../db/handle.ts';
import { statement } from '../db/statement.ts';
import type { Engine } from '../engine/engine.ts';
import { publish } from '../engine/publish.ts';
import type { NotSent } from '../messages/outbox-topics.ts';
import { newId } from '../protocol/ids.ts';
import { notificationEvent } from '../resources/notification.ts';
import { type NewNotification, preview } from './notify.ts';
import { insertNotifications } from './store.ts';

/**
 * Notifies the author that a scheduled message was not sent (docs/contract.md#scheduled-messages), in the name of the
 * system: `system.broadcast`. Handles SCHEDULE_NOT_SENT and may be called again for the same row. Rejects if
 * publishing failed on some node.
 */
export async function notifyNotSent(db: Db, engine: Engine, { message_id }: NotSent): Promise<void> {
  const [unsent] = await db.query(READ_UNSENT, message_id);
  if (unsent === undefined) return;
  const rows = await insertNotifications(db, [notification(unsent)]);
  await Promise.all(rows.map((row) => publish(engine, notificationEvent('notification.created', row))));
}

interface Unsent {
  readonly id: string;
  readonly account_id: string;
  readonly conversation_id: string;
  readonly author_id: string;
  readonly body: string | null;
  readonly title: string | null;
}

function notification({ title, body, ...message }: Unsent): NewNotification {
  return {
    id: newId('notification'),
    account_id: message.account_id,
    recipient_id: message.author_id,
    category: 'system.broadcast',
    title: `Your scheduled message${title === null ? '' : ` in ${title}`} was not sent`,
    body: body === null ? null : preview(body),
    sender_id: null,
    sender_type: 'system',
    resource_id: message.conversation_id,
    // One notification a message: an author gets no other notification of their own message.
    message_id: message.id,
  };
}

/** Only users of the account get notifications. */
const READ_UNSENT = statement<[messageId: string], Unsent>({
  name: 'read-unsent-message',
  text: `
    SELECT m.id, m.account_id, m.conversation_id, m.author_id, m.body, c.title
    FROM messages m
    JOIN conversations c ON c.id = m.conversation_id
    JOIN actors a ON a.id = m.author_id AND a.type = 'user' AND NOT a.customer
    WHERE m.id = $1`,
});
