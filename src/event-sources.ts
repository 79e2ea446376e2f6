import { runEvents } from './agents/runs/events.ts';
import type { Complete } from './conversations/event-source.ts';
import { conversationEvents, membershipEvents, participantEvents } from './conversations/events.ts';
import { messageEvents, unsentEvents } from './messages/events.ts';
import { notificationEvents } from './notifications/events.ts';

const SOURCES = [
  messageEvents,
  conversationEvents,
  participantEvents,
  membershipEvents,
  notificationEvents,
  unsentEvents,
  runEvents,
] as const;

/**
 * Every durable event (protocol/socket/events.ts) by where it is read, in the order in which readers catch up. They are
 * published from it (jobs/changed-effects.ts), and it is asked for what was missed (gateway/catch-up/changes.ts). An event
 * without a source does not compile.
 */
export const EVENT_SOURCES: Complete<typeof SOURCES> = SOURCES;
