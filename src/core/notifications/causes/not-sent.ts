import type { Database } from '../../../platform/db/connection/database.ts';
import type { NotSent } from '../../messages/outbox-topics.ts';
import { preview } from '../../resources/notification.ts';
import { type NewNotification, notifyUsers } from '../feed/notify-users.ts';
import { readUnsent, type UnsentRow } from '../feed/store.ts';

/**
 * Notifies the author that a scheduled message was not sent (docs/contract.md#scheduled-messages),
 * in the name of the system: `system.broadcast`. Handles SCHEDULE_NOT_SENT and may be called again
 * for the same row.
 */
export async function notifyNotSent(database: Database, { message_id }: NotSent): Promise<void> {
  const unsent = await readUnsent(database, message_id);
  if (unsent === undefined) return;
  await database.transaction((tx) => notifyUsers(tx, [unsent.author_id], notification(unsent)));
}

function notification({ title, body, ...message }: UnsentRow): NewNotification {
  return {
    account_id: message.account_id,
    category: 'system.broadcast',
    title: `Your scheduled message${title === null ? '' : ` in ${title}`} was not sent`,
    body: body === null ? null : preview(body),
    sender_id: null,
    sender_type: 'system',
    resource: { type: 'entity', id: message.conversation_id },
    // One notification a message: an author gets no other notification of their own message.
    message_id: message.id,
    agent_run_id: null,
    cause: { key: message.id, at: message.notified_at },
  };
}
