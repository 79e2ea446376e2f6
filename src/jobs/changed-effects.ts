import type { EventReads, EventSource } from '../conversations/event-source.ts';
import type { ResourcesChanged } from '../conversations/outbox-topics.ts';
import type { Engine } from '../engine/engine.ts';
import { publish } from '../engine/publish.ts';
import { EVENT_SOURCES } from '../event-sources.ts';
import type { ChangeEventName } from '../protocol/socket/events.ts';

export interface ChangedEffectsOptions extends EventReads {
  readonly engine: Engine;
  /** Handles messages whose streaming has ended, with every effect other than the event. */
  readonly onFinished: (messageIds: readonly string[]) => Promise<void>;
}

/**
 * Publishes durable changes other than the sending of messages (RESOURCES_CHANGED). May be called again for the same
 * changes: readers recognize an event by id and `updated_at`.
 */
export class ChangedEffects {
  readonly #options: ChangedEffectsOptions;

  constructor(options: ChangedEffectsOptions) {
    this.#options = options;
  }

  /** Rejects if publishing failed on some node. */
  async publish({ changes }: ResourcesChanged): Promise<void> {
    const { engine, onFinished } = this.#options;
    for (const [event, ofEvent] of Map.groupBy(changes, (change) => change.event)) {
      const source = SOURCE_OF.get(event);
      if (source === undefined) throw new Error(`no source of the event ${event}`);
      const events = await source.read(this.#options, ofEvent);
      await Promise.all(events.map((one) => publish(engine, one)));
    }
    const finished = changes.filter(
      ({ event, attempt }) => event === 'message.updated' && attempt !== undefined,
    );
    if (finished.length > 0) await onFinished(finished.map(({ id }) => id));
  }
}

const SOURCE_OF: ReadonlyMap<ChangeEventName, EventSource> = new Map(
  EVENT_SOURCES.flatMap((source: EventSource) => source.events.map((event) => [event, source] as const)),
);
