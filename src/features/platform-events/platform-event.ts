import { PlatformEvent } from '@parley/protocol/resources/platform-event.ts';
import type { Selectable } from 'kysely';
import { presentAs } from '../../core/resources/present-as.ts';
import { defineTopic } from '../../platform/db/queue/topic.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';

export type PlatformEventRow = Selectable<Schema['platform_events']>;

export function presentEvent(row: PlatformEventRow): PlatformEvent {
  return presentAs(PlatformEvent, { ...row, data: { ...row.data } });
}

export interface PlatformEventRaised {
  readonly event_id: string;
  /** W3C `traceparent` of the request that raised it. */
  readonly traceparent?: string;
}

/** A producer's event was committed: it starts agents and goes to webhooks. */
export const PLATFORM_EVENT = defineTopic<PlatformEventRaised>('platform_events.raised');
