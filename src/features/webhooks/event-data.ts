import { WEBHOOK_TEST } from '@parley/protocol/event-areas.ts';
import { formAt } from '@parley/protocol/forms/forms.ts';
import { EVENT_DATA } from '@parley/protocol/socket/event-data.ts';
import type { ChangeEventName } from '@parley/protocol/socket/events.ts';
import type { Version } from '@parley/protocol/versions.ts';
import { conversationEvents } from '../../core/conversations/events.ts';
import type { Change } from '../../core/events/changes.ts';
import type { EventReads } from '../../core/events/event-source.ts';
import type { EventData, ReadEventData } from '../../core/features/account-event.ts';
import { sourceOf } from '../../core/features/event-sources.ts';
import { ownerOf } from '../../core/frames/frame.ts';
import type { DomainEvent } from '../../core/frames/publish.ts';
import { readSentMessages } from '../../core/messages/rows/message-store.ts';
import { messageEvent, withParts } from '../../core/resources/message.ts';
import { GatheredReads } from '../../platform/db/connection/gathered-reads.ts';
import type { Delivery, ReadData } from './delivery.ts';

/** Returns the JSON in the form of a version. */
export function encodeData(version: Version, { schema, value }: EventData): string {
  return JSON.stringify(formAt(version, schema, value));
}

/** Returns the data that sockets get for an event, or undefined if the team does not get it. */
export function dataOf({ event, team }: DomainEvent): EventData | undefined {
  return team && { schema: EVENT_DATA[event].data, value: team };
}

/**
 * Returns whether an event goes to webhooks: events of conversations do, those on an actor's feed
 * do not.
 */
export function isOfConversation({ stream, conversationId }: DomainEvent): boolean {
  return stream === conversationId;
}

/**
 * Reads the data of later tries from the present resources. Payloads are not stored, so that
 * content needs to be erased in one place only. Simultaneous requests share reads.
 */
export function eventDataReader(from: EventReads): ReadData {
  const reads = new GatheredReads((deliveries: readonly Delivery[]) => readAll(from, deliveries));
  return async ({ id, version }, delivery) => {
    if (delivery.event_type === WEBHOOK_TEST) return `{"object":"webhook_test","webhook_id":"${id}"}`;
    const data = await reads.ask(delivery);
    return data && encodeData(version, data);
  };
}

async function readAll(
  from: EventReads,
  deliveries: readonly Delivery[],
): Promise<(EventData | undefined)[]> {
  const byType = Map.groupBy(deliveries, (delivery) => delivery.event_type);
  const found = new Map<string, ReadonlyMap<string, EventData>>();
  await Promise.all(
    [...byType].map(async ([type, ofType]) => {
      found.set(type, await readerOf(type)(from, ofType));
    }),
  );
  return deliveries.map(({ event_type, resource_id }) => found.get(event_type)!.get(resource_id!));
}

/** Returns the data of each resource that still exists. */
type Read = (from: EventReads, deliveries: readonly Delivery[]) => Promise<ReadonlyMap<string, EventData>>;

/** Features read their own events and those that applications name (`eventReaders`). */
const READERS: Readonly<Partial<Record<string, Read>>> = {
  'message.created': async ({ database, files }, deliveries) => {
    const rows = await readSentMessages(database, idsOf(deliveries));
    const messages = await withParts(database, files, rows);
    // The audience affects only the data for customers.
    return byResource(messages.map((message) => messageEvent('message.created', message, 'internal')));
  },
  'message.updated': changed('message.updated'),
  'message.reacted': changed('message.reacted'),
  'message.pinned': changed('message.pinned'),
  'messages.purged': changed('messages.purged'),
  'draft.created': changed('draft.created'),
  'draft.updated': changed('draft.updated'),
  'scheduled.updated': changed('scheduled.updated'),
  'conversation.created': async (from, deliveries) => readConversations(from, idsOf(deliveries)),
  'conversation.updated': changed('conversation.updated'),
  'participant.added': changed('participant.added'),
  'participant.updated': changed('participant.updated'),
  'participant.removed': changed('participant.removed'),
};

/** Returns the reader of a type. Without the event's feature, it finds nothing. */
function readerOf(type: string): Read {
  if (Object.hasOwn(READERS, type)) return READERS[type]!;
  return async (from, deliveries) => {
    const all = Object.assign({}, ...from.database.hooks.all('eventReaders'));
    const read: ReadEventData | undefined = all[Object.hasOwn(all, type) ? type : '*'];
    return (await read?.(from, idsOf(deliveries))) ?? new Map();
  };
}

/** Returns conversations as the team sees them, by id. */
export async function readConversations(
  from: EventReads,
  ids: readonly string[],
): Promise<ReadonlyMap<string, EventData>> {
  const changes = ids.map((id) => ({ event: 'conversation.updated', id, stream: id }) as const);
  return byResource(await conversationEvents.read(from, changes));
}

function changed(event: ChangeEventName): Read {
  return async (from, deliveries) => {
    const changes = deliveries.map(
      ({ resource_id, conversation_id, change }): Change => ({
        event,
        id: resource_id!,
        stream: conversation_id!,
        ...change,
      }),
    );
    return byResource((await sourceOf(from.database.hooks, event)?.read(from, changes)) ?? []);
  };
}

function byResource(events: readonly DomainEvent[]): ReadonlyMap<string, EventData> {
  return new Map(
    events.filter(isOfConversation).flatMap((event) => {
      const data = dataOf(event);
      return data === undefined ? [] : [[ownerOf(event.resource), data] as const];
    }),
  );
}

function idsOf(deliveries: readonly Delivery[]): string[] {
  return [...new Set(deliveries.map(({ resource_id }) => resource_id!))];
}
