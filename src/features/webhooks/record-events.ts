import { timedId } from '@parley/protocol/ids.ts';
import { EVENT_DATA } from '@parley/protocol/socket/event-data.ts';
import { formatTraceparent, type TraceContext } from '@parley/protocol/traceparent.ts';
import { keptVersion, type Version } from '@parley/protocol/versions.ts';
import { LRUCache } from 'lru-cache';
import type { ConversationCreated } from '../../core/conversations/outbox-topics.ts';
import type { Change } from '../../core/events/changes.ts';
import type { AccountEvent, EventData } from '../../core/features/account-event.ts';
import type { NodeParts, SentMessage } from '../../core/features/feature.ts';
import { ownerOf } from '../../core/frames/frame.ts';
import { type DomainEvent, microseconds } from '../../core/frames/publish.ts';
import { readHeads } from '../../core/messages/timeline/timeline-store.ts';
import type { Downloads } from '../../core/resources/attachment.ts';
import { presentForTeam } from '../../core/resources/message.ts';
import { bounded } from '../../platform/bounded.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { findCallbacks } from './callbacks.ts';
import type { Deliverer } from './deliverer.ts';
import type { Delivery, FirstTry } from './delivery.ts';
import { addDeliveries, pending } from './delivery-store.ts';
import { dataOf, encodeData, isOfConversation, readConversations } from './event-data.ts';
import { type ListeningWebhooks, wants } from './listening-webhooks.ts';

export interface EventRecorderOptions extends Pick<NodeParts, 'database' | 'directory'> {
  readonly files: Downloads;
  readonly listeners: { readonly found: { readonly webhooks: ListeningWebhooks } };
  readonly deliverer: Pick<Deliverer, 'deliver'>;
}

type RecordedMessage = Omit<SentMessage, 'rosterVersion'>;

/**
 * Makes a delivery of each committed event for each webhook that wants it. Handlers of the outbox
 * call it, and their row stays until the promise resolves. Events that are not stored by then are
 * recorded again by the node that takes the row over. `isRepeated` means that the event may have
 * been recorded before; its deliveries are then stored before they are tried, so that an existing
 * delivery is not tried again.
 *
 * An account without webhooks costs one lookup in a map.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  /** The webhooks and conversations that are known to have a row in webhook_progress. */
  readonly #listed = new LRUCache<string, true>(bounded(MAX_LISTED));

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Returns undefined if no webhook can want the messages, so that sends do not wait. */
  sent(messages: readonly RecordedMessage[], isRepeated: boolean): Promise<void> | undefined {
    const { webhooks } = this.#options.listeners.found;
    if (webhooks.size === 0) return undefined;
    const own = messages.filter(({ row }) => webhooks.has(row.account_id));
    return own.length === 0 ? undefined : this.#recordSent(own, isRepeated);
  }

  /** Records `events`, which were published for these changes and have one type. */
  async changed(
    events: readonly DomainEvent[],
    changes: readonly Change[],
    isRepeated: boolean,
  ): Promise<void> {
    if (this.#options.listeners.found.webhooks.size === 0) return;
    const attempts = new Map(changes.flatMap(({ id, attempt }) => (attempt ? [[id, { attempt }]] : [])));
    const recorded: RecordedEvent[] = [];
    for (const event of events.filter(isOfConversation)) {
      const data = dataOf(event);
      const place = await this.#placeOf(event.stream);
      if (data === undefined || place === undefined) continue;
      const resourceId = ownerOf(event.resource);
      recorded.push({
        type: event.event,
        at: event.at,
        ...place,
        sequence: event.sequence || null,
        resourceId,
        change: attempts.get(resourceId) ?? null,
        data,
      });
    }
    await this.#record(await this.#withHeads(recorded), isRepeated);
  }

  conversationCreated(
    { conversation_id: id, account_id: accountId, at }: ConversationCreated,
    isRepeated: boolean,
  ): Promise<void> {
    const data = async () => (await readConversations(this.#options, [id])).get(id);
    const event = { type: 'conversation.created', accountId, conversationId: id, resourceId: id, at, data };
    return this.happened(event, isRepeated);
  }

  /** Records an event other than a change of a conversation. */
  async happened(event: Omit<AccountEvent, 'by' | 'runId' | 'input'>, isRepeated: boolean): Promise<void> {
    const { type, accountId, conversationId, resourceId, at, trace, eventId } = event;
    const { callbackUrl = null } = event;
    if (callbackUrl === null && !this.#options.listeners.found.webhooks.has(accountId)) return;
    const [place, data] = await Promise.all([
      conversationId === null
        ? { accountId, conversationId, isDirect: false }
        : this.#placeOf(conversationId),
      event.data(),
    ]);
    if (place === undefined || data === undefined) return;
    const recorded = { type, at, ...place, resourceId, trace, data, eventId, callbackUrl };
    await this.#record(await this.#withHeads([recorded]), isRepeated);
  }

  async #recordSent(messages: readonly RecordedMessage[], isRepeated: boolean): Promise<void> {
    const heads = new Map<string, number>();
    for (const { row } of messages) {
      heads.set(row.conversation_id, Math.max(row.sequence!, heads.get(row.conversation_id) ?? 0));
    }
    const events: RecordedEvent[] = [];
    for (const message of messages) {
      const { row, trace } = message;
      const known = this.#options.directory.facts(row.conversation_id);
      const facts = known instanceof Promise ? await known : known;
      if (facts === undefined) continue;
      const { outcome, created_at, sequence } = row;
      events.push({
        type: 'message.created',
        accountId: row.account_id,
        conversationId: row.conversation_id,
        isDirect: facts.type === 'direct_message',
        sequence,
        head: heads.get(row.conversation_id)!,
        resourceId: row.id,
        // The time when it entered the timeline, which later changes of the message do not affect.
        at: outcome?.at ?? created_at,
        trace,
        data: { schema: EVENT_DATA['message.created'].data, value: presentForTeam(row, message) },
      });
    }
    await this.#record(events, isRepeated);
  }

  async #placeOf(conversationId: string): Promise<Place | undefined> {
    const facts = await this.#options.directory.facts(conversationId);
    if (facts === undefined) return undefined;
    return { accountId: facts.accountId, conversationId, isDirect: facts.type === 'direct_message' };
  }

  /** Adds the highest sequence of each conversation. */
  async #withHeads(events: readonly RecordedEvent[]): Promise<RecordedEvent[]> {
    const { database, listeners } = this.#options;
    const awaited = events.filter(
      ({ accountId, callbackUrl }) => callbackUrl != null || listeners.found.webhooks.has(accountId),
    );
    const ids = new Set(awaited.flatMap(({ conversationId }) => conversationId ?? []));
    const heads = ids.size === 0 ? undefined : await readHeads(database.pipeline, [...ids]);
    return awaited.map((event) => ({ ...event, head: heads?.get(event.conversationId ?? '') ?? null }));
  }

  async #record(events: readonly RecordedEvent[], isRepeated: boolean): Promise<void> {
    const { database, listeners, deliverer } = this.#options;
    const tries: FirstTry[] = [];
    for (const event of events) {
      const encoded = new Map<Version, string>();
      for (const webhook of listeners.found.webhooks.get(event.accountId) ?? []) {
        if (!wants(webhook, event)) continue;
        const { id, version } = webhook;
        if (!encoded.has(version)) encoded.set(version, encodeData(version, event.data));
        tries.push({ delivery: toDelivery(id, event), data: encoded.get(version)! });
      }
      const { callbackUrl: url = null } = event;
      const receiver = url === null ? undefined : await findCallbacks(database, event.accountId);
      if (receiver === undefined) continue;
      const data = encodeData(keptVersion(receiver.version), event.data);
      tries.push({ delivery: { ...toDelivery(receiver.id, event), url }, data });
    }
    if (tries.length === 0) return;
    const deliveries = tries.map(({ delivery }) => delivery);
    await Promise.all([
      isRepeated
        ? addDeliveries(
            database,
            deliveries.map((delivery) => ({ delivery, state: pending(0) })),
          )
        : deliverer.deliver(tries),
      this.#list(deliveries),
    ]);
  }

  /** Lists the conversations of new messages for the proof of completeness. */
  async #list(deliveries: readonly Delivery[]): Promise<void> {
    const unlisted = new Map<string, Delivery>();
    for (const delivery of deliveries) {
      if (delivery.event_type !== 'message.created') continue;
      const key = `${delivery.webhook_id} ${delivery.conversation_id}`;
      if (!this.#listed.has(key)) unlisted.set(key, delivery);
    }
    if (unlisted.size === 0) return;
    const listed = [...unlisted.values()];
    await this.#options.database.query(
      INSERT_PROGRESS,
      listed.map(({ webhook_id }) => webhook_id),
      listed.map(({ conversation_id }) => conversation_id!),
    );
    for (const key of unlisted.keys()) this.#listed.set(key, true);
  }
}

