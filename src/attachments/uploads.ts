import type { Transaction } from 'kysely';
import type { Database } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import type { Queries } from '../db/statement.ts';
import { ATTACHABLE_HOURS } from '../protocol/upload.ts';
import type { ObjectStore } from './storage.ts';

export interface NewUpload {
  readonly s3_key: string;
  readonly account_id: string;
  readonly actor_id: string;
  readonly filename: string;
  readonly content_type: string;
  readonly size_bytes: number;
}

/** What was said of a file when its URL was asked for. */
export type Upload = Pick<NewUpload, 's3_key' | 'filename' | 'content_type' | 'size_bytes'>;

export async function insertUpload(tx: Transaction<Schema>, upload: NewUpload): Promise<void> {
  await tx.insertInto('uploads').values(upload).execute();
}

/** The account's uploads that may still be attached, by key. */
export async function readUploads(
  database: Queries,
  accountId: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, Upload>> {
  const rows = await database.query<Upload>(READ_UPLOADS, [accountId, keys]);
  return new Map(rows.map((row) => [row.s3_key, row]));
}

/**
 * Removes files that neither a message nor a run of an agent has: those that were never attached in time, and those
 * whose last message is gone. Safe on several nodes at once, and again after a failure in between. Rejects with what the store or
 * the database rejects with.
 */
export async function purgeUploads(database: Database, store: ObjectStore): Promise<void> {
  await store.tidy();
  for (;;) {
    await database.query(MARK_ATTACHED);
    const rows = await database.query<{ s3_key: string }>(READ_UNATTACHED);
    const keys = rows.map(({ s3_key }) => s3_key);
    // The rows last: what a failure leaves behind is found again.
    await store.remove(keys);
    await database.query(REMOVE_UPLOADS, [keys]);
    if (keys.length < PURGED_AT_ONCE) return;
  }
}

const PURGED_AT_ONCE = 500;

const READ_UPLOADS = {
  name: 'read-uploads',
  text: `
    SELECT s3_key, filename, content_type, size_bytes FROM uploads
    WHERE s3_key = ANY($2) AND account_id = $1
      AND created_at > clock_timestamp() - interval '${ATTACHABLE_HOURS} hours'`,
};

/** An hour more than a file may be attached: whoever was told just in time that it may has long done so. */
const IS_OVERDUE = `attached_at IS NULL
  AND created_at < clock_timestamp() - interval '${ATTACHABLE_HOURS + 1} hours'`;

const IS_ATTACHED = `(EXISTS (SELECT FROM attachments a WHERE a.s3_key = u.s3_key)
  OR EXISTS (SELECT FROM artifacts f WHERE f.s3_key = u.s3_key))`;

/** So that each round looks only at what the rounds before it have not found attached. */
const MARK_ATTACHED = {
  name: 'mark-uploads-attached',
  text: `UPDATE uploads u SET attached_at = clock_timestamp() WHERE ${IS_OVERDUE} AND ${IS_ATTACHED}`,
};

const READ_UNATTACHED = {
  name: 'read-unattached-uploads',
  text: `
    SELECT s3_key FROM uploads u WHERE ${IS_OVERDUE} AND NOT ${IS_ATTACHED}
    ORDER BY created_at LIMIT ${PURGED_AT_ONCE}`,
};

const REMOVE_UPLOADS = {
  name: 'remove-uploads',
  text: `DELETE FROM uploads WHERE s3_key = ANY($1)`,
};
