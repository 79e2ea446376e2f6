import type { Change } from '../conversations/outbox-topics.ts';
import type { Db } from '../db/handle.ts';
import type { DomainEvent } from '../engine/publish.ts';
import { notificationEvent } from './present.ts';
import { readChanged, readNotifications } from './store.ts';

/** What the feeds of these actors may have missed from a transaction on, as the events that told it. */
export async function changedNotifications(
  db: Db,
  recipientIds: readonly string[],
  sinceXid: string,
): Promise<DomainEvent[]> {
  const rows = await readChanged(db, recipientIds, sinceXid);
  return rows.map((row) =>
    notificationEvent(
      row.updated_at === row.created_at ? 'notification.created' : 'notification.updated',
      row,
    ),
  );
}

/** The events of these changes, for jobs/changed-effects.ts. */
export async function notificationEvents(db: Db, changes: readonly Change[]): Promise<DomainEvent[]> {
  const recipientIds = [...new Set(changes.map(({ stream }) => stream))];
  const ids = changes.map(({ id }) => id);
  const rows = await readNotifications(db, recipientIds, ids);
  return rows.map((row) => notificationEvent('notification.updated', row));
}
