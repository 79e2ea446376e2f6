import { notFound } from '@parley/protocol/errors/errors.ts';
import { PLATFORM_EVENT_LIMITS } from '@parley/protocol/resources/platform-event.ts';
import type { Db, Querier } from '../../platform/db/connection/handle.ts';
import { type KeysetPage, keysetList } from '../../platform/db/connection/keyset.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import type { PlatformEventRow } from './platform-event.ts';

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

/** Removes events that are older than PLATFORM_EVENT_LIMITS.keptDays. */
export async function purgeEvents(db: Querier): Promise<void> {
  for (let more = true; more; ) {
    const removed = await db.query(PURGE, PURGED_AT_ONCE);
    more = removed.length === PURGED_AT_ONCE;
  }
}

const PURGED_AT_ONCE = 2_000;

const READ = statement<[ids: readonly string[]], PlatformEventRow>('read-platform-events')`
    SELECT * FROM platform_events WHERE id = ANY($1)`;

const OF_ACCOUNT = keysetList<
  [accountId: string, type: string | null, resourceId: string | null],
  PlatformEventRow
>({
  name: 'list-platform-events',
  columns: '*',
  from: 'platform_events',
  where: `account_id = $1 AND ($2::text IS NULL OR type = $2) AND ($3::text IS NULL OR resource_id = $3)`,
  key: [
    ['created_at', 'timestamptz'],
    ['id', 'text'],
  ],
});

const PURGE = statement<[limit: number], object>('purge-platform-events')`
    DELETE FROM platform_events WHERE id IN (
      SELECT id FROM platform_events
      WHERE created_at < clock_timestamp() - interval '${PLATFORM_EVENT_LIMITS.keptDays} days'
      LIMIT $1 FOR UPDATE SKIP LOCKED)
    RETURNING 1`;
