import { enqueueChanged } from '../../conversations/outbox-topics.ts';
import type { Db, Tx } from '../../db/handle.ts';
import { statement } from '../../db/statement.ts';
import { touched } from '../../db/touched.ts';
import { newId } from '../../protocol/ids.ts';
import { MESSAGE_LIMITS } from '../../protocol/resources/chat-message.ts';
import type { RunRow } from '../../resources/run.ts';

interface ReplyPosition {
  readonly id: string;
  readonly conversation_id: string;
}

export interface End {
  readonly event: 'message.updated' | 'draft.updated';
  /** The attempt that wrote the end of the body. */
  readonly attempt: number;
  readonly body: string;
  readonly hasAttachments: boolean;
  readonly mentions: readonly string[] | null;
}

/**
 * Completes a streaming text and enqueues its final event. Returns false if it is complete already, or was never
 * begun.
 */
export async function completeReply(
  tx: Tx,
  { id, conversation_id: stream }: ReplyPosition,
  { event, attempt, body, hasAttachments, mentions }: End,
): Promise<boolean> {
  const ended = await tx.kysely
    .updateTable('messages')
    .set({ ...COMPLETE, body, has_attachments: hasAttachments, mentions: mentions && [...mentions] })
    .where('id', '=', id)
    .where('conversation_id', '=', stream)
    .where('streaming_state', '=', 'streaming')
    .returning('id')
    .executeTakeFirst();
  if (ended === undefined) return false;
  await enqueueChanged(tx, [{ event, id, stream, attempt }]);
  return true;
}

/** Attaches the files that a run has made to the message it has written, in the order in which they were made. */
export async function attachArtifacts(
  tx: Tx,
  { id: message_id, conversation_id }: ReplyPosition,
  runId: string,
  artifactIds: readonly string[],
): Promise<void> {
  if (artifactIds.length === 0) return;
  const artifacts = await tx.kysely
    .selectFrom('artifacts')
    .select(['s3_key', 'filename', 'content_type', 'size_bytes'])
    .where('run_id', '=', runId)
    .where('id', 'in', artifactIds.slice(0, MESSAGE_LIMITS.attachments))
    .orderBy('id')
    .execute();
  if (artifacts.length === 0) return;
  const attachments = artifacts.map((artifact, position) => ({
    ...artifact,
    ...{ id: newId('attachment'), message_id, conversation_id, position },
    kind: 'file' as const,
    url: null,
    resource_type: null,
    resource_id: null,
  }));
  await tx.kysely.insertInto('attachments').values(attachments).execute();
}

/**
 * Completes the text of a run that is not written any more, with the body of the last checkpoint. The message is found
 * by the run, not by its `reply_message_id`: a node may have died between the two.
 */
export async function completeAbandoned(
  tx: Tx,
  { id, conversation_id }: Pick<RunRow, 'id' | 'conversation_id'>,
): Promise<void> {
  if (conversation_id === null) return;
  const ended = await tx.kysely
    .updateTable('messages')
    .set(COMPLETE)
    .where('conversation_id', '=', conversation_id)
    .where('streaming_state', '=', 'streaming')
    .where('agent_run_id', '=', id)
    .returning(['id', 'conversation_id', 'sequence'])
    .execute();
  await enqueueChanged(
    tx,
    ended.map(({ id, conversation_id: stream, sequence }) => ({
      event: sequence === null ? 'draft.updated' : 'message.updated',
      id,
      stream,
      // The real number is unknown: readers take the body as it is.
      attempt: 1,
    })),
  );
}

/**
 * Returns runs that have ended, or wait, but still have a streaming text: a node that had lost the run without knowing
 * it began the text after the run's end.
 */
export function findStrays(db: Db): Promise<Pick<RunRow, 'id' | 'conversation_id'>[]> {
  return db.query(FIND_STRAYS);
}

const COMPLETE = {
  streaming_state: 'complete' as const,
  ...touched(),
};

const FIND_STRAYS = statement<[], Pick<RunRow, 'id' | 'conversation_id'>>({
  name: 'find-stray-replies',
  text: `
    SELECT DISTINCT r.id, r.conversation_id
    FROM messages m JOIN agent_runs r ON r.id = m.agent_run_id
    WHERE m.streaming_state = 'streaming' AND r.status <> 'running'
      AND r.updated_at < clock_timestamp() - interval '5 s'`,
});
