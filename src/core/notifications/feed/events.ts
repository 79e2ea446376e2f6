import type { Db } from '../../../platform/db/connection/handle.ts';
import { eventSource } from '../../events/event-source.ts';
import { type NotificationRow, notificationEvent, readNotifications } from '../../resources/notification.ts';
import { reachesSockets, readSettings } from '../settings/settings.ts';
import { missedNotifications, readChanged } from './store.ts';

/** Notifications on their recipients' own feeds. The code that inserts new ones publishes them. */
export const notificationEvents = eventSource({
  events: ['notification.created', 'notification.updated'],
  async read({ database }, changes) {
    const keys = changes.map(({ id, stream }) => ({ recipient_id: stream, id }));
    const rows = await readNotifications(database, keys);
    const event = changes[0]!.event;
    const shown = event === 'notification.created' ? await onSockets(database, rows) : rows;
    return shown.map((row) => notificationEvent(event, row));
  },
  changed: {
    actor: {
      arm: {
        part: 'notifications',
        rows: `${missedNotifications('s.id', { xid: '$3', began: '$5' })} AS n`,
      },
      async since({ database }, recipientIds, since) {
        const rows = await readChanged(database, recipientIds, since);
        return rows.map((row) => {
          const isNew = row.updated_at === row.created_at;
          return notificationEvent(isNew ? 'notification.created' : 'notification.updated', row);
        });
      },
    },
  },
});

/** Returns the notifications whose recipients do not keep the category off their sockets. */
async function onSockets(db: Db, rows: readonly NotificationRow[]): Promise<readonly NotificationRow[]> {
  const recipients = [...new Set(rows.map((row) => row.recipient_id))];
  const settings = new Map((await readSettings(db, recipients)).map((row) => [row.actor_id, row]));
  return rows.filter(({ recipient_id, category }) => {
    const ofRecipient = settings.get(recipient_id);
    return ofRecipient === undefined || reachesSockets(ofRecipient, category);
  });
}
