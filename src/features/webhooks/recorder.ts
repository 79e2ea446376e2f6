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
  /** Called after each write with its rows. */
  readonly onWritten: (written: readonly Recorded[]) => void;
}

/**
 * Writes deliveries and outcomes. An outcome never precedes its row. If Postgres loses one, the
 * delivery is tried again when its lease ends. Rejects if new deliveries were not written.
 */
export function recorder({ database, log, onWritten }: RecorderOptions): GatheredWrites<Recorded> {
  return new GatheredWrites({
    gatherMs: 50,
    most: 500,
    write: async (ones) => {
      const [added, settled] = [ones.filter(({ isNew }) => isNew), ones.filter(({ isNew }) => !isNew)];
      // Not durable on return, but the log of Postgres has them before the removal of the outbox
      // row: after a crash that loses them the event still exists, and is handled again.
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
