import type { Tx } from '../../../platform/db/connection/handle.ts';
import { enqueueChanged } from '../../events/changes.ts';
import { insertNotifications, type NewNotification, type NotificationKey } from '../feed/insert-store.ts';

/**
 * Notifies users of one cause, which is not a message in the timeline: those are notified of with
 * the message (core/messages/timeline/planned-notifications.ts). Recipients that are no active
 * users of the account are left out. Each is notified once, however often this is called for the
 * cause. `notification.created` follows the commit. Returns the keys of the notifications that are
 * new.
 */
export async function notifyUsers(
  tx: Tx,
  recipientIds: readonly string[],
  notification: NewNotification,
): Promise<NotificationKey[]> {
  const made: NotificationKey[] = [];
  // In one order, so that two transactions with the same recipients cannot deadlock.
  const recipients = [...new Set(recipientIds)].sort();
  for (let start = 0; start < recipients.length; start += RECIPIENTS_AT_ONCE) {
    const some = recipients.slice(start, start + RECIPIENTS_AT_ONCE);
    const rows = await insertNotifications(tx, some, notification);
    await enqueueChanged(
      tx,
      rows.map(({ id, recipient_id: stream }) => ({ event: 'notification.created', id, stream })),
    );
    made.push(...rows);
  }
  return made;
}

const RECIPIENTS_AT_ONCE = 500;
