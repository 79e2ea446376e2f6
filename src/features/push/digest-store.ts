import { newId } from '../../contract/protocol/ids.ts';
import { NOTIFICATION_COLUMNS, type NotificationRow } from '../../core/resources/notification.ts';
import type { Db, Querier, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';

/** A mail about unseen notifications that waits for its transport. It holds ids and no text. */
export interface DigestRow {
  readonly id: string;
  readonly actor_id: string;
  /** Newest first. */
  readonly notification_ids: readonly string[];
  /** The number of further notifications. */
  readonly more: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The number of ids in a digest; further notifications are only counted. */
export const MAX_NAMED = 100;

/** Milliseconds for which an unseen notification is considered: twice the longest setting. */
export const CONSIDERED_MS = 14 * 24 * 60 * 60 * 1_000;

/** Days that a digest waits for its transport after the last addition. */
const KEPT_DAYS = 30;

/**
 * Returns the ids, after the given one, of users whose settings make an unseen notification due.
 */
export async function readDueUsers(
  db: Querier,
  after: string,
  now: string,
  limit: number,
): Promise<string[]> {
  return (await db.query(READ_DUE_USERS, after, now, limit)).map(({ actor_id }) => actor_id);
}

/** Returns whether `readDueUsers` would return the user. */
export async function isDue(db: Querier, userId: string, now: string): Promise<boolean> {
  return (await db.query(FIND_DUE, userId, now)).length > 0;
}

/** An unseen notification that no digest has considered. */
export type Undigested = Pick<NotificationRow, 'id' | 'category' | 'created_at'>;

/**
 * Locks up to `limit` unseen notifications of a user that no digest has considered, newest first.
 * Leaves out those that another node considers in the meantime.
 */
export function lockUndigested(tx: Tx, userId: string, now: string, limit: number): Promise<Undigested[]> {
  return tx.query(LOCK_UNDIGESTED, userId, now, limit);
}

/** Marks locked notifications, so that no later digest includes them. */
export async function markDigested(
  tx: Tx,
  userId: string,
  ids: readonly string[],
  now: string,
): Promise<void> {
  await tx.query(MARK_DIGESTED, userId, ids, now);
}

/** Adds notifications, newest first, to the user's waiting digest, or creates one with this id. */
export async function addToDigest(tx: Tx, userId: string, id: string, ids: readonly string[]): Promise<void> {
  await tx.query(ADD_TO_DIGEST, userId, id, ids);
}

/** Returns waiting digests, oldest first. */
export function readDigests(db: Querier, limit: number): Promise<DigestRow[]> {
  return db.query(READ_DIGESTS, limit);
}

export async function readDigest(db: Querier, userId: string): Promise<DigestRow | undefined> {
  const [row] = await db.query(READ_DIGEST, userId);
  return row;
}

/** Returns the notifications of a digest that are still unseen, newest first. */
export function readDigested(db: Db, { actor_id, notification_ids }: DigestRow): Promise<NotificationRow[]> {
  return db.query(READ_DIGESTED, actor_id, notification_ids);
}

/**
 * Removes from a digest what its mail contained. Later additions get another id, for a mail of
 * their own; without any, the digest is deleted.
 */
export async function settleDigest(
  tx: Tx,
  { actor_id, id, notification_ids, more }: DigestRow,
): Promise<void> {
  await tx.query(SETTLE, actor_id, id, notification_ids, more, newId('digest'));
}

/**
 * Deletes digests that have waited too long or whose users no longer want any. Returns how many are
 * left.
 */
export async function tidyDigests(db: Querier): Promise<number> {
  await db.query(DELETE_OLD);
  const [row] = await db.query(COUNT);
  return row!.count;
}

/** SQL: the first characters of the ids of notifications of this time (core/notifications/feed). */
function idFrom(at: string): string {
  return `left(notification_id(${at}, '', ''), 17)`;
}

const CONSIDERED = `interval '${CONSIDERED_MS} ms'`;

/** `$2` is the current time. */
const DUE_USERS = `notification_settings s JOIN actors a ON a.id = s.actor_id AND a.deactivated_at IS NULL
    WHERE s.digest_after_minutes IS NOT NULL AND EXISTS (
      SELECT FROM notifications n
      WHERE n.recipient_id = s.actor_id AND n.status = 'unseen' AND n.digested_at IS NULL
        AND n.id >= ${idFrom(`$2::timestamptz - ${CONSIDERED}`)}
        AND n.id < ${idFrom('$2::timestamptz - make_interval(mins => s.digest_after_minutes)')})`;

const READ_DUE_USERS = statement<[after: string, now: string, limit: number], { actor_id: string }>(
  'read-users-due-for-digest',
)`
    SELECT s.actor_id FROM ${DUE_USERS} AND s.actor_id > $1 ORDER BY s.actor_id LIMIT $3`;

const FIND_DUE = statement<[userId: string, now: string]>('find-user-due-for-digest')`
    SELECT FROM ${DUE_USERS} AND s.actor_id = $1`;

// Locks in the order in which the feed is marked (core/notifications/feed), so that the two cannot
// deadlock.
const LOCK_UNDIGESTED = statement<[userId: string, now: string, limit: number], Undigested>(
  'lock-undigested-notifications',
)`
    SELECT n.id, n.category, n.created_at FROM notifications n
    WHERE n.recipient_id = $1 AND n.status = 'unseen' AND n.digested_at IS NULL
      AND n.id >= ${idFrom(`$2::timestamptz - ${CONSIDERED}`)}
    ORDER BY n.id DESC LIMIT $3 FOR NO KEY UPDATE`;

const MARK_DIGESTED = statement<[userId: string, ids: readonly string[], now: string]>(
  'mark-digested-notifications',
)`
    UPDATE notifications SET digested_at = $3::timestamptz WHERE recipient_id = $1 AND id = ANY($2)`;

const ADD_TO_DIGEST = statement<[userId: string, id: string, ids: readonly string[]]>('add-to-digest')`
    INSERT INTO digests AS d (actor_id, id, notification_ids, more)
    VALUES ($1, $2, ($3::text[])[1:${MAX_NAMED}], greatest(cardinality($3::text[]) - ${MAX_NAMED}, 0))
    ON CONFLICT (actor_id) DO UPDATE SET
      notification_ids = (SELECT array_agg(id ORDER BY id DESC) FROM (
        SELECT unnest(d.notification_ids || $3::text[]) AS id ORDER BY 1 DESC LIMIT ${MAX_NAMED}) newest),
      more = d.more + greatest(cardinality(d.notification_ids) + cardinality($3::text[]) - ${MAX_NAMED}, 0),
      updated_at = later_than(d.updated_at)`;

const COLUMNS = 'id, actor_id, notification_ids, more, created_at, updated_at';

const READ_DIGESTS = statement<[limit: number], DigestRow>('read-digests')`
    SELECT ${COLUMNS} FROM digests ORDER BY created_at, id LIMIT $1`;

const READ_DIGEST = statement<[userId: string], DigestRow>('read-digest')`
    SELECT ${COLUMNS} FROM digests WHERE actor_id = $1`;

const READ_DIGESTED = statement<[userId: string, ids: readonly string[]], NotificationRow>(
  'read-digested-notifications',
)`
    SELECT ${NOTIFICATION_COLUMNS.map((column) => `n.${column}`).join(', ')}
    FROM notifications n LEFT JOIN messages m ON m.id = n.message_id
    WHERE n.recipient_id = $1 AND n.id = ANY($2) AND n.status = 'unseen' AND m.deleted_at IS NULL
    ORDER BY n.id DESC`;

// Ids that the mail contained may have become part of `more` in the meantime.
const SETTLE = statement<
  [userId: string, id: string, mailedIds: readonly string[], mailedMore: number, nextId: string]
>('settle-digest')`
    WITH rest AS MATERIALIZED (
      SELECT d.actor_id, l.ids, d.more - $4 - cardinality($3::text[]) + cardinality(d.notification_ids)
          - cardinality(l.ids) AS more
      FROM digests d, LATERAL (
        SELECT ARRAY(SELECT n FROM unnest(d.notification_ids) WITH ORDINALITY AS o(n, at) WHERE n <> ALL($3) ORDER BY at) AS ids
      ) l
      WHERE d.actor_id = $1 AND d.id = $2 FOR UPDATE OF d
    ), gone AS (
      DELETE FROM digests d USING rest r WHERE d.actor_id = r.actor_id AND cardinality(r.ids) = 0
    )
    UPDATE digests d SET id = $5, notification_ids = r.ids, more = greatest(r.more, 0), updated_at = later_than(d.updated_at)
    FROM rest r WHERE d.actor_id = r.actor_id AND cardinality(r.ids) > 0`;

const DELETE_OLD = statement('delete-old-digests')`
    DELETE FROM digests d
    WHERE d.updated_at < clock_timestamp() - interval '${KEPT_DAYS} days' OR NOT EXISTS (
      SELECT FROM notification_settings s JOIN actors a ON a.id = s.actor_id AND a.deactivated_at IS NULL
      WHERE s.actor_id = d.actor_id AND s.digest_after_minutes IS NOT NULL)`;

const COUNT = statement<[], { count: number }>('count-digests')`SELECT count(*) AS count FROM digests`;
