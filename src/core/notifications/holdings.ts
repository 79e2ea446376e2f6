import { ERASED_NAME } from '../../contract/protocol/resources/erasure.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import { userIds } from '../accounts/persons.ts';
import { enqueueRightsChanged } from '../accounts/rights-changed.ts';
import { enqueueChanged } from '../events/changes.ts';
import type { ErasedPerson, Holdings } from '../resources/holdings.ts';
import { deleteFeed, eraseFromFeed } from './feed/erase-store.ts';
import { readWholeFeed } from './feed/feed-store.ts';
import {
  deleteNotificationsAbout,
  deleteNotificationsOf,
  deleteOldNotifications,
  readNotificationAge,
} from './feed/store.ts';
import { announceSettings, readOwnSettings } from './settings/settings.ts';

const OF_RECIPIENT = 'JOIN actors a ON a.id = t.recipient_id WHERE a.account_id = $1';

/** Feeds, whose previews quote messages and whose titles name people; and settings. */
export const notificationHoldings: Holdings = {
  tables: {
    notifications: {
      account: ['content', OF_RECIPIENT],
      recipient_id: 'erased',
      sender_id: 'erased',
      message_id: 'purged',
      resource_id: 'purged',
      exported: 'notifications',
    },
    notification_settings: {
      account: 'content',
      actor_id: 'removed',
      exported: 'notification_settings',
    },
  },
  purgeMessages: async (...purged) => removed(await deleteNotificationsOf(...purged)),
  purgeConversation: async (tx, id) => removed(await deleteNotificationsAbout(tx, id)),
  expire: { notifications: async (...policy) => removed(await deleteOldNotifications(...policy)) },
  readAges: async (db, accountId) => ({ notifications: await readNotificationAge(db, accountId) }),
  blankPerson: announceSettings,
  erasePerson: eraseFromFeeds,
  exportsOfPerson: {
    notifications: (db, _files, { id }) => readWholeFeed(db, id),
    notification_settings: (db, _files, { id }) => readOwnSettings(db, id),
  },
};

function removed(notifications: number) {
  return { rows: notifications, notifications };
}

async function eraseFromFeeds(
  database: Database,
  { accountId, id: senderId, title: name, signal }: ErasedPerson,
): Promise<void> {
  for (let deleted = DELETED_AT_ONCE; deleted === DELETED_AT_ONCE; ) {
    signal.throwIfAborted();
    deleted = await database.transaction((tx) => deleteFeed(tx, senderId, DELETED_AT_ONCE));
  }
  for await (const recipients of userIds(database, accountId)) {
    for (const recipientId of recipients) {
      for (let after: string | null = ''; after !== null; ) {
        signal.throwIfAborted();
        const from: string = after;
        after = await database.transaction(async (tx) => {
          const page = { recipientId, after: from, senderId, name, replacement: ERASED_NAME };
          const { last, changed } = await eraseFromFeed(tx, page);
          await enqueueChanged(
            tx,
            changed.map((id) => ({ event: 'notification.updated', id, stream: recipientId })),
          );
          if (changed.length > 0) await enqueueRightsChanged(tx, changed);
          return last;
        });
      }
    }
  }
}

const DELETED_AT_ONCE = 500;
