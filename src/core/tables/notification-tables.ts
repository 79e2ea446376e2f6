import type { Notification } from '@parley/protocol/resources/notification.ts';
import type { NotificationSettings } from '@parley/protocol/resources/notification-settings.ts';
import type { ColumnType, Generated } from 'kysely';
import type { Times } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends NotificationTables {}
}

interface NotificationTables {
  notifications: Times & {
    /** SQL's notification_id(at, cause, recipient_id): ids are in the order of the feed. */
    id: string;
    account_id: string;
    recipient_id: string;
    category: string;
    title: string;
    body: string | null;
    status: Generated<Notification['status']>;
    priority: Generated<Notification['priority']>;
    sender_id: string | null;
    sender_type: Generated<'user' | 'group' | 'system'>;
    resource_type: 'account' | 'actor' | 'entity' | null;
    resource_id: string | null;
    message_id: string | null;
    agent_run_id: string | null;
    /** The lookup key of one not made from a message: a message, a run, or what it is about. */
    subject: string | null;
    seen_at: string | null;
    read_at: string | null;
    dismissed_at: string | null;
    /**
     * Null if the row was made in time and has not changed
     * (src/core/notifications/DECISIONS.md#new-notifications-are-found-by-their-ids).
     */
    changed_in: string | null;
    /** When a digest decided about it; no later digest contains it. */
    digested_at: string | null;
  };

  notification_settings: Times & {
    actor_id: string;
    account_id: string;
    /** The categories that differ from the default. */
    categories: ColumnType<NotificationSettings['categories'], string | undefined, string>;
    /** Whether a category is kept off sockets. */
    off_sockets: ColumnType<boolean, never, never>;
    mute_until: string | null;
    do_not_disturb: ColumnType<
      NotificationSettings['do_not_disturb'],
      string | null | undefined,
      string | null
    >;
    digest_after_minutes: number | null;
  };
}
