import type { DeliveryError } from '../../contract/protocol/resources/webhook-delivery.ts';
import type { Version } from '../../contract/protocol/versions.ts';

/** An event on its way to one webhook: the columns of webhook_deliveries that a try needs. */
export interface Delivery {
  readonly webhook_id: string;
  readonly id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly conversation_id: string | null;
  readonly sequence: number | null;
  /** The highest number of the conversation when the event was recorded. */
  readonly head: number | null;
  readonly resource_id: string | null;
  /** What reading the resource again needs besides its id. */
  readonly change: object | null;
  /** ISO 8601: when the event became true. */
  readonly occurred_at: string;
  /** W3C `traceparent` of the request that caused the event. */
  readonly trace: string | null;
  /** Tries that have ended. */
  readonly attempts: number;
}

/** What a try needs of a webhook. */
export interface Receiver {
  readonly id: string;
  readonly account_id: string;
  readonly url: string;
  /** The form of its payloads. */
  readonly version: Version;
  readonly secret: Buffer;
  readonly previous_secret: Buffer | null;
  readonly previous_secret_until: string | null;
}

/**
 * A delivery with its payload. `data` is the JSON of the resource in the form of the webhook's
 * version, without marks (platform/engine/marked-json.ts).
 */
export interface FirstTry {
  readonly delivery: Delivery;
  readonly data: string;
}

/**
 * Reads the payload of a later try from its resource, as it is now. Undefined: the resource is
 * gone, and the delivery is withdrawn. Rejects where the database is away.
 */
export type ReadData = (receiver: Receiver, delivery: Delivery) => Promise<string | undefined>;

/** How a try ended. */
export type Outcome =
  | { readonly result: 'delivered'; readonly statusCode: number; readonly ms: number }
  | {
      readonly result: 'failed';
      readonly error: DeliveryError;
      /** Null where there was no response. */
      readonly statusCode: number | null;
      readonly ms: number;
      /** What the receiver asked for by Retry-After. */
      readonly retryAfterMs?: number | undefined;
      /** The receiver's address may not be reached: for the operator's log alone. */
      readonly isRefused?: boolean;
    };

/** Takes the deliveries of new events: the Deliverer. */
export interface Deliveries {
  /**
   * Tries each at once. Resolves when all are recorded, with their outcomes or as pending, which
   * takes half a second at most: only then may the outbox rows of their events go. Callers that
   * handle events in batches wait beside the next batch, not before it. Rejects if Postgres is
   * away: the events are then handled again, with the same ids.
   */
  deliver(tries: readonly FirstTry[]): Promise<void>;
}
