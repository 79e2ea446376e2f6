import type { Tx } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import type { PersonMove } from '../../resources/holdings.ts';
import type { MessageRow } from '../../resources/message.ts';
import { moveReactions } from '../reactions/reactions.ts';
import { outsideUpdateOf } from '../rows/waiting-store.ts';

/** Gives the messages, reactions and read threads of a customer to another customer. */
export async function moveAuthor(tx: Tx, { from, to, conversationIds, events }: PersonMove): Promise<void> {
  const moved = await tx.query(MOVE_MESSAGES, from, to, conversationIds);
  for (const { id, conversation_id: stream, sequence, kind } of moved) {
    events.push({ event: sequence === null ? outsideUpdateOf({ kind }) : 'message.updated', id, stream });
  }
  await tx.query(MOVE_REVISIONS, from, to, conversationIds);
  await tx.query(MOVE_THREAD_READS, from, to, conversationIds);
  for (const conversationId of conversationIds)
    events.push(...(await moveReactions(tx, conversationId, from, to)));
}

// A key that the other customer used stays with its message: both would be the same resend.
const MOVE_MESSAGES = statement<
  [from: string, to: string, conversationIds: readonly string[]],
  Pick<MessageRow, 'id' | 'conversation_id' | 'sequence' | 'kind'>
>('move-messages')`
    UPDATE messages m SET ${setTouched('later_than(m.updated_at)')},
      author_id = CASE WHEN m.author_id = $1 THEN $2 ELSE m.author_id END,
      sender_id = CASE WHEN m.sender_id = $1 THEN $2 ELSE m.sender_id END,
      mentions = array_replace(m.mentions, $1, $2),
      resource_id = CASE WHEN m.resource_type = 'actor' AND m.resource_id = $1 THEN $2 ELSE m.resource_id END,
      client_message_id = CASE WHEN EXISTS (
          SELECT FROM messages o WHERE o.conversation_id = m.conversation_id AND o.author_id = $2
            AND o.client_message_id = m.client_message_id
        ) THEN NULL ELSE m.client_message_id END
    WHERE m.conversation_id = ANY($3)
      AND (m.author_id = $1 OR m.sender_id = $1 OR $1 = ANY(m.mentions)
        OR m.resource_type = 'actor' AND m.resource_id = $1)
    RETURNING m.id, m.conversation_id, m.sequence, m.kind`;

const MOVE_REVISIONS = statement<[from: string, to: string, conversationIds: readonly string[]]>(
  'move-revisions',
)`
    UPDATE message_revisions SET replaced_by = $2 WHERE conversation_id = ANY($3) AND replaced_by = $1`;

const MOVE_THREAD_READS = statement<[from: string, to: string, conversationIds: readonly string[]]>(
  'move-thread-reads',
)`
    WITH moved AS (
      DELETE FROM thread_reads WHERE conversation_id = ANY($3) AND actor_id = $1
      RETURNING message_id, conversation_id, read_sequence
    )
    INSERT INTO thread_reads AS t (message_id, actor_id, conversation_id, read_sequence)
    SELECT message_id, $2, conversation_id, read_sequence FROM moved
    ON CONFLICT (message_id, actor_id) DO UPDATE
      SET read_sequence = greatest(t.read_sequence, excluded.read_sequence)`;
