import { EVENT_DATA } from '../protocol/socket/event-data.ts';
import { EVENTS, type EventFrame, type EventName } from '../protocol/socket/events.ts';
import { SOCKETS_SINCE } from '../protocol/versions.ts';
import type { Engine } from './engine.ts';
import { FRAME_KINDS, type Frame } from './frame.ts';
import { markedJson, markWhole } from './marked-json.ts';
import { packPlace, type StreamPlace } from './stream-place.ts';

/** Something that became true in Postgres (or, for ephemeral events, is happening now). */
export interface DomainEvent {
  readonly event: EventName;
  /** The conversation's or actor's id; its engine channel has the same name. */
  readonly stream: string;
  /** Null for an actor's own feed. */
  readonly conversationId: string | null;
  /** Of the sent message it is about; 0 where there is none. */
  readonly sequence: number;
  /** Id of the resource. */
  readonly resource: string;
  /** ISO 8601 from Postgres: when it became true; for resources their `updated_at`. */
  readonly at: string;
  /** The resource as the team sees it; undefined: not for the team. */
  readonly team: object | undefined;
  /** The resource as customers see it; undefined: not for them. */
  readonly customer: object | undefined;
  /** Its text is still being written. */
  readonly streaming?: boolean;
  /** Of a piece of such a text. */
  readonly place?: StreamPlace;
}

/**
 * Tells every node, once the caller's transaction has committed: the one way an event leaves this
 * process. Rejects with EngineUnavailableError when other nodes could not be told (local readers have
 * been); the outbox row that stands for the event is then kept and tried again.
 */
export function publish(engine: Engine, event: DomainEvent): Promise<void> {
  return engine.publish(event.stream, toFrame(event));
}

/** Encodes the event once for each audience, whatever the number of its readers. */
export function toFrame(event: DomainEvent): Frame {
  const { order } = EVENTS[event.event];
  return {
    kind: FRAME_KINDS[order],
    stream: event.stream,
    resource: event.resource,
    sequence: event.sequence,
    updatedAtUs: order === 'ephemeral' ? placeOf(event) : microseconds(event.at),
    ...(event.streaming === true && { streaming: true as const }),
    team: event.team && encodeEvent(event, event.team),
    customer: event.customer && encodeEvent(event, event.customer),
  };
}

function placeOf({ place }: DomainEvent): number {
  return place === undefined ? 0 : packPlace(place);
}

/** The frame that says of a number that no message will ever carry it. */
export function voidFrame(conversationId: string, sequence: number): Frame {
  return {
    kind: FRAME_KINDS.void,
    stream: conversationId,
    resource: '',
    sequence,
    updatedAtUs: 0,
    team: undefined,
    customer: undefined,
  };
}

/** A question of one node, and its answer, on a conversation's channel (FRAME_KINDS.ask, told). */
export function askFrame(conversationId: string, messageId: string): Frame {
  return { ...voidFrame(conversationId, 0), kind: FRAME_KINDS.ask, resource: messageId };
}

export function snapshotFrame(snapshot: DomainEvent): Frame {
  return { ...toFrame(snapshot), kind: FRAME_KINDS.told };
}

/** In the form of the newest version, with what older ones do not have marked (marked-json.ts). */
function encodeEvent(event: DomainEvent, data: object): Buffer {
  const head: Omit<EventFrame, 'data'> = {
    type: 'event',
    event: event.event,
    ...(event.conversationId === null ? {} : { conversation_id: event.conversationId }),
    ...(event.sequence === 0 ? {} : { sequence: event.sequence }),
    at: event.at,
  };
  const text = markedJson(EVENT_DATA[event.event].data, data);
  const frame = `${JSON.stringify(head).slice(0, -1)},"data":${text}}`;
  const { since } = EVENTS[event.event];
  return Buffer.from(since === SOCKETS_SINCE ? frame : markWhole(since, frame));
}

/** `2026-11-21T01:02:03.123456Z`, as db/ reads times, → microseconds since 1970, exact below 2^53 (the year 2255). */
export function microseconds(timestamp: string): number {
  // The rows of one statement share their time.
  if (timestamp !== lastTimestamp) {
    lastTimestamp = timestamp;
    const wholeMs = Date.parse(`${timestamp.slice(0, 23)}Z`);
    lastMicroseconds = wholeMs * 1_000 + Number(timestamp.slice(23, 26));
  }
  return lastMicroseconds;
}

let lastTimestamp = '';
let lastMicroseconds = 0;
