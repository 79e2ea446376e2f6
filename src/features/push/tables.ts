import type { Generated } from 'kysely';
import type { Time, Times } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends PushTables {}
}

interface PushTables {
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
    /** The number of further notifications. */
    more: Generated<number>;
  };
}
