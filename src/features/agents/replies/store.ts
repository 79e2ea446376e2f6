import { type MessageRow, messageColumns } from '../../../core/resources/message.ts';
import type { RunRow } from '../../../core/resources/run.ts';
import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';

/** Records which message a run writes, under the fence of its claim. Rejects with ClaimLost. */
export async function claimReply(
  db: Db,
  { id, owner, fence }: Pick<RunRow, 'id' | 'owner' | 'fence'>,
  messageId: string,
): Promise<void> {
  const rows = await db.query(NOTE, id, owner, fence, messageId);
  if (rows.length === 0) throw new ClaimLost();
}

class ClaimLost extends Error {
  constructor() {
    super('the run is not of this node any more');
    this.name = 'ClaimLost';
  }
}

/** The part of a reply that a checkpoint stores. */
export interface ReplyCheckpoint {
  readonly id: string;
  readonly conversation_id: string;
  readonly run_id: string;
  readonly fence: number;
  readonly body: string;
}

/** Stores the texts of streaming messages whose claims this node still holds. */
export async function updateCheckpoints(
  db: Db,
  nodeId: string,
  unkept: readonly ReplyCheckpoint[],
): Promise<void> {
  await db.query(KEEP, JSON.stringify(unkept), nodeId);
}

/**
 * Returns ended or waiting runs that still have a streaming text, begun by a node that did not know
 * that it had lost the run.
 */
export function findStrays(db: Db): Promise<Pick<RunRow, 'id' | 'conversation_id'>[]> {
  return db.query(FIND_STRAYS);
}

/** Locks and returns the open draft that an earlier claim of the run composed. */
export async function lockEarlierDraft(
  tx: Tx,
  runId: string,
  conversationId: string,
): Promise<MessageRow | undefined> {
  const [draft] = await tx.query(LOCK_DRAFT, conversationId, runId);
  return draft;
}

const LOCK_DRAFT = statement<[conversationId: string, runId: string], MessageRow>('lock-earlier-draft')`
    SELECT ${messageColumns('m')} FROM messages m
    WHERE m.conversation_id = $1 AND m.agent_run_id = $2 AND m.status = 'draft'
      AND m.streaming_state = 'complete'
    ORDER BY m.id DESC LIMIT 1
    FOR UPDATE`;

const NOTE = statement<[id: string, owner: string | null, fence: number, messageId: string]>('note-reply')`
    UPDATE agent_runs SET reply_message_id = $4
    WHERE id = $1 AND owner = $2 AND fence = $3::bigint AND status = 'running'
    RETURNING id`;

// Sets neither `updated_at` nor `changed_in`: nothing has changed for sockets that read along.
const KEEP = statement<[unkept: string, nodeId: string]>('keep-replies')`
    UPDATE messages m SET body = k.body
    FROM json_to_recordset($1::json)
        AS k(id text, conversation_id text, run_id text, fence bigint, body text)
      JOIN agent_runs r ON r.id = k.run_id
    WHERE m.id = k.id AND m.conversation_id = k.conversation_id AND m.streaming_state = 'streaming'
      AND r.owner = $2 AND r.fence = k.fence`;

const FIND_STRAYS = statement<[], Pick<RunRow, 'id' | 'conversation_id'>>('find-stray-replies')`
    SELECT DISTINCT r.id, r.conversation_id
    FROM messages m JOIN agent_runs r ON r.id = m.agent_run_id
    WHERE m.streaming_state = 'streaming' AND r.status <> 'running'
      AND r.updated_at < clock_timestamp() - interval '5 s'`;
