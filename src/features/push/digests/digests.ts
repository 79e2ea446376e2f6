import { newId } from '@parley/protocol/ids.ts';
import type { Selectable } from 'kysely';
import type { NodeParts } from '../../../core/features/feature.ts';
import type { MailText } from '../../../core/features/mails.ts';
import { mayInterrupt, readOwnSettings } from '../../../core/notifications/settings/settings.ts';
import { NOTIFICATION_COLUMNS, type NotificationRow } from '../../../core/resources/notification.ts';
import type { Db, Querier, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { Loop } from '../../../platform/lifecycle.ts';
import type { PushMetrics } from '../metrics.ts';
import { digestMail } from './digest-mail.ts';

export interface DigestsOptions extends Pick<NodeParts, 'database' | 'log'> {
  readonly metrics: PushMetrics;
  /** Default: the clock of this machine. */
  readonly now?: () => Date;
}

const LOOK_EVERY_MS = 60 * 1_000;
const USERS_AT_ONCE = 500;
const NOTIFICATIONS_AT_ONCE = 1_000;
/** The number of ids in a digest; further notifications are only counted. */
export const MAX_NAMED = 100;
/** Days that a digest waits for its transport after the last addition. */
const KEPT_DAYS = 30;

/**
 * Queues mails about notifications that stayed unseen for the time in the user's settings
 * (docs/contract.md#digests). Every node looks for them. The notifications are locked and marked in
 * the transaction that queues the mail. So two nodes queue it once, a node that dies queues it
 * completely or not at all, and no notification is in two mails.
 */
export class Digests {
  readonly #options: DigestsOptions;
  readonly #loop: Loop;

  constructor(options: DigestsOptions) {
    this.#options = options;
    this.#loop = new Loop({
      intervalMs: LOOK_EVERY_MS,
      run: (signal) => this.look(signal),
      onError: (error) => options.log.warn({ err: error }, 'looking for digests failed'),
    });
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  /** Queues all due digests. */
  async look(signal?: AbortSignal): Promise<void> {
    const { database, metrics, now = () => new Date() } = this.#options;
    const at = now();
    const time = at.toISOString();
    for (let after: string | undefined = ''; after !== undefined && signal?.aborted !== true; ) {
      const due: { actor_id: string }[] = await database.query(READ_DUE_USERS, after, time, USERS_AT_ONCE);
      for (const { actor_id } of due) {
        if (await database.transaction((tx) => queueDigest(tx, actor_id, at))) metrics.digests.inc();
      }
      after = due.length === USERS_AT_ONCE ? due.at(-1)!.actor_id : undefined;
    }
    await database.query(DELETE_OLD);
    const [waiting] = await database.query(COUNT);
    metrics.digestsWaiting.set(waiting!.count);
  }
}

/**
 * Returns the mail of a digest, or undefined if every notification in it has been seen. Times are
 * in the timezone of the user's do-not-disturb hours.
 */
export async function writeDigestMail(db: Db, digest: DigestRow): Promise<MailText | undefined> {
  const notifications = await db.query(READ_DIGESTED, digest.actor_id, digest.notification_ids);
  if (notifications.length === 0) return undefined;
  const { do_not_disturb: hours } = await readOwnSettings(db, digest.actor_id);
  return digestMail({ notifications, more: digest.more, timezone: hours?.timezone ?? 'UTC' });
}

/**
 * Queues the digest of a user once the oldest unseen notification is due: all unseen notifications
 * that no digest has considered. Categories that the user does not want mailed are marked and left
 * out. Returns whether anything was queued.
 */
async function queueDigest(tx: Tx, userId: string, at: Date): Promise<boolean> {
  const settings = await readOwnSettings(tx, userId);
  // Do-not-disturb hours and muting delay the whole digest, whatever its categories.
  if (
    settings.digest_after_minutes === null ||
    !mayInterrupt({ ...settings, categories: {} }, '', 'mail', at)
  ) {
    return false;
  }
  const now = at.toISOString();
  let isQueued = false;
  for (let isFirst = true, isMore = true; isMore; isFirst = false) {
    const rows = await tx.query(LOCK_UNDIGESTED, userId, now, NOTIFICATIONS_AT_ONCE);
    // Another node may have queued them while this node waited for the locks.
    if (rows.length === 0 || (isFirst && (await tx.query(FIND_DUE, userId, now)).length === 0)) break;
    const isMailed = (category: string) => settings.categories[category]?.mail ?? true;
    const mailed = rows.filter(({ category }) => isMailed(category)).map(({ id }) => id);
    if (mailed.length > 0) await tx.query(ADD_TO_DIGEST, userId, newId('digest'), mailed);
    const ids = rows.map(({ id }) => id);
    await tx.query(MARK_DIGESTED, userId, ids, now);
    isQueued ||= mailed.length > 0;
    isMore = rows.length === NOTIFICATIONS_AT_ONCE;
  }
  return isQueued;
}

/** A mail about unseen notifications that waits for its transport. It holds ids and no text. */
export type DigestRow = Selectable<Schema['digests']>;

/** Returns waiting digests, oldest first. */
export function readDigests(db: Querier, limit: number): Promise<DigestRow[]> {
  return db.query(READ_DIGESTS, limit);
}

export async function readDigest(db: Querier, userId: string): Promise<DigestRow | undefined> {
  const [row] = await db.query(READ_DIGEST, userId);
  return row;
}

/**
 * Removes the mailed notifications from a digest. Later additions get another id, for a mail of
 * their own; without additions, the digest is deleted.
 */
export async function settleDigest(
  tx: Tx,
  { actor_id, id, notification_ids, more }: DigestRow,
): Promise<void> {
  await tx.query(SETTLE, actor_id, id, notification_ids, more, newId('digest'));
}

/** Returns SQL: the start of ids of notifications of this time (core/notifications/feed). */
function idFrom(at: string): string {
  return `left(notification_id(${at}, '', ''), 17)`;
}

/** Twice the longest setting. */
const CONSIDERED_DAYS = 14;
const CONSIDERED = `interval '${CONSIDERED_DAYS * 24 * 60 * 60 * 1_000} ms'`;

/**
 * Users whose settings make an unseen notification due; `$2` is the current time. Users created
 * without an address have one that receives no mail (RFC 2606).
 */
const DUE_USERS = `notification_settings s JOIN actors a ON a.id = s.actor_id AND a.deactivated_at IS NULL
    JOIN users u ON u.id = s.actor_id AND u.email NOT LIKE '%.invalid'
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
const LOCK_UNDIGESTED = statement<
  [userId: string, now: string, limit: number],
  Pick<NotificationRow, 'id' | 'category'>
>('lock-undigested-notifications')`
    SELECT n.id, n.category FROM notifications n
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

/** The digest's notifications that are still unseen, newest first. */
const READ_DIGESTED = statement<[userId: string, ids: readonly string[]], NotificationRow>(
  'read-digested-notifications',
)`
    SELECT ${NOTIFICATION_COLUMNS.map((column) => `n.${column}`).join(', ')}
    FROM notifications n LEFT JOIN messages m ON m.id = n.message_id
    WHERE n.recipient_id = $1 AND n.id = ANY($2) AND n.status = 'unseen' AND m.deleted_at IS NULL
    ORDER BY n.id DESC`;

// Mailed ids may have become part of `more` in the meantime.
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
