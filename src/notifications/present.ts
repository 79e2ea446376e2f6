import type { DomainEvent } from '../engine/publish.ts';
import type { Actor, Entity } from '../protocol/resources/actor.ts';
import type { Notification } from '../protocol/resources/notification.ts';
import type { FeedRow } from './feed.ts';
import type { NotificationRow } from './store.ts';

/** Returns a row as its recipient sees it (docs/contract.md#notifications). */
export function presentNotification(
  row: FeedRow,
  expansions: { readonly sender?: Actor | null; readonly resource?: Entity | null } = {},
): Notification {
  return {
    id: row.id,
    object: 'notification',
    category: row.category,
    title: row.title,
    body: row.body,
    status: row.status,
    priority: row.priority,
    sender: expansions.sender ?? null,
    resource: expansions.resource ?? null,
    seen_at: row.seen_at,
    read_at: row.read_at,
    dismissed_at: row.dismissed_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

/** The event on the recipient's own feed (docs/realtime.md#events). */
export function notificationEvent(
  event: 'notification.created' | 'notification.updated',
  row: NotificationRow,
): DomainEvent {
  return {
    event,
    stream: row.recipient_id,
    conversationId: null,
    sequence: 0,
    resource: row.id,
    at: row.updated_at,
    team: presentNotification(row),
    customer: undefined,
  };
}
