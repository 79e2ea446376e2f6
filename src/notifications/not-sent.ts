import type { Db } from '../db/handle.ts';
import type { Engine } from '../engine/engine.ts';
import { publish } from '../engine/publish.ts';
import type { NotSent } from '../messages/outbox-topics.ts';
import { notificationEvent } from '../resources/notification.ts';
import { preview } from '../resources/preview.ts';
import type { NewNotification } from './notify.ts';
import { insertNotifications, readUnsent, type UnsentRow } from './store.ts';

/**
 * Notifies the author that a scheduled message was not sent (docs/contract.md#scheduled-messages), in the name of the
 * system: `system.broadcast`. Handles SCHEDULE_NOT_SENT and may be called again for the same row. Rejects if
 * publishing failed on some node.
 */
export async function notifyNotSent(db: Db, engine: Engine, { message_id }: NotSent): Promise<void> {
  const unsent = await readUnsent(db, message_id);
  if (unsent === undefined) return;
  const rows = await insertNotifications(db, [notification(unsent)]);
  await Promise.all(rows.map((row) => publish(engine, notificationEvent('notification.created', row))));
}

function notification({ title, body, ...message }: UnsentRow): NewNotification {
  return {
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
    cause: { key: message.id, at: message.notified_at },
  };
}
