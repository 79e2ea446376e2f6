import { type Selectable, sql } from 'kysely';
import { addRemoval } from '../../../core/attachments/uploads.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { type KeysetPage, keysetList } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { jobQueue, UNFINISHED } from '../../../platform/db/queue/leased-jobs.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';

export type ComplianceJobRow = Selectable<Schema['compliance_jobs']>;

/** The claim of a node on a job. */
type JobTaken = Pick<ComplianceJobRow, 'id' | 'fence'>;

/** Adds a job, which begins `afterMs` milliseconds after the commit. */
export async function addComplianceJob(
  tx: Tx,
  job: Pick<ComplianceJobRow, 'id' | 'account_id' | 'kind' | 'subject_id' | 'requested_by'>,
  { afterMs = 0, options = {} }: { readonly afterMs?: number; readonly options?: object } = {},
): Promise<ComplianceJobRow> {
  return tx.kysely
    .insertInto('compliance_jobs')
    .values({
      ...job,
      options: JSON.stringify(options),
      lease_until: sql<string>`clock_timestamp() + ${afterMs}::float8 * interval '1 ms'`,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

export function findComplianceJob(
  db: Db,
  accountId: string,
  id: string,
): Promise<ComplianceJobRow | undefined> {
  return db.kysely
    .selectFrom('compliance_jobs')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .executeTakeFirst();
}

/** Returns jobs of the account of these kinds, newest first. */
export function readComplianceJobs(
  db: Db,
  accountId: string,
  kinds: readonly ComplianceJobRow['kind'][],
  page: KeysetPage,
): Promise<ComplianceJobRow[]> {
  return LIST.readPage(db, [accountId, kinds], page);
}

export async function countOpenExports(tx: Tx, accountId: string): Promise<number> {
  const [row] = await tx.query(COUNT_OPEN, accountId);
  return row!.open;
}

interface JobEnd
  extends Partial<Pick<ComplianceJobRow, 'done' | 'total' | 'size_bytes' | 's3_key' | 'error'>> {
  readonly status: 'complete' | 'failed';
  /** Days for which its file is kept. */
  readonly keptDays?: number;
  readonly result?: object;
}

/** Ends a job. Returns false and changes nothing if it was taken over or has ended. */
export async function endJob(
  tx: Tx,
  { id, fence }: JobTaken,
  { result, keptDays, ...end }: JobEnd,
): Promise<boolean> {
  const ended = await tx.kysely
    .updateTable('compliance_jobs')
    .set({
      ...end,
      ...(result !== undefined && { result: JSON.stringify(result) }),
      ...(keptDays !== undefined && {
        expires_at: sql<string>`clock_timestamp() + ${sql.lit(`${keptDays} days`)}::interval`,
      }),
      lease_until: null,
      completed_at: sql<string>`clock_timestamp()`,
      updated_at: sql<string>`clock_timestamp()`,
    })
    .where('id', '=', id)
    .where('fence', '=', fence)
    .where('status', '=', 'running')
    .returning('id')
    .execute();
  return ended.length > 0;
}

/** Sets the file that an attempt writes. Returns false if the job was taken over. */
export async function setFile(tx: Tx, { id, fence }: JobTaken, key: string): Promise<boolean> {
  return (await tx.query(SET_FILE, id, fence, key)).length > 0;
}

/**
 * Ends the exports of these conversations and persons, because some of their content is removed.
 * Links to their files end with the commit, and a running export starts over.
 */
export async function endExportsOf(tx: Tx, subjectIds: readonly string[]): Promise<void> {
  const ended = await tx.query(END_EXPORTS, subjectIds);
  if (ended.length === 0) return;
  await addRemoval(tx);
}

/** Returns the names that erasures of the person have yet to find, or left under a hold. */
export async function namesOfErasures(db: Db, subjectId: string): Promise<string[]> {
  const rows = await db.query(READ_NAMES, subjectId);
  return [...new Set(rows.flatMap(({ names }) => names))];
}

/** Forgets the names, because no text contains them any more. */
export async function forgetNames(tx: Tx, subjectId: string): Promise<void> {
  await tx.query(FORGET_NAMES, subjectId);
}

/** Expires old exports, so that the next file removal deletes their files, and removes old jobs. */
export async function tidyJobs(db: Db): Promise<void> {
  await db.query(EXPIRE);
  await db.query(REMOVE_OLD);
}

/** Days for which a job that has ended, and an export whose file is gone, can still be read. */
const KEPT_DAYS = 90;

const LIST = keysetList<[accountId: string, kinds: readonly string[]], ComplianceJobRow>({
  name: 'list-compliance-jobs',
  columns: 'c.*',
  from: 'compliance_jobs c',
  where: 'c.account_id = $1 AND c.kind = ANY($2)',
  key: [
    ['c.created_at', 'timestamptz'],
    ['c.id', 'text'],
  ],
});

const COUNT_OPEN = statement<[accountId: string], { open: number }>('count-open-exports')`
    SELECT count(*) AS open FROM compliance_jobs
    WHERE account_id = $1 AND ${UNFINISHED} AND kind IN ('conversation_export', 'user_export')`;

export const JOBS = jobQueue<ComplianceJobRow>({ table: 'compliance_jobs', counts: 'integer' });

const SET_FILE = statement<[id: string, fence: number, key: string]>('set-file-of-compliance-job')`
    UPDATE compliance_jobs SET s3_key = $3 WHERE id = $1 AND fence = $2 AND status = 'running' RETURNING id`;

const END_EXPORTS = statement<[subjectIds: readonly string[]], { id: string }>('end-exports')`
    UPDATE compliance_jobs SET
      status = CASE WHEN status = 'complete' THEN 'expired' ELSE 'queued' END,
      fence = fence + 1, updated_at = clock_timestamp(),
      lease_until = CASE WHEN status = 'complete' THEN NULL ELSE clock_timestamp() END,
      s3_key = CASE WHEN status = 'complete' THEN NULL ELSE s3_key END
    WHERE subject_id = ANY($1) AND kind IN ('conversation_export', 'user_export')
      AND status IN ('queued', 'running', 'complete')
    RETURNING id`;

const READ_NAMES = statement<[subjectId: string], { names: string[] }>('read-names-of-erasures')`
    SELECT options -> 'names' AS names FROM compliance_jobs
    WHERE subject_id = $1 AND kind = 'user_erasure' AND options ? 'names'`;

const FORGET_NAMES = statement<[subjectId: string]>('forget-names-of-erasures')`
    UPDATE compliance_jobs SET options = options - 'names' WHERE subject_id = $1 AND kind = 'user_erasure'`;

const EXPIRE = statement('expire-exports')`
    UPDATE compliance_jobs SET status = 'expired', s3_key = NULL, updated_at = clock_timestamp()
    WHERE status = 'complete' AND expires_at <= clock_timestamp()`;

const REMOVE_OLD = statement('remove-old-compliance-jobs')`
    DELETE FROM compliance_jobs
    WHERE completed_at < clock_timestamp() - interval '${KEPT_DAYS} days' AND s3_key IS NULL
      AND NOT options ? 'names'`;
