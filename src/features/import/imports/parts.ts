import { createHash } from 'node:crypto';
import { open, statfs } from 'node:fs/promises';
import { ApiError, invalid } from '@parley/protocol/errors/errors.ts';
import type { UploadUrl } from '@parley/protocol/resources/upload.ts';
import type { ObjectStore } from '../../../core/attachments/storage.ts';
import { addRemoval, insertOwnFile, newUploadUrl } from '../../../core/attachments/uploads.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { ImportRow } from './import-store.ts';

const CONTENT_TYPE = 'application/octet-stream';

/** Returns the number of parts of an archive. */
export function partCount({ size_bytes, part_bytes }: Pick<ImportRow, 'size_bytes' | 'part_bytes'>): number {
  return part_bytes === null ? 0 : Math.ceil(size_bytes / part_bytes);
}

/** Returns the upload target of a part. The import knows the part only after `registerPart`. */
export function newPart(store: ObjectStore, row: ImportRow, number: number): Promise<UploadUrl> {
  return newUploadUrl(store, CONTENT_TYPE, sizeOfPart(row, number));
}

/** Throws ApiError `validation_failed` (param number) for a number beyond the last part. */
export function requirePart(row: ImportRow, number: number): void {
  const count = partCount(row);
  if (number > count)
    throw invalid('number', `The archive has ${count} parts. Send a number from 1 to ${count}.`);
}

/** Makes the upload the part with this number; the upload of an earlier part is removed. */
export async function registerPart(
  tx: Tx,
  row: ImportRow,
  { number, key, actorId }: { readonly number: number; readonly key: string; readonly actorId: string },
): Promise<void> {
  await insertOwnFile(tx, {
    s3_key: key,
    account_id: row.account_id,
    actor_id: actorId,
    filename: `${row.id}.part${number}`,
    content_type: CONTENT_TYPE,
  });
  const [{ replaced } = { replaced: false }] = await tx.query(
    PUT_PART,
    row.id,
    number,
    key,
    sizeOfPart(row, number),
  );
  if (replaced) await addRemoval(tx);
}

/** Returns the numbers of the parts whose bytes are there, in order. */
export async function uploadedParts(db: Db, store: ObjectStore, importId: string): Promise<number[]> {
  const rows = await readParts(db, importId);
  const isThere = async ({ number, s3_key, size_bytes, uploaded_at }: Part) => {
    if (uploaded_at !== null) return true;
    if ((await store.sizeOf(s3_key)) !== size_bytes) return false;
    await db.query(MARK_UPLOADED, importId, number, s3_key);
    return true;
  };
  const uploaded: number[] = [];
  for (let begin = 0; begin < rows.length; begin += LOOKED_AT_ONCE) {
    const some = rows.slice(begin, begin + LOOKED_AT_ONCE);
    const there = await Promise.all(some.map(isThere));
    uploaded.push(...some.filter((_, index) => there[index]).map(({ number }) => number));
  }
  return uploaded;
}

/** Throws ApiError `resource_conflict` that names a missing part. */
export function requireComplete(row: ImportRow, uploaded: readonly number[]): void {
  const there = new Set(uploaded);
  const count = partCount(row);
  if (there.size === count) return;
  const missing = Array.from({ length: count }, (_, index) => index + 1).find((number) => !there.has(number));
  throw new ApiError(
    'resource_conflict',
    `${count - there.size} of ${count} parts of the archive were not uploaded. Upload them first, beginning with part ${missing}.`,
  );
}

/**
 * Writes the uploaded parts as one file. Throws ApiError `resource_conflict` for a missing part,
 * and `validation_failed` if the file's hash differs from the import's.
 */
export async function joinParts(
  db: Db,
  store: ObjectStore,
  row: ImportRow,
  { path, signal }: { readonly path: string; readonly signal: AbortSignal },
): Promise<void> {
  const parts = await readParts(db, row.id);
  requireComplete(
    row,
    parts.map(({ number }) => number),
  );
  const file = await open(path, 'wx');
  try {
    const { bavail, bsize } = await statfs(path);
    if (bavail * bsize < row.size_bytes) {
      throw new ApiError(
        'service_unavailable',
        'The disk of the server has no room for the archive. Its operator has to make room.',
      );
    }
    const digest = createHash('sha256');
    for (const { number, s3_key, size_bytes } of parts) {
      const bytes = await store.open(s3_key);
      if (bytes?.size !== size_bytes)
        throw new ApiError('resource_conflict', `Part ${number} is gone. Upload it again.`);
      for await (const piece of bytes.read({ isTransient: true })) {
        signal.throwIfAborted();
        digest.update(piece);
        await file.write(piece);
      }
    }
    if (row.sha256 !== null && digest.digest('hex') !== row.sha256) {
      throw invalid('sha256', 'The archive that was uploaded has another SHA-256 than the import says.');
    }
  } finally {
    await file.close();
  }
}

interface Part {
  readonly number: number;
  readonly s3_key: string;
  readonly size_bytes: number;
  readonly uploaded_at: string | null;
}

/** Number of files that are checked at once. */
const LOOKED_AT_ONCE = 20;

function sizeOfPart(row: ImportRow, number: number): number {
  const partBytes = row.part_bytes ?? row.size_bytes;
  return Math.min(partBytes, row.size_bytes - (number - 1) * partBytes);
}

/** Returns the parts in the order of their numbers. */
function readParts(db: Db, importId: string): Promise<Part[]> {
  return db.query(READ_PARTS, importId);
}

const READ_PARTS = statement<[importId: string], Part>('read-import-parts')`
    SELECT number, s3_key, size_bytes, uploaded_at FROM import_parts WHERE import_id = $1 ORDER BY number`;

const PUT_PART = statement<
  [importId: string, number: number, key: string, sizeBytes: number],
  { replaced: boolean }
>('put-import-part')`
    INSERT INTO import_parts AS p (import_id, number, s3_key, size_bytes) VALUES ($1, $2, $3, $4)
    ON CONFLICT (import_id, number) DO UPDATE SET s3_key = excluded.s3_key, uploaded_at = NULL
    RETURNING xmax <> 0 AS replaced`;

const MARK_UPLOADED = statement<[importId: string, number: number, key: string]>('mark-import-part-uploaded')`
    UPDATE import_parts SET uploaded_at = clock_timestamp()
    WHERE import_id = $1 AND number = $2 AND s3_key = $3`;
