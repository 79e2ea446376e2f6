import type { Database } from '../../platform/db/connection/database.ts';
import { GatheredWrites } from '../../platform/db/queue/gathered-writes.ts';
import type { Logger } from '../../platform/log.ts';
import type { Delivery } from './delivery.ts';
import { addDeliveries, DELIVERIES, type DeliveryState } from './delivery-store.ts';

export interface Recorded {
  readonly delivery: Delivery;
  readonly state: DeliveryState;
  /** Whether the delivery has no row yet. */
  readonly isNew: boolean;
}

export interface RecorderOptions {
  readonly database: Database;
  readonly log: Logger;
  /** Called behind each write with what it wrote. */
  readonly onWritten: (written: readonly Recorded[]) => void;
}

/**
 * Writes deliveries and outcomes. An outcome never comes before the row that it is of, and one that
 * is lost with Postgres is tried again when its lease has ended. Rejects where new ones were not
 * written.
 */
export function recorder({ database, log, onWritten }: RecorderOptions): GatheredWrites<Recorded> {
  return new GatheredWrites({
    gatherMs: 50,
    most: 500,
    write: async (ones) => {
      const [added, settled] = [ones.filter(({ isNew }) => isNew), ones.filter(({ isNew }) => !isNew)];
      // Not durable when they return. They are before the removal of the outbox row in the log of
      // Postgres: after a crash that loses them the event is there, and is handled again.
      const [adding, settling] = await Promise.allSettled([
        added.length === 0 ? undefined : addDeliveries(database.relaxed, added),
        DELIVERIES.settle(
          database.relaxed,
          settled.map(({ delivery: { webhook_id, id }, state }) => ({ webhook_id, id, ...state })),
        ),
      ]);
      if (adding.status === 'fulfilled') onWritten(added);
      if (settling.status === 'fulfilled') onWritten(settled);
      else {
        const about = { err: settling.reason, rows: settled.length };
        log.warn(about, 'could not write outcomes of webhook deliveries');
      }
      if (adding.status === 'rejected') throw adding.reason;
    },
  });
}
