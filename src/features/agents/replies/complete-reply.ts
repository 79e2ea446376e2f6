import { newId } from '@parley/protocol/ids.ts';
import { MESSAGE_LIMITS } from '@parley/protocol/resources/chat-message.ts';
import { kindOfUpload } from '@parley/protocol/resources/upload-kind.ts';
import { sql } from 'kysely';
import { enqueueChanged } from '../../../core/events/changes.ts';
import type { MessageKey, MessageRow } from '../../../core/resources/message.ts';
import type { RunRow } from '../../../core/resources/run.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { touched } from '../../../platform/db/tables/touched.ts';

interface End extends Pick<MessageRow, 'body' | 'mentions' | 'incomplete'> {
  readonly runId: string;
  readonly event: 'message.updated' | 'draft.updated';
  /** The attempt that wrote the end of the body. */
  readonly attempt: number;
  /** The files of the run that the message shows. */
  readonly artifactIds: readonly string[];
}

/**
 * Completes a streaming text with its files, and enqueues its final event. No-op unless the message
 * is streaming.
 */
export async function completeReply(
  tx: Tx,
  { id, conversation_id }: MessageKey,
  { runId, event, attempt, body, mentions, incomplete, artifactIds }: End,
): Promise<void> {
  const ended = await tx.kysely
    .updateTable('messages')
    .set({
      ...COMPLETE,
      body,
      incomplete,
      has_attachments: artifactIds.length > 0,
      mentions: mentions && [...mentions],
    })
    .where('id', '=', id)
    .where('conversation_id', '=', conversation_id)
    .where('streaming_state', '=', 'streaming')
    .returning('id')
    .executeTakeFirst();
  if (ended === undefined) return;
  await enqueueChanged(tx, [{ event, id, stream: conversation_id, attempt }]);
  if (artifactIds.length > 0) await attachArtifacts(tx, { id, conversation_id }, runId, artifactIds);
}

/** Attaches a run's files to the message that it wrote, in the order of their creation. */
async function attachArtifacts(
  tx: Tx,
  { id: message_id, conversation_id }: MessageKey,
  runId: string,
  artifactIds: readonly string[],
): Promise<void> {
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
    id: newId('attachment'),
    message_id,
    conversation_id,
    position,
    kind: kindOfUpload(artifact.content_type),
  }));
  await tx.kysely.insertInto('attachments').values(attachments).execute();
}

/**
 * Completes the abandoned text of a run with the body of the last checkpoint. The message is found
 * by the run, not by its `reply_message_id`, because a node may die between the two writes.
 */
export async function completeAbandoned(
  tx: Tx,
  { id: runId, conversation_id: stream }: Pick<RunRow, 'id' | 'conversation_id'>,
): Promise<void> {
  if (stream === null) return;
  const ended = await tx.kysely
    .updateTable('messages')
    .set({ ...COMPLETE, incomplete: 'error' })
    .where('conversation_id', '=', stream)
    .where('streaming_state', '=', 'streaming')
    .where('agent_run_id', '=', runId)
    .returning(['id', 'sequence'])
    .execute();
  await enqueueChanged(
    tx,
    ended.map(({ id, sequence }) => ({
      event: sequence === null ? 'draft.updated' : 'message.updated',
      id,
      stream,
      // The real number is unknown: readers take the body as it is.
      attempt: 1,
    })),
  );
}

// A message notifies once its text is final.
const COMPLETE = {
  streaming_state: 'complete' as const,
  notified_at: sql<string>`clock_timestamp()`,
  ...touched(),
};
