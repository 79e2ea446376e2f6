/** Reads of the runs that a person started, in pages. */

import type { Db } from '../../db/handle.ts';
import { statement } from '../../db/statement.ts';
import { presentRun, RUN_COLUMNS, type ShownRun } from '../../resources/run.ts';

/** A file that an agent made in a run. */
export interface ArtifactOfPerson {
  readonly id: string;
  readonly run_id: string;
  readonly s3_key: string;
  readonly filename: string;
  readonly content_type: string;
  readonly size_bytes: number;
  readonly created_at: string;
}

/** Yields the runs that the actor started, or that a message of it started. */
export async function* readRunsStartedBy(db: Db, actorId: string): AsyncIterable<object[]> {
  for (let after = ''; ; ) {
    const rows = await db.query(READ_RUNS, actorId, after, PAGE);
    if (rows.length > 0) {
      yield rows.map(({ agent_id, conversation_id, ...row }) => ({
        ...presentRun(row),
        agent_id,
        conversation_id,
      }));
    }
    if (rows.length < PAGE) return;
    after = rows.at(-1)!.id;
  }
}

/** Yields the files of these runs. */
export async function* readArtifactsOf(db: Db, actorId: string): AsyncIterable<ArtifactOfPerson[]> {
  for (let after = ''; ; ) {
    const rows = await db.query(READ_ARTIFACTS, actorId, after, PAGE);
    if (rows.length > 0) yield rows;
    if (rows.length < PAGE) return;
    after = rows.at(-1)!.id;
  }
}

const PAGE = 200;

type RunOfPerson = ShownRun & { readonly agent_id: string; readonly conversation_id: string | null };

const READ_RUNS = statement<[actorId: string, after: string, limit: number], RunOfPerson>({
  name: 'read-runs-started-by',
  text: `
    SELECT ${RUN_COLUMNS.map((column) => `r.${column}`).join(', ')}, r.agent_id, r.conversation_id FROM agent_runs r
    WHERE r.triggered_by = $1 AND r.id > $2 ORDER BY r.id LIMIT $3`,
});

const READ_ARTIFACTS = statement<[actorId: string, after: string, limit: number], ArtifactOfPerson>({
  name: 'read-artifacts-of-person',
  text: `
    SELECT f.id, f.run_id, f.s3_key, f.filename, f.content_type, f.size_bytes, f.created_at
    FROM agent_runs r JOIN artifacts f ON f.run_id = r.id
    WHERE r.triggered_by = $1 AND f.id > $2 ORDER BY f.id LIMIT $3`,
});
