import type { Tx } from '../../db/handle.ts';
import { statement } from '../../db/statement.ts';
import { setTouched } from '../../db/touched.ts';

/**
 * Clears what the ended runs that began with one of these messages, or wrote one, quote of the conversation: their input
 * and output, the texts and calls of their steps, their files. The runs themselves stay. Returns the keys of the files.
 */
export async function clearRunsOf(
  tx: Tx,
  conversationId: string,
  messageIds: readonly string[],
): Promise<string[]> {
  if (messageIds.length === 0) return [];
  const runs = await tx.query(CLEAR_RUNS, conversationId, messageIds);
  if (runs.length === 0) return [];
  const ids = runs.map(({ id }) => id);
  await tx.query(CLEAR_STEPS, ids);
  await tx.query(CLEAR_ACTIONS, ids);
  return keysOf(await tx.query(DELETE_ARTIFACTS, ids));
}

/**
 * Deletes runs of a conversation with everything of them, `limit` at most. Returns how many, and the keys of their
 * files. Runs that have not ended are deleted too: what is left of them finds no row.
 */
export async function deleteRunsOf(
  tx: Tx,
  conversationId: string,
  limit: number,
): Promise<{ deleted: number; keys: string[] }> {
  const runs = await tx.query(READ_RUN_IDS, conversationId, limit);
  const ids = runs.map(({ id }) => id);
  if (ids.length === 0) return { deleted: 0, keys: [] };
  const keys = keysOf(await tx.query(DELETE_ARTIFACTS, ids));
  await tx.query(DELETE_RUNS, ids);
  return { deleted: ids.length, keys };
}

function keysOf(rows: readonly { readonly s3_key: string }[]): string[] {
  return rows.map(({ s3_key }) => s3_key);
}

const CLEAR_RUNS = statement<[conversationId: string, messageIds: readonly string[]], { id: string }>({
  name: 'clear-runs-of-messages',
  text: `
    UPDATE agent_runs SET input = NULL, output = NULL, error_message = NULL, ${setTouched()}
    WHERE conversation_id = $1 AND completed_at IS NOT NULL
      AND (trigger_message_id = ANY($2) OR reply_message_id = ANY($2))
    RETURNING id`,
});

const CLEAR_STEPS = statement<[runIds: readonly string[]]>({
  name: 'clear-steps-of-runs',
  text: `UPDATE agent_run_steps SET text = NULL, calls = '[]', error_message = NULL WHERE run_id = ANY($1)`,
});

const CLEAR_ACTIONS = statement<[runIds: readonly string[]]>({
  name: 'clear-actions-of-runs',
  text: `
    UPDATE agent_run_actions SET arguments = '{}', result = NULL, error_message = NULL, reason = NULL
    WHERE run_id = ANY($1)`,
});

const DELETE_ARTIFACTS = statement<[runIds: readonly string[]], { s3_key: string }>({
  name: 'delete-artifacts-of-runs',
  text: 'DELETE FROM artifacts WHERE run_id = ANY($1) RETURNING s3_key',
});

const READ_RUN_IDS = statement<[conversationId: string, limit: number], { id: string }>({
  name: 'read-runs-to-purge',
  text: 'SELECT id FROM agent_runs WHERE conversation_id = $1 ORDER BY id LIMIT $2',
});

const DELETE_RUNS = statement<[runIds: readonly string[]]>({
  name: 'delete-runs',
  text: 'DELETE FROM agent_runs WHERE id = ANY($1)',
});
