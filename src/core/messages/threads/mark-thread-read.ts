import { invalid } from '../../../contract/protocol/errors.ts';
import type { Thread } from '../../../contract/protocol/resources/thread.ts';
import type { Principal } from '../../../platform/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { readHeadOfReader } from '../../conversations/conversation-store.ts';
import { lockOwnParticipant } from '../../conversations/locked-conversation.ts';
import type { MessageRow } from '../../resources/message.ts';
import { readThreads } from '../../resources/thread.ts';
import { writeThreadPosition } from './thread-store.ts';

/**
 * Moves the caller's position in the replies to a message forward, never back, beside its position
 * in the conversation. Throws ApiError `resource_conflict` for callers that are not participants,
 * or `validation_failed` (param sequence).
 */
export async function markThreadRead(
  tx: Tx,
  principal: Principal,
  row: MessageRow,
  sequence: number,
): Promise<Thread> {
  await lockOwnParticipant(tx, principal, row.conversation_id);
  if (sequence > (await readHeadOfReader(tx, row.conversation_id, principal.customer))) {
    throw invalid('sequence', 'There is no such message yet.');
  }
  await writeThreadPosition(tx, row, principal.actor.id, sequence);
  const threads = await readThreads(tx, principal, [row]);
  return threads.get(row.id)!;
}
