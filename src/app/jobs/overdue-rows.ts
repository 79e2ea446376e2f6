import type { Querier } from '../../platform/db/connection/handle.ts';
import type { InFlightRows } from '../../platform/db/queue/in-flight-rows.ts';
import { findOverdue, takeOverdue } from '../../platform/db/queue/outbox.ts';
import type { OutboxRow } from '../../platform/db/tables/outbox-row.ts';

/** Milliseconds for which a sweep must have seen that a row is overdue before it takes it. */
const SEEN_MS = 1_500;

const MAX_SEEN = 1_000;

/**
 * The overdue outbox rows that this node's sweeps have seen. The age of a row does not show that
 * its node is gone: when the whole machine was paused, or a disk held up a commit, every row in
 * flight is old at once, and the nodes that go on to handle them would meet sweeps that handle them
 * too. A row that stays overdue while a sweep looks on has no node.
 */
export class OverdueRows {
  readonly #db: Querier;
  readonly #inFlight: Pick<InFlightRows, 'has'>;
  /** When each was seen first. */
  #seenMs: ReadonlyMap<number, number> = new Map();

  constructor(db: Querier, inFlight: Pick<InFlightRows, 'has'>) {
    this.#db = db;
    this.#inFlight = inFlight;
  }

  /**
   * Looks at what is overdue, and takes up to `limit` rows that it has seen overdue for long
   * enough.
   */
  async take(limit: number): Promise<OutboxRow[]> {
    const overdue = await findOverdue(this.#db, MAX_SEEN);
    const nowMs = performance.now();
    const seenMs = new Map<number, number>();
    const ids: number[] = [];
    for (const { id, isAtOnce } of overdue) {
      if (this.#inFlight.has(id)) continue;
      const sinceMs = this.#seenMs.get(id) ?? nowMs;
      seenMs.set(id, sinceMs);
      if (ids.length < limit && (isAtOnce || nowMs - sinceMs >= SEEN_MS)) ids.push(id);
    }
    this.#seenMs = seenMs;
    return ids.length === 0 ? [] : takeOverdue(this.#db, ids);
  }
}
