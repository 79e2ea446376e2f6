import type { Db, Tx } from '../../../platform/db/connection/handle.ts';
import { type KeysetPage, keysetList } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { withLargeBodies } from '../../resources/large-bodies.ts';
import { type BriefRow, briefColumns, type MessageRow } from '../../resources/message.ts';
import { isReplyTo } from '../../resources/thread.ts';

/** Returns the replies to a message, newest first, as many as a page has room for and one more. */
export async function readReplyPage(
  db: Db,
  messageId: string,
  forCustomer: boolean,
  page: KeysetPage,
): Promise<readonly MessageRow[]> {
  return withLargeBodies(db, await REPLIES.readPage(db, [messageId, forCustomer], page));
}

/** Moves the position of an actor in a thread forward, never back. */
export async function writeThreadPosition(
  tx: Tx,
  { id, conversation_id }: Pick<MessageRow, 'id' | 'conversation_id'>,
  actorId: string,
  sequence: number,
): Promise<void> {
  await tx.query(WRITE_POSITION, id, actorId, conversation_id, sequence);
}

const REPLIES = keysetList<[messageId: string, forCustomer: boolean], BriefRow>({
  name: 'list-replies',
  columns: briefColumns('r'),
  from: 'messages r',
  where: isReplyTo('$1', '$2'),
  key: [['r.sequence', 'integer']],
});

const WRITE_POSITION = statement<
  [messageId: string, actorId: string, conversationId: string, sequence: number]
>({
  name: 'write-thread-position',
  text: `
    INSERT INTO thread_reads (message_id, actor_id, conversation_id, read_sequence) VALUES ($1, $2, $3, $4)
    ON CONFLICT (message_id, actor_id) DO UPDATE
      SET read_sequence = greatest(thread_reads.read_sequence, excluded.read_sequence)`,
});
