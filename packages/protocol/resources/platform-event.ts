import { type Static, Type } from 'typebox';
import {
  Body,
  demand,
  describe,
  Identity,
  Line,
  Nullable,
  Text,
  Timestamp,
  together,
} from '../schema/schema.ts';
import { EventType } from './event-type.ts';

/** Sizes of an event, and for how long it is kept (docs/contract.md#events). */
export const PLATFORM_EVENT_LIMITS = {
  /** Bytes of `data` as JSON. */
  dataBytes: 16_384,
  eventIdCharacters: 255,
  resourceTypeCharacters: 64,
  resourceIdCharacters: 255,
  keptDays: 30,
} as const;

const Data = Type.Record(Type.String(), Type.Unknown(), { examples: [{ total: 129.9, currency: 'EUR' }] });

/** An event from a producer, the account's own application (docs/contract.md#events). */
export const PlatformEvent = Type.Object({
  ...Identity('event'),
  type: EventType,
  event_id: Nullable(Type.String()),
  data: Data,
  resource_type: Nullable(Type.String()),
  resource_id: Nullable(Type.String()),
  created_by: Type.String(),
  created_at: Timestamp,
});
export type PlatformEvent = Static<typeof PlatformEvent>;

describe(PlatformEvent, {
  type: 'What happened, such as `order.created`: an area, and behind a dot what happened in it.',
  event_id: "The producer's own key of the event. Null where none was given.",
  data: 'What the producer says of the event. Empty once it was erased.',
  resource_type:
    'Kind of the resource that the event is about, in the words of the producer. Null where none was named.',
  resource_id: 'Id of that resource. Null where none was named.',
  created_by: 'Id of the actor that raised the event.',
});

/** Body of Create Event (docs/contract.md#events). create-event.ts has further rules. */
export const CreateEventBody = Body({
  type: EventType,
  data: Data,
  event_id: Type.Optional(Text(PLATFORM_EVENT_LIMITS.eventIdCharacters)),
  resource_type: Type.Optional(Line(PLATFORM_EVENT_LIMITS.resourceTypeCharacters)),
  resource_id: Type.Optional(Line(PLATFORM_EVENT_LIMITS.resourceIdCharacters)),
});
export type CreateEventBody = Static<typeof CreateEventBody>;

describe(CreateEventBody, {
  type: 'What happened, such as `order.created`. Areas of Parley itself, such as `message` or `conversation`, are refused.',
  data: 'What is known of it: a JSON object of at most 16 KiB. Agents that it starts receive it as data.',
  event_id:
    "The producer's own key of this event, unique in the account: sending it again returns the first event, and with another content `validation_failed`.",
  resource_type:
    'Kind of the resource that it is about, in your own words, such as `order`. Required with `resource_id`.',
  resource_id: 'Id of that resource in your application. Required with `resource_type`.',
});
demand(CreateEventBody, together('resource_type', 'resource_id'));
