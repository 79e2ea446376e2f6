import type { TraceContext } from '@parley/protocol/traceparent.ts';
import type { TSchema } from 'typebox';
import type { EventReads } from '../events/event-source.ts';

/** The data of a resource in the payload of a webhook, in the form of the newest version. */
export interface EventData {
  readonly schema: TSchema;
  readonly value: object;
}

/**
 * An event of an account that is not sent to sockets, such as the end of a run or a received mail.
 * It starts agents and goes to webhooks.
 */
export interface AccountEvent {
  readonly type: string;
  readonly accountId: string;
  /** Null if it belongs to no conversation. */
  readonly conversationId: string | null;
  /** The subject of the event, which happens once for it. */
  readonly resourceId: string;
  /** The id of the event, if it is a resource itself. */
  readonly eventId?: string;
  readonly at: string;
  /** Actor id. */
  readonly by: string | null;
  /** The run that caused it. */
  readonly runId: string | null;
  /** The trace of the request that caused it. */
  readonly trace?: TraceContext | undefined;
  /** The input of the run that it starts, or null if it starts none. */
  readonly input: object | null;
  /** An address of the account that is sent it beside its webhooks, or null or absent. */
  readonly callbackUrl?: string | null;
  /** Returns undefined if the resource is gone. */
  data(): Promise<EventData | undefined>;
}

/** Returns the data of each of these resources that still exists. */
export type ReadEventData = (
  from: EventReads,
  resourceIds: readonly string[],
) => Promise<ReadonlyMap<string, EventData>>;

declare module '../../platform/hooks.ts' {
  interface HookTable {
    /**
     * Reads the data of account events again, by their type; `*` stands for the types that
     * applications name. Events of a type without an entry are not delivered.
     */
    eventReaders: Readonly<Record<string, ReadEventData>>;
    /** An outbox topic whose rows become account events, for the proof of completeness. */
    eventTopic: string;
  }
}
