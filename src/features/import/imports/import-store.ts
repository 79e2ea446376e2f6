import { ApiError } from '@parley/protocol/errors/errors.ts';
import { newId } from '@parley/protocol/ids.ts';
import { IMPORT_LIMITS, type ImportCounts, type ImportSource } from '@parley/protocol/resources/import.ts';
import { type Selectable, sql } from 'kysely';
import { addRemoval } from '../../../core/attachments/uploads.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { type KeysetPage, keysetList } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { isUniqueViolation } from '../../../platform/db/connection/unavailable.ts';
import { jobQueue, UNFINISHED } from '../../../platform/db/queue/leased-jobs.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import type { ImportOptions } from '../tables.ts';

export type ImportRow = Selectable<Schema['imports']>;

/** The claim of a node, or of the operator's command, on an import. */
export type ImportTaken = Pick<ImportRow, 'id' | 'fence'>;

const NOW = sql<string>`clock_timestamp()`;

interface NewImport {
  readonly accountId: string;
  readonly source: ImportSource;
  readonly options: ImportOptions;
  readonly sizeBytes: number;
  /** Null for a local archive. */
  readonly partBytes: number | null;
  readonly sha256: string | null;
  /** Null for the operator. */
  readonly createdBy: string | null;
}

/**
 * Inserts an import, which awaits its upload, or a local one, which waits for the command. Throws
 * ApiError `resource_conflict` if the account has another unfinished import.
 */
