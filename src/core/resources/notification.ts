import { type MessageText, previewOf } from '@parley/markdown/message-text.ts';
import { formAt } from '@parley/protocol/forms/forms.ts';
import { ID_PREFIXES } from '@parley/protocol/ids.ts';
import type { Entity } from '@parley/protocol/resources/actor.ts';
import {
  type NOTIFICATION_INCLUDES,
  Notification,
  PREVIEW_CHARACTERS,
} from '@parley/protocol/resources/notification.ts';
import type { Version } from '@parley/protocol/versions.ts';
import type { Selectable } from 'kysely';
import type { Principal } from '../../api/access/principal.ts';
import type { Db } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import type { DomainEvent } from '../frames/publish.ts';
import { readActors } from './actor.ts';
import { type EncodedRow, type EncodedRows, type RowKey, type RowKind, withFields } from './encoded-rows.ts';
import { type EntityRef, type EntityRow, presentEntity, readEntities, refKey, refOf } from './entity.ts';
import { acquainted } from './known-users.ts';

/** A notification is late if its statement begins this many ms after the time of its cause. */
export const NOTIFIED_IN_TIME_MS = 1_000;

export const NOTIFICATION_COLUMNS = [
  'id',
  'account_id',
  'recipient_id',
  'category',
  'title',
  'body',
  'status',
  'priority',
  'sender_id',
  'resource_type',
  'resource_id',
  'message_id',
  'agent_run_id',
  'seen_at',
  'read_at',
  'dismissed_at',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof Schema['notifications'])[];

export type NotificationRow = Readonly<
  Pick<Selectable<Schema['notifications']>, (typeof NOTIFICATION_COLUMNS)[number]>
>;

/**
 * SQL, FROM: the notifications `n` of messages `m`, for present and former participants `p` of
 * their conversations. Each is looked up by its key: a plain join read whole feeds when the table
 * had grown since its last ANALYZE, for 6 s during a storm into groups.
 */
export function notificationsOf(messageIds: string): string {
  return `unnest(${messageIds}) AS asked(id)
      CROSS JOIN LATERAL (
        SELECT id, conversation_id, sequence, moment_of(messages) AS at FROM messages WHERE id = asked.id OFFSET 0
      ) m
      CROSS JOIN LATERAL (
        SELECT actor_id, read_sequence FROM participants WHERE conversation_id = m.conversation_id OFFSET 0
      ) p
      CROSS JOIN LATERAL (
        SELECT ${NOTIFICATION_COLUMNS.join(', ')} FROM notifications
        WHERE recipient_id = p.actor_id AND id = notification_id(m.at, m.id, p.actor_id) OFFSET 0
      ) n`;
}

export type FeedRow = Omit<NotificationRow, 'account_id' | 'recipient_id'> & RowKey;

/** The columns that name the sub-objects of a notification. */
export type NotificationLinks = Pick<NotificationRow, 'sender_id' | 'resource_type' | 'resource_id'>;

/** Returns the current rows; deleted ones are left out. */
export async function readNotifications(
  db: Db,
  keys: readonly Pick<NotificationRow, 'recipient_id' | 'id'>[],
): Promise<NotificationRow[]> {
  if (keys.length === 0) return [];
  return db.query(
    READ,
    keys.map(({ recipient_id }) => recipient_id),
    keys.map(({ id }) => id),
  );
}

/** Returns a row as its recipient sees it (docs/contract.md#notifications). */
export function presentNotification(row: FeedRow | NotificationRow): Notification {
  return {
    id: row.id,
    object: 'notification',
    category: row.category,
    title: row.title,
    body: row.body,
    status: row.status,
    priority: row.priority,
    sender: null,
    resource: null,
    message_id: row.message_id,
    agent_run_id: row.agent_run_id,
    seen_at: row.seen_at,
    read_at: row.read_at,
    dismissed_at: row.dismissed_at,
    created_at: row.created_at,
    updated_at: row.updated_at,
    sender_id: row.sender_id,
    resource_type: row.resource_type,
    resource_id: row.resource_id,
    conversation_id: conversationOf(row),
  };
}

function conversationOf({ resource_type, resource_id }: Omit<NotificationLinks, 'sender_id'>) {
  const isConversation = resource_type === 'entity' && resource_id?.startsWith(CONVERSATION_PREFIX);
  return isConversation ? resource_id : null;
}

const CONVERSATION_PREFIX = `${ID_PREFIXES.conversation}_`;

