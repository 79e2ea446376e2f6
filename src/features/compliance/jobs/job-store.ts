import { type Selectable, sql } from 'kysely';
import { addRemoval } from '../../../core/attachments/uploads.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { type KeysetPage, keysetList } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { addJob, hasLiveJob } from '../../../platform/db/queue/queue.ts';
import { defineTopic } from '../../../platform/db/queue/topic.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';

export type ComplianceJobRow = Selectable<Schema['compliance_jobs']>;

/** A job of the queue: runs a row of compliance_jobs (runner.ts). */
export const COMPLIANCE_JOB_DUE = defineTopic<JobDue>('compliance_job');

export interface JobDue {
  readonly job_id: string;
}

export interface NewComplianceJob {
  readonly id: string;
  readonly accountId: string;
  readonly kind: ComplianceJobRow['kind'];
  /** The conversation or the actor that the job is about. */
  readonly subjectId: string;
  readonly requestedBy: string;
  readonly options?: Readonly<Record<string, unknown>>;
  /** Milliseconds from the commit until it begins; none by default. */
  readonly afterMs?: number;
}

/** A job as the node that took it knows it. */
export type JobTaken = Pick<ComplianceJobRow, 'id' | 'fence'>;

/** Inserts a job, which runs once the transaction is committed. */
export async function insertComplianceJob(tx: Tx, job: NewComplianceJob): Promise<ComplianceJobRow> {
  const row = await tx.kysely
    .insertInto('compliance_jobs')
    .values({
      id: job.id,
      account_id: job.accountId,
      kind: job.kind,
      subject_id: job.subjectId,
      requested_by: job.requestedBy,
      options: JSON.stringify(job.options ?? {}),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await addDue(tx, row.id, job.afterMs);
  return row;
}

/** Returns a job of the account; undefined if it has none with this id. */
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
  return JOBS.readPage(db, [accountId, kinds], page);
}

/** Returns how many exports of the account have not ended. */
export async function countOpenExports(tx: Tx, accountId: string): Promise<number> {
  const [row] = await tx.query(COUNT_OPEN, accountId);
  return row!.open;
}

/**
 * Takes a job that waits, or whose node is gone. Returns undefined if another node runs it or it
 * has ended.
 */
export async function takeJob(db: Db, id: string): Promise<ComplianceJobRow | undefined> {
  const [row] = await db.query(TAKE, id);
  return row;
}

/**
 * Renews the lease and stores the progress. Returns false if the job was taken over or has ended.
 */
export async function renewLease(
  db: Db,
  { id, fence }: JobTaken,
  done: number,
  total: number,
): Promise<boolean> {
  return (await db.query(RENEW, id, fence, done, total)).length > 0;
}

export interface JobEnd
  extends Partial<Pick<ComplianceJobRow, 'done' | 'total' | 'size_bytes' | 's3_key' | 'error'>> {
  readonly status: 'complete' | 'failed';
  /** Days for which its file is kept. */
  readonly keptDays?: number;
  readonly result?: object;
}

/** Ends a job. Returns false, with nothing changed, if it was taken over or has ended. */
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

/** Gives a job back, to be taken again after `delayMs`. */
export async function giveBack(db: Db, { id, fence }: JobTaken, delayMs: number): Promise<void> {
  await db.query(GIVE_BACK, id, fence, delayMs);
}

/** Sets the file that an attempt writes. Returns false if the job was taken over. */
export async function setFile(tx: Tx, { id, fence }: JobTaken, key: string): Promise<boolean> {
  return (await tx.query(SET_FILE, id, fence, key)).length > 0;
}

/**
 * Adds the queue's job again for those that have lost it: their node was killed, was busy with
 * another one, or gave them back.
 */
export async function requeueLost(
  db: Db,
  transaction: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>,
): Promise<void> {
  if ((await db.query(HAS_LOST)).length === 0) return;
  await transaction(async (tx) => {
    for (const { id } of await tx.query(LOCK_LOST)) await addDue(tx, id);
  });
}

/**
 * Ends the exports of these conversations and persons, because something in them goes: links to
 * their files end with the commit. An export that is under way starts over, so that it reads what
 * is left.
 */
export async function endExportsOf(tx: Tx, subjectIds: readonly string[]): Promise<void> {
  const ended = await tx.query(END_EXPORTS, subjectIds);
  if (ended.length === 0) return;
  await addRemoval(tx);
  for (const { id, status } of ended) if (status === 'queued') await addDue(tx, id);
}

/** Returns the names that earlier erasures of the person left in conversations under legal hold. */
export async function namesOfEarlierErasures(db: Db, subjectId: string): Promise<string[]> {
  const rows = await db.query(READ_NAMES, subjectId);
  return rows.flatMap(({ names }) => names);
}

/** Forgets these names: nothing contains them any more. */
export async function forgetNames(tx: Tx, subjectId: string): Promise<void> {
  await tx.query(FORGET_NAMES, subjectId);
}

/**
 * Lets exports expire whose time has come, so that the next round of file removal removes their
 * files, and removes jobs that ended long ago.
 */
export async function tidyJobs(db: Db): Promise<void> {
  await db.query(EXPIRE);
  await db.query(REMOVE_OLD);
}

function addDue(tx: Tx, id: string, afterMs = 0): Promise<void> {
  return addJob(tx, COMPLIANCE_JOB_DUE, { job_id: id }, { key: id, ...(afterMs > 0 && { afterMs }) });
}

/** A node that has not renewed its lease for so long is taken to be gone. */
const LEASE = `interval '15 seconds'`;

/** Days for which a job that has ended, and an export whose file is gone, can still be read. */
const KEPT_DAYS = 90;

const OPEN = `status IN ('queued', 'running')`;

const JOBS = keysetList<[accountId: string, kinds: readonly string[]], ComplianceJobRow>({
  name: 'list-compliance-jobs',
  columns: 'c.*',
  from: 'compliance_jobs c',
  where: 'c.account_id = $1 AND c.kind = ANY($2)',
  key: [
    ['c.created_at', 'timestamptz'],
    ['c.id', 'text'],
  ],
});

const COUNT_OPEN = statement<[accountId: string], { open: number }>({
  name: 'count-open-exports',
  text: `
    SELECT count(*) AS open FROM compliance_jobs
    WHERE account_id = $1 AND ${OPEN} AND kind IN ('conversation_export', 'user_export')`,
});

const TAKE = statement<[id: string], ComplianceJobRow>({
  name: 'take-compliance-job',
  text: `
    UPDATE compliance_jobs SET status = 'running', fence = fence + 1, attempts = attempts + 1,
      lease_until = clock_timestamp() + ${LEASE}, updated_at = clock_timestamp()
    WHERE id = $1 AND ${OPEN} AND (lease_until IS NULL OR lease_until <= clock_timestamp())
    RETURNING *`,
});

const RENEW = statement<[id: string, fence: number, done: number, total: number]>({
  name: 'renew-compliance-job',
  text: `
    UPDATE compliance_jobs SET done = $3, total = $4, lease_until = clock_timestamp() + ${LEASE},
      updated_at = clock_timestamp()
    WHERE id = $1 AND fence = $2 AND status = 'running' RETURNING id`,
});

const GIVE_BACK = statement<[id: string, fence: number, delayMs: number]>({
  name: 'give-back-compliance-job',
  text: `
    UPDATE compliance_jobs SET status = 'queued', updated_at = clock_timestamp(),
      lease_until = clock_timestamp() + $3 * interval '1 millisecond'
    WHERE id = $1 AND fence = $2 AND status = 'running'`,
});

const SET_FILE = statement<[id: string, fence: number, key: string]>({
  name: 'set-file-of-compliance-job',
  text: `UPDATE compliance_jobs SET s3_key = $3 WHERE id = $1 AND fence = $2 AND status = 'running' RETURNING id`,
});

/** A job of the queue needs a moment from its commit until a worker has locked it. */
const OVERDUE = `c.${OPEN} AND coalesce(c.lease_until, c.updated_at + interval '2 seconds') < statement_timestamp()`;

/**
 * SQL: whether a job is not held by any node, and did not begin in time. Those that wait for their
 * turn count too.
 */
export const HAS_OVERDUE = `EXISTS (SELECT FROM compliance_jobs c WHERE ${OVERDUE})`;

const LOST = `${OVERDUE} AND NOT ${hasLiveJob('c.id')}`;

const HAS_LOST = statement<[], { id: string }>({
  name: 'has-lost-compliance-jobs',
  text: `SELECT c.id FROM compliance_jobs c WHERE ${LOST} LIMIT 1`,
});

const LOCK_LOST = statement<[], { id: string }>({
  name: 'lock-lost-compliance-jobs',
  text: `
    SELECT c.id FROM compliance_jobs c WHERE ${LOST}
    ORDER BY c.created_at LIMIT 100 FOR UPDATE OF c SKIP LOCKED`,
});

const END_EXPORTS = statement<[subjectIds: readonly string[]], { id: string; status: string }>({
  name: 'end-exports',
  text: `
    UPDATE compliance_jobs SET
      status = CASE WHEN status = 'complete' THEN 'expired' ELSE 'queued' END,
      fence = fence + 1, lease_until = NULL, updated_at = clock_timestamp(),
      s3_key = CASE WHEN status = 'complete' THEN NULL ELSE s3_key END
    WHERE subject_id = ANY($1) AND kind IN ('conversation_export', 'user_export')
      AND status IN ('queued', 'running', 'complete')
    RETURNING id, status`,
});

const READ_NAMES = statement<[subjectId: string], { names: string[] }>({
  name: 'read-names-of-erasures',
  text: `
    SELECT options -> 'names' AS names FROM compliance_jobs
    WHERE subject_id = $1 AND kind = 'user_erasure' AND options ? 'names'`,
});

const FORGET_NAMES = statement<[subjectId: string]>({
  name: 'forget-names-of-erasures',
  text: `UPDATE compliance_jobs SET options = options - 'names' WHERE subject_id = $1 AND kind = 'user_erasure'`,
});

const EXPIRE = statement({
  name: 'expire-exports',
  text: `
    UPDATE compliance_jobs SET status = 'expired', s3_key = NULL, updated_at = clock_timestamp()
    WHERE status = 'complete' AND expires_at <= clock_timestamp()`,
});

const REMOVE_OLD = statement({
  name: 'remove-old-compliance-jobs',
  text: `
    DELETE FROM compliance_jobs
    WHERE completed_at < clock_timestamp() - interval '${KEPT_DAYS} days' AND s3_key IS NULL
      AND NOT options ? 'names'`,
});
