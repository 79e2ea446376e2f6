import type { Querier } from '../../platform/db/connection/handle.ts';
import { giveBack, LEASE_MS, OVERDUE_AFTER_MS } from '../../platform/db/queue/outbox.ts';
import type { OutboxRow } from '../../platform/db/tables/outbox-row.ts';

/** The leases of outbox rows that this node has taken and could not handle. */
export class HeldLeases {
  /** Those that end first come first. */
  readonly #leases = new Map<number, { readonly row: OutboxRow; readonly endsMs: number }>();

  /** A row that was not taken, because its writer handles it, has no lease and is left out. */
  add(row: OutboxRow): void {
    const nowMs = performance.now();
    for (const [id, { endsMs }] of this.#leases) {
      if (endsMs > nowMs) break;
      this.#leases.delete(id);
    }
    if (row.attempts === 0) return;
    this.#leases.delete(row.id);
    this.#leases.set(row.id, { row, endsMs: nowMs + LEASE_MS + OVERDUE_AFTER_MS });
  }

  /**
   * Releases these rows to every sweep now. If it rejects, the leases are kept for another call.
   */
  async giveBack(db: Querier): Promise<void> {
    if (this.#leases.size === 0) return;
    await giveBack(
      db,
      [...this.#leases.values()].map(({ row }) => row),
    );
    this.#leases.clear();
  }
}