/** Returns the event on the recipient's own feed (docs/realtime.md#events). */
export function notificationEvent(
  event: 'notification.created' | 'notification.updated',
  row: NotificationRow,
): DomainEvent {
  return {
    event,
    stream: row.recipient_id,
    conversationId: null,
    sequence: 0,
    resource: row.id,
    at: row.updated_at,
    team: presentNotification(row),
    customer: undefined,
  };
}

export const NOTIFICATIONS: RowKind<FeedRow, NotificationLinks> = {
  name: 'notifications',
  encode: (row, { version }) => JSON.stringify(formAt(version, Notification, presentNotification(row))),
  linksOf: ({ sender_id, resource_type, resource_id }) => ({ sender_id, resource_type, resource_id }),
  isVersioned: () => true,
  subjectOf: ({ id, message_id }) => message_id ?? id,
};

export type EncodedNotifications = EncodedRows<FeedRow, NotificationLinks>;

/**
 * Returns a function that adds the requested sub-objects to the JSON of notifications: one query a
 * kind.
 */
export async function expandNotifications(
  db: Db,
  { version, ...principal }: Principal & { readonly version: Version },
  rows: readonly EncodedRow<NotificationLinks>[],
  include: readonly (typeof NOTIFICATION_INCLUDES)[number][],
): Promise<(row: EncodedRow<NotificationLinks>) => string> {
  if (include.length === 0) return ({ json }) => json;
  const links = rows.map((row) => row.links);
  const senderIds = include.includes('sender') ? links.flatMap((link) => link.sender_id ?? []) : [];
  const [senders, resources] = await Promise.all([
    readActors(db, [...new Set(senderIds)], acquainted(principal)),
    include.includes('resource') ? readResources(db, principal.accountId, links) : NO_RESOURCES,
  ]);
  return ({ json, links: { sender_id, resource_type, resource_id } }) => {
    const ref = refOf(resource_type, resource_id);
    return withFields(json, version, principal, Notification, [
      ['sender', senders.get(sender_id ?? '')],
      ['resource', ref && resources.get(refKey(ref))],
    ]);
  };
}

const NO_RESOURCES: ReadonlyMap<string, Entity> = new Map();

/**
 * Returns the linked resources by `refKey`. A conversation is shown as an entity too
 * (docs/contract.md#notifications); no other link may point to one, so readEntities lacks them.
 */
async function readResources(
  db: Db,
  accountId: string,
  links: readonly NotificationLinks[],
): Promise<ReadonlyMap<string, Entity>> {
  const refs = new Map<string, EntityRef>();
  for (const link of links) {
    const ref = refOf(link.resource_type, link.resource_id);
    if (ref !== undefined) refs.set(refKey(ref), ref);
  }
  const entityIds = [...refs.values()].filter(({ type }) => type === 'entity').map(({ id }) => id);
  const [entities, conversations] = await Promise.all([
    readEntities(db, accountId, [...refs.values()], null),
    db.query(READ_CONVERSATIONS, accountId, entityIds),
  ]);
  const found = new Map(conversations.map((row) => [refKey(row), presentEntity(row)]));
  for (const [key, entity] of entities) found.set(key, entity);
  return found;
}

const READ_CONVERSATIONS = statement<[accountId: string, entityIds: readonly string[]], EntityRow>(
  'read-conversations-as-entities',
)`
    SELECT 'entity' AS type, id, title AS name, NULL AS handle FROM conversations
    WHERE account_id = $1 AND id = ANY($2)`;

const READ = statement<[recipientIds: readonly string[], ids: readonly string[]], NotificationRow>(
  'read-notifications',
)`
    SELECT ${NOTIFICATION_COLUMNS.join(', ')}
    FROM unnest($1::text[], $2::text[]) AS k(recipient_id, id) JOIN notifications USING (recipient_id, id)`;

/**
 * Returns the beginning of a message as a notification shows it: one line of plain text, whatever
 * Markdown the message is written in. Null for a message without a text.
 */
export function preview(message: MessageText): string | null {
  return beginning(previewOf(message)) || null;
}

/** Returns the first characters, counted as code points, so that no surrogate pair is split. */
export function beginning(text: string): string {
  if (text.length <= PREVIEW_CHARACTERS) return text;
  // Most texts have no pairs, and need no counting.
  if (!/[\ud800-\udfff]/.test(text)) return text.slice(0, PREVIEW_CHARACTERS);
  return [...text.slice(0, 2 * PREVIEW_CHARACTERS)].slice(0, PREVIEW_CHARACTERS).join('');
}
