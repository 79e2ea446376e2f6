import { type Kysely, sql } from 'kysely';

/**
 * The trace of the request that started a run, as a W3C `traceparent`: log lines of the run and its calls of models
 * name it. Null where the request had none, and where a schedule started the run.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE agent_runs ADD COLUMN traceparent text`.execute(db);
}
