import type { ResourcesChanged } from '../events/changes.ts';
import type { EventReads } from '../events/event-source.ts';
import { sourceOf } from '../features/event-sources.ts';
import type { Effects } from '../features/feature.ts';
import type { Engine } from '../frames/engine.ts';
import { publish } from '../frames/publish.ts';

interface ChangedOptions extends EventReads {
  readonly engine: Engine;
  readonly onPublished?: NonNullable<Effects['published']>;
  /** Handles messages whose streaming has ended: every effect but the event. */
  readonly onFinished: (messageIds: readonly string[]) => Promise<void>;
}

/**
 * Publishes durable changes other than the sending of messages (RESOURCES_CHANGED). May be
 * repeated: readers recognize an event by id and `updated_at`. Rejects if publishing failed on a
 * node. `isRepeated`: the changes may already be published.
 */
export async function publishChanged(
  options: ChangedOptions,
  { changes }: ResourcesChanged,
  isRepeated: boolean,
): Promise<void> {
  const { engine, onPublished, onFinished } = options;
  for (const [event, ofEvent] of Map.groupBy(changes, (change) => change.event)) {
    const events = (await sourceOf(options.database.hooks, event)?.read(options, ofEvent)) ?? [];
    const published = events.map((one) => publish(engine, one));
    await Promise.all([...published, onPublished?.(events, ofEvent, isRepeated)]);
  }
  const finished = changes.flatMap(({ event, attempt, id }) =>
    event === 'message.updated' && attempt !== undefined ? id : [],
  );
  if (finished.length > 0) await onFinished(finished);
}
