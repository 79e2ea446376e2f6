import { Type } from 'typebox';
import { ID_PREFIXES } from './ids.ts';
import { AUDIT_ACTIONS } from './resources/audit-event.ts';
import { CATEGORY, NOTIFICATION_CATEGORIES } from './resources/notification.ts';
import { EVENTS } from './socket/events.ts';
import { TRIGGER_EVENTS } from './trigger-event.ts';

/**
 * The names of events and of categories of notifications: an area, such as `order`, and behind a
 * dot what happened in it. The set is open. Names in Parley's own areas are Parley's alone, so that
 * no producer can pass for it.
 */
export const EVENT_TYPE_LIMITS = { characters: 100 } as const;

/** The schema of an event type or a category. isOwnType() decides whose it is. */
export const EventType = Type.String({
  ...CATEGORY,
  maxLength: EVENT_TYPE_LIMITS.characters,
  examples: ['order.created'],
});

/**
 * Returns whether only Parley raises events, or notifies, under this name: `message.created`,
 * `agent.alert`.
 */
export function isOwnType(type: string): boolean {
  return OWN_AREAS.has(areaOf(type));
}

function areaOf(type: string): string {
  return type.split('.', 1)[0]!;
}

/**
 * The areas of everything that Parley raises or records, and its resources, about which later
 * versions may raise events.
 */
const OWN_AREAS: ReadonlySet<string> = new Set([
  ...[...Object.keys(EVENTS), ...TRIGGER_EVENTS, ...AUDIT_ACTIONS, ...NOTIFICATION_CATEGORIES].map(areaOf),
  ...Object.keys(ID_PREFIXES).map((kind) => kind.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
  ...['alert', 'parley', 'registration'],
]);

/** What a refusal of a name in these areas says. */
export const OWN_TYPE_REFUSED =
  'This area is reserved for Parley itself. Name the area after a resource of your application, such as order.created.';
