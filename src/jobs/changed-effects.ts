import type { Change, ResourcesChanged } from '../conversations/outbox-topics.ts';
import type { Db } from '../db/handle.ts';
import type { Engine } from '../engine/engine.ts';
import { type DomainEvent, publish } from '../engine/publish.ts';
import type { EventName } from '../protocol/socket/events.ts';

/** The events of these changes, from the resources as they stand now; what is gone is left out. */
export type ReadEvents = (db: Db, changes: readonly Change[]) => Promise<readonly DomainEvent[]>;

export interface ChangedEffectsOptions {
  readonly database: Db;
  readonly engine: Engine;
  readonly readers: Readonly<Partial<Record<EventName, ReadEvents>>>;
  /** Messages of the timeline that were written to their ends: what that causes besides the event. */
  readonly onFinished: (messageIds: readonly string[]) => Promise<void>;
}

/**
 * Tells everybody of durable changes that are not a message's sending (conversations/outbox-topics.ts). May be
 * called again for the same changes: readers of an event tell it apart by id and `updated_at`.
 */
export class ChangedEffects {
  readonly #options: ChangedEffectsOptions;

  constructor(options: ChangedEffectsOptions) {
    this.#options = options;
  }

  /** Rejects when some node could not be told. */
  async publish({ changes }: ResourcesChanged): Promise<void> {
    const { database, engine, readers, onFinished } = this.#options;
    for (const [event, ofEvent] of Map.groupBy(changes, (change) => change.event)) {
      const read = readers[event];
      if (read === undefined) throw new Error(`nobody reads what ${event} is about`);
      const events = await read(database, ofEvent);
      await Promise.all(events.map((one) => publish(engine, one)));
    }
    const finished = changes.filter(
      ({ event, attempt }) => event === 'message.updated' && attempt !== undefined,
    );
    if (finished.length > 0) await onFinished(finished.map(({ id }) => id));
  }
}
