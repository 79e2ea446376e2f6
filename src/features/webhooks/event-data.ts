import type { TSchema } from 'typebox';
import { formAt } from '../../contract/protocol/forms.ts';
import { AgentRun } from '../../contract/protocol/resources/agent-run.ts';
import { Email } from '../../contract/protocol/resources/email.ts';
import { PlatformEvent } from '../../contract/protocol/resources/platform-event.ts';
import { EVENT_DATA } from '../../contract/protocol/socket/event-data.ts';
import type { ChangeEventName } from '../../contract/protocol/socket/events.ts';
import type { Version } from '../../contract/protocol/versions.ts';
import type { WebhookEventName } from '../../contract/protocol/webhook-events.ts';
import type { EventReads, EventSource } from '../../core/conversations/event-source.ts';
import { conversationEvents } from '../../core/conversations/events.ts';
import type { Change } from '../../core/conversations/outbox-topics.ts';
import { readSentMessages } from '../../core/messages/store.ts';
import type { Downloads } from '../../core/resources/attachment.ts';
import { messageEvent, withParts } from '../../core/resources/message.ts';
import { readRuns } from '../../core/resources/run.ts';
import { GatheredReads } from '../../platform/db/gathered-reads.ts';
import { ownerOf } from '../../platform/engine/frame.ts';
import type { DomainEvent } from '../../platform/engine/publish.ts';
import { sourceOf } from '../event-sources.ts';
import { type MailRow, presentEmail, readMails } from '../mail/mail-store.ts';
import { readEvents } from '../platform-events/event-store.ts';
import { presentEvent } from '../platform-events/platform-event.ts';
import type { Delivery, ReadData } from './delivery.ts';

/** The `data` of a payload: what the team gets on sockets, in the form of the newest version. */
export interface EventData {
  readonly schema: TSchema;
  readonly value: object;
}

/** Returns the JSON in the form of a version. */
export function encodeData(version: Version, { schema, value }: EventData): string {
  return JSON.stringify(formAt(version, schema, value));
}

/** Returns the data of an event that sockets get; undefined: the team does not get it. */
export function dataOf({ event, team }: DomainEvent): EventData | undefined {
  return team && { schema: EVENT_DATA[event].data, value: team };
}

/**
 * The id of the resource that an event is about; what belongs to a message or a conversation is
 * about that.
 */
export function resourceOf({ resource }: DomainEvent): string {
  return ownerOf(resource);
}

/**
 * Whether an event of a stream goes to webhooks: those of a conversation do, and those that only
 * one actor gets (on its own feed) do not.
 */
export function isOfConversation({ stream, conversationId }: DomainEvent): boolean {
  return stream === conversationId;
}

/**
 * Reads the data of deliveries from their resources as they are now, for every try but the first:
 * payloads are stored nowhere, so that content has one place from which it is erased. Deliveries
 * that are asked for together are read together.
 */
export function eventDataReader(from: EventReads): ReadData {
  const reads = new GatheredReads((deliveries: readonly Delivery[]) => readAll(from, deliveries));
  return async ({ version }, delivery) => {
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
      const read = Object.hasOwn(READERS, type) ? READERS[type as WebhookEventName] : readPlatformEvents;
      found.set(type, await read(from, ofType));
    }),
  );
  return deliveries.map(({ event_type, resource_id }) => found.get(event_type)!.get(resource_id!));
}

/** Returns the data of each resource that still exists. */
type Read = (from: EventReads, deliveries: readonly Delivery[]) => Promise<ReadonlyMap<string, EventData>>;

const READERS: Readonly<Record<WebhookEventName, Read>> = {
  'message.created': async ({ database, files }, deliveries) => {
    const rows = await readSentMessages(database, idsOf(deliveries));
    const messages = await withParts(database, files, rows);
    // The audience decides only what customers get.
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
  'agent_run.completed': async ({ database }, deliveries) => {
    const runs = await readRuns(database, idsOf(deliveries));
    return new Map([...runs].map(([id, value]) => [id, { schema: AgentRun, value }]));
  },
  'email.received': async ({ database, files }, deliveries) => {
    const mails = await readMails(database, idsOf(deliveries));
    const data = await Promise.all(
      mails.map(async (mail) => [mail.id, await emailData(files, mail)] as const),
    );
    return new Map(data);
  },
};

async function readPlatformEvents(
  { database }: EventReads,
  deliveries: readonly Delivery[],
): Promise<ReadonlyMap<string, EventData>> {
  const rows = await readEvents(database, idsOf(deliveries));
  return new Map(rows.map((row) => [row.id, { schema: PlatformEvent, value: presentEvent(row) }]));
}

/**
 * A mail as the team sees it, without the HTML: receivers that show it read it where they sandbox
 * it.
 */
export async function emailData(files: Downloads, mail: MailRow): Promise<EventData> {
  return { schema: Email, value: { ...(await presentEmail(files, mail)), html: null } };
}

/** Conversations as the team sees them, by id. */
export async function readConversations(
  from: EventReads,
  ids: readonly string[],
): Promise<ReadonlyMap<string, EventData>> {
  const changes = ids.map((id) => ({ event: 'conversation.updated', id, stream: id }) as const);
  return byResource(await conversationEvents.read(from, changes));
}

function changed(event: ChangeEventName): Read {
  const source: EventSource = sourceOf(event);
  return async (from, deliveries) => {
    const changes = deliveries.map(
      ({ resource_id, conversation_id, change }): Change => ({
        ...{ event, id: resource_id!, stream: conversation_id! },
        ...change,
      }),
    );
    return byResource(await source.read(from, changes));
  };
}

function byResource(events: readonly DomainEvent[]): ReadonlyMap<string, EventData> {
  return new Map(
    events.filter(isOfConversation).flatMap((event) => {
      const data = dataOf(event);
      return data === undefined ? [] : [[resourceOf(event), data] as const];
    }),
  );
}

function idsOf(deliveries: readonly Delivery[]): string[] {
  return [...new Set(deliveries.map(({ resource_id }) => resource_id!))];
}
