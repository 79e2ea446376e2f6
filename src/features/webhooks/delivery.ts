import type { DeliveryError, WebhookTry } from '@parley/protocol/resources/webhook-delivery.ts';
import type { Version } from '@parley/protocol/versions.ts';
import type { Selectable } from 'kysely';
import type { Schema } from '../../platform/db/tables/schema.ts';
import type { WebhookRow } from './webhook-store.ts';

/** An event on its way to one webhook: the columns of webhook_deliveries for a try. */
export type Delivery = Omit<DeliveryRow, keyof Tried | 'was_delivered' | 'created_at' | 'updated_at'> &
  Pick<DeliveryRow, 'attempts'> &
  Partial<Pick<DeliveryRow, 'tries'>>;

export type DeliveryRow = Selectable<Schema['webhook_deliveries']>;

/** The columns that a try changes. */
export type Tried = Pick<
  DeliveryRow,
  'status' | 'attempts' | 'next_try_at' | 'last_status_code' | 'last_error' | 'last_ms' | 'tries'
>;

/** A try as the row keeps it. */
export type KeptTry = Omit<WebhookTry, 'object'>;

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
 * marks (api/marked-json.ts).
 */
export interface FirstTry {
  readonly delivery: Delivery;
  readonly data: string;
}

/**
 * Reads the payload of a later try from its resource as it is now. Returns undefined if the
 * resource is gone; the delivery is then withdrawn. Rejects while the database is unavailable.
 */
export type ReadData = (
  receiver: Pick<Receiver, 'id' | 'version'>,
  delivery: Delivery,
) => Promise<string | undefined>;

/** The outcome of a try. */
export type Outcome = Answer & { readonly startedAt: string; readonly ms: number } & (
    | { readonly result: 'delivered'; readonly statusCode: number }
    | {
        readonly result: 'failed';
        readonly error: DeliveryError;
        /** Null if there was no response. */
        readonly statusCode: number | null;
        /** The delay that the receiver asked for in Retry-After. */
        readonly retryAfterMs?: number | undefined;
        /** Whether the receiver's address is forbidden; shown only in the operator's log. */
        readonly isRefused?: boolean;
      }
  );

/** The beginning of an answer, which is null where there was none. */
interface Answer {
  readonly contentType: string | null;
  readonly answer: string | null;
}
