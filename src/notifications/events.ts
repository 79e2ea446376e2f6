import { eventSource } from '../conversations/event-source.ts';
import { notificationEvent, readNotifications } from '../resources/notification.ts';
import { readChanged } from './store.ts';

/** Notifications on their recipients' own feeds. New ones are published by the code that inserts them (notify.ts). */
export const notificationEvents = eventSource({
  events: ['notification.created', 'notification.updated'],
  async read({ database }, changes) {
    const recipientIds = [...new Set(changes.map(({ stream }) => stream))];
    const rows = await readNotifications(
      database,
      recipientIds,
      changes.map(({ id }) => id),
    );
    const eventOf = new Map(changes.map(({ id, event }) => [id, event]));
    return rows.map((row) => notificationEvent(eventOf.get(row.id)!, row));
  },
  changed: {
    actor: {
      arm: {
        part: 'notifications',
        rows: 'notifications n WHERE n.recipient_id = s.id AND n.changed_in >= $3::xid8',
      },
      async since({ database }, recipientIds, sinceXid) {
        const rows = await readChanged(database, recipientIds, sinceXid);
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
