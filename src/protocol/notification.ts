import { type Static, Type } from 'typebox';
import { Actor, Entity } from './actor.ts';
import { Nullable, OneOf, Timestamp } from './schema.ts';

/** The set is open-ended (specification, notification); these are what messaging makes and what can be filtered by. */
export const MESSAGING_CATEGORIES = ['chat.message', 'chat.mention', 'chat.added'] as const;
export const NOTIFICATION_STATUSES = ['unseen', 'seen', 'read', 'dismissed'] as const;
export const PRIORITIES = ['low', 'normal', 'high'] as const;

/** Characters of a message that its notification shows (design.md section 7). */
export const PREVIEW_CHARACTERS = 140;

/** Specification, notification. */
export const Notification = Type.Object({
  id: Type.String(),
  object: Type.Literal('notification'),
  category: Type.String(),
  title: Type.String(),
  body: Nullable(Type.String()),
  status: OneOf(NOTIFICATION_STATUSES),
  priority: OneOf(PRIORITIES),
  sender: Nullable(Actor),
  resource: Nullable(Entity),
  seen_at: Nullable(Timestamp),
  read_at: Nullable(Timestamp),
  dismissed_at: Nullable(Timestamp),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Notification = Static<typeof Notification>;

/** What `include[]` of List Notifications may name (specification, endpoint 5). */
export const NOTIFICATION_INCLUDES = ['sender', 'resource'] as const;
/** Filters of List Notifications (specification, endpoint 5). */
export const NOTIFICATION_STATUS_FILTERS = ['unseen', 'seen', 'read'] as const;
export const SENDER_TYPES = ['user', 'group', 'system'] as const;
