import type { ChangeEventName } from '../contract/protocol/socket/events.ts';
import type { Complete, EventSource } from '../core/conversations/event-source.ts';
import {
  conversationEvents,
  membershipEvents,
  participantEvents,
  purgeEvents,
} from '../core/conversations/events.ts';
import { messageEvents, unsentEvents } from '../core/messages/events.ts';
import { pinEvents } from '../core/messages/pins/pin-events.ts';
import { reactionEvents } from '../core/messages/reactions/reaction-events.ts';
import { notificationEvents } from '../core/notifications/events.ts';
import { runEvents } from './agents/runs/events.ts';

const SOURCES = [
  messageEvents,
  reactionEvents,
  pinEvents,
  conversationEvents,
  purgeEvents,
  participantEvents,
  membershipEvents,
  notificationEvents,
  unsentEvents,
  runEvents,
] as const;

/**
 * The sources of every durable event (contract/protocol/socket/events.ts), in the order in which
 * readers catch up. Publishing (app/jobs/changed-effects.ts) and catch-up
 * (edge/gateway/catch-up/changes.ts) both use them. An event without a source does not compile.
 */
export const EVENT_SOURCES: Complete<typeof SOURCES> = SOURCES;

export function sourceOf(event: ChangeEventName): EventSource {
  const source = SOURCE_OF.get(event);
  if (source === undefined) throw new Error(`no source of the event ${event}`);
  return source;
}

const SOURCE_OF: ReadonlyMap<ChangeEventName, EventSource> = new Map(
  EVENT_SOURCES.flatMap((source: EventSource) => source.events.map((event) => [event, source] as const)),
);
