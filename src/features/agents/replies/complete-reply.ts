import { newId } from '../../../contract/protocol/ids.ts';
import { MESSAGE_LIMITS } from '../../../contract/protocol/resources/chat-message.ts';
import { enqueueChanged } from '../../../core/events/changes.ts';
import type { RunRow } from '../../../core/resources/run.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import {
  type CompleteContent,
  completeMessage,
  completeMessagesOf,
  insertAttachments,
  type ReplyPosition,
  readArtifacts,
} from './store.ts';

export interface End extends CompleteContent {
  readonly event: 'message.updated' | 'draft.updated';
  /** The attempt that wrote the end of the body. */
  readonly attempt: number;
}

/** Completes a streaming text and enqueues its final event. Returns false if none is streaming. */
export async function completeReply(
  tx: Tx,
  position: ReplyPosition,
  { event, attempt, ...content }: End,
): Promise<boolean> {
  if (!(await completeMessage(tx, position, content))) return false;
  const { id, conversation_id: stream } = position;
  await enqueueChanged(tx, [{ event, id, stream, attempt }]);
  return true;
}

/** Attaches a run's files to the message that it wrote, in the order of their creation. */
export async function attachArtifacts(
  tx: Tx,
  { id: message_id, conversation_id }: ReplyPosition,
  runId: string,
  artifactIds: readonly string[],
): Promise<void> {
  if (artifactIds.length === 0) return;
  const artifacts = await readArtifacts(tx, runId, artifactIds.slice(0, MESSAGE_LIMITS.attachments));
  if (artifacts.length === 0) return;
  const attachments = artifacts.map((artifact, position) => ({
    ...artifact,
    id: newId('attachment'),
    message_id,
    conversation_id,
    position,
    kind: 'file' as const,
    url: null,
    resource_type: null,
    resource_id: null,
  }));
  await insertAttachments(tx, attachments);
}

/**
 * Completes the abandoned text of a run with the body of the last checkpoint. The message is found
 * by the run, not by its `reply_message_id`, because a node may die between the two writes.
 */
export async function completeAbandoned(
  tx: Tx,
  { id: runId, conversation_id }: Pick<RunRow, 'id' | 'conversation_id'>,
): Promise<void> {
  if (conversation_id === null) return;
  const ended = await completeMessagesOf(tx, runId, conversation_id);
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
