import type { ApnsEnvironment, PushPlatform } from '@parley/protocol/resources/push-app.ts';
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

  push_apps: Times & {
    id: string;
    account_id: string;
    name: string;
    platform: PushPlatform;
    /** The project at Google, or the topic at Apple. */
    identifier: string;
    environment: ApnsEnvironment | null;
    team_id: string | null;
    key_id: string | null;
    /** Sealed (phones/credential.ts). */
    credential: Buffer;
    /** Rises with each new credential. */
    revision: Generated<number>;
    last_success_at: string | null;
    failing_since: string | null;
    last_error: string | null;
    /** Actor id. */
    created_by: string;
  };

  push_devices: Times & {
    /** Derived from the user, the app and the token. */
    id: string;
    account_id: string;
    actor_id: string;
    app_id: string;
    /** The session that registered it; null if a token of an identity provider did. */
    session_id: string | null;
    token: string;
    /** The origin of the push service. */
    origin: string;
    /** Consecutive failed tries. */
    failures: Generated<number>;
    failing_since: string | null;
    last_success_at: string | null;
  };

  device_deliveries: {
    /** The device. */
    subscription_id: string;
    notification_id: string;
    attempts: Generated<number>;
    /** As in `push_deliveries`; null once there is nothing more to push. */
    due_at: string | null;
    /** Whether the phone shows the notification. */
    shown: Generated<boolean>;
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
