import { type EntityRef, type EntityRow, presentEntity, readEntities, refKey } from '../accounts/entities.ts';
import { readActors } from '../conversations/message-rows.ts';
import type { Database } from '../db/database.ts';
import type { Statement } from '../db/statement.ts';
import type { Entity } from '../protocol/actor.ts';
import type { NOTIFICATION_INCLUDES, Notification } from '../protocol/notification.ts';
import { presentNotification } from './present.ts';
import { NOTIFICATION_COLUMNS, type NotificationRow } from './store.ts';

/** What a feed can be narrowed to (specification, endpoint 5); without `status`: all but the dismissed. */
export interface FeedFilters {
  readonly status?: string | undefined;
  readonly category?: string | undefined;
  readonly senderIds?: readonly string[] | undefined;
  readonly senderTypes?: readonly string[] | undefined;
  /** Looked for in title and body, case ignored. */
  readonly q?: string | null;
}

/** Which stretch of a feed: from its newer or its older end, behind a notification's time and id if given. */
export interface FeedStretch {
  readonly order: 'newest_first' | 'oldest_first';
  readonly after: readonly (string | number)[] | null;
  readonly limit: number;
}

/** Notifications of one recipient, in the order of the stretch. */
export function readFeed(
  database: Database,
  recipientId: string,
  filters: FeedFilters,
  { order, after, limit }: FeedStretch,
): Promise<NotificationRow[]> {
  return database.query<NotificationRow>(STATEMENTS[order][after === null ? 'whole' : 'behind'], [
    recipientId,
    filters.status ?? null,
    filters.category ?? null,
    filters.senderIds ?? null,
    filters.senderTypes ?? null,
    filters.q ? `%${escapeLike(filters.q)}%` : null,
    limit,
    ...(after ?? []),
  ]);
}

/** Each row's resource, with what was asked for: one query a kind of sub-object. */
export async function presentFeed(
  database: Database,
  accountId: string,
  rows: readonly NotificationRow[],
  include: readonly (typeof NOTIFICATION_INCLUDES)[number][],
): Promise<ReadonlyMap<NotificationRow, Notification>> {
  const senderIds = include.includes('sender')
    ? [...new Set(rows.flatMap((row) => row.sender_id ?? []))]
    : [];
  const [senders, resources] = await Promise.all([
    readActors(database, senderIds),
    include.includes('resource') ? readResources(database, accountId, rows) : NO_RESOURCES,
  ]);
  const shown = new Map<NotificationRow, Notification>();
  for (const row of rows) {
    const sender = senders.get(row.sender_id ?? '') ?? null;
    const resource = resources.get(
      refKey({ type: row.resource_type ?? 'entity', id: row.resource_id ?? '' }),
    );
    shown.set(row, presentNotification(row, { sender, resource: resource ?? null }));
  }
  return shown;
}

const NO_RESOURCES: ReadonlyMap<string, Entity> = new Map();

/**
 * What notifications link to, by `refKey`. A conversation is shown as an entity too (design.md section 7,
 * notifications), though nothing else may link to it as one: readEntities does not know it.
 */
async function readResources(
  database: Database,
  accountId: string,
  rows: readonly NotificationRow[],
): Promise<ReadonlyMap<string, Entity>> {
  const refs = new Map<string, EntityRef>();
  for (const { resource_type: type, resource_id: id } of rows) {
    if (type !== null && id !== null) refs.set(refKey({ type, id }), { type, id });
  }
  const entityIds = [...refs.values()].filter(({ type }) => type === 'entity').map(({ id }) => id);
  const [entities, conversations] = await Promise.all([
    readEntities(database, accountId, [...refs.values()]),
    database.query<EntityRow>(READ_CONVERSATIONS, [accountId, entityIds]),
  ]);
  const found = new Map(conversations.map((row) => [refKey(row), presentEntity(row)]));
  for (const [key, entity] of entities) found.set(key, entity);
  return found;
}

const READ_CONVERSATIONS = {
  name: 'read-conversations-as-entities',
  text: `
    SELECT 'entity' AS type, id, title AS name, NULL AS handle FROM conversations
    WHERE account_id = $1 AND id = ANY($2)`,
};

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

// Filters that were not given are null: one statement for all of them keeps its plan, which is the
// feed's index in order.
const CONDITIONS = `
    recipient_id = $1
    AND (($2::text IS NULL AND status <> 'dismissed') OR status = $2)
    AND ($3::text IS NULL OR category = $3)
    AND ($4::text[] IS NULL OR sender_id = ANY($4))
    AND ($5::text[] IS NULL OR sender_type = ANY($5))
    AND ($6::text IS NULL OR title ILIKE $6 OR body ILIKE $6)`;

const STATEMENTS = {
  newest_first: feedStatements('newest', '<', 'created_at DESC, id DESC'),
  oldest_first: feedStatements('oldest', '>', 'created_at, id'),
} as const;

function feedStatements(end: string, comparison: '<' | '>', order: string) {
  const statement = (name: string, from: string): Statement => ({
    name: `read-feed-${end}-${name}`,
    text: `
    SELECT ${NOTIFICATION_COLUMNS.join(', ')} FROM notifications
    WHERE ${CONDITIONS} ${from}
    ORDER BY ${order} LIMIT $7`,
  });
  return {
    whole: statement('whole', ''),
    behind: statement('behind', `AND (created_at, id) ${comparison} ($8::timestamptz, $9)`),
  };
}
