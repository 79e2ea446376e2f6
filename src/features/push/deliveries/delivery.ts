import type { Due } from '../../../platform/db/queue/leased-rows.ts';

/** A notification that a subscription, a browser or a phone, has not received yet. */
export interface Delivery {
  readonly subscription_id: string;
  readonly notification_id: string;
  /** The push service: pushes of one origin share a lane. */
  readonly origin: string;
  /** The number of this try, from 1. */
  readonly attempts: number;
}

export type DeliveryKey = Pick<Delivery, 'subscription_id' | 'notification_id'>;

export interface Outcome extends DeliveryKey, Due {
  /** Whether the push service accepted it; null if it says nothing about the subscription. */
  readonly accepted: boolean | null;
  /** Whether the device shows the notification now; for channels that remember it. */
  readonly shown: boolean;
}