interface Place {
  readonly accountId: string;
  readonly conversationId: string | null;
  readonly isDirect: boolean;
}

interface RecordedEvent extends Place {
  readonly type: string;
  readonly at: string;
  readonly sequence?: number | null;
  readonly head?: number | null;
  /** If absent, it is derived from the event. */
  readonly eventId?: string | undefined;
  readonly callbackUrl?: string | null;
  readonly resourceId: string;
  readonly change?: object | null;
  readonly trace?: TraceContext | undefined;
  readonly data: EventData;
}

function toDelivery(webhookId: string, event: RecordedEvent): Delivery {
  const { type, at, resourceId, trace } = event;
  const moment = microseconds(at);
  const { eventId = timedId('event', moment, `${type} ${resourceId} ${at}`) } = event;
  return {
    webhook_id: webhookId,
    id: timedId('webhookDelivery', moment, `${webhookId} ${eventId}`),
    event_id: eventId,
    event_type: type,
    conversation_id: event.conversationId,
    sequence: event.sequence ?? null,
    head: event.head ?? null,
    resource_id: resourceId,
    change: event.change ?? null,
    occurred_at: at,
    trace: trace === undefined ? null : formatTraceparent(trace),
    url: null,
    attempts: 0,
  };
}

const MAX_LISTED = 100_000;

const INSERT_PROGRESS = statement<[webhookIds: readonly string[], conversationIds: readonly string[]]>(
  'insert-webhook-progress',
)`
    INSERT INTO webhook_progress (webhook_id, conversation_id)
    SELECT w.id, c.id
    FROM unnest($1::text[], $2::text[]) AS listed(webhook_id, conversation_id)
      JOIN webhooks w ON w.id = listed.webhook_id JOIN conversations c ON c.id = listed.conversation_id
    ORDER BY w.id, c.id
    ON CONFLICT DO NOTHING`;
