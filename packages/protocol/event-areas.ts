import { ID_PREFIXES } from './ids.ts';
import { AUDIT_ACTIONS } from './resources/audit-event.ts';
import { NOTIFICATION_CATEGORIES } from './resources/notification.ts';
import { EVENTS } from './socket/events.ts';
import { TRIGGER_EVENTS } from './trigger-events.ts';
import { WEBHOOK_EVENTS } from './webhook-events.ts';

/** Returns whether the name, such as `message.created` or `agent.alert`, is Parley's alone. */
export function isOwnType(type: string): boolean {
  return OWN_AREAS.has(areaOf(type));
}

function areaOf(type: string): string {
  return type.split('.', 1)[0]!;
}

/** Areas of Parley's events, records and resources, for events of later versions. */
const OWN_AREAS: ReadonlySet<string> = new Set([
  ...[...Object.keys(EVENTS), ...TRIGGER_EVENTS, ...AUDIT_ACTIONS, ...NOTIFICATION_CATEGORIES].map(areaOf),
  ...Object.keys(ID_PREFIXES).map((kind) => kind.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
  'alert',
  'parley',
  'registration',
]);

/** The refusal of a name in these areas. */
export const OWN_TYPE_REFUSED =
  'This area is reserved for Parley itself. Name the area after a resource of your application, such as order.created.';

/** The event for trying a webhook out, sent whatever its filter. */
export const WEBHOOK_TEST = 'webhook.test';

/** Returns whether there are events that this filter lets through, now or from a producer. */
export function isEventFilter(filter: string): boolean {
  if (!isOwnType(filter)) return true;
  return WEBHOOK_EVENTS.some((name) => filtersOf(name).includes(filter));
}

/** Returns every filter that lets events of this type through. */
export function filtersOf(eventType: string): [type: string, area: string, all: string] {
  return [eventType, `${eventType.slice(0, eventType.indexOf('.'))}.*`, '*'];
}
