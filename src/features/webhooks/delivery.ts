import type { DeliveryError } from '../../contract/protocol/resources/webhook-delivery.ts';
import type { Version } from '../../contract/protocol/versions.ts';
import type { WebhookRow } from './webhook-store.ts';

/** An event on its way to one webhook: the columns of webhook_deliveries for a try. */
export interface Delivery {
  readonly webhook_id: string;
  readonly id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly conversation_id: string | null;
  readonly sequence: number | null;
  /** The highest sequence of the conversation when the event was recorded. */
  readonly head: number | null;
  readonly resource_id: string | null;
  /** The data besides the id that is needed to read the resource again. */
  readonly change: object | null;
  /** ISO 8601: when the event happened. */
  readonly occurred_at: string;
  /** W3C `traceparent` of the request that caused the event. */
  readonly trace: string | null;
  /** Ended tries. */
  readonly attempts: number;
}

/** The fields of a webhook for a try. */
export type Receiver = Pick<
  WebhookRow,
  'id' | 'account_id' | 'url' | 'secret' | 'previous_secret' | 'previous_secret_until'
> & {
  /** The version of its payloads. */
  readonly version: Version;
  readonly target: URL;
};

/**
 * A delivery with its payload. `data` is the JSON of the resource in the webhook's version, without
 * marks (platform/engine/marked-json.ts).
 */
export interface FirstTry {
  readonly delivery: Delivery;
  readonly data: string;
}

/**
 * Reads the payload of a later try from its resource as it is now. Returns undefined if the
 * resource is gone; the delivery is then withdrawn. Rejects while the database is unavailable.
 */
export type ReadData = (receiver: Receiver, delivery: Delivery) => Promise<string | undefined>;

/** The outcome of a try. */
export type Outcome =
  | { readonly result: 'delivered'; readonly statusCode: number; readonly ms: number }
  | {
      readonly result: 'failed';
      readonly error: DeliveryError;
      /** Null if there was no response. */
      readonly statusCode: number | null;
      readonly ms: number;
      /** The delay that the receiver asked for in Retry-After. */
      readonly retryAfterMs?: number | undefined;
      /** Whether the receiver's address is forbidden; shown only in the operator's log. */
      readonly isRefused?: boolean;
    };
