import { Type } from 'typebox';
import { CATEGORY } from './notification.ts';

/**
 * The names of events and of categories of notifications: an area, such as `order`, a dot, and an
 * occurrence in it. The set is open. Names in Parley's own areas are reserved, so that no producer
 * can pass for Parley.
 */
export const EVENT_TYPE_LIMITS = { characters: 100 } as const;

/** The schema of an event type or a category. isOwnType() decides whose it is. */
export const EventType = Type.String({
  ...CATEGORY,
  maxLength: EVENT_TYPE_LIMITS.characters,
  examples: ['order.created'],
});

/** The form of a filter: an event type, all types of an area (`message.*`), or all (`*`). */
export const EVENT_FILTER_PATTERN = '^(\\*|[a-z][a-z0-9_]*(\\.\\*|(\\.[a-z][a-z0-9_]*)+))$';
