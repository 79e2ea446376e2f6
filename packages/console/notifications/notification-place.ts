import type { Notification } from '@parley/client';
import type { Main, Place } from '../nav/place.ts';

/** The areas of categories whose resource is a conversation. */
const OF_CONVERSATIONS: ReadonlySet<string> = new Set([
  'chat',
  'agent',
  'approval',
  'draft',
  'conversation',
  'email',
]);

/** Returns the conversation that a notification is about, or null. */
export function conversationOf(notification: Notification): string | null {
  const { category, resource_type: type, resource_id: id = null, message_id = null } = notification;
  const isConversation = message_id !== null || OF_CONVERSATIONS.has(category.split('.')[0]!);
  return type === 'entity' && isConversation ? id : null;
}

/** Returns a notification's target: its message, its run, its work; null if it has none. */
export function placeOf(notification: Notification): Place | null {
  const { category, message_id: message = null, agent_run_id: run = null } = notification;
  if (category === 'webhook.disabled') return { main: { at: 'administration', section: 'webhooks' } };
  const id = conversationOf(notification);
  if (id === null && category === 'approval.requested') return { main: { at: 'work' } };
  if (id === null) return run === null ? null : { main: { at: 'administration', section: 'runs', id: run } };
  // A draft stands above the field for messages, not in the timeline.
  const isShown = message !== null && category !== 'draft.proposed';
  const main: Main = { at: 'conversation', id, ...(isShown && { message }) };
  return run !== null && !isShown && category !== 'draft.proposed'
    ? { main, pane: { shows: 'run', id: run } }
    : { main };
}
