import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { wireTime } from '@parley/protocol/json/canonical-json.ts';
import type { PictureMetadata } from '@parley/protocol/resources/account.ts';
import { ATTACHABLE_HOURS, type UploadUrl } from '@parley/protocol/resources/upload.ts';
import { kindOfUpload } from '@parley/protocol/resources/upload-kind.ts';
import { type Insertable, type Selectable, sql } from 'kysely';
import { type MoveColumns, moveOf, requireHere, requireUnmoved } from '../../api/access/account-moves.ts';
import type { Database } from '../../platform/db/connection/database.ts';
import type { Db, Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { addJob } from '../../platform/db/queue/queue.ts';
import { defineTopic } from '../../platform/db/queue/topic.ts';
import type { Schema } from '../../platform/db/tables/schema.ts';
import type { Holdings } from '../resources/holdings.ts';
import type { ObjectStore } from './storage.ts';

export type Upload = Pick<
  Selectable<Schema['uploads']>,
  's3_key' | 'filename' | 'content_type' | 'size_bytes'
>;

/** Returns a new target for these bytes, which the caller inserts as an upload. */
export async function newUploadUrl(
  store: ObjectStore,
  contentType: string,
  sizeBytes: number,
): Promise<UploadUrl> {
  const key = newId('upload');
  const { url, headers, expiresAtMs } = await store.presignUpload({ key, contentType, sizeBytes });
  return {
    object: 'upload_url',
    s3_key: key,
    method: 'PUT',
    url,
    headers,
    expires_at: wireTime(expiresAtMs),
  };
}

/** An upload that may be attached. */
export interface OpenUpload extends Upload {
  /** Whether a message has the file, also one that is not sent yet. */
  readonly is_attached: boolean;
  /** What the account wants of pictures. */
  readonly picture_metadata: PictureMetadata;
}

/**
 * Returns whether a file of this size, in bytes, is all of an upload. A picture whose metadata were
 * removed is smaller than what was announced.
 */
export function isComplete({ content_type, size_bytes }: Upload, stored: number | undefined): boolean {
  if (stored === undefined) return false;
  return stored === size_bytes || (stored < size_bytes && kindOfUpload(content_type) === 'image');
}

/**
 * Inserts an upload, unless its key exists. `accountBytes`: see ObjectStore.accountBytes. Uploads
 * of one account are counted one by one, so that concurrent uploads do not exceed it. Throws
 * ApiError `limit_exceeded`.
 */
export async function insertUpload(
  tx: Tx,
  upload: Insertable<Schema['uploads']>,
  accountBytes: number | null,
): Promise<void> {
  await tx.kysely
    .insertInto('uploads')
    .values(upload)
    .onConflict((conflict) => conflict.column('s3_key').doNothing())
    .execute();
  if (accountBytes === null) return;
  // The trigger of the insert has locked this row until the end of the transaction.
  const [stored] = await tx.query(READ_STORED_BYTES, upload.account_id);
  const used = stored?.bytes ?? 0;
  if (used <= accountBytes) return;
  throw new ApiError('limit_exceeded', `The files of the account may take ${accountBytes} bytes together.`, {
    param: 'size_bytes',
    quota: { limit: accountBytes, used: used - upload.size_bytes, reset_at: null },
  });
}

/**
 * Inserts the upload of a file that no message can attach; a row of compliance_jobs or import_parts
 * keeps it. `size_bytes` is 0, so that the account's storage does not count it.
 */
export async function insertOwnFile(
  tx: Tx,
  file: Omit<Insertable<Schema['uploads']>, 'size_bytes'>,
): Promise<void> {
  await tx.kysely
    .insertInto('uploads')
    .values({ ...file, size_bytes: 0, withdrawn_at: sql<string>`clock_timestamp()` })
    .execute();
}

/**
 * Inserts a file that takes the place of an upload, before its bytes are written, and returns its
 * key. It is counted, and not limited, since the upload goes.
 */
export async function insertCopy(db: Db, key: string, sizeBytes: number): Promise<string> {
  const copy = newId('upload');
  await db.query(INSERT_COPY, key, copy, sizeBytes);
  return copy;
}

/**
 * Inserts the upload of a received mail's file, before its bytes are written: it is kept for a day,
 * and then while a mail or an attachment refers to it. `size_bytes` is 0
 * (src/features/mail/DECISIONS.md#mail-is-not-counted-among-stored-files).
 */
export async function insertMailFile(
  db: Db,
  file: Omit<Insertable<Schema['uploads']>, 'size_bytes'>,
): Promise<void> {
  await db.kysely
    .insertInto('uploads')
    .values({ ...file, size_bytes: 0 })
    .execute();
}

/**
 * Removes the unreferenced files among these now. Only for files that cannot be referenced again.
 */
export async function removeUnreferenced(
  database: Database,
  store: ObjectStore,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return;
  const rows = await database.query(READ_UNREFERENCED, keys);
  if (rows.length === 0) return;
  const unreferenced = rows.map(({ s3_key }) => s3_key);
  await store.remove(unreferenced);
  await database.query(REMOVE_UPLOADS, unreferenced);
}

/** Files of rows in other holdings, withdrawn with them (`withdrawUploads`) and removed here. */
export const uploadHoldings: Holdings = {
  tables: {
    stored_bytes: { account: 'last' },
    uploads: { exported: 'files', moved: { file: ['s3_key', 't.content_type'] } },
  },
  movePerson: async (tx, { from, to }) => void (await tx.query(MOVE_UPLOADS, from, to)),
  erasePerson: (database, { id }) =>
    database.transaction(async (tx) => {
      await tx.query(WITHDRAW_UNATTACHED, id);
      await addRemoval(tx);
    }),
};

/** A job of the queue: removes files whose messages were deleted (removeUnattached). */
export const REMOVE_WITHDRAWN = defineTopic<Record<string, never>>('remove_withdrawn_uploads');

/**
 * Withdraws the files of something deleted: they cannot be attached again, lose their names at
 * once, and are removed once unreferenced (DECISIONS.md#files-of-deleted-messages).
 */
export async function withdrawUploads(tx: Tx, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await tx.kysely
    .updateTable('uploads')
    .set({ withdrawn_at: sql<string>`clock_timestamp()`, attached_at: null, filename: '' })
    .where('s3_key', 'in', keys)
    .execute();
  await addRemoval(tx);
}

/** Schedules the removal of unreferenced files. */
export async function addRemoval(tx: Tx): Promise<void> {
  const runAt = new Date(Date.now() + WITHDRAWN_FOR_S * 1_000 + JOB_LATER_MS).toISOString();
  await addJob(tx, REMOVE_WITHDRAWN, {}, { runAt });
}

/**
 * Throws ApiError unless bytes may be uploaded under this key: `resource_not_found` without an
 * upload, or the refusal of changes while its account moves, since the bytes would stay behind.
 */
export async function requireUpload(db: Db, key: string): Promise<void> {
  const [found] = await db.query(READ_UPLOAD, key);
  if (found === undefined)
    throw new ApiError('resource_not_found', 'This upload no longer exists. Create another one.');
  const move = moveOf(found);
  requireHere(move);
  requireUnmoved(move);
}

/**
 * Returns whether links to the file answer 410: nothing refers or can refer to it again, or
 * everything that does was deleted with its conversation or its account.
 */
export async function isDeleted(db: Db, key: string): Promise<boolean> {
  return (await db.query(READ_DELETED, key)).length > 0;
}

/**
 * Returns the account's uploads that may still be attached, by key; with `actorId` only uploads of
 * that actor.
 */
export async function readUploads(
  db: Db,
  accountId: string,
  keys: readonly string[],
  actorId: string | null = null,
): Promise<ReadonlyMap<string, OpenUpload>> {
  const rows = await db.query(READ_UPLOADS, accountId, keys, actorId);
  return new Map(rows.map((row) => [row.s3_key, row]));
}

/**
 * Removes files that no message, run, export, import, mail or avatar refers to: files not attached
 * in time, and files whose last message was deleted. Safe on several nodes at once, and again after
 * a failure. Rejects with the error of the store or the database.
 */
export async function purgeUploads(database: Database, store: ObjectStore): Promise<void> {
  await store.tidy();
  await removeUnattached(database, store);
}

/** Does what `purgeUploads` does, except for the remains of interrupted uploads. */
export async function removeUnattached(database: Database, store: ObjectStore): Promise<void> {
  for (;;) {
    await database.query(MARK_ATTACHED);
    const rows = await database.query(READ_UNATTACHED);
    const keys = rows.map(({ s3_key }) => s3_key);
    // Rows are removed last, so that a later round finds what a failure leaves behind.
    await store.remove(keys);
    await database.query(REMOVE_UPLOADS, keys);
    if (keys.length < PURGED_AT_ONCE) return;
  }
}

const PURGED_AT_ONCE = 500;

/** A send that read the upload before it was withdrawn may take this long to commit. */
const WITHDRAWN_FOR_S = 60;
const JOB_LATER_MS = 5_000;

const READ_STORED_BYTES = statement<[accountId: string], { bytes: number }>('read-stored-bytes')`
    SELECT bytes FROM stored_bytes WHERE account_id = $1`;

const READ_UPLOADS = statement<
  [accountId: string, keys: readonly string[], actorId: string | null],
  OpenUpload
>('read-uploads')`
    SELECT u.s3_key, u.filename, u.content_type, u.size_bytes, c.picture_metadata,
      EXISTS (SELECT FROM attachments a WHERE a.s3_key = u.s3_key) AS is_attached
    FROM uploads u JOIN accounts c ON c.id = u.account_id
    WHERE u.s3_key = ANY($2) AND u.account_id = $1 AND u.withdrawn_at IS NULL
      AND ($3::text IS NULL OR u.actor_id = $3)
      AND u.created_at > clock_timestamp() - interval '${ATTACHABLE_HOURS} hours'`;

const INSERT_COPY = statement<[key: string, copy: string, sizeBytes: number]>('insert-copy-of-upload')`
    INSERT INTO uploads (s3_key, account_id, actor_id, filename, content_type, size_bytes)
    SELECT $2, account_id, actor_id, filename, content_type, $3 FROM uploads WHERE s3_key = $1`;

const READ_UPLOAD = statement<[key: string], MoveColumns>('read-upload')`
    SELECT m.state, m.cell FROM uploads u LEFT JOIN account_moves m USING (account_id)
    WHERE u.s3_key = $1`;

/** One hour more than attaching is allowed, so that a send admitted just in time has committed. */
const IS_OVERDUE = `attached_at IS NULL AND (
    created_at < clock_timestamp() - interval '${ATTACHABLE_HOURS + 1} hours'
    OR withdrawn_at < clock_timestamp() - interval '${WITHDRAWN_FOR_S} seconds')`;

/** SQL: whether something that refers to the file is shown with a link to it. */
const IS_LINKED = `(EXISTS (SELECT FROM attachments a WHERE a.s3_key = u.s3_key)
  OR EXISTS (SELECT FROM artifacts f WHERE f.s3_key = u.s3_key)
  OR EXISTS (SELECT FROM compliance_jobs j WHERE j.s3_key = u.s3_key)
  OR EXISTS (SELECT FROM import_parts i WHERE i.s3_key = u.s3_key)
  OR EXISTS (SELECT FROM mails m WHERE m.source_key = u.s3_key))`;

/** Avatars have addresses of their own: they do not make an ended link work again. */
const IS_ATTACHED = `(${IS_LINKED} OR EXISTS (SELECT FROM avatars v WHERE v.s3_key = u.s3_key))`;

const READ_DELETED = statement<[key: string]>('read-deleted-upload')`
    SELECT FROM (SELECT $1::text AS s3_key) u
    WHERE (NOT EXISTS (SELECT FROM uploads n WHERE n.s3_key = u.s3_key AND n.withdrawn_at IS NULL)
        AND NOT ${IS_LINKED})
      OR EXISTS (SELECT FROM uploads n JOIN accounts o ON o.id = n.account_id
        WHERE n.s3_key = u.s3_key AND o.deleted_at IS NOT NULL)
      OR (SELECT bool_and(c.deleted_at IS NOT NULL) FROM (
          SELECT a.conversation_id FROM attachments a WHERE a.s3_key = u.s3_key
          UNION ALL
          SELECT r.conversation_id FROM artifacts f JOIN agent_runs r ON r.id = f.run_id WHERE f.s3_key = u.s3_key
          UNION ALL
          SELECT m.conversation_id FROM mails m WHERE m.source_key = u.s3_key
        ) AS reference LEFT JOIN conversations c ON c.id = reference.conversation_id)`;

const MOVE_UPLOADS = statement<[from: string, to: string]>('move-uploads')`
    UPDATE uploads SET actor_id = $2 WHERE actor_id = $1`;

const WITHDRAW_UNATTACHED = statement<[actorId: string]>('withdraw-unattached-uploads')`
    UPDATE uploads u SET withdrawn_at = clock_timestamp(), filename = ''
    WHERE u.actor_id = $1 AND u.withdrawn_at IS NULL AND NOT ${IS_ATTACHED}`;

/** Marks let each round skip files that an earlier round has found attached. */
const MARK_ATTACHED = statement('mark-uploads-attached')`
    UPDATE uploads u SET attached_at = clock_timestamp() WHERE ${IS_OVERDUE} AND ${IS_ATTACHED}`;

const READ_UNATTACHED = statement<[], { s3_key: string }>('read-unattached-uploads')`
    SELECT s3_key FROM uploads u WHERE ${IS_OVERDUE} AND NOT ${IS_ATTACHED}
    ORDER BY created_at LIMIT ${PURGED_AT_ONCE}`;

const READ_UNREFERENCED = statement<[keys: readonly string[]], { s3_key: string }>(
  'read-unreferenced-uploads',
)`
    SELECT s3_key FROM uploads u WHERE s3_key = ANY($1) AND NOT ${IS_ATTACHED}`;

const REMOVE_UPLOADS = statement<[keys: readonly string[]]>('remove-uploads')`
    DELETE FROM uploads WHERE s3_key = ANY($1)`;
