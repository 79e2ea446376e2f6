import { eventSource } from '../conversations/event-source.ts';
import { notificationEvent, readNotifications } from '../resources/notification.ts';
import { missedNotifications, readChanged } from './store.ts';

/** Notifications on their recipients' own feeds. New ones are published by the code that inserts them (notify.ts). */
export const notificationEvents = eventSource({
  events: ['notification.created', 'notification.updated'],
  async read({ database }, changes) {
    const keys = changes.map(({ id, stream }) => ({ recipient_id: stream, id }));
    const rows = await readNotifications(database, keys);
    const eventOf = new Map(changes.map(({ id, event }) => [id, event]));
    return rows.map((row) => notificationEvent(eventOf.get(row.id)!, row));
  },
  changed: {
    actor: {
      arm: {
        part: 'notifications',
        rows: `${missedNotifications('s.id', { xid: '$3', began: '$5' })} AS n`,
      },
      async since({ database }, recipientIds, since) {
        const rows = await readChanged(database, recipientIds, since);
        return rows.map((row) =>
          notificationEvent(
            row.updated_at === row.created_at ? 'notification.created' : 'notification.updated',
            row,
          ),
        );
      },
    },
  },
});
