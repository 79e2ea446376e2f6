import type { ChangeEventName, EVENTS } from '@parley/protocol/socket/events.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import type { DomainEvent } from '../frames/publish.ts';
import type { Downloads } from '../resources/attachment.ts';
import type { Change } from './changes.ts';

export interface EventReads {
  readonly database: Db;
  readonly files: Downloads;
}

/**
 * A family of durable events: how they are read for publication, and how readers that may have
 * missed them catch up. core/features/event-sources.ts lists all of them. Resources are read in
 * their current state. Deleted resources, and resources that no longer match, are left out, because
 * the change that led to this has its own event.
 */
export interface EventSource<Event extends ChangeEventName = ChangeEventName> {
  readonly events: readonly Event[];
  /** Returns the events of these changes, which all have the same event name. */
  read(from: EventReads, changes: readonly Change<Event>[]): Promise<readonly DomainEvent[]>;
  /** Keyed by the kind of stream that the events travel on. */
  readonly changed: Readonly<Partial<Record<Stream, CatchUp>>>;
}

interface CatchUp {
  readonly arm: ChangedArm;
  /** Returns the events that readers of these streams may have missed, oldest changes first. */
  since(from: EventReads, streamIds: readonly string[], since: Since): Promise<readonly DomainEvent[]>;
}

/** The moment from which readers may have missed something. */
export interface Since {
  /** A transaction, an xid8 as decimal text. Its changes and later ones may have been missed. */
  readonly xid: string;
  /** ISO 8601, by the clock of Postgres: all of these transactions began later. */
  readonly began: string;
}

/** Returns a moment that covers both. */
export function earlier(one: Since, other: Since): Since {
  return {
    xid: BigInt(one.xid) < BigInt(other.xid) ? one.xid : other.xid,
    began: [one.began, other.began].sort()[0]!,
  };
}

/**
 * A part of the one statement that finds the streams in which something changed
 * (edge/gateway/changes/changes.ts). It requires an index that leads from a stream to its changes,
 * however many other rows there are. Sources whose events come from the same rows share an arm.
 */
export interface ChangedArm {
  readonly part: string;
  /**
   * SQL after FROM, with its WHERE: the rows of the stream `s.id` that changed since the
   * transaction `$3::xid8`, whose `began` is `$5::timestamptz`.
   */
  readonly rows: string;
  /** SQL: the bytes of a row's text, for rows that may be large. */
  readonly bytes?: string;
}

export type Stream = 'conversation' | 'actor';

/** A source that can catch up on each kind of stream that EVENTS names for its events. */
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
