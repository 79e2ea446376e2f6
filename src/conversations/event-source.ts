import type { Downloads } from '../attachments/storage.ts';
import type { Db } from '../db/handle.ts';
import type { DomainEvent } from '../engine/publish.ts';
import type { ChangeEventName, EVENTS } from '../protocol/socket/events.ts';
import type { Change } from './outbox-topics.ts';

/** What sources read from. */
export interface EventReads {
  readonly database: Db;
  readonly files: Downloads;
}

/**
 * A family of durable events: how they are read when they are published, and how readers that may have missed them get
 * them. src/event-sources.ts lists all of them. The resources are read as they stand; what is gone or not so any more is
 * left out, since the change that made it so has an event of its own.
 */
export interface EventSource<Event extends ChangeEventName = ChangeEventName> {
  readonly events: readonly Event[];
  /** The events of these changes, which all have the same event. */
  read(from: EventReads, changes: readonly Change<Event>[]): Promise<readonly DomainEvent[]>;
  /** By the kind of stream they travel on. */
  readonly changed: Readonly<Partial<Record<Stream, CatchUp>>>;
}

export interface CatchUp {
  readonly arm: ChangedArm;
  /** What readers of these streams may have missed since a transaction, an xid8 as decimal text: oldest changes first. */
  since(from: EventReads, streamIds: readonly string[], sinceXid: string): Promise<readonly DomainEvent[]>;
}

/**
 * A part of the one statement that finds the streams in which something changed (gateway/catch-up/changes.ts). It needs an
 * index that leads from the stream to what changed, however much else there is. Sources whose events come from the same
 * rows share it.
 */
export interface ChangedArm {
  readonly part: string;
  /** SQL after FROM, with its WHERE: the rows of the stream `s.id` that changed since the transaction `$3::xid8`. */
  readonly rows: string;
}

export type Stream = 'conversation' | 'actor';

/** With a way to catch up on every kind of stream that protocol/socket/events.ts names for these events. */
export interface CompleteSource<Event extends ChangeEventName> extends EventSource<Event> {
  readonly changed: Readonly<
    Record<(typeof EVENTS)[Event]['stream'], CatchUp> & Partial<Record<Stream, CatchUp>>
  >;
}

export function eventSource<const Event extends ChangeEventName>(
  source: CompleteSource<Event>,
): CompleteSource<Event> {
  return source;
}

/** The durable events that none of these sources has. */
export type Unsourced<Sources extends readonly EventSource[]> = Exclude<
  ChangeEventName,
  Sources[number]['events'][number]
>;

/** These sources, if every durable event has one; otherwise a type that they do not have, which names what is missing. */
export type Complete<Sources extends readonly EventSource[]> = [Unsourced<Sources>] extends [never]
  ? Sources
  : { readonly missing: Unsourced<Sources> };
