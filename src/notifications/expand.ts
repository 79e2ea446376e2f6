import type { Db } from '../db/handle.ts';
import { statement } from '../db/statement.ts';
import type { Entity } from '../protocol/resources/actor.ts';
import type { NOTIFICATION_INCLUDES, Notification } from '../protocol/resources/notification.ts';
import { readActors } from '../resources/actor.ts';
import { type EntityRef, type EntityRow, presentEntity, readEntities, refKey } from '../resources/entity.ts';
import type { FeedRow } from './feed.ts';
import { presentNotification } from './present.ts';

export type NotificationInclude = (typeof NOTIFICATION_INCLUDES)[number];

/**
 * Returns a function that makes the resource of each of these rows, with the requested expansions: one query a kind of
 * sub-object.
 */
export async function expandFeed(
  db: Db,
  accountId: string,
  rows: readonly FeedRow[],
  include: readonly NotificationInclude[],
): Promise<(row: FeedRow) => Notification> {
  const senderIds = include.includes('sender')
    ? [...new Set(rows.flatMap((row) => row.sender_id ?? []))]
    : [];
  const [senders, resources] = await Promise.all([
    readActors(db, senderIds),
    include.includes('resource') ? readResources(db, accountId, rows) : NO_RESOURCES,
  ]);
  return (row) => {
    const sender = row.sender_id ? senders.get(row.sender_id) : undefined;
    const ref = refOf(row);
    const resource = ref === undefined ? undefined : resources.get(refKey(ref));
    return presentNotification(row, { sender: sender ?? null, resource: resource ?? null });
  };
}

const NO_RESOURCES: ReadonlyMap<string, Entity> = new Map();

/**
 * Returns the resources that notifications link to, by `refKey`. A conversation is shown as an entity too
 * (docs/contract.md#notifications). No other link may point to a conversation, so readEntities does not support them.
 */
async function readResources(
  db: Db,
  accountId: string,
  rows: readonly FeedRow[],
): Promise<ReadonlyMap<string, Entity>> {
  const refs = new Map<string, EntityRef>();
  for (const ref of rows.flatMap((row) => refOf(row) ?? [])) refs.set(refKey(ref), ref);
  const entityIds = [...refs.values()].filter(({ type }) => type === 'entity').map(({ id }) => id);
  const [entities, conversations] = await Promise.all([
    readEntities(db, accountId, [...refs.values()]),
    db.query(READ_CONVERSATIONS, accountId, entityIds),
  ]);
  const found = new Map(conversations.map((row) => [refKey(row), presentEntity(row)]));
  for (const [key, entity] of entities) found.set(key, entity);
  return found;
}

function refOf({ resource_type: type, resource_id: id }: FeedRow): EntityRef | undefined {
  return type && id ? { type, id } : undefined;
}

const READ_CONVERSATIONS = statement<[accountId: string, entityIds: readonly string[]], EntityRow>({
  name: 'read-conversations-as-entities',
  text: `
    SELECT 'entity' AS type, id, title AS name, NULL AS handle FROM conversations
    WHERE account_id = $1 AND id = ANY($2)`,
});
