import type { NotificationRow } from '../../../core/resources/notification.ts';
import type { DeliveryKey, Outcome } from './delivery.ts';
import type { DeliveryRows } from './delivery-rows.ts';

/** A notification in its present state, with the subscription that it is pushed to. */
export interface Pushed extends NotificationRow {
  readonly subscription_id: string;
  /** The conversation that it is about, if any. */
  readonly conversation_id: string | null;
  readonly unseen: number;
  readonly unread: number;
}

/**
 * The answer of a push service: `gone` ends the subscription, `refused` would be refused again,
 * `busy` means too many at once, and after `failed` another try may succeed. `unauthorized`: the
 * service does not take our credential, which says nothing about the subscription.
 */
export type Verdict = 'accepted' | 'gone' | 'refused' | 'busy' | 'failed' | 'unauthorized';

export interface Tried {
  readonly verdict: Verdict;
  /** The status of the response and the text of a refusal, or the condition of the failure. */
  readonly reason: string;
  /** Milliseconds that the push service asks to wait. */
  readonly retryAfterMs: number | undefined;
}

/** A way to reach a user: the browsers (web/), or the phones (phones/). */
export interface Channel<Row extends Pushed = Pushed> {
  /** Names it in log lines and metrics. */
  readonly to: 'browsers' | 'phones';
  readonly rows: DeliveryRows;
  /** Reads what is to be pushed now; what is seen or not wanted any more is left out. */
  read(keys: readonly DeliveryKey[]): Promise<readonly Row[]>;
  /** Sends one. Rejects if it fails on our side. */
  attempt(row: Row): Promise<Tried>;
  /** Whether the push takes a notification away, which no setting of the user keeps back. */
  isRemoval(row: Row): boolean;
  /** Ends up to `limit` subscriptions that no push can reach. Returns their number. */
  endStale(limit: number): Promise<number>;
  /** Called once outcomes are written. */
  settled?(outcomes: readonly Outcome[]): Promise<void>;
}
