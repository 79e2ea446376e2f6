import { EVENT_DATA } from '@parley/protocol/socket/event-data.ts';
import {
  type DurableEventName,
  type EphemeralEventName,
  EVENTS,
  type EventFrame,
  type EventName,
} from '@parley/protocol/socket/events.ts';
import { SOCKETS_SINCE } from '@parley/protocol/versions.ts';
import { markedWithin } from '../../api/marked-json.ts';
import type { Engine } from './engine.ts';
import type { Committed, EphemeralFrame, PieceFrame, SnapshotFrame, TextFrame } from './frame.ts';
import type { TextPosition } from './text-position.ts';

interface EventContent {
  readonly event: EventName;
  /** Id of the conversation or actor; its engine channel has the same name. */
  readonly stream: string;
  /** Null for an actor's own feed. */
  readonly conversationId: string | null;
  /** Number of the sent message that it is about; 0 if there is none. */
  readonly sequence: number;
  /** Id of the resource. */
  readonly resource: string;
  /** ISO 8601 from Postgres: when it became true; for resources their `updated_at`. */
  readonly at: string;
  /** The resource as the team sees it, or undefined if the team does not get the event. */
  readonly team: object | undefined;
}

/** A change that is committed in Postgres. */
export interface DomainEvent<Name extends DurableEventName = DurableEventName> extends EventContent {
  readonly event: Name;
  /** The resource as customers see it, or undefined if customers do not get the event. */
  readonly customer: object | undefined;
  /** Whether its text is still being written. */
  readonly streaming?: boolean;
  /** Whether its content was removed. */
  readonly erases?: boolean;
}

/** An event that is not kept. */
export interface EphemeralEvent extends EventContent {
  readonly event: EphemeralEventName;
  /** As `customer` of a DomainEvent; customers get `inbox.changed` alone. */
  readonly customer?: object | undefined;
}

/** A piece of a message that is being streamed, or a snapshot of it; `resource` is the message. */
export interface TextEvent extends EphemeralEvent {
  readonly position: TextPosition;
}

/**
 * Publishes an event to every node, after the caller's transaction has committed: no event leaves
 * this process in another way. Rejects with EngineUnavailableError when it did not reach the other
 * nodes (local readers have it); the outbox row of the event is then kept and tried again.
 */
export function publish(engine: Engine, event: DomainEvent | EphemeralEvent | TextEvent): Promise<void> {
  return engine.publish(event.stream, isDurable(event) ? toFrame(event) : toEphemeralFrame(event));
}

/** Encodes a durable event once for each audience, whatever the number of its readers. */
export function toFrame<Name extends DurableEventName>(event: DomainEvent<Name>): Committed<Order<Name>> {
  return {
    kind: EVENTS[event.event].order,
    stream: event.stream,
    resource: event.resource,
    sequence: event.sequence,
    updatedAtUs: microseconds(event.at),
    streaming: event.streaming === true,
    erases: event.erases === true,
    team: event.team && encodeEvent(event, event.team),
    customer: event.customer && encodeEvent(event, event.customer, false),
  };
}

type Order<Name extends EventName> = (typeof EVENTS)[Name]['order'];

export function toEphemeralFrame(event: EphemeralEvent | TextEvent): EphemeralFrame | PieceFrame {
  if ('position' in event) return textFrame('piece', event);
  return {
    kind: 'ephemeral',
    stream: event.stream,
    resource: event.resource,
    team: event.team && encodeEvent(event, event.team),
    customer: event.customer && encodeEvent(event, event.customer, false),
  };
}

/** Encodes the answer to an AskFrame. */
export function snapshotFrame(event: TextEvent): SnapshotFrame {
  return textFrame('snapshot', event);
}

function textFrame<K extends TextFrame['kind']>(kind: K, event: TextEvent): TextFrame<K> {
  return {
    kind,
    stream: event.stream,
    messageId: event.resource,
    sequence: event.sequence,
    position: event.position,
    team: event.team && encodeEvent(event, event.team),
    customer: undefined,
  };
}

function isDurable(event: DomainEvent | EphemeralEvent): event is DomainEvent {
  return EVENTS[event.event].order !== 'ephemeral';
}

/**
 * Returns the newest form, with marks on the parts that older versions lack (marked-json.ts). The
 * customers of a case share its bytes, so these have no own ids of actors.
 */
function encodeEvent(event: EventContent, data: object, hasOwnIds = true): Buffer {
  // JSON.stringify leaves undefined fields out, which is cheaper than doing that here.
  const head: Readonly<Record<Exclude<keyof EventFrame, 'data'>, unknown>> = {
    type: 'event',
    event: event.event,
    conversation_id: event.conversationId ?? undefined,
    sequence: event.sequence || undefined,
    at: event.at,
  };
  const before = `${JSON.stringify(head).slice(0, -1)},"data":`;
  const { since } = EVENTS[event.event];
  const isOld = since === SOCKETS_SINCE;
  const { data: schema } = EVENT_DATA[event.event];
  return markedWithin([before, '}'], schema, data, { ...(!isOld && { since }), hasOwnIds });
}

/** Converts `2026-11-21T01:02:03.123456Z` to microseconds since 1970, exact up to the year 2255. */
export function microseconds(timestamp: string): number {
  // Events of the same second follow each other, and parsing dates is slow.
  const second = timestamp.slice(0, 19);
  if (second !== lastSecond) {
    lastSecond = second;
    lastSecondMs = Date.parse(`${second}Z`);
  }
  return lastSecondMs * 1_000 + Number(timestamp.slice(20, 26));
}

let lastSecond = '';
let lastSecondMs = 0;
