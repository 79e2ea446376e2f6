import { ApiError, notFound } from '@parley/protocol/errors/errors.ts';
import { MAX_PUSH_APPS, PUSH_ERROR_CHARACTERS, PushApp } from '@parley/protocol/resources/push-app.ts';
import { type Insertable, type Selectable, sql, type UpdateObject } from 'kysely';
import { lockAccount } from '../../../core/accounts/account/accounts.ts';
import { defineAccountList } from '../../../core/accounts/collections/account-list.ts';
import { presentAs } from '../../../core/resources/present-as.ts';
import type { Db, Querier, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';

export type PushAppRow = Selectable<Schema['push_apps']>;

/** Throws ApiError `limit_exceeded` with the quota. */
export async function insertPushApp(tx: Tx, app: Insertable<Schema['push_apps']>): Promise<PushAppRow> {
  // Locked, so that two requests cannot both take the last place.
  await lockAccount(tx, app.account_id);
  const used = (await tx.query(COUNT, app.account_id))[0]!.count;
  if (used >= MAX_PUSH_APPS) {
    const message = `An account can have ${MAX_PUSH_APPS} push apps. Delete one that is not needed.`;
    throw new ApiError('limit_exceeded', message, { quota: { limit: MAX_PUSH_APPS, used, reset_at: null } });
  }
  return tx.kysely.insertInto('push_apps').values(app).returningAll().executeTakeFirstOrThrow();
}

/** Throws ApiError `resource_not_found` (param `param`). */
export function findPushApp(db: Db, accountId: string, id: string, param = 'id'): Promise<PushAppRow> {
  return appOf(db, accountId, id).executeTakeFirstOrThrow(() => notFound('push app', param));
}

/** Locks the app until the transaction ends. Throws ApiError `resource_not_found` (param id). */
export function lockPushApp(tx: Tx, accountId: string, id: string): Promise<PushAppRow> {
  return appOf(tx, accountId, id)
    .forUpdate()
    .executeTakeFirstOrThrow(() => notFound('push app', 'id'));
}

/** Changes a locked app. A new credential is used from the next push on. */
export function updatePushApp(
  tx: Tx,
  { id }: PushAppRow,
  changes: UpdateObject<Schema, 'push_apps'>,
): Promise<PushAppRow> {
  const isRenewed = changes.credential !== undefined;
  return tx.kysely
    .updateTable('push_apps')
    .set({
      ...changes,
      ...(isRenewed && { revision: sql<number>`revision + 1`, failing_since: null, last_error: null }),
      updated_at: sql<string>`later_than(updated_at)`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Deletes a locked app with its devices. */
export async function deletePushApp(tx: Tx, { id }: PushAppRow): Promise<void> {
  await tx.kysely.deleteFrom('push_apps').where('id', '=', id).execute();
}

/** Returns the app without its credential. */
export function presentPushApp(row: PushAppRow): PushApp {
  return presentAs(PushApp, row);
}

/** The push apps of an account, newest first; searchable by name and identifier. */
export const PUSH_APPS = defineAccountList<PushAppRow>({
  name: 'push-apps',
  columns: 't.*',
  from: 'push_apps t',
  search: ['t.name', 't.identifier'],
});

/** The credential of an app at one revision. */
export type SealedCredential = Pick<PushAppRow, 'id' | 'revision' | 'credential'>;

/** Returns undefined if the app is gone. */
export async function readCredential(db: Querier, id: string): Promise<SealedCredential | undefined> {
  return (await db.query(READ_CREDENTIAL, id))[0];
}

/** Notes that the service took the credential of this revision, or (`error`) why it did not. */
export async function noteCredential(
  db: Querier,
  { id, revision }: Pick<PushAppRow, 'id' | 'revision'>,
  error: string | null,
): Promise<void> {
  await db.query(NOTE_CREDENTIAL, id, revision, error?.slice(0, PUSH_ERROR_CHARACTERS) ?? null);
}

function appOf(db: Db, accountId: string, id: string) {
  return db.kysely
    .selectFrom('push_apps')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id);
}

const COUNT = statement<[accountId: string], { count: number }>('count-push-apps')`
    SELECT count(*) AS count FROM push_apps WHERE account_id = $1`;

const READ_CREDENTIAL = statement<[id: string], SealedCredential>('read-push-credential')`
    SELECT id, revision, credential FROM push_apps WHERE id = $1`;

// `updated_at` is the time of the last change by a person.
const NOTE_CREDENTIAL = statement<[id: string, revision: number, error: string | null]>(
  'note-push-credential',
)`
    UPDATE push_apps SET last_error = $3,
      failing_since = CASE WHEN $3::text IS NOT NULL THEN coalesce(failing_since, clock_timestamp()) END,
      last_success_at = CASE WHEN $3::text IS NULL THEN clock_timestamp() ELSE last_success_at END
    WHERE id = $1 AND revision = $2`;
