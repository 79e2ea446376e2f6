import type { ResourcesChanged } from '../../core/events/changes.ts';
import type { EventReads } from '../../core/events/event-source.ts';
import { sourceOf } from '../../core/features/event-sources.ts';
import type { Effects } from '../../core/features/feature.ts';
import type { Engine } from '../../platform/engine/engine.ts';
import { publish } from '../../platform/engine/publish.ts';

export interface ChangedEffectsOptions extends EventReads {
  readonly engine: Engine;
  readonly onPublished?: NonNullable<Effects['published']>;
  /** Handles messages whose streaming has ended, with every effect other than the event. */
  readonly onFinished: (messageIds: readonly string[]) => Promise<void>;
}

/**
 * Publishes durable changes other than the sending of messages (RESOURCES_CHANGED). May be called
 * again for the same changes: readers recognize an event by id and `updated_at`.
 */
export class ChangedEffects {
  readonly #options: ChangedEffectsOptions;

  constructor(options: ChangedEffectsOptions) {
    this.#options = options;
  }

  /**
   * Rejects if publishing failed on some node. `isRepeated`: the changes may have been published
   * before.
   */
  async publish({ changes }: ResourcesChanged, isRepeated: boolean): Promise<void> {
    const { engine, onPublished, onFinished } = this.#options;
    for (const [event, ofEvent] of Map.groupBy(changes, (change) => change.event)) {
      const events = (await sourceOf(event)?.read(this.#options, ofEvent)) ?? [];
      const published = events.map((one) => publish(engine, one));
      await Promise.all([...published, onPublished?.(events, ofEvent, isRepeated)]);
    }
    const finished = changes.filter(
      ({ event, attempt }) => event === 'message.updated' && attempt !== undefined,
    );
    if (finished.length > 0) await onFinished(finished.map(({ id }) => id));
  }
}
