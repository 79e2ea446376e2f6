import type { RunRow } from '../../../../core/resources/run.ts';
import type { Db } from '../../../../platform/db/connection/handle.ts';
import { statement } from '../../../../platform/db/connection/statement.ts';

/**
 * Returns whether a mail started the run or the first run of its chain: a chat about a message that
 * came by mail, or an event about a case with an inbox. Strangers wrote what its model reads, so
 * calls that reach outside the account need review (docs/contract.md#tools).
 */
export async function isStartedByMail(
  db: Db,
  { id, root_id }: Pick<RunRow, 'id' | 'root_id'>,
): Promise<boolean> {
  return (await db.query(FIND_MAILED, [id, ...(root_id === null ? [] : [root_id])])).length > 0;
}

const FIND_MAILED = statement<[runIds: readonly string[]]>('find-run-started-by-mail')`
    SELECT FROM agent_runs r
      LEFT JOIN messages m ON m.id = r.trigger_message_id
      LEFT JOIN conversations c ON r.trigger_type = 'event' AND c.id = r.input->>'conversation_id'
    WHERE r.id = ANY($1) AND (m.kind = 'email' OR c.inbox_id IS NOT NULL)`;
