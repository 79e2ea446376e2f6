import { IS_MEMBER } from '../../../../core/resources/membership.ts';
import type { RunRow } from '../../../../core/resources/run.ts';
import type { Db, Tx } from '../../../../platform/db/connection/handle.ts';
import { statement } from '../../../../platform/db/connection/statement.ts';

/** Returns the ids of the files that a run has made, oldest first. */
export async function artifactsOf(db: Db, runId: string): Promise<string[]> {
  const rows = await db.kysely
    .selectFrom('artifacts')
    .select('id')
    .where('run_id', '=', runId)
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** Returns the files of the run that no message shows yet; replaced drafts do not count. */
export async function unattachedArtifacts(tx: Tx, runId: string): Promise<string[]> {
  const rows = await tx.query(READ_UNATTACHED, runId);
  return rows.map(({ id }) => id);
}

const READ_UNATTACHED = statement<[runId: string], { readonly id: string }>('read-unattached-artifacts')`
    SELECT f.id FROM artifacts f
    WHERE f.run_id = $1 AND NOT EXISTS (
      SELECT FROM attachments a
        JOIN messages m ON m.id = a.message_id AND m.conversation_id = a.conversation_id
      WHERE a.s3_key = f.s3_key AND m.status <> 'superseded'
    )
    ORDER BY f.id`;

/**
 * Returns whether this claim of a run has files that the agent may still show. Files of earlier
 * claims were shown at the pause: a message that a person deleted is not posted again.
 */
export async function hasFilesToShow(
  db: Db,
  { id, updated_at: claimedAt }: Pick<RunRow, 'id' | 'updated_at'>,
): Promise<boolean> {
  const rows = await db.query(READ_NEW_FILE, id, claimedAt);
  return rows.length > 0;
}

// A run may end because its agent has lost its place: its text stays, and nothing is added.
const READ_NEW_FILE = statement<[id: string, claimedAt: string]>('read-new-file-of-run')`
    SELECT f.id
    FROM artifacts f JOIN agent_runs r ON r.id = f.run_id
      JOIN conversations c ON c.id = r.conversation_id AND c.status <> 'archived'
      JOIN participants p ON p.conversation_id = c.id AND p.actor_id = r.actor_id
        AND p.${IS_MEMBER} AND p.role <> 'viewer'
      JOIN actors a ON a.id = r.actor_id AND a.deactivated_at IS NULL
      JOIN accounts o ON o.id = r.account_id AND o.subscription = 'active'
    WHERE f.run_id = $1 AND f.created_at >= $2::timestamptz
    LIMIT 1`;
