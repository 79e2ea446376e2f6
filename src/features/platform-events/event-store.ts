import { notFound } from '../../contract/protocol/errors.ts';
import { PLATFORM_EVENT_LIMITS } from '../../contract/protocol/resources/platform-event.ts';
import type { Db, Querier, Tx } from '../../platform/db/connection/handle.ts';
import { type KeysetPage, keysetList, pages } from '../../platform/db/connection/keyset.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { PlatformEventRow } from './platform-event.ts';

export type NewPlatformEvent = Omit<PlatformEventRow, 'created_at'>;

/** Returns undefined if the account has an event with this `event_id`. */
export function insertEvent(tx: Tx, event: NewPlatformEvent): Promise<PlatformEventRow | undefined> {
  return tx.kysely
    .insertInto('platform_events')
    .values({ ...event, data: JSON.stringify(event.data) })
    .onConflict((on) => on.columns(['account_id', 'event_id']).where('event_id', 'is not', null).doNothing())
    .returningAll()
    .executeTakeFirst();
}

export async function readByEventId(
  db: Db,
  accountId: string,
  eventId: string,
): Promise<PlatformEventRow | undefined> {
  const [row] = await db.query(READ_BY_EVENT_ID, accountId, eventId);
  return row;
}

/** Throws ApiError `resource_not_found` (param id). */
export async function findEvent(db: Db, accountId: string, id: string): Promise<PlatformEventRow> {
  const [row] = await readEvents(db, [id]);
  if (row?.account_id !== accountId) throw notFound('event', 'id');
  return row;
}

/** Returns events in no particular order; events that no longer exist are left out. */
export function readEvents(db: Querier, ids: readonly string[]): Promise<PlatformEventRow[]> {
  return db.query(READ, ids);
}

/** Returns events of the account, newest first. */
export function readEventPage(
  db: Db,
  accountId: string,
  { type, resourceId }: { readonly type: string | undefined; readonly resourceId: string | undefined },
  page: KeysetPage,
): Promise<PlatformEventRow[]> {
  return OF_ACCOUNT.readPage(db, [accountId, type ?? null, resourceId ?? null], page);
}

export function readEventsRaisedBy(
  db: Db,
  accountId: string,
  actorId: string,
): AsyncIterable<PlatformEventRow[]> {
  const read = (after: string, size: number) => db.query(READ_RAISED_BY, accountId, actorId, after, size);
  return pages(PAGE, '', read, ({ id }) => id);
}

/**
 * Empties at most `limit` events of the account that contain one of the texts, including their
 * resource. The rows stay, so that a repetition does not bring the data back. Returns their ids.
 */
export async function blankEventsNaming(
  tx: Tx,
  accountId: string,
  texts: readonly string[],
  limit: number,
): Promise<string[]> {
  // The form that the texts have inside a JSON string.
  const quoted = texts.map((text) => JSON.stringify(text).slice(1, -1));
  const rows = await tx.query(BLANK_NAMING, accountId, quoted, limit);
  return rows.map(({ id }) => id);
}

/** Removes events that are older than PLATFORM_EVENT_LIMITS.keptDays. */
export async function purgeEvents(db: Querier): Promise<void> {
  for (let more = true; more; ) {
    const removed = await db.query(PURGE, PURGED_AT_ONCE);
    more = removed.length === PURGED_AT_ONCE;
  }
}

const PAGE = 500;
const PURGED_AT_ONCE = 2_000;

const COLUMNS = 'id, account_id, type, event_id, data, resource_type, resource_id, created_by, created_at';

const READ_BY_EVENT_ID = statement<[accountId: string, eventId: string], PlatformEventRow>(
  'read-platform-event-by-key',
)`
    SELECT ${COLUMNS} FROM platform_events WHERE account_id = $1 AND event_id = $2`;

const READ = statement<[ids: readonly string[]], PlatformEventRow>('read-platform-events')`
    SELECT ${COLUMNS} FROM platform_events WHERE id = ANY($1)`;

const OF_ACCOUNT = keysetList<
  [accountId: string, type: string | null, resourceId: string | null],
  PlatformEventRow
>({
  name: 'list-platform-events',
  columns: COLUMNS,
  from: 'platform_events',
  where: `account_id = $1 AND ($2::text IS NULL OR type = $2) AND ($3::text IS NULL OR resource_id = $3)`,
  key: [
    ['created_at', 'timestamptz'],
    ['id', 'text'],
  ],
});

const READ_RAISED_BY = statement<
  [accountId: string, actorId: string, after: string, limit: number],
  PlatformEventRow
>('read-platform-events-raised-by')`
    SELECT ${COLUMNS} FROM platform_events
    WHERE account_id = $1 AND created_by = $2 AND id > $3 ORDER BY id LIMIT $4`;

const BLANK_NAMING = statement<[accountId: string, texts: readonly string[], limit: number], { id: string }>(
  'blank-platform-events-naming',
)`
    UPDATE platform_events SET data = '{}', resource_type = NULL, resource_id = NULL
    WHERE id IN (
      SELECT id FROM platform_events e
      WHERE account_id = $1 AND EXISTS (SELECT FROM unnest($2::text[]) AS text
        WHERE position(text IN concat_ws(' ', e.data::text, e.resource_id)) > 0)
      ORDER BY id LIMIT $3 FOR UPDATE)
    RETURNING id`;

const PURGE = statement<[limit: number], object>('purge-platform-events')`
    DELETE FROM platform_events WHERE id IN (
      SELECT id FROM platform_events
      WHERE created_at < clock_timestamp() - interval '${PLATFORM_EVENT_LIMITS.keptDays} days'
      LIMIT $1 FOR UPDATE SKIP LOCKED)
    RETURNING 1`;