export async function insertImport(tx: Tx, input: NewImport): Promise<ImportRow> {
  const isLocal = input.partBytes === null;
  return await tx.kysely
    .insertInto('imports')
    .values({
      id: newId('import'),
      account_id: input.accountId,
      source: input.source,
      options: JSON.stringify(input.options),
      is_local: isLocal,
      status: isLocal ? 'queued' : 'awaiting_upload',
      lease_until: isLocal ? NOW : null,
      size_bytes: input.sizeBytes,
      part_bytes: input.partBytes,
      sha256: input.sha256,
      created_by: input.createdBy,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch(asConflict);
}

export function findImport(db: Db, accountId: string, id: string): Promise<ImportRow | undefined> {
  return importOf(db, accountId, id).executeTakeFirst();
}

/** Returns and locks an import like `findImport`, until the transaction ends. */
export function lockImport(tx: Tx, accountId: string, id: string): Promise<ImportRow | undefined> {
  return importOf(tx, accountId, id).forUpdate().executeTakeFirst();
}

function importOf(db: Db, accountId: string, id: string) {
  return db.kysely.selectFrom('imports').selectAll().where('id', '=', id).where('account_id', '=', accountId);
}

/** Returns the newest local import of this archive that is not completed. */
export function findLocalImport(
  tx: Tx,
  accountId: string,
  source: ImportSource,
  sha256: string,
): Promise<ImportRow | undefined> {
  return tx.kysely
    .selectFrom('imports')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('source', '=', source)
    .where('sha256', '=', sha256)
    .where('is_local', '=', true)
    .where('status', '<>', 'completed')
    .orderBy('created_at', 'desc')
    .forUpdate()
    .executeTakeFirst();
}

/** Returns the ids of imports that are running, on any node. */
export async function readRunning(db: Db): Promise<string[]> {
  return (await db.query(READ_RUNNING)).map(({ id }) => id);
}

/** Returns imports of the account, newest first. */
export function readImports(db: Db, accountId: string, page: KeysetPage): Promise<ImportRow[]> {
  return LIST.readPage(db, [accountId], page);
}

/**
 * Queues a locked import to begin or to continue. `options` replaces its own. Throws ApiError
 * `resource_conflict` if the account has another unfinished import.
 */
export async function queueImport(tx: Tx, { id }: ImportRow, options?: ImportOptions): Promise<ImportRow> {
  return await tx.kysely
    .updateTable('imports')
    .set({
      status: 'queued',
      attempts: 0,
      error: null,
      error_message: null,
      completed_at: null,
      lease_until: NOW,
      ...(options !== undefined && { options: JSON.stringify(options) }),
      updated_at: sql<string>`clock_timestamp()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch(asConflict);
}

/** Ends a locked import that has not ended; a node that runs it stops within a second. */
export async function cancelImport(tx: Tx, id: string): Promise<ImportRow> {
  return await tx.kysely
    .updateTable('imports')
    .set((update) => ({
      status: 'canceled',
      fence: update('fence', '+', 1),
      lease_until: null,
      completed_at: sql<string>`clock_timestamp()`,
      updated_at: sql<string>`clock_timestamp()`,
    }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export interface ImportState {
  readonly position: number;
  readonly counts: ImportCounts;
  readonly done: number;
  readonly total: number;
}

/** Stores the progress of an import. Throws if it was taken over or has ended. */
export async function saveState(tx: Tx, { id, fence }: ImportTaken, state: ImportState): Promise<void> {
  const { position, counts, done, total } = state;
  const kept = await tx.query(SAVE_STATE, id, fence, position, JSON.stringify(counts), done, total);
  if (kept.length === 0) throw new Error('the import was taken over');
}

interface ImportEnd {
  readonly status: 'completed' | 'failed';
  readonly counts?: ImportCounts;
  /** The code of an error. */
  readonly error?: string;
  readonly message?: string;
}

/**
 * Ends an import and forgets its token. A completed import forgets its parts, which are then
 * removed. Returns false and changes nothing if it was taken over or has ended.
 */
export async function endImport(
  tx: Tx,
  { id, fence }: ImportTaken,
  { status, counts, error = undefined, message }: ImportEnd,
): Promise<boolean> {
  const ended = await tx.kysely
    .updateTable('imports')
    .set({
      status,
      ...(counts !== undefined && { counts: JSON.stringify(counts) }),
      ...(status === 'completed' && { options: sql<string>`options - 'file_token'` }),
      error: error ?? null,
      error_message: message ?? null,
      lease_until: null,
      completed_at: sql<string>`clock_timestamp()`,
      updated_at: sql<string>`clock_timestamp()`,
    })
    .where('id', '=', id)
    .where('fence', '=', fence)
    .where('status', '=', 'running')
    .returning('id')
    .execute();
  if (ended.length === 0) return false;
  if (status === 'completed') await removeParts(tx, [id]);
  return true;
}

/** Ends the imports of an account that is removed. A node may still be writing for a second. */
export async function endImportsOf(tx: Tx, accountId: string): Promise<boolean> {
  const ended = await tx.query(CANCEL_OF_ACCOUNT, accountId);
  const rows = await tx.kysely
    .selectFrom('imports')
    .select('id')
    .where('account_id', '=', accountId)
    .execute();
  await removeParts(
    tx,
    rows.map(({ id }) => id),
  );
  return ended.length > 0;
}

/** Removes parts that are not needed any more, abandoned imports, and old imports. */
export async function tidyImports(db: { transaction<T>(run: (tx: Tx) => Promise<T>): Promise<T> }) {
  await db.transaction(async (tx) => {
    await tx.query(CANCEL_ABANDONED);
    const expired = await tx.query(FIND_EXPIRED_PARTS);
    await removeParts(
      tx,
      expired.map(({ id }) => id),
    );
    await tx.query(REMOVE_OLD);
  });
}

async function removeParts(tx: Tx, importIds: readonly string[]): Promise<void> {
  if (importIds.length === 0) return;
  await tx.query(FORGET_TOKENS, importIds);
  if ((await tx.query(REMOVE_PARTS, importIds)).length > 0) await addRemoval(tx);
}

function asConflict(error: unknown): never {
  if (!isUniqueViolation(error, 'imports_open')) throw error;
  throw new ApiError(
    'resource_conflict',
    'The account has an import that has not ended. Cancel it, or wait for its end.',
  );
}

const READ_RUNNING = statement<[], { id: string }>('read-running-imports')`
    SELECT id FROM imports WHERE status = 'running'`;

const LIST = keysetList<[accountId: string], ImportRow>({
  name: 'list-imports',
  columns: 'i.*',
  from: 'imports i',
  where: 'i.account_id = $1',
  key: [
    ['i.created_at', 'timestamptz'],
    ['i.id', 'text'],
  ],
});

/** A node takes all but local imports, which the command runs itself. */
export const IMPORTS = jobQueue<ImportRow>({
  table: 'imports',
  counts: 'bigint',
  unasked: 'NOT q.is_local',
  begun: ', started_at = coalesce(q.started_at, clock_timestamp())',
});

// Attempts are reset, because an import that progresses has not failed that often.
const SAVE_STATE = statement<
  [id: string, fence: number, position: number, counts: string, done: number, total: number],
  { id: string }
>('save-state-of-import')`
    UPDATE imports SET position = $3, counts = $4::jsonb, done = $5, total = $6, attempts = 0,
      updated_at = clock_timestamp()
    WHERE id = $1 AND fence = $2 AND status = 'running' RETURNING id`;

const CANCEL_OF_ACCOUNT = statement<[accountId: string], { id: string }>('cancel-imports-of-account')`
    UPDATE imports SET status = 'canceled', fence = fence + 1, lease_until = NULL,
      completed_at = clock_timestamp(), updated_at = clock_timestamp()
    WHERE account_id = $1 AND status IN ('awaiting_upload', 'queued', 'running') RETURNING id`;

// A command that was killed leaves its import without a lease.
const CANCEL_ABANDONED = statement('cancel-abandoned-imports')`
    UPDATE imports SET status = 'canceled', fence = fence + 1, lease_until = NULL,
      completed_at = clock_timestamp(), updated_at = clock_timestamp()
    WHERE (status = 'awaiting_upload' AND updated_at < clock_timestamp() - interval '${IMPORT_LIMITS.partDays} days')
      OR (is_local AND ${UNFINISHED} AND updated_at < clock_timestamp() - interval '1 hour')`;

const FIND_EXPIRED_PARTS = statement<[], { id: string }>('find-expired-import-parts')`
    SELECT i.id FROM imports i
    WHERE i.completed_at < clock_timestamp() - interval '${IMPORT_LIMITS.partDays} days'
      AND i.status IN ('canceled', 'failed')
      AND (i.options ? 'file_token' OR EXISTS (SELECT FROM import_parts p WHERE p.import_id = i.id))`;

const FORGET_TOKENS = statement<[ids: readonly string[]]>('forget-tokens-of-imports')`
    UPDATE imports SET options = options - 'file_token' WHERE id = ANY($1) AND options ? 'file_token'`;

const REMOVE_PARTS = statement<[ids: readonly string[]], object>('remove-import-parts')`
    DELETE FROM import_parts WHERE import_id = ANY($1) RETURNING 1`;

const REMOVE_OLD = statement('remove-old-imports')`
    DELETE FROM imports i
    WHERE i.completed_at < clock_timestamp() - interval '${IMPORT_LIMITS.keptDays} days'
      AND NOT EXISTS (SELECT FROM import_parts p WHERE p.import_id = i.id)`;
