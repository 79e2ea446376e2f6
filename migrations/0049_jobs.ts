import { type Kysely, sql } from 'kysely';

export const usableFrom = '0031_replaying';

/**
 * jobs: work that a node does at a time. `due_at` is that time, or when the lease of the node that
 * runs it ends. `fence` grows whenever a node takes it; a job that replaces the one of its key has a
 * new id, so that a node that runs the former one does not end it.
 *
 * messages.retry_at: until when a scheduled message that was refused waits.
 *
 * Nodes of the version before have their jobs in the schema `graphile_worker` and go on to use it;
 * nodes of this version move what they find there. The migrations of the next version drop it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}

const ID = 'text COLLATE "C"';

const STATEMENTS = [
  `CREATE TABLE jobs (
    id ${ID} PRIMARY KEY DEFAULT gen_random_uuid()::text,
    key ${ID} UNIQUE,
    topic ${ID} NOT NULL,
    payload jsonb NOT NULL,
    due_at timestamptz NOT NULL,
    attempts int NOT NULL DEFAULT 0,
    fence int NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
  )`,
  'CREATE INDEX jobs_due ON jobs (due_at, topic)',
  'ALTER TABLE messages ADD COLUMN retry_at timestamptz',
];
