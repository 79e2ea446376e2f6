import type { ColumnType, Generated } from 'kysely';
import type { Notification } from '../../../contract/protocol/resources/notification.ts';
import type { NotificationSettings } from '../../../contract/protocol/resources/notification-settings.ts';
import type { Time, Times } from './touched.ts';

export interface NotificationTables {
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
     * (docs/decisions.md#new-notifications-are-found-by-their-ids).
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

  push_subscriptions: Times & {
    /** Derived from the user, the endpoint and the keys. */
    id: string;
    account_id: string;
    actor_id: string;
    endpoint: string;
    /** The origin of the endpoint, which identifies the push service. */
    origin: string;
    p256dh: string;
    auth: string;
    /** The id of our key that the browser subscribed with. */
    key_id: string;
    expires_at: string | null;
    /** Consecutive failed tries. */
    failures: Generated<number>;
    failing_since: string | null;
    last_success_at: string | null;
  };

  push_deliveries: {
    subscription_id: string;
    notification_id: string;
    attempts: Generated<number>;
    /** The time of the next try, or the end of the lease of the node that makes it. */
    due_at: string;
    created_at: Time;
  };

  /** One row per user: the mail that waits for its transport. */
  digests: Times & {
    actor_id: string;
    id: string;
    /** Newest first. */
    notification_ids: string[];
    /** How many more notifications there are. */
    more: Generated<number>;
  };
}
