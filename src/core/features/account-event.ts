import type { TSchema } from 'typebox';
import type { TraceContext } from '../../contract/protocol/traceparent.ts';
import type { EventReads } from '../events/event-source.ts';

/** What a payload of a webhook says of a resource, in the form of the newest version. */
export interface EventData {
  readonly schema: TSchema;
  readonly value: object;
}

/**
 * Something that happened in an account and is no change that sockets are sent, such as the end of
 * a run or a mail that was received. It starts agents and goes to webhooks.
 */
export interface AccountEvent {
  readonly type: string;
  readonly accountId: string;
  /** Null: it belongs to no conversation. */
  readonly conversationId: string | null;
  /** The resource that it is about. It happens once to a resource. */
  readonly resourceId: string;
  /** Its id, where the event itself is a resource. */
  readonly eventId?: string;
  readonly at: string;
  /** Actor id. */
  readonly by: string | null;
  /** The run that caused it. */
  readonly runId: string | null;
  /** Of the request that caused it. */
  readonly trace?: TraceContext | undefined;
  /** What a run is told of it; null: it starts none. */
  readonly input: object | null;
  /** Returns undefined if the resource is gone. */
  data(): Promise<EventData | undefined>;
}

/** Returns the data of each of these resources that still exists. */
export type ReadEventData = (
  from: EventReads,
  resourceIds: readonly string[],
) => Promise<ReadonlyMap<string, EventData>>;
