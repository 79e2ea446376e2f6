import type { DisabledReason, WebhookStatus } from '@parley/protocol/resources/webhook.ts';
import type { DeliveryError, DeliveryStatus } from '@parley/protocol/resources/webhook-delivery.ts';
import type { ColumnType, Generated } from 'kysely';
import type { Time, Times } from '../../platform/db/tables/touched.ts';
import type { KeptTry } from './delivery.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends WebhookTables {}
}

interface WebhookTables {
  webhooks: Times & {
    id: string;
    account_id: string;
    url: string;
    event_types: string[];
    include_direct: Generated<boolean>;
    /** Whether it is that of the callbacks of questions (callbacks.ts). */
    is_callback: Generated<boolean>;
    /** The form of its payloads, by its kept name (`keptName`, packages/protocol/versions.ts). */
    version: string;
    status: Generated<WebhookStatus>;
    disabled_at: string | null;
    disabled_reason: DisabledReason | null;
    secret: Buffer;
    /** Also signs, until `previous_secret_until`. */
    previous_secret: Buffer | null;
    previous_secret_until: string | null;
    /** The first failed try since the last success. */
    failing_since: string | null;
    last_success_at: string | null;
    /** Every event committed before this time was delivered. */
    all_through: Time;
    /** Actor id. */
    created_by: string;
    /** The time from which events were not recorded, or null. No later event can be proven. */
    lost_since: string | null;
    /** The deliveries between these ids are to be sent again. Null if there are none. */
    replay_after: string | null;
    replay_through: string | null;
  };

  webhook_deliveries: Times & {
    webhook_id: string;
    /** timedId: the microsecond of the event, and a hash of webhook and event. */
    id: string;
    /** timedId: the microsecond of the event, and a hash of its type and resource. */
    event_id: string;
    event_type: string;
    conversation_id: string | null;
    /** The number of the message that the event is about. */
    sequence: number | null;
    /** The highest number of the conversation when the event was recorded. */
    head: number | null;
    resource_id: string | null;
    /** The details, besides its id, that are needed to read the resource again. */
    change: ColumnType<object | null, string | null | undefined, never>;
    occurred_at: string;
    status: Generated<DeliveryStatus>;
    attempts: Generated<number>;
    /** The end of the lease while a node tries it; null once it is no longer tried. */
    next_try_at: string | null;
    last_status_code: number | null;
    /** `address_not_public` occurs in rows of an earlier version. */
    last_error: DeliveryError | 'address_not_public' | null;
    /** Milliseconds of the last try. */
    last_ms: number | null;
    /** W3C `traceparent` of the request that caused the event. */
    trace: string | null;
    /** Where it goes, for a callback; null for the URL of its webhook. */
    url: string | null;
    /** Whether it was delivered before a replay or a redelivery sends it again. */
    was_delivered: Generated<boolean>;
    /** The last tries, oldest first. Null: none is kept. */
    tries: ColumnType<readonly KeptTry[] | null, never, never>;
  };

  webhook_progress: Times & {
    webhook_id: string;
    conversation_id: string;
    /** Every message up to this number that the webhook wants was delivered. */
    through_sequence: Generated<number>;
  };
}
