import type { ColumnType, Generated } from 'kysely';
import type { Times } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends ComplianceTables {}
}

interface ComplianceTables {
  retention_policies: Times & {
    account_id: string;
    messages_days: number | null;
    files_days: number | null;
    notifications_days: number | null;
    runs_days: number | null;
    audit_days: number | null;
    /** When a sweep last had no rows left to purge. */
    swept_at: string | null;
  };

  compliance_jobs: Times & {
    id: string;
    account_id: string;
    kind: 'conversation_export' | 'user_export' | 'user_erasure';
    /** The conversation or actor of the job, which may be gone. */
    subject_id: string;
    requested_by: string;
    options: ColumnType<Readonly<Record<string, unknown>>, string | undefined, never>;
    status: Generated<'queued' | 'running' | 'complete' | 'failed' | 'expired'>;
    done: Generated<number>;
    total: Generated<number>;
    result: ColumnType<Readonly<Record<string, unknown>> | null, string | null | undefined, string | null>;
    error: string | null;
    /** The file of the current attempt, or of the result. */
    s3_key: string | null;
    size_bytes: number | null;
    attempts: Generated<number>;
    /** Grows whenever a node takes the job. */
    fence: Generated<number>;
    lease_until: string | null;
    completed_at: string | null;
    expires_at: string | null;
  };
}
