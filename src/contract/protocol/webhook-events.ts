import { isOwnType } from './event-areas.ts';

/**
 * Parley's own events that a webhook can be sent (docs/contract.md#webhooks). Events of producers
 * are further ones, in areas of their own.
 */
export const WEBHOOK_EVENTS = [
  'message.created',
  'message.updated',
  'message.reacted',
  'message.pinned',
  'messages.purged',
  'draft.created',
  'draft.updated',
  'scheduled.updated',
  'conversation.created',
  'conversation.updated',
  'participant.added',
  'participant.updated',
  'participant.removed',
  'agent_run.completed',
  'email.received',
] as const;

export type WebhookEventName = (typeof WEBHOOK_EVENTS)[number];

/** What the endpoint for trying a webhook out sends, whatever its filter. */
export const WEBHOOK_TEST = 'webhook.test';

/** The form of a filter: an event type, all types of an area (`message.*`), or all (`*`). */
export const EVENT_FILTER_PATTERN = '^(\\*|[a-z][a-z0-9_]*(\\.\\*|(\\.[a-z][a-z0-9_]*)+))$';

/** Returns whether there are events that this filter lets through, now or from a producer. */
export function isEventFilter(filter: string): boolean {
  if (!isOwnType(filter)) return true;
  return WEBHOOK_EVENTS.some((name) => filtersOf(name).includes(filter));
}

/** Returns every filter that lets events of this type through. */
export function filtersOf(eventType: string): [type: string, area: string, all: string] {
  return [eventType, `${eventType.slice(0, eventType.indexOf('.'))}.*`, '*'];
}
