import { defineTopic } from '../../platform/db/queue/topic.ts';

export interface PlatformEventRaised {
  readonly event_id: string;
  /** W3C `traceparent` of the request that raised it. */
  readonly traceparent?: string;
}

/** A producer's event was committed: it starts agents and goes to webhooks. */
export const PLATFORM_EVENT = defineTopic<PlatformEventRaised>('platform_events.raised');
