import { MESSAGE_COLUMNS, type MessageRow, messageColumns } from '../conversations/message-rows.ts';
import type { Db, Tx } from '../db/handle.ts';
import type { Statement } from '../db/statement.ts';
import type { MessageStatus } from '../protocol/resources/chat-message.ts';
import { READ_BY_ID } from './insert-messages.ts';

/** Returns a message of any account, in any state; undefined if there is none. */
export async function readMessage(db: Db, id: string): Promise<MessageRow | undefined> {
  const [row] = await db.query<MessageRow>(READ_BY_ID, [[id]]);
  return row?.status === 'void' ? undefined : row;
}

/** Returns the message's current row, locked until the transaction ends. */
export function lockMessage(
  tx: Tx,
  { id, conversation_id }: Pick<MessageRow, 'id' | 'conversation_id'>,
): Promise<MessageRow> {
  return tx.kysely
    .selectFrom('messages')
    .select(MESSAGE_COLUMNS)
    .where('id', '=', id)
    .where('conversation_id', '=', conversation_id)
    .forUpdate()
    .executeTakeFirstOrThrow();
}

/** A page of messages outside the timeline. */
export interface OutsidePage {
  readonly conversationId: string;
  readonly status: MessageStatus;
  /** Null: all authors. */
  readonly authorId: string | null;
  readonly order: 'newest_first' | 'oldest_first';
  /** `created_at` and id of the row before the page; null for the first page in this direction. */
  readonly after: readonly [string, string] | null;
  readonly limit: number;
}

/** Returns messages that are not sent, by their `created_at`. */
export function readOutside(
  db: Db,
  { conversationId, status, authorId, order, after, limit }: OutsidePage,
): Promise<MessageRow[]> {
  const [at, id] = after ?? FARTHEST[order];
  return db.query<MessageRow>(READ_OUTSIDE[order], [conversationId, status, at, id, limit, authorId]);
}

const FARTHEST = { newest_first: ['infinity', ''], oldest_first: ['-infinity', ''] } as const;

const READ_OUTSIDE = {
  newest_first: outsideStatement('newest', '<', 'DESC'),
  oldest_first: outsideStatement('oldest', '>', 'ASC'),
} as const;

function outsideStatement(end: string, beyond: '<' | '>', order: 'ASC' | 'DESC'): Statement {
  return {
    name: `list-messages-outside-${end}`,
    text: `
    SELECT ${messageColumns('m')} FROM messages m
    WHERE m.sequence IS NULL AND m.conversation_id = $1 AND m.status = $2
      AND (m.created_at, m.id) ${beyond} ($3::timestamptz, $4) AND ($6::text IS NULL OR m.author_id = $6)
    ORDER BY m.created_at ${order}, m.id ${order} LIMIT $5`,
  };
}
