import type { Engine } from '../../frames/engine.ts';
import { publish } from '../../frames/publish.ts';
import { type NotificationRow, notificationEvent } from '../../resources/notification.ts';
import { reachesSockets, type SettingsOfUsers } from '../settings/settings.ts';

export interface Publication {
  readonly engine: Engine;
  readonly settings: SettingsOfUsers;
}

/**
 * Publishes `notification.created` for the notifications of a message, except to recipients that
 * keep the category off their sockets. If no user of the account does, which is cached, the events
 * are published before this returns. The promises reject if publishing failed on some node.
 */
export function publishNew(
  { engine, settings }: Publication,
  notifications: readonly NotificationRow[],
): Promise<void>[] {
  const [first] = notifications;
  if (first === undefined) return [];
  if (settings.hasOffSockets(first.account_id) === false) {
    return notifications.map((row) => publishOne(engine, row));
  }
  return [publishWanted({ engine, settings }, first.account_id, notifications)];
}

async function publishWanted(
  { engine, settings }: Publication,
  accountId: string,
  notifications: readonly NotificationRow[],
): Promise<void> {
  const isAnyOff = await settings.hasOffSockets(accountId);
  const of = isAnyOff && (await settings.settingsOf(notifications.map((row) => row.recipient_id)));
  const wanted = notifications.filter(
    (row) => !of || reachesSockets(of.get(row.recipient_id)!, row.category),
  );
  await Promise.all(wanted.map((row) => publishOne(engine, row)));
}

function publishOne(engine: Engine, row: NotificationRow): Promise<void> {
  return publish(engine, notificationEvent('notification.created', row));
}
