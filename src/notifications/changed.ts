import type { Database } from '../db/database.ts';
import type { DomainEvent } from '../engine/publish.ts';
import { notificationEvent } from './present.ts';
import { readChanged } from './store.ts';

/** What the feeds of these actors may have missed from a transaction on, as the events that told it. */
export async function changedNotifications(
  database: Database,
  recipientIds: readonly string[],
  sinceXid: string,
): Promise<DomainEvent[]> {
  const rows = await readChanged(database, recipientIds, sinceXid);
  return rows.map((row) =>
    notificationEvent(
      row.updated_at === row.created_at ? 'notification.created' : 'notification.updated',
      row,
    ),
  );
}
