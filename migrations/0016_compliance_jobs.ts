import { type Kysely, sql } from 'kysely';

/**
 * compliance_jobs: work of an account that takes longer than a request: exports of conversations and persons, erasures
 * of persons. A row is a queue entry of its own. The node that runs it renews `lease_until`; `fence` grows whenever a
 * node takes it, so that a node whose job was taken over changes nothing any more. `subject_id` names what the job is
 * about, which may be gone. `s3_key` is the file of the attempt under way, or of the result.
 *
 * actors.erased_at: since when the person's name and addresses are gone for good.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE compliance_jobs (
    id ${ID} PRIMARY KEY,
    account_id ${ID} NOT NULL REFERENCES accounts,
    kind text NOT NULL,
    subject_id ${ID} NOT NULL,
    requested_by ${ID} NOT NULL REFERENCES actors,
    options jsonb NOT NULL DEFAULT '{}',
    status text NOT NULL DEFAULT 'queued',
    done bigint NOT NULL DEFAULT 0,
    total bigint NOT NULL DEFAULT 0,
    result jsonb,
    error text,
    s3_key ${ID},
    size_bytes bigint,
    attempts integer NOT NULL DEFAULT 0,
    fence bigint NOT NULL DEFAULT 0,
    lease_until timestamptz,
    completed_at timestamptz,
    expires_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX compliance_jobs_of_account ON compliance_jobs (account_id, created_at, id)',
  'CREATE INDEX compliance_jobs_of_subject ON compliance_jobs (subject_id)',
  `CREATE INDEX compliance_jobs_open ON compliance_jobs (created_at) WHERE status IN ('queued', 'running')`,
  'CREATE INDEX compliance_jobs_files ON compliance_jobs (s3_key) WHERE s3_key IS NOT NULL',
  // The file of an earlier attempt, or of an export that has ended, is removed with the next round of file removal.
  `CREATE TRIGGER compliance_jobs_detach AFTER UPDATE OF s3_key OR DELETE ON compliance_jobs
    FOR EACH ROW WHEN (OLD.s3_key IS NOT NULL) EXECUTE FUNCTION detach_upload()`,
  'CREATE INDEX compliance_jobs_expiring ON compliance_jobs (expires_at) WHERE expires_at IS NOT NULL',

  'ALTER TABLE actors ADD COLUMN erased_at timestamptz',
  'CREATE INDEX refresh_tokens_of_actor ON refresh_tokens (actor_id)',
];
