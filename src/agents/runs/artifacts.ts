import type { Transaction } from 'kysely';
import type { Database } from '../../db/database.ts';
import type { Schema } from '../../db/schema.ts';

/** Ids of the files that a run has made, oldest first. */
export async function artifactsOf(database: Database, runId: string): Promise<string[]> {
  const rows = await database.kysely
    .selectFrom('artifacts')
    .select('id')
    .where('run_id', '=', runId)
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** Those of them that no message shows yet. */
export async function unattachedArtifacts(tx: Transaction<Schema>, runId: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('artifacts')
    .select('id')
    .where('run_id', '=', runId)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('attachments')
            .select('attachments.id')
            .whereRef('attachments.s3_key', '=', 'artifacts.s3_key'),
        ),
      ),
    )
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}
