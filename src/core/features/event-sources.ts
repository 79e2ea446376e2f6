import type { ChangeEventName } from '@parley/protocol/socket/events.ts';
import type { Hooks } from '../../platform/hooks.ts';
import {
  conversationEvents,
  membershipEvents,
  participantEvents,
  purgeEvents,
} from '../conversations/events.ts';
import type { EventSource } from '../events/event-source.ts';
import { messageEvents, unsentEvents } from '../messages/events.ts';
import { pinEvents } from '../messages/pins/pin.ts';
import { reactionEvents } from '../messages/reactions/reactions.ts';
import { notificationEvents } from '../notifications/feed/events.ts';

declare module '../../platform/hooks.ts' {
  interface HookTable {
    /** A source of durable events. Events without a source are not published. */
    eventSource: EventSource;
  }
}

const OF_CORE: readonly EventSource[] = [
  messageEvents,
  reactionEvents,
  pinEvents,
  conversationEvents,
  purgeEvents,
  participantEvents,
  membershipEvents,
  notificationEvents,
  unsentEvents,
];

/**
 * Returns the sources of every durable event, in the order in which readers catch up. Publishing
 * (core/committed/changed-effects.ts) and catch-up (edge/gateway/changes/changes.ts) both use them.
 */
export function eventSources(hooks: Hooks): readonly EventSource[] {
  return [...OF_CORE, ...hooks.all('eventSource')];
}

/** Returns undefined for an event of a feature that is not installed. */
export function sourceOf(hooks: Hooks, event: ChangeEventName): EventSource | undefined {
  return eventSources(hooks).find(({ events }) => events.includes(event));
}
